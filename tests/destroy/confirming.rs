//! Tokens: once, for ten minutes, for exactly what was listed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::ground::*;
use crate::support::*;

const KILL: &[&str] = &["kill", "#1"];

/// Asserts that a token is refused, and that nothing changes by it but the plan's own folder.
#[track_caller]
fn assert_void(ground: &Ground, arguments: &[&str], token: &str, because: &str) {
    let before = ground.listing();
    let ran = ground.confirm(arguments, token);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains(because) && ran.stderr.ends_with("nothing was removed\n"), "{}", ran.stderr);
    assert_changed(&before, &ground.listing(), &["logs/.plans"]);
}

#[test]
fn a_token_is_used_once() {
    let ground = Ground::with_task();
    let token = ground.token(KILL);
    assert_eq!(ground.confirm(KILL, &token).code, Some(0));
    assert_void(&ground, KILL, &token, "has been used");
    assert_eq!(fs::read_dir(ground.at("logs/.plans")).unwrap().count(), 0);
}

#[test]
fn what_looks_like_no_token_is_none() {
    let ground = Ground::with_task();
    ground.token(KILL);
    let digits = "0".repeat(32);
    for text in
        ["", "kill", "yes", "kill-../../r/1", &format!("kill-{}", "A".repeat(32)), &format!("rm-{digits}")]
    {
        assert_void(&ground, KILL, text, "is no token");
    }
    assert_void(&ground, KILL, &format!("kill-{digits}"), "was never made");
}

#[test]
fn of_many_that_confirm_at_once_one_wins() {
    let ground = Ground::with_task();
    let token = ground.token(KILL);
    let other = ground.token(KILL);
    let children: Vec<_> = (0..8)
        .map(|index| {
            let mut command = ground.program();
            let token = if index % 4 == 3 { &other } else { &token };
            command.args(["kill", "#1", "--lock-timeout", "60000", "--confirm", token]);
            start(command)
        })
        .collect();
    let mut codes: Vec<_> = children.into_iter().map(|child| finish(child, "").code.unwrap()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1, 1, 1, 1, 1, 1, 1]);
    let log = fs::read_to_string(ground.at("logs/r/1/agent-log.md")).unwrap();
    assert_eq!(log.matches("Task #1 killed").count(), 1, "{log}");
}

#[test]
fn a_token_belongs_to_its_call_and_outlives_a_wrong_one() {
    let ground = Ground::with_task();
    ground.task("P-2");
    let token = ground.token(KILL);
    assert_void(&ground, &["kill", "#2"], &token, "the token is for `pipestate kill '#1' --project r`");
    assert_void(&ground, &["kill", "#1", "--remote"], &token, "the token is for");
    assert_void(&ground, &["purge"], &token, "the token is for");
    assert_eq!(ground.confirm(&["kill", "P-1", "--project", "r"], &token).code, Some(0));
}

#[test]
fn a_plan_that_has_changed_in_between_voids_its_token() {
    type Change = (&'static str, fn(&Ground));
    let changes: [Change; 9] = [
        ("worktree", |ground| fs::write(ground.at("r/.worktrees/P-1/a"), "b\n").unwrap()),
        ("worktree", |ground| fs::write(ground.at("r/.worktrees/P-1/new.o"), "").unwrap()),
        ("worktree", |ground| {
            std::os::unix::fs::symlink("/nowhere", ground.at("r/.worktrees/P-1/link")).unwrap();
        }),
        ("worktree", |ground| {
            drop(ground.git("r/.worktrees/P-1", &["commit", "-q", "--allow-empty", "-m", "x"]))
        }),
        ("worktree", |ground| drop(ground.git("r/.worktrees/P-1", &["switch", "-q", "--detach"]))),
        ("is locked", |ground| drop(ground.git("r", &["worktree", "lock", ".worktrees/P-1"]))),
        ("worktree", |ground| fs::remove_dir_all(ground.at("r/.worktrees/P-1")).unwrap()),
        ("remote-branch", |ground| {
            let tree = ground.git("r", &["commit-tree", "-m", "elsewhere", "HEAD^{tree}"]);
            ground
                .git("r", &["push", "-qf", &ground.text("remote.git"), &format!("{tree}:refs/heads/f/P-1")]);
        }),
        ("remote-branch", |ground| drop(ground.git("remote.git", &["branch", "-D", "f/P-1"]))),
    ];
    let kill = ["kill", "#1", "--remote"];
    let ground = Ground::with_task();
    ground.git("r", &["push", "-q", "origin", "f/P-1"]);
    for (because, change) in changes {
        if !ground.at("r/.worktrees/P-1").exists() {
            ground.git("r", &["worktree", "prune"]);
            ground.git("r", &["worktree", "add", "-q", ".worktrees/P-1", "f/P-1"]);
        }
        if ground.git("r", &["worktree", "list", "--porcelain"]).contains("locked") {
            ground.git("r", &["worktree", "unlock", ".worktrees/P-1"]);
        }
        let token = ground.token(&kill);
        change(&ground);
        assert_void(&ground, &kill, &token, because);
    }
    ground.carry_out(&kill);
}

/// The file of the only plan.
fn plan_file(ground: &Ground) -> PathBuf {
    fs::read_dir(ground.at("logs/.plans")).unwrap().next().unwrap().unwrap().path()
}

/// The plan as if it had been made `by` milliseconds earlier, and its token.
fn shift(ground: &Ground, by: i64) -> String {
    let file = plan_file(ground);
    let text = fs::read_to_string(&file).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    let made = plan["made"].as_i64().unwrap();
    let text = text.replacen(&format!("\"made\":{made}"), &format!("\"made\":{}", made - by), 1);
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let token = format!("kill-{}", hex(&Sha256::digest(&text)[..16]));
    fs::remove_file(&file).unwrap();
    fs::write(file.with_file_name(format!("{}.json", hex(&Sha256::digest(&token)[..16]))), text).unwrap();
    token
}

#[test]
fn a_token_is_void_after_ten_minutes_and_when_the_clock_was_set_back() {
    const MINUTE: i64 = 60_000;
    let ground = Ground::with_task();
    ground.token(KILL);
    let token = shift(&ground, 10 * MINUTE + 1);
    assert_void(&ground, KILL, &token, "older than 10 minutes");
    ground.token(KILL);
    let token = shift(&ground, -MINUTE);
    assert_void(&ground, KILL, &token, "the clock has been set back");
    ground.token(KILL);
    let token = shift(&ground, 9 * MINUTE);
    assert_eq!(ground.confirm(KILL, &token).code, Some(0));
}

#[test]
fn a_plan_that_was_edited_or_torn_stands_for_no_token() {
    let ground = Ground::with_task();
    for edit in [|text: String| text.replace("P-1", "P-2"), |text: String| text[..20].to_owned()] {
        let token = ground.token(KILL);
        let file = plan_file(&ground);
        fs::write(&file, edit(fs::read_to_string(&file).unwrap())).unwrap();
        assert_void(&ground, KILL, &token, "has been changed");
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn plans_that_have_expired_are_swept_by_the_next_that_is_confirmed() {
    let ground = Ground::with_task();
    ground.token(KILL);
    age(&plan_file(&ground));
    let token = ground.token(KILL);
    assert_eq!(fs::read_dir(ground.at("logs/.plans")).unwrap().count(), 2, "planning removes nothing");
    ground.confirm(KILL, &token);
    assert_eq!(fs::read_dir(ground.at("logs/.plans")).unwrap().count(), 0);
}

#[test]
fn a_pipe_is_never_a_yes() {
    let ground = Ground::with_task();
    let before = ground.listing();
    for call in [KILL, &["purge"], &["clear-logs"]] {
        let mut command = ground.program();
        command.args(call);
        let ran = finish(start(command), "yes\nContinue\nPurge permanently\n");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("nothing is removed; until "), "{ran:?}");
    }
    assert_changed(&before, &ground.listing(), &["logs/.plans"]);
}

/// Runs the program on a terminal on which `answers` are typed; what was shown there, and the exit code.
#[cfg(target_os = "linux")]
fn on_terminal(ground: &Ground, call: &str, answers: &str) -> (String, Option<i32>) {
    let mut script = Command::new("script");
    let command = format!("{} {call}", env!("CARGO_BIN_EXE_pipestate"));
    script.args(["-qec", &command, "/dev/null"]);
    let ran = finish(start(ground.in_environment(script)), answers);
    (ran.stdout, ran.code)
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_a_person_is_asked_instead() {
    let ground = Ground::with_task();
    let before = ground.listing();
    for (call, answers) in [("kill '#1'", "no\n"), ("kill '#1'", "\n"), ("purge", "Continue\nyes\n")] {
        let (shown, code) = on_terminal(&ground, call, answers);
        assert_eq!(code, Some(1), "{call}: {shown}");
        assert!(shown.contains("cancelled; nothing was removed") && !shown.contains("--confirm"), "{shown}");
        assert_changed(&before, &ground.listing(), &["logs/.plans"]);
        assert_eq!(fs::read_dir(ground.at("logs/.plans")).unwrap().count(), 0, "taken back");
    }
    let question =
        "P-1 (Task #1) will be deleted: worktree and branch. Logs will be preserved. Are you sure?";
    let (shown, code) = on_terminal(&ground, "kill '#1'", "yes\n");
    assert!(code == Some(0) && shown.contains(question) && shown.contains("Task #1 killed"), "{shown}");
    let (shown, code) = on_terminal(&ground, "purge", "Continue\nPurge permanently\n");
    assert!(
        code == Some(0) && shown.contains("Purged permanently: 1 log folder, 1 counter deleted"),
        "{shown}"
    );
    assert!(!ground.at("logs/r").exists());
}
