//! States, names and links that would have something else removed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::ground::*;
use crate::support::*;

const KILL: &[&str] = &["kill", "#1"];

/// The state of task `#1` as it should be, with these values instead.
fn state(ground: &Ground, with: Value) {
    let mut state = json!({
        "taskId": 1,
        "ticket": "P-1",
        "repoPath": ground.text("r"),
        "worktreePath": ground.text("r/.worktrees/P-1"),
        "branch": "f/P-1",
        "currentPhase": 0,
    });
    for (key, value) in with.as_object().unwrap() {
        state[key] = value.clone();
    }
    ground.state(&state);
}

#[test]
fn branch_names_are_data() {
    let ground = Ground::with_task();
    ground.git("r", &["branch", "all"]);
    ground.git("r", &["update-ref", "refs/heads/-f", "HEAD"]);
    ground.git("r", &["update-ref", "refs/heads/--all", "HEAD"]);
    ground.git("r", &["update-ref", "refs/heads/refs/heads/all", "HEAD"]);
    ground.git("r", &["tag", "f/P-1"]);
    let all = ground.branches("r");
    let before = ground.listing();
    // None of these is a branch, whatever git would make of it.
    for name in [
        "*",
        "f/*",
        "HEAD",
        "@",
        "@{-1}",
        "main~0",
        "../heads/all",
        "f",
        "f/P-1^{commit}",
        "refs/tags/f/P-1",
        "a b",
        "all\nmain",
    ] {
        state(&ground, json!({ "branch": name, "worktreePath": null }));
        let done = ground.carry_out(KILL);
        assert_eq!(done["removed"], json!([]), "{name}");
    }
    assert_eq!(ground.branches("r"), all);
    for name in ["-f", "--all", "refs/heads/all"] {
        state(&ground, json!({ "branch": name, "worktreePath": null }));
        let lines = ground.run(KILL).stdout;
        assert!(lines.contains(&format!("  branch {name} of ")), "{lines}");
        ground.carry_out(KILL);
        let left: Vec<String> = all.iter().filter(|branch| *branch != name).cloned().collect();
        assert_eq!(ground.branches("r"), left, "{name}");
        ground.git("r", &["update-ref", &format!("refs/heads/{name}"), "HEAD"]);
    }
    let allowed =
        ["r/.git/refs/heads", "r/.git/logs/refs/heads", "logs/r/1", "logs/.plans", "logs/audit.ndjson"];
    assert_changed(&before, &ground.listing(), &allowed);
}

#[test]
fn a_branch_that_stands_for_another_and_a_default_branch_are_refused() {
    let ground = Ground::with_task();
    ground.git("r", &["symbolic-ref", "refs/heads/alias", "refs/heads/f/P-1"]);
    state(&ground, json!({ "branch": "alias", "worktreePath": null }));
    ground.assert_refused(KILL, "is only another name of a branch");
    state(&ground, json!({ "branch": "main", "worktreePath": null }));
    ground.assert_refused(KILL, "the branch main is checked out at ");
    ground.git("r", &["switch", "-q", "-c", "work"]);
    ground.git("r", &["remote", "set-head", "origin", "main"]);
    ground.assert_refused(KILL, "the branch main is the default of a remote");
}

#[test]
fn worktrees_that_are_not_the_tasks_own_are_refused() {
    let ground = Ground::with_task();
    ground.git(".", &["clone", "-q", &ground.text("remote.git"), "other"]);
    ground.git("other", &["worktree", "add", "-q", "../of-other", "-b", "x"]);
    ground.git("r", &["worktree", "add", "-q", ".worktrees/P-1/inner", "-b", "inner"]);
    fs::create_dir_all(ground.at("plain/folder")).unwrap();
    symlink(ground.at("of-other"), ground.at("link")).unwrap();
    symlink(ground.at("r/.worktrees/P-1"), ground.at("link-to-own")).unwrap();
    fs::write(ground.at("file"), "").unwrap();
    let path = |name: &str| json!({ "worktreePath": ground.text(name) });
    for (with, because) in [
        (path("r"), "is the main worktree"),
        (path("r/.git"), "is no worktree of"),
        (path("r/.worktrees"), "is no worktree of"),
        (path("other"), "is no worktree of"),
        (path("of-other"), "is no worktree of"),
        (path("plain/folder"), "is no worktree of"),
        (path("home"), "is no worktree of"),
        (path("logs"), "is no worktree of"),
        (path("link"), "is a link"),
        (path("link-to-own"), "is a link"),
        (path("file"), "is no folder"),
        (json!({ "worktreePath": "/" }), "is no worktree of"),
        (json!({ "worktreePath": ground.text("r") + "/.worktrees/../../other" }), "is no worktree of"),
        (json!({ "repoPath": ground.text("other") }), "is no worktree of"),
        (json!({ "repoPath": null }), "its state records no repoPath"),
        (json!({ "repoPath": "r" }), "a relative repoPath"),
        (json!({ "repoPath": ground.text("plain") }), "is no repository"),
        (json!({ "repoPath": ground.text("gone") }), "is not there, and its worktree is"),
        (json!({}), "inner lies in the worktree"),
    ] {
        state(&ground, with);
        ground.assert_refused(KILL, because);
    }
    ground.git("r", &["worktree", "remove", ".worktrees/P-1/inner"]);

    // Another repository has taken the place of the one that git has listed there.
    fs::rename(ground.at("r/.worktrees/P-1"), ground.at("aside")).unwrap();
    ground.git(".", &["clone", "-q", &ground.text("remote.git"), "r/.worktrees/P-1"]);
    ground.assert_refused(KILL, "P-1 belongs to another repository");
    fs::remove_dir_all(ground.at("r/.worktrees/P-1")).unwrap();
    fs::create_dir(ground.at("r/.worktrees/P-1")).unwrap();
    ground.assert_refused(KILL, "is no worktree: ");
    fs::remove_dir(ground.at("r/.worktrees/P-1")).unwrap();
    fs::rename(ground.at("aside"), ground.at("r/.worktrees/P-1")).unwrap();
    ground.carry_out(KILL);
}

#[test]
fn the_current_folder_and_the_logs_are_not_removed_under_the_caller() {
    let ground = Ground::with_task();
    let inside = ground.at("r/.worktrees/P-1/sub");
    fs::create_dir(&inside).unwrap();
    let run = |logs: &Path, folder: &Path| {
        let mut command = ground.program();
        command.args(KILL).current_dir(folder).env("PIPESTATE_LOGS_DIR", logs);
        finish(start(command), "")
    };
    let ran = run(&ground.at("logs"), &inside);
    assert!(ran.code == Some(1) && ran.stderr.contains("the current folder lies in the worktree"), "{ran:?}");
    fs::rename(ground.at("logs"), inside.join("logs")).unwrap();
    let ran = run(&inside.join("logs"), &ground.path());
    assert!(ran.code == Some(1) && ran.stderr.contains("logs lies in the worktree"), "{ran:?}");
    assert!(inside.join("logs/r/1/agent-state.json").exists() && !inside.join("logs/.plans").exists());
}

#[test]
fn links_in_a_worktree_are_removed_and_not_followed() {
    let ground = Ground::with_task();
    fs::create_dir(ground.at("precious")).unwrap();
    fs::write(ground.at("precious/file"), "x").unwrap();
    symlink(ground.at("precious"), ground.at("r/.worktrees/P-1/link")).unwrap();
    symlink("/", ground.at("r/.worktrees/P-1/root")).unwrap();
    fs::hard_link(ground.at("precious/file"), ground.at("r/.worktrees/P-1/hard")).unwrap();
    let before = ground.listing();
    ground.carry_out(KILL);
    assert_changed(&before, &ground.listing(), OF_KILL);
}

#[test]
fn a_log_that_is_a_link_out_gets_no_line() {
    let ground = Ground::with_task();
    fs::write(ground.at("precious"), "x").unwrap();
    fs::remove_file(ground.at("logs/r/1/agent-log.md")).unwrap();
    symlink(ground.at("precious"), ground.at("logs/r/1/agent-log.md")).unwrap();
    let before = ground.listing();
    let token = ground.token(KILL);
    let ran = ground.confirm(KILL, &token);
    assert!(
        ran.code == Some(0) && ran.stderr.contains("is a link that leads out of the logs root"),
        "{ran:?}"
    );
    assert_changed(&before, &ground.listing(), OF_KILL);
    assert_eq!(fs::read_to_string(ground.at("precious")).unwrap(), "x");
}

#[test]
fn projects_and_folders_stay_below_the_logs_root() {
    let ground = Ground::with_task();
    let outside = ground.at("outside/1");
    fs::create_dir_all(&outside).unwrap();
    for name in ["agent-state.json", "agent-log.md"] {
        fs::write(outside.join(name), "{}").unwrap();
        age(&outside.join(name));
    }
    symlink(ground.at("outside"), ground.at("logs/linked")).unwrap();
    symlink(&outside, ground.at("logs/r/2")).unwrap();
    fs::create_dir(ground.at("logs/r/3")).unwrap();
    symlink(outside.join("agent-state.json"), ground.at("logs/r/3/agent-state.json")).unwrap();
    symlink(ground.at("logs/r/1"), ground.at("logs/r/4")).unwrap();
    for project in ["..", "../r", "a/b", "/", ".", "-x", ".plans", ""] {
        for command in ["clear-logs", "purge"] {
            let ran = ground.run(&[command, &format!("--project={project}")]);
            assert_eq!(ran.code, Some(64), "{project:?}: {ran:?}");
        }
        let ran = ground.run(&["kill", &format!("--project={project}"), "1"]);
        assert_eq!(ran.code, Some(64), "{project:?}: {ran:?}");
    }
    let ran = ground.run(&["purge", "--project", "linked"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("leads out of"), "{ran:?}");
    let before = ground.listing();
    let plan = ground.plan(&["purge"]);
    let reasons: Vec<String> = plan["kept"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kept| {
            let path = Path::new(kept["path"].as_str().unwrap()).strip_prefix(ground.at("logs")).unwrap();
            format!("{}: {}", path.display(), kept["reason"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        reasons,
        [
            "linked: it is a link, which is not followed",
            "r/2: it is no folder below the logs root",
            "r/3: its state is a link that leads out of the logs root",
            &format!("r/4: {} is a link, which is not followed", ground.text("logs/r/4")),
            "r/.counter: tasks of its project are kept",
        ]
        .map(str::to_owned)
    );
    ground.carry_out(&["clear-logs"]);
    let files = ["logs/r/1/agent-state.json", "logs/r/1/agent-log.md", "logs/.plans", "logs/audit.ndjson"];
    assert_changed(&before, &ground.listing(), &files);
    ground.carry_out(&["purge"]);
    assert_changed(&before, &ground.listing(), &["logs/r/1", "logs/.plans", "logs/audit.ndjson"]);
}

#[test]
fn the_folder_of_the_plans_and_the_audit_are_no_links() {
    let ground = Ground::with_task();
    fs::create_dir(ground.at("elsewhere")).unwrap();
    symlink(ground.at("elsewhere"), ground.at("logs/.plans")).unwrap();
    ground.assert_refused(KILL, "it is a link, and plans are kept in a folder");
    fs::remove_file(ground.at("logs/.plans")).unwrap();
    symlink(ground.at("elsewhere/audit"), ground.at("logs/audit.ndjson")).unwrap();
    let token = ground.token(KILL);
    let before = ground.listing();
    let ran = ground.confirm(KILL, &token);
    assert!(ran.code == Some(1) && ran.stderr.contains("the audit is a link"), "{ran:?}");
    assert_changed(&before, &ground.listing(), &["logs/.plans"]);
}

/// Something that is mounted in a worktree is not the worktree's.
#[cfg(target_os = "linux")]
#[test]
fn what_is_mounted_in_a_worktree_keeps_it() {
    let ground = Ground::with_task();
    let inside = ground.at("r/.worktrees/P-1/sub dir");
    fs::create_dir(&inside).unwrap();
    fs::create_dir(ground.at("precious")).unwrap();
    fs::write(ground.at("precious/file"), "x").unwrap();
    let before = ground.listing();
    // In a mount namespace of its own, which goes with the shell.
    let script = r#"mount --bind "$1" "$2" && shift 2 && exec "$@""#;
    let mounted = |program: &[&str]| {
        let mut command = std::process::Command::new("unshare");
        command.args(["-m", "sh", "-c", script, "sh", &ground.text("precious")]).arg(&inside).args(program);
        finish(start(ground.in_environment(command)), "")
    };
    if mounted(&["true"]).code != Some(0) {
        println!("skipped: nothing can be mounted here");
        return;
    }
    let program = env!("CARGO_BIN_EXE_pipestate");
    let ran = mounted(&[program, "kill", "#1"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("another file system is mounted at "), "{ran:?}");
    // Mounted after the plan was made.
    let token = ground.token(KILL);
    let ran = mounted(&[program, "kill", "#1", "--confirm", &token]);
    assert!(ran.code == Some(1) && ran.stderr.contains("another file system is mounted at "), "{ran:?}");
    assert_changed(&before, &ground.listing(), &["logs/.plans"]);
}
