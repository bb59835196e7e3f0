//! `pipestate recover`: decisions on the command line, and scans of every root (contract R, P4).

#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use support::*;

/// 2026-07-01T12:00:00Z, when every file here was modified.
fn modified() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_782_907_200)
}

fn state(path: PathBuf, content: impl AsRef<[u8]>) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_times(FileTimes::new().set_modified(modified()))
        .unwrap();
    path
}

fn recover<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Ran {
    run(["recover", "--now", "2026-07-01T12:30:00Z"].into_iter().chain(arguments), "")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn each_file_is_a_line_and_the_worst_is_the_exit_code() {
    let folder = Folder::new();
    let [done, active, torn] = [
        ("a/pipeline-state.json", r#"{"status":"done"}"#),
        ("b/agent-state.json", r#"{"currentPhase":4,"updatedAt":"2026-07-01T12:10:00"}"#),
        ("c/pipeline-state.json", r#"{"status":"#),
    ]
    .map(|(name, content)| state(folder.join(name), content));
    let missing = folder.join("d/pipeline-state.json");
    let lines = [
        format!(
            "skip     R3 done         30m {}: /status: is completed: skip the run or archive it [completed]; choices: skip, archive\n",
            text(&done)
        ),
        format!(
            "refuse   R1 -            20m {}: active 20m ago by /updatedAt: a run is at work, start no other [active]; /status: is missing: an agent state without it counts as running [status-assumed]; /updatedAt: is \"2026-07-01T12:10:00\" without a zone, and taken for UTC [time-without-zone]\n",
            text(&active)
        ),
        format!(
            "escalate R5 -            30m {}: unexpected end of the text at line 1, column 11 (byte 10): it is torn; never resume from it [corrupt]\n",
            text(&torn)
        ),
        format!("escalate R5 -              - {}: there is no such file [missing]\n", text(&missing)),
    ];
    let ran = |files: &[&PathBuf]| recover(files.iter().map(|file| text(file)));
    let expected =
        |code, lines: &[String]| Ran { code: Some(code), stdout: lines.concat(), stderr: String::new() };
    assert_eq!(ran(&[&done]), expected(0, &lines[..1]));
    assert_eq!(ran(&[&done, &active]), expected(1, &lines[..2]));
    assert_eq!(ran(&[&done, &active, &torn]), expected(3, &lines[..3]));
    assert_eq!(ran(&[&missing]), expected(3, &lines[3..]));
}

#[test]
fn the_hour_and_the_clock_are_options() {
    let folder = Folder::new();
    let file = state(folder.join("pipeline-state.json"), r#"{"status":"running"}"#);
    let action = |arguments: &[&str]| {
        let arguments = ["recover"].into_iter().chain(arguments.iter().copied()).chain([text(&file)]);
        let ran = run(arguments, "");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        ran.stdout.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(action(&["--now", "2026-07-01T12:59:59Z"]), "refuse");
    assert_eq!(action(&["--now", "2026-07-01T13:00Z"]), "ask");
    assert_eq!(action(&["--now", "2026-07-01 14:59:59+02:00"]), "refuse");
    assert_eq!(action(&["--now", "2026-07-01T13:29:59", "--stale-after", "1h30m"]), "refuse");
    assert_eq!(action(&["--now", "2026-07-01T12:00:10Z", "--stale-after", "10s"]), "ask");
    assert_eq!(action(&[]), "ask");
    for wrong in [
        &["recover"][..],
        &["recover", "--now", "yesterday", "f"],
        &["recover", "--stale-after", "60", "f"],
        &["recover", "--stale-after", "", "f"],
        &["recover", "--home", "h", "--no-user", "f"],
        &["recover", "--scan"],
    ] {
        let ran = run(wrong, "");
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.lines().count()),
            (Some(64), "", 1),
            "{wrong:?}"
        );
    }
}

#[test]
fn a_decision_is_one_json_object_of_the_files() {
    let folder = Folder::new();
    let file = state(folder.join("pipeline-state.json"), r#"{"status":"completed"}"#);
    let ran = recover(["--json", text(&file)]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        serde_json::from_str::<Value>(&ran.stdout).unwrap(),
        json!({
            "ok": true,
            "files": [{
                "path": text(&file),
                "kind": "pipeline",
                "rev": pipestate::update::revision(&[br#"{"status":"completed"}"#]),
                "rule": "R3",
                "status": "completed",
                "action": "skip",
                "choices": ["skip", "archive"],
                "autoResume": false,
                "ageMs": 1_800_000,
                "lastActive": { "at": "2026-07-01T12:00:00.000Z", "source": "mtime" },
                "reasons": [{
                    "code": "completed",
                    "message": "is completed: skip the run or archive it",
                    "pointer": "/status",
                }],
                "exitCode": 0,
            }],
        })
    );
}

#[test]
fn a_run_that_was_moved_out_of_its_scope_root_is_told() {
    let folder = Folder::new();
    let run = r#"{"status":"completed","scope_root_dir":".agents/codex"}"#;
    let stays = state(folder.join("w/.agents/codex/superpipelines/temp/p/r/pipeline-state.json"), run);
    let moved = state(folder.join("w/.claude/superpipelines/temp/p/r/pipeline-state.json"), run);
    let codes = |file: &Path| -> Vec<Value> {
        let ran = recover(["--json", text(file)]);
        assert_eq!(ran.code, Some(0));
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        report["files"][0]["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|reason| reason["code"].clone())
            .collect()
    };
    assert_eq!(codes(&stays), ["completed"]);
    assert_eq!(codes(&moved), ["completed", "scope-root-mismatch"]);
}

#[test]
fn what_has_changed_around_a_run_is_told_to_who_may_resume_it() {
    let folder = Folder::new();
    let run = |status: &str| {
        let run = format!(
            r#"{{"status":"{status}","scope_root_dir":".superpipelines","plugin_version":"1.2.3","metadata":{{"runtime_tier":"tier_1",
            "preference_files_consulted":{{"user_path":"~/prefs.json","user_hash":null}}}}}}"#
        );
        state(folder.join(format!("w/.superpipelines/temp/p/{status}/pipeline-state.json")), run)
    };
    state(folder.join("w/.claude-plugin/plugin.json"), r#"{"version":"2.0.0"}"#);
    state(folder.join("home/prefs.json"), "{}");
    let home = folder.join("home");
    let codes = |file: &Path, home: &[&str]| -> Vec<String> {
        let ran = recover(["--json", text(file)].into_iter().chain(home.iter().copied()));
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let reasons = report["files"][0]["reasons"].as_array().unwrap().iter();
        reasons.map(|reason| reason["code"].as_str().unwrap().to_owned()).collect()
    };
    let failed = run("failed");
    assert_eq!(
        codes(&failed, &["--home", text(&home)]),
        ["failed", "plugin-version-differs", "preferences-drifted"]
    );
    assert_eq!(codes(&failed, &["--no-user"]), ["failed", "plugin-version-differs", "preferences-unchecked"]);
    assert_eq!(codes(&run("completed"), &["--home", text(&home)]), ["completed"]);
}

/// Where runs lie below a workspace and below a home folder (P4).
const ROOTS: [&str; 12] = [
    "workspace/.superpipelines/temp",
    "workspace/.claude/superpipelines/temp",
    "workspace/.opencode/superpipelines/temp",
    "workspace/.agents/antigravity/superpipelines/temp",
    "workspace/.agents/codex/superpipelines/temp",
    "workspace/.superpipelines/superpipelines/temp",
    "home/.superpipelines/temp",
    "home/.claude/superpipelines/temp",
    "home/.opencode/superpipelines/temp",
    "home/.antigravity/superpipelines/temp",
    "home/.codex/superpipelines/temp",
    "home/.superpipelines/superpipelines/temp",
];

/// A scan's paths relative to the folder, with their actions.
fn scanned(folder: &Folder, ran: &Ran) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let files = report["files"].as_array().unwrap().iter();
    let relative =
        |path: &str| Path::new(path).strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
    files
        .map(|file| (relative(file["path"].as_str().unwrap()), file["action"].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn a_scan_decides_for_1_000_runs_in_every_root_within_a_second_and_stops_at_no_broken_one() {
    let folder = Folder::new();
    let filler = "x".repeat(8_000);
    let mut expected = Vec::new();
    for number in 0..1_000 {
        let (content, action) = match number % 5 {
            0 => (format!(r#"{{"status":"completed","note":"{filler}"}}"#), "skip"),
            1 => (format!(r#"{{"status":"running","note":"{filler}"}}"#), "refuse"),
            2 => (format!(r#"{{"status":"failed","note":"{filler}"}}"#), "stop"),
            3 => (format!("\u{feff}{{\"status\":\"running\",\"note\":\"{filler}\"}}"), "escalate"),
            _ => (format!(r#"{{"status":"running","note":"{filler}"#), "escalate"),
        };
        let name = format!("{}/p{}/run-{number:04}/pipeline-state.json", ROOTS[number % 12], number % 7);
        state(folder.join(&name), content);
        expected.push((name, action.to_owned()));
    }
    let [workspace, home] = ["workspace", "home"].map(|name| folder.join(name));
    let arguments = ["--json", "--scan", text(&workspace), "--home", text(&home)];
    let scan = || {
        let started = Instant::now();
        (recover(arguments), started.elapsed())
    };
    // The first that makes it: the machine does other things too.
    let mut scans = (0..10).map(|_| scan());
    let (ran, took) =
        scans.find(|(_, took)| *took < Duration::from_secs(1)).expect("one of ten within a second");
    println!("1,000 runs in {took:?}");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""));
    let mut found = scanned(&folder, &ran);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[cfg(unix)]
#[test]
fn what_is_no_run_is_left_out_and_what_is_no_file_is_told() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let temp = folder.join("workspace/.superpipelines/temp");
    let run = |name: &str| temp.join("p").join(name).join("pipeline-state.json");
    state(run("run-1"), r#"{"status":"completed"}"#);
    state(run("edit-run-2"), r#"{"status":"running"}"#);
    state(run("run-3").with_file_name("pipeline-state.json.tmp"), "{");
    state(temp.join("README"), "no pipeline");
    state(temp.join("p/README"), "no run");
    state(temp.join("p/run-4/phase/pipeline-state.json"), r#"{"status":"running"}"#);
    state(folder.join("workspace/sub/.claude/superpipelines/temp/p/r/pipeline-state.json"), "{}");
    fs::create_dir_all(run("run-5")).unwrap();
    fs::create_dir_all(run("run-6").parent().unwrap()).unwrap();
    symlink("nowhere", run("run-6")).unwrap();
    symlink("run-1", temp.join("p/run-7")).unwrap();
    symlink("run-8", temp.join("p/run-8")).unwrap();
    let workspace = folder.join("workspace");
    let ran = recover(["--no-user", "--scan", text(&workspace)]);
    let line = |rest: &str, name: &str, reasons: &str| format!("{rest} {}: {reasons}\n", text(&run(name)));
    let completed = "/status: is completed: skip the run or archive it [completed]; choices: skip, archive";
    let lines = [
        line("skip     R3 completed    30m", "run-1", completed),
        line(
            "escalate R5 -              -",
            "run-5",
            "cannot read the state file: it is a folder [unreadable]",
        ),
        line("escalate R5 -              -", "run-6", "there is no such file [missing]"),
        line("skip     R3 completed    30m", "run-7", completed),
    ];
    assert_eq!(ran, Ran { code: Some(3), stdout: lines.concat(), stderr: String::new() });
}

#[test]
fn the_home_folder_is_the_environments_another_or_none() {
    let folder = Folder::new();
    let below = |base: &str| format!("{base}/.claude/superpipelines/temp/p/r/pipeline-state.json");
    for base in ["workspace", "other", "home", "elsewhere"] {
        state(folder.join(below(base)), r#"{"status":"completed"}"#);
    }
    let [workspace, other, home, elsewhere] =
        ["workspace", "other", "home", "elsewhere"].map(|name| folder.join(name));
    let scan = |arguments: &[&str]| {
        let mut command = pipestate();
        command.env("HOME", &home).env("USERPROFILE", &home).args(["recover", "--json"]).args(arguments);
        let ran = finish(start(command), "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        let mut bases: Vec<String> = scanned(&folder, &ran)
            .iter()
            .map(|(path, _)| path.split('/').next().unwrap().to_owned())
            .collect();
        bases.dedup();
        bases
    };
    assert_eq!(scan(&["--scan", text(&workspace)]), ["workspace", "home"]);
    assert_eq!(scan(&["--scan", text(&workspace), text(&other)]), ["workspace", "other", "home"]);
    assert_eq!(scan(&["--scan", text(&workspace), "--home", text(&elsewhere)]), ["workspace", "elsewhere"]);
    assert_eq!(scan(&["--scan", text(&other), "--no-user"]), ["other"]);
    // A workspace that is the home folder has its runs once.
    assert_eq!(scan(&["--scan", text(&home)]), ["home"]);
}

#[test]
fn a_workspace_that_is_not_there_is_an_error_and_one_without_runs_is_not() {
    let folder = Folder::new();
    let ran = recover(["--no-user", "--scan", text(folder.path())]);
    assert_eq!(ran, Ran { code: Some(0), stdout: String::new(), stderr: String::new() });
    let nowhere = folder.join("nowhere");
    let ran = recover(["--no-user", "--scan", text(&nowhere)]);
    let message = format!(
        "pipestate: {}: cannot look for runs below this folder: no such file or directory\n",
        text(&nowhere)
    );
    assert_eq!(ran, Ran { code: Some(3), stdout: String::new(), stderr: message });
}
