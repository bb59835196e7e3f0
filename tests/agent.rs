//! Agent runs through the real program: transitions, halts, attempts, handoffs, files and results (contract S2 to S7).

#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use support::*;

/// A task's folder `7` with this state.
fn state(folder: &Folder, content: &str) -> PathBuf {
    fs::create_dir(folder.join("7")).unwrap();
    folder.file("7/agent-state.json", content)
}

fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = pipestate();
    command.args(arguments).env("HOME", "/nonexistent").env_remove("PIPESTATE_HOOKS");
    command.env_remove("PIPESTATE_LOGS_DIR");
    command
}

fn agent(command_name: &str, file: &Path, arguments: &[&str]) -> Ran {
    let mut command = command([OsStr::new(command_name), file.as_os_str()]);
    command.args(arguments);
    finish(start(command), "")
}

fn printed(stdout: &str) -> Ran {
    Ran { code: Some(0), stdout: stdout.into(), stderr: String::new() }
}

/// The log with its times taken out.
fn log(folder: &Folder) -> String {
    let text = fs::read_to_string(folder.join("7/agent-log.md")).unwrap();
    let line = |line: &str| match line.strip_prefix("- 2") {
        Some(rest) => format!("- {}\n", rest.split_once(' ').unwrap().1),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn read(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn a_transition_is_one_write_and_one_line() {
    let folder = Folder::new();
    let file = state(&folder, r#"{"worktreePath":"/w","currentPhase":2,"phases":{"2":{"status":"done"}}}"#);
    let arguments = [
        "3",
        "--status",
        "running",
        "--sub-step",
        "red",
        "--file",
        "a.rs",
        "--file",
        "/w/b.rs",
        "--retry-count",
        "1",
    ];
    assert_written(&agent("phase", &file, &arguments));
    assert_written(&agent(
        "phase",
        &file,
        &["3", "--status", "completed", "--file", "a.rs", "--file", "c.rs", "--no-log"],
    ));
    assert_eq!(
        read(&file),
        json!({
            "worktreePath": "/w",
            "currentPhase": 3,
            "phases": {
                "2": { "status": "done" },
                "3": {
                    "status": "done",
                    "files": ["a.rs", "b.rs", "c.rs"],
                    "retryCount": 1,
                    "subStep": "red",
                    "subSteps": { "red": { "files": ["a.rs", "b.rs"] } },
                },
            },
        })
    );
    assert_written(&agent("phase", &file, &["4", "--status", "failed"]));
    assert_eq!((&read(&file)["status"], &read(&file)["currentPhase"]), (&json!("paused"), &json!(4)));
    let refused = agent("phase", &file, &["4", "--status", "running"]);
    assert_eq!((refused.code, refused.stderr.contains("/status: the run is paused")), (Some(1), true));
    assert_eq!(log(&folder), "- Phase 3 running, subStep red, retry 1: a.rs, /w/b.rs\n- Phase 4 failed\n");
    for (arguments, code) in [
        (&["8", "--status", "done"][..], 64),
        (&["x", "--status", "done"], 64),
        (&["3", "--status", "done", "--error", "x"], 64),
        (&["3", "--status", "sleeping"], 64),
        (&["3", "--status", "done", "--file", "../x"], 1),
        (&["8", "--status", "done", "--max-phase", "9"], 0),
    ] {
        assert_eq!(agent("phase", &file, arguments).code, Some(code), "{arguments:?}");
    }
}

#[test]
fn a_halt_is_written_told_and_logged() {
    let folder = Folder::new();
    let file = state(&folder, r#"{"taskId":12,"status":"running","currentPhase":4}"#);
    let ran = agent("halt", &file, &["--phase", "4", "--cause", "no subagent returned"]);
    let line = "HALT phase 4: no subagent returned - resume with /multi-agent:resume #12\n";
    assert_eq!(ran, Ran { code: Some(0), stdout: String::new(), stderr: line.into() });
    let halted = json!({ "taskId": 12, "status": "paused", "currentPhase": 4, "haltReason": "4:no subagent returned" });
    assert_eq!(read(&file), halted);
    assert_eq!(log(&folder), "- HALT phase 4: no subagent returned\n");
}

#[test]
fn a_halt_takes_over_from_a_dead_writer() {
    let folder = Folder::new();
    let file = state(&folder, r#"{"currentPhase":4}"#);
    fs::write(lock_of(&file), format!("{}\n", dead_pid())).unwrap();
    let ran = agent("halt", &file, &["--phase", "4", "--cause", "x"]);
    assert_eq!((ran.code, &read(&file)["status"]), (Some(0), &json!("paused")));
}

#[test]
fn a_halt_that_cannot_be_written_is_told_all_the_louder() {
    let folder = Folder::new();
    let line = "HALT phase 4: x - resume with /multi-agent:resume #7\n";
    let assert_told = |ran: &Ran, code, why: &str| {
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
        let rest = ran.stderr.strip_prefix(line).unwrap_or_else(|| panic!("{ran:?}"));
        assert!(rest.contains("pipestate: ") && rest.contains(why), "{ran:?}");
    };
    let file = state(&folder, "{\"currentPhase\":4");
    assert_told(&agent("halt", &file, &["--phase", "4", "--cause", "x"]), 3, "corrupt");
    fs::write(&file, r#"{"currentPhase":4}"#).unwrap();
    let holder = Sleeper::new();
    fs::write(lock_of(&file), format!("{}\n", holder.pid())).unwrap();
    let ran = agent("halt", &file, &["--phase", "4", "--cause", "x", "--lock-timeout", "0"]);
    assert_told(&ran, 2, "the lock is still held");
    drop(holder);
    // A disk that takes no more, as the file size limit has it.
    let pad = "x".repeat(5000);
    fs::write(&file, format!(r#"{{"currentPhase":4,"pad":"{pad}"}}"#)).unwrap();
    let mut limited = Command::new("sh");
    limited.args(["-c", r#"ulimit -f 1; exec "$@""#, "sh", env!("CARGO_BIN_EXE_pipestate"), "halt"]);
    limited.arg(&file).args(["--phase", "4", "--cause", "x"]).env_remove("PIPESTATE_HOOKS");
    assert_told(&finish(start(limited), ""), 3, "cannot write the new content");
    // A folder that takes no new files from somebody else than its owner.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.join("7"), fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_pipestate"), "halt"]);
    other.arg(&file).args(["--phase", "4", "--cause", "x"]).env_remove("PIPESTATE_HOOKS");
    assert_told(&finish(start(other), ""), 3, "permission denied");
    assert!(read(&file)["status"].is_null());
    // Its owner replaces a read-only file, which stays read-only.
    fs::set_permissions(folder.join("7"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(agent("halt", &file, &["--phase", "4", "--cause", "x"]).code, Some(0));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o444);
    let mut misled = command([OsStr::new("halt"), file.as_os_str()]);
    misled.args(["--phase", "4", "--cause", "x"]).env("PIPESTATE_LOCK_TIMEOUT_MS", "soon");
    assert_told(&finish(start(misled), ""), 64, "PIPESTATE_LOCK_TIMEOUT_MS");
    let missing = folder.join("8/agent-state.json");
    let ran = agent("halt", &missing, &["--phase", "4", "--cause", "x"]);
    assert_eq!((ran.code, ran.stderr.starts_with("HALT phase 4: x - ")), (Some(3), true), "{ran:?}");
    assert!(!folder.join("8").exists());
}

fn halt_with_hooks(file: &Path, hooks: &Path, cause: &str) -> Ran {
    let mut command = command([OsStr::new("halt"), file.as_os_str()]);
    command.args(["--json", "--phase", "4", "--cause", cause]).env("PIPESTATE_HOOKS", hooks);
    finish(start(command), "")
}

#[test]
fn hooks_are_told_of_a_halt_and_their_failures_do_not_hide_it() {
    let folder = Folder::new();
    let file = state(&folder, r#"{"currentPhase":4}"#);
    let told = folder.join("told");
    let script = folder
        .file("hook", "#!/bin/sh\nprintf '%s\\n' \"$@\" >> \"$0.told\"\necho out; echo err >&2; exit 3\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.to_str().unwrap();
    let hooks = json!([
        ["no-such-program-anywhere"],
        [script, "{phase}", "{cause}", "{id}", "{state}"],
        ["touch", told.to_str().unwrap()],
    ]);
    let hooks = folder.file("hooks.json", hooks.to_string());
    let cause = "$(touch pwned) {id}; --x";
    let ran = halt_with_hooks(&file, &hooks, cause);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.stderr,
        format!(
            "HALT phase 4: {cause} - resume with /multi-agent:resume #7\n\
             pipestate: warning: the hook \"no-such-program-anywhere\" failed: cannot run it: No such file or directory (os error 2)\n\
             pipestate: warning: the hook \"{script}\" failed: exit status: 3\n"
        )
    );
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    let run = |command: Value, code: Value, stdout: &str, stderr: &str| json!({ "command": command, "exitCode": code, "stdout": stdout, "stderr": stderr });
    let path = file.to_str().unwrap();
    assert_eq!(
        result["hooks"],
        json!([
            run(json!(["no-such-program-anywhere"]), Value::Null, "", ""),
            run(json!([script, "4", cause, "7", path]), json!(3), "out\n", "err\n"),
            run(json!(["touch", told]), json!(0), "", ""),
        ])
    );
    let arguments = fs::read_to_string(folder.join("hook.told")).unwrap();
    assert_eq!(arguments, format!("4\n{cause}\n7\n{path}\n"));
    assert!(told.exists());
    assert_eq!(read(&file)["status"], "paused");
}

#[test]
fn hooks_of_the_workspace_do_not_run() {
    let folder = Folder::new();
    let worktree = folder.join("w");
    fs::create_dir(&worktree).unwrap();
    let told = folder.join("told");
    let content = json!([["touch", told.to_str().unwrap()]]).to_string();
    fs::write(worktree.join("hooks.json"), &content).unwrap();
    std::os::unix::fs::symlink(worktree.join("hooks.json"), folder.join("link.json")).unwrap();
    let program = worktree.join("hook");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    let file = state(&folder, &json!({ "currentPhase": 4, "worktreePath": worktree }).to_string());
    let outside = folder.file("hooks.json", json!([[program], ["./hook"]]).to_string());
    let broken = folder.file("broken.json", r#"{"halt":[]}"#);
    for (hooks, count) in [
        (worktree.join("hooks.json"), 1),
        (folder.join("link.json"), 1),
        ("hooks.json".into(), 1),
        (folder.join("none.json"), 1),
        (broken, 1),
        (outside, 2),
    ] {
        let ran = halt_with_hooks(&file, &hooks, "x");
        assert_eq!(
            (ran.code, ran.stderr.matches("pipestate: warning: ").count()),
            (Some(0), count),
            "{ran:?}"
        );
        assert!(ran.stderr.starts_with("HALT phase 4: x - resume with /multi-agent:resume #7\n"));
    }
    assert!(!told.exists());
}

#[test]
fn a_loop_has_three_attempts_and_halts_at_the_fourth() {
    let folder = Folder::new();
    let file = state(&folder, r#"{"currentPhase":5,"phases":{}}"#);
    let attempt =
        |arguments: &[&str]| agent("attempt", &file, &[&["--loop", "build-fix"], arguments].concat());
    assert_eq!(attempt(&[]), printed("attempt 1 of 3\n"));
    let missing = attempt(&[]);
    assert_eq!(
        (missing.code, missing.stderr.contains("/loops/build-fix: attempt 2 needs a reflection")),
        (Some(1), true)
    );
    assert_eq!(attempt(&["--reflect", "add the import"]), printed("attempt 2 of 3\n"));
    let repeated = attempt(&["--reflect", "Add the import!"]);
    assert_eq!((repeated.code, repeated.stderr.contains("repeats that of attempt 2")), (Some(1), true));
    assert_eq!(
        attempt(&["--reflect", "pin the version"]),
        printed("attempt 3 of 3\nreflection 2: add the import\n")
    );
    for _ in 0..2 {
        let path = file.display();
        assert_eq!(
            attempt(&["--reflect", "something new"]),
            Ran {
                code: Some(1),
                stdout: String::new(),
                stderr: format!(
                    "HALT phase 5: loop build-fix has used its 3 attempts - resume with /multi-agent:resume #7\n\
                     pipestate: {path}: loop build-fix has no attempts left and the run is halted; a human gives it new ones with `pipestate attempt --loop build-fix --reset`\n"
                ),
            }
        );
    }
    let halted = read(&file);
    assert_eq!(halted["haltReason"], "5:loop build-fix has used its 3 attempts");
    assert_eq!(halted["status"], "paused");
    assert_eq!(
        agent("attempt", &file, &["--loop", "review-fix"]),
        printed("attempt 1 of 3\n"),
        "another loop"
    );
    assert_written(&attempt(&["--reset"]));
    assert_eq!(attempt(&[]), printed("attempt 1 of 3\n"));
    assert_eq!(agent("attempt", &file, &["--loop", "a b"]).code, Some(64));
}

#[test]
fn concurrent_asks_get_distinct_numbers() {
    let folder = Folder::new();
    let file = state(&folder, r#"{"currentPhase":5}"#);
    let children: Vec<Child> = (0..12)
        .map(|index| {
            let mut command = command([OsStr::new("attempt"), file.as_os_str()]);
            command.args(["--no-fsync", "--loop", "x", "--reflect", &format!("change {index}")]);
            command.args(["--lock-timeout", "60000"]);
            start(command)
        })
        .collect();
    let rans: Vec<Ran> = children.into_iter().map(|child| finish(child, "")).collect();
    let given: BTreeSet<&str> = rans.iter().filter_map(|ran| ran.stdout.lines().next()).collect();
    assert_eq!(given, BTreeSet::from(["attempt 1 of 3", "attempt 2 of 3", "attempt 3 of 3"]));
    assert_eq!(rans.iter().filter(|ran| ran.code == Some(0)).count(), 3);
    assert_eq!(rans.iter().filter(|ran| ran.stderr.starts_with("HALT phase 5: ")).count(), 9);
}

const HANDOFF: [&str; 14] = [
    "--phase",
    "3",
    "--name",
    "dev",
    "--done",
    "build green",
    "--done",
    "12 tests added",
    "--remaining",
    "review",
    "--open",
    "none",
    "--next",
    "Phase 4 review, subStep start",
];

fn handoff(verb: &str, file: &Path, arguments: &[&str]) -> Ran {
    let mut command = command([OsStr::new("handoff"), OsStr::new(verb), file.as_os_str()]);
    command.args(arguments);
    finish(start(command), "")
}

#[test]
fn a_handoff_is_appended_and_the_latest_is_read_back_as_data() {
    let folder = Folder::new();
    let file = state(&folder, r#"{"currentPhase":3}"#);
    let none = handoff("latest", &file, &[]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""));
    let log = folder.file("7/agent-log.md", "# Task 7\nan open line");
    assert_written(&handoff("append", &file, &HANDOFF));
    assert_written(&agent("phase", &file, &["3", "--status", "done"]));
    let ran = handoff("latest", &log, &["--json"]);
    let latest: Value = serde_json::from_str(&ran.stdout).unwrap();
    let at = latest["at"].as_str().unwrap();
    let block = format!(
        "## Handoff - end of Phase 3 (dev) - {at}\n- Done:\n  - build green\n  - 12 tests added\n- Remaining: review\n- Decisions: none\n- Open findings: none\n- Next: Phase 4 review, subStep start\n"
    );
    assert_eq!(
        latest,
        json!({
            "ok": true,
            "kind": "handoff",
            "phase": 3,
            "name": "dev",
            "at": at,
            "done": ["build green", "12 tests added"],
            "remaining": ["review"],
            "decisions": [],
            "openFindings": [],
            "next": "Phase 4 review, subStep start",
            "text": block,
            "line": 4,
            "path": log,
        })
    );
    assert_eq!(handoff("latest", &file, &[]), printed(&block));
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.starts_with(&format!("# Task 7\nan open line\n\n{block}\n- 2")), "{text}");
    let long = handoff("append", &file, &[&HANDOFF[..], &["--decision", "1\n2\n3\n4\n5\n6\n7\n8"]].concat());
    assert_eq!(
        (long.code, long.stderr.contains("the handoff has 16 lines, and it has at most 15")),
        (Some(1), true)
    );
    assert_eq!(fs::read_to_string(&log).unwrap(), text);
    let mistyped = handoff("append", &folder.join("7/agent-stat.json"), &HANDOFF);
    assert_eq!((mistyped.code, mistyped.stderr.contains("cannot find the state file")), (Some(3), true));
}

#[test]
fn of_a_log_from_before_handoffs_the_last_section_is_given() {
    let folder = Folder::new();
    let log = folder.file("agent-log.md", "# Task\n\n## Phase 1 findings\n- a\n\n## Phase 2 findings\n- b\n");
    assert_eq!(
        handoff("latest", &log, &[]),
        printed("no handoff; the last section, from line 6:\n## Phase 2 findings\n- b\n")
    );
    let latest: Value = serde_json::from_str(&handoff("latest", &log, &["--json"]).stdout).unwrap();
    assert_eq!(
        latest,
        json!({
            "ok": true,
            "kind": "section",
            "heading": "Phase 2 findings",
            "text": "## Phase 2 findings\n- b\n",
            "line": 6,
            "path": log,
        })
    );
}

#[test]
fn blocks_and_lines_of_many_writers_are_whole() {
    let folder = Folder::new();
    let file = state(&folder, r#"{"currentPhase":3}"#);
    let log = folder.join("7/agent-log.md");
    let shell = r#"for i in $(seq 50); do echo "- foreign $1 $i" >> "$0"; done"#;
    let foreign: Vec<Child> = (0..2)
        .map(|id: u32| {
            Command::new("sh")
                .args(["-c", shell])
                .arg(&log)
                .arg(id.to_string())
                .stdin(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let ours: Vec<Child> = (0..20)
        .map(|_| {
            let mut command = command([OsStr::new("handoff"), OsStr::new("append"), file.as_os_str()]);
            command.args(HANDOFF).args(["--no-fsync", "--lock-timeout", "60000"]);
            start(command)
        })
        .collect();
    for child in ours {
        assert_written(&finish(child, ""));
    }
    foreign.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let text = fs::read_to_string(&log).unwrap();
    let is_foreign = |line: &&str| line.starts_with("- foreign ");
    assert_eq!(text.lines().filter(is_foreign).count(), 100);
    let rest: Vec<&str> = text.lines().filter(|line| !is_foreign(line) && !line.is_empty()).collect();
    assert_eq!(rest.len(), 20 * 8);
    for block in text.split("## Handoff").skip(1) {
        let lines: Vec<&str> = block.lines().take(8).collect();
        let labels = ["- Done:", "  - build green", "  - 12 tests added", "- Remaining: review"];
        assert_eq!(lines[1..5], labels, "a block is never torn");
    }
}

#[test]
fn a_full_disk_leaves_the_log_as_it_was() {
    let folder = Folder::new();
    let log = folder.file("agent-log.md", "x".repeat(1000) + "\n");
    let before = fs::read(&log).unwrap();
    let mut limited = Command::new("sh");
    limited.args([
        "-c",
        r#"ulimit -f 1; exec "$@""#,
        "sh",
        env!("CARGO_BIN_EXE_pipestate"),
        "handoff",
        "append",
    ]);
    limited.arg(&log).args(HANDOFF);
    let ran = finish(start(limited), "");
    assert_eq!((ran.code, ran.stderr.contains("cannot append to the log")), (Some(3), true), "{ran:?}");
    assert_eq!((fs::read(&log).unwrap(), folder.names()), (before, vec!["agent-log.md".to_owned()]));
}

#[test]
fn the_files_of_a_phase_are_listed_ready_for_git() {
    let folder = Folder::new();
    let worktree = folder.join("w");
    fs::create_dir_all(worktree.join("src")).unwrap();
    fs::write(worktree.join("src/a b.rs"), "").unwrap();
    let listed = ["src/a b.rs", "new\nline", ":(top)x", "-f", "src/a b.rs"];
    let phases = json!({ "4": { "files": listed }, "5": { "files": ["../out"] }, "6": {} });
    let file =
        state(&folder, &json!({ "currentPhase": 4, "worktreePath": worktree, "phases": phases }).to_string());
    let files = |arguments: &[&str]| agent("files", &file, arguments);
    assert_eq!(files(&["--phase", "4"]), printed("src/a b.rs\n\"new\\nline\"\n./:(top)x\n./-f\n"));
    assert_eq!(files(&["--phase", "4", "-z"]), printed("src/a b.rs\0new\nline\0./:(top)x\0./-f\0"));
    assert_eq!(files(&["--phase", "4", "--existing"]), printed("src/a b.rs\n"));
    assert_eq!(files(&["--phase", "4", "--missing", "-z"]), printed("new\nline\0./:(top)x\0./-f\0"));
    assert_eq!(files(&["--phase", "6"]), printed(""));
    let out = files(&["--phase", "5"]);
    assert_eq!(
        (out.code, out.stderr.contains("/phases/5/files: \"../out\" is no file of the worktree")),
        (Some(1), true)
    );
    assert_eq!(files(&["--phase", "3"]).code, Some(1));
}

#[test]
fn git_takes_back_one_phase_and_no_other() {
    let folder = Folder::new();
    let worktree = folder.join("w");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&worktree).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        assert!(git.env("HOME", folder.path()).status().unwrap().success());
    };
    fs::create_dir(&worktree).unwrap();
    git(&["init", "-q"]);
    for name in ["a[1].txt", "a1.txt", ":x", "plan.md"] {
        fs::write(worktree.join(name), "old").unwrap();
    }
    git(&["--literal-pathspecs", "add", "-A"]);
    git(&["commit", "-qm", "x"]);
    for name in ["a[1].txt", "a1.txt", ":x", "plan.md"] {
        fs::write(worktree.join(name), "new").unwrap();
    }
    let phases = json!({ "2": { "files": ["plan.md"] }, "4": { "files": ["a[1].txt", ":x"] } });
    let file =
        state(&folder, &json!({ "currentPhase": 4, "worktreePath": worktree, "phases": phases }).to_string());
    let listed = agent("files", &file, &["--phase", "4", "-z"]);
    let list = folder.file("list", listed.stdout);
    let from = format!("--pathspec-from-file={}", list.display());
    git(&["--literal-pathspecs", "checkout", "-q", "HEAD", &from, "--pathspec-file-nul"]);
    let content = |name: &str| fs::read_to_string(worktree.join(name)).unwrap();
    assert_eq!([content("a[1].txt"), content(":x")], ["old", "old"]);
    assert_eq!([content("a1.txt"), content("plan.md")], ["new", "new"]);
}

#[test]
fn a_sub_agents_result_is_checked_and_taken_out_of_prose() {
    let good =
        r#"{"status": "complete", "findings": [{"a": 1e400}], "files_changed": [], "blocking": false}"#;
    let check = |arguments: &[&str], text: &str| run([&["check-result"], arguments].concat(), text);
    assert_eq!(check(&[], good), printed(""));
    let prose = format!("Done:\n```json\n{good}\n```\n");
    assert_eq!(
        check(&[], &prose),
        Ran {
            code: Some(1),
            stdout: "error: the JSON stands in a code fence; give it bare [result-code-fence]\n\
                     error: prose stands before the JSON; give the JSON alone [result-prose]\n"
                .into(),
            stderr: String::new(),
        }
    );
    let extracted = check(&["--extract"], &prose);
    assert_eq!((extracted.code, extracted.stdout), (Some(0), format!("{good}\n")));
    let bad = check(&["--extract"], r#"Sure: {"status":"ok"}"#);
    assert_eq!((bad.code, bad.stdout.as_str()), (Some(1), "{\"status\":\"ok\"}\n"));
    let json: Value = serde_json::from_str(&check(&["--json"], good).stdout).unwrap();
    assert_eq!(
        json,
        json!({
            "ok": true,
            "findings": [],
            "result": { "status": "complete", "findings": 1, "files_changed": [], "blocking": false },
        })
    );
    assert_eq!(check(&[], "").code, Some(1));
}
