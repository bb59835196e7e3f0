//! Purge: everything, asked twice.

use std::fs;

use serde_json::Value;

use crate::ground::*;

#[test]
fn purge_asks_twice_and_then_removes_everything() {
    let ground = Ground::with_task();
    ground.task("P-2");
    ground.new_task(&["--project", "q", "T"]);
    ground.git("r", &["push", "-q", "origin", "f/P-1", "f/P-2"]);
    let before = ground.listing();
    let first = ground.token(&["purge"]);
    let ran = ground.run(&["purge", "--json", "--confirm", &first]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let question: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&question["done"], &question["question"]), (&false.into(), &"Purge permanently".into()));
    assert_changed(&before, &ground.listing(), &["logs/.plans"]);
    let second = question["token"].as_str().unwrap();
    assert!(second.starts_with("purge-permanently-"), "{second}");
    assert_eq!(ground.confirm(&["purge"], &first).code, Some(1), "the first is used");
    let ran = ground.confirm(&["purge"], second);
    assert_eq!(
        ran.stdout.lines().last(),
        Some("Purged permanently: 3 log folders, 2 counters, 2 worktrees, 2 branches deleted"),
        "{ran:?}"
    );
    assert_eq!(ground.branches("r"), ["main"]);
    assert_eq!(ground.branches("remote.git"), ["f/P-1", "f/P-2", "main"], "not asked for");
    let mut left: Vec<_> =
        fs::read_dir(ground.at("logs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".plans", "audit.ndjson"]);
    let allowed = [OF_KILL, &["r/.worktrees", "logs/r", "logs/q"]].concat();
    assert_changed(&before, &ground.listing(), &allowed);
    assert_eq!(ground.confirm(&["purge"], second).code, Some(1), "and so is the second");
}

#[test]
fn a_task_that_is_made_in_between_voids_both_tokens() {
    let ground = Ground::with_task();
    let first = ground.token(&["purge"]);
    ground.new_task(&["--project", "r", "T"]);
    let ran = ground.confirm(&["purge"], &first);
    assert!(ran.code == Some(1) && ran.stderr.contains("void"), "{ran:?}");
    let first = ground.token(&["purge"]);
    let ran = ground.run(&["purge", "--json", "--confirm", &first]);
    let question: Value = serde_json::from_str(&ran.stdout).unwrap();
    ground.new_task(&["--project", "r", "T"]);
    let ran = ground.confirm(&["purge"], question["token"].as_str().unwrap());
    assert!(ran.code == Some(1) && ran.stderr.contains("void"), "{ran:?}");
    assert!(ground.at("logs/r/1/agent-state.json").exists() && ground.at("r/.worktrees/P-1").exists());
}

#[test]
fn what_must_not_go_is_kept_whole_with_its_counter() {
    let ground = Ground::with_task();
    for ticket in ["P-2", "P-3", "P-4", "P-5"] {
        ground.task(ticket);
    }
    ground.work_on(2);
    ground.git("r", &["worktree", "lock", ".worktrees/P-3"]);
    fs::write(ground.at("logs/r/4/agent-state.json"), "{").unwrap();
    ground.git("r", &["branch", "-q", "-m", "f/P-5", "f/renamed"]);
    let before = ground.listing();
    let plan = ground.plan(&["purge"]);
    let reasons: Vec<&str> =
        plan["kept"].as_array().unwrap().iter().map(|kept| kept["reason"].as_str().unwrap()).collect();
    let begin =
        ["its run is at work (R1)", "the worktree ", "its state is corrupt", "tasks of its project are kept"];
    assert_eq!(reasons.len(), begin.len(), "{reasons:#?}");
    assert!(reasons.iter().zip(begin).all(|(reason, begin)| reason.starts_with(begin)), "{reasons:#?}");
    ground.carry_out(&["purge"]);
    let gone = ["logs/r/1", "logs/r/5", "r/.worktrees/P-5", "r/.git/worktrees", "r/.git/refs/heads/f/P-1"];
    let allowed = [
        &gone[..],
        &["r/.git/logs/refs/heads/f/P-1", "r/.worktrees/P-1", "logs/.plans", "logs/audit.ndjson"],
    ];
    assert_changed(&before, &ground.listing(), &allowed.concat());
    assert!(!ground.at("logs/r/1").exists() && !ground.at("r/.worktrees/P-5").exists());
    assert!(ground.branches("r").contains(&"f/renamed".to_owned()), "its state does not name it");

    let done = ground.carry_out(&["purge", "--include-active"]);
    assert!(done["line"].as_str().unwrap().contains("1 log folder"), "{done}");
    assert!(!ground.at("logs/r/2").exists() && ground.at("logs/r/3").exists());
}

#[test]
fn a_task_whose_state_is_locked_is_kept() {
    let ground = Ground::with_task();
    let sleeper = crate::support::Sleeper::new();
    let lock = ground.at("logs/r/1/agent-state.json.lock");
    fs::write(&lock, sleeper.pid().to_string()).unwrap();
    let plan = ground.plan(&["purge"]);
    assert!(plan["token"].is_null(), "{plan}");
    let reason = plan["kept"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("its state is locked: "), "{reason}");
    drop(sleeper);
    ground.carry_out(&["purge"]);
    assert!(!ground.at("logs/r").exists());
}

#[test]
fn files_that_are_nobodys_stay_with_their_folder() {
    let ground = Ground::with_task();
    fs::write(ground.at("logs/r/notes.txt"), "x").unwrap();
    let before = ground.listing();
    let plan = ground.plan(&["purge"]);
    assert_eq!(plan["kept"][0]["reason"], "other files are in it: notes.txt");
    ground.carry_out(&["purge"]);
    let after = ground.listing();
    assert_changed(&before, &after, &[OF_KILL, &["r/.worktrees", "logs/r/1", "logs/r/.counter"]].concat());
    assert!(after.contains_key("logs/r/notes.txt") && !after.contains_key("logs/r/.counter"));
}

#[test]
fn what_tells_where_the_rest_is_stays_with_what_cannot_be_removed() {
    let ground = Ground::with_task();
    ground.task("P-2");
    let token = ground.token(&["purge"]);
    let ran = ground.run(&["purge", "--json", "--confirm", &token]);
    let question: Value = serde_json::from_str(&ran.stdout).unwrap();
    fs::write(ground.at("r/.git/refs/heads/f/P-1.lock"), "").unwrap();
    let ran = ground.confirm(&["purge"], question["token"].as_str().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let left: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("left: ")).collect();
    assert_eq!(left.len(), 4, "branch, logs, counter, folder: {left:#?}");
    assert!(ground.at("logs/r/1/agent-state.json").exists() && ground.at("logs/r/.counter").exists());
    assert!(!ground.at("logs/r/2").exists() && !ground.at("r/.worktrees/P-2").exists());
    fs::remove_file(ground.at("r/.git/refs/heads/f/P-1.lock")).unwrap();
    ground.carry_out(&["purge"]);
    assert!(!ground.at("logs/r").exists());
}
