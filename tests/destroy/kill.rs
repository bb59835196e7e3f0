//! Kill: worktree and branch, and the remote branch only when asked.

use std::fs;

use serde_json::{Value, json};

use crate::ground::*;

#[test]
fn a_plan_shows_what_would_be_lost_and_writes_nothing_but_itself() {
    let ground = Ground::with_task();
    let worktree = ground.at("r/.worktrees/P-1");
    ground.git("r/.worktrees/P-1", &["push", "-q", "origin", "f/P-1"]);
    fs::write(worktree.join("b"), "b\n").unwrap();
    ground.git("r/.worktrees/P-1", &["add", "b"]);
    ground.git("r/.worktrees/P-1", &["commit", "-qm", "second\tone"]);
    ground.git("r/.worktrees/P-1", &["commit", "-q", "--allow-empty", "-m", "third"]);
    let tip = ground.git("r", &["rev-parse", "f/P-1"]);
    fs::write(worktree.join("a"), "dirty\n").unwrap();
    fs::write(worktree.join("new file"), "12345").unwrap();
    fs::write(worktree.join("x.o"), "o").unwrap();
    ground.git("r/.worktrees/P-1", &["init", "-q", "clone"]);
    let before = ground.listing();

    let plan = ground.plan(&["kill", "P-1", "--remote"]);
    let [tree, remote, branch] = &plan["groups"][0]["items"].as_array().unwrap()[..] else {
        panic!("{plan}")
    };
    assert_eq!(tree["path"], ground.text("r/.worktrees/P-1"));
    assert_eq!(
        tree["uncommitted"],
        json!({ "count": 3, "more": false, "names": ["a", "clone/", "new file"] })
    );
    assert_eq!(tree["ignored"]["names"], json!(["x.o"]));
    assert_eq!(tree["repositories"]["names"], json!(["clone"]));
    assert_eq!((&remote["remote"], &remote["name"]), (&json!("origin"), &json!("f/P-1")));
    assert_eq!((&remote["isFetched"], &remote["lost"]["count"]), (&json!(true), &json!(0)), "it is on main");
    assert_eq!((&branch["name"], &branch["oid"]), (&json!("f/P-1"), &json!(tip)));
    assert_eq!(branch["lost"]["count"], 3 - 1, "the first one is on main");
    let named = branch["lost"]["named"][1].as_str().unwrap();
    assert!(named.ends_with(" second\tone"), "{named}");

    let after = ground.listing();
    let plans: Vec<String> = changes(&before, &after);
    assert_eq!(plans.len(), 2, "{plans:?}");
    assert!(after[&plans[1]].starts_with("100600 "), "{plans:?}");

    let ran = ground.run(&["kill", "P-1", "--remote"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines.contains(&"    3 uncommitted files would be lost: a, clone/, new file"), "{}", ran.stdout);
    assert!(
        lines.iter().any(|line| line.starts_with("    2 unpushed commits would be lost: ")),
        "{}",
        ran.stdout
    );
    let last = lines.last().unwrap();
    assert!(last.starts_with("pipestate kill '#1' --project r --remote --confirm kill-"), "{last}");
}

#[test]
fn confirmed_it_removes_worktree_and_branch_and_says_so_everywhere() {
    let ground = Ground::with_task();
    ground.task("P-2");
    fs::write(ground.at("r/.worktrees/P-1/a"), "dirty\n").unwrap();
    ground.git("r", &["push", "-q", "origin", "f/P-1"]);
    let before = ground.listing();
    let token = ground.token(&["kill", "#1"]);
    let ran = ground.confirm(&["kill", "1"], &token);
    let line = format!("Task #1 killed (logs preserved at {})", ground.text("logs/r/1"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.stdout.lines().last(), Some(&*line));
    let after = ground.listing();
    assert_changed(&before, &after, OF_KILL);
    assert!(
        after.keys().all(|name| !name.contains("r/.worktrees/P-1") && !name.contains("trash")),
        "{after:#?}"
    );
    assert_eq!(ground.branches("r"), ["f/P-2", "main"]);
    assert_eq!(ground.branches("remote.git"), ["f/P-1", "main"]);
    assert!(!ground.git("r", &["worktree", "list"]).contains("P-1"));
    let log = fs::read_to_string(ground.at("logs/r/1/agent-log.md")).unwrap();
    assert!(log.lines().last().unwrap().ends_with(&line), "{log}");

    let audit = fs::read_to_string(ground.at("logs/audit.ndjson")).unwrap();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [started, done] = &lines[..] else { panic!("{audit}") };
    assert_eq!((&started["result"], &done["result"]), (&json!("started"), &json!("done")));
    assert_eq!((&done["token"], &done["request"]["task"]), (&json!(token), &json!("#1")));
    assert_eq!(done["who"]["program"], "pipestate kill");
    assert_eq!(done["removed"]["names"].as_array().unwrap().len(), 2);
}

#[test]
fn the_remote_branch_goes_when_it_is_asked_for_and_never_the_recorded_upstream() {
    let ground = Ground::with_task();
    ground.git("r", &["push", "-q", "origin", "f/P-1"]);
    // As `git switch -c f/P-1 origin/main` leaves it.
    ground.git("r", &["branch", "-q", "--set-upstream-to=origin/main", "f/P-1"]);
    // Somebody else has pushed to it since.
    let pushed = ground.git("remote.git", &["commit-tree", "-p", "f/P-1", "-m", "of others", "HEAD^{tree}"]);
    ground.git("remote.git", &["update-ref", "refs/heads/f/P-1", &pushed]);
    let shown = ground.run(&["kill", "#1", "--remote"]).stdout;
    assert!(shown.contains("    commits would be lost that were never fetched from there\n"), "{shown}");
    let before = ground.listing();
    ground.carry_out(&["kill", "#1", "--remote"]);
    assert_changed(&before, &ground.listing(), &[OF_KILL, OF_KILL_REMOTE].concat());
    assert_eq!(
        (ground.branches("r"), ground.branches("remote.git")),
        (vec!["main".into()], vec!["main".into()])
    );
    assert!(!fs::read_to_string(ground.at("r/.git/config")).unwrap().contains("f/P-1"));
}

#[test]
fn several_repositories_are_cleared_each() {
    let ground = Ground::new();
    ground.git(".", &["clone", "-q", "--bare", "r", "of-s.git"]);
    ground.git(".", &["clone", "-q", &ground.text("of-s.git"), "s"]);
    for repository in ["r", "s"] {
        ground.git(repository, &["worktree", "add", "-q", "w", "-b", "x"]);
        ground.git(repository, &["push", "-q", "origin", "x"]);
    }
    let (r, s) = (ground.text("r"), ground.text("s"));
    let pair = ["--worktree", "w", "--branch", "x"];
    ground.new_task(&[&["--project", "p", "--repo", &r], &pair[..], &["--repo", &s], &pair, &["T"]].concat());
    let done = ground.carry_out(&["kill", "T", "--remote"]);
    assert_eq!(done["removed"].as_array().unwrap().len(), 6, "{done}");
    for repository in ["r", "s", "remote.git", "of-s.git"] {
        assert_eq!(ground.branches(repository), ["main"], "{repository}");
    }
    assert!(!ground.at("r/w").exists() && !ground.at("s/w").exists());
}

#[test]
fn a_worktree_that_git_lists_by_another_spelling_is_killed_as_well() {
    let ground = Ground::with_task();
    fs::rename(ground.at("r"), ground.at("moved")).unwrap();
    std::os::unix::fs::symlink(ground.at("moved"), ground.at("r")).unwrap();
    let before = ground.listing();
    ground.carry_out(&["kill", "#1"]);
    let allowed: Vec<String> = OF_KILL.iter().map(|path| path.replacen("r/", "moved/", 1)).collect();
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).chain(["logs/r/1/agent-log.md"]).collect();
    assert_changed(&before, &ground.listing(), &allowed);
    assert_eq!((ground.branches("r"), ground.at("r/.git/worktrees").exists()), (vec!["main".into()], false));
}

#[test]
fn a_missing_worktree_is_only_forgotten() {
    let ground = Ground::with_task();
    fs::remove_dir_all(ground.at("r/.worktrees/P-1")).unwrap();
    let plan = ground.plan(&["kill", "#1"]);
    assert_eq!(plan["groups"][0]["items"][0]["exists"], false);
    ground.carry_out(&["kill", "#1"]);
    assert_eq!((ground.branches("r"), ground.at("r/.git/worktrees").exists()), (vec!["main".into()], false));
    // Nothing is left to remove, and that is told.
    let again = ground.plan(&["kill", "#1"]);
    assert_eq!(again["groups"][0]["items"], json!([]));
    assert_eq!(again["groups"][0]["notes"].as_array().unwrap().len(), 3);

    let ground = Ground::with_task();
    ground.git("r", &["worktree", "lock", ".worktrees/P-1"]);
    fs::remove_dir_all(ground.at("r/.worktrees/P-1")).unwrap();
    ground.assert_refused(&["kill", "#1"], "P-1 is locked; `git -C ");
    fs::rename(ground.at("r"), ground.at("moved")).unwrap();
    let plan = ground.plan(&["kill", "#1"]);
    assert_eq!(plan["groups"][0]["items"], json!([]), "no repository, no worktree: nothing to remove");
}

#[test]
fn a_locked_worktree_and_a_branch_that_is_checked_out_elsewhere_are_refused() {
    let ground = Ground::with_task();
    ground.git("r", &["worktree", "lock", "--reason", "on a stick", ".worktrees/P-1"]);
    ground.assert_refused(&["kill", "#1"], "P-1 is locked: on a stick; `git -C ");
    ground.git("r", &["worktree", "unlock", ".worktrees/P-1"]);
    ground.git("r/.worktrees/P-1", &["switch", "-q", "--detach"]);
    ground.git("r", &["switch", "-q", "f/P-1"]);
    ground.assert_refused(&["kill", "#1"], "the branch f/P-1 is checked out at ");
    ground.git("r", &["switch", "-q", "main"]);
    ground.git("r/.worktrees/P-1", &["commit", "-q", "--allow-empty", "-m", "on no branch"]);
    let plan = ground.plan(&["kill", "#1"]);
    assert_eq!(plan["groups"][0]["items"][0]["lost"]["count"], 1, "{plan}");
    ground.carry_out(&["kill", "#1"]);
}

#[test]
fn a_run_that_shares_the_worktree_and_is_at_work_keeps_it() {
    let ground = Ground::with_task();
    let again = ["--repo", &ground.text("r"), "--worktree", ".worktrees/P-1", "--branch", "f/P-1", "P-1b"];
    assert_eq!(ground.new_task(&again), 2);
    let plan = ground.plan(&["kill", "#1"]);
    assert!(plan["groups"][0]["notes"][1].as_str().unwrap().ends_with("is also that of r #2"), "{plan}");
    ground.work_on(2);
    ground.assert_refused(&["kill", "#1"], "is also that of r #2, whose run is at work");
    ground.carry_out(&["kill", "#2"]);
}

#[test]
fn a_partial_failure_says_what_is_done_and_left_and_a_new_plan_finishes() {
    let ground = Ground::with_task();
    let before = ground.listing();
    let token = ground.token(&["kill", "#1"]);
    // Another git is at work on the branch.
    fs::write(ground.at("r/.git/refs/heads/f/P-1.lock"), "").unwrap();
    let ran = ground.run(&["kill", "#1", "--json", "--confirm", &token]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let error: Value = serde_json::from_str(&ran.stdout).unwrap();
    let error = &error["error"];
    assert_eq!(error["code"], "ERR_PIPESTATE_IO");
    let list = |key: &str| {
        error[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(list("removed"), [format!("worktree {}", ground.text("r/.worktrees/P-1"))]);
    let [left] = list("left")[..] else { panic!("{error}") };
    assert!(left.starts_with("branch f/P-1 of ") && left.contains("git says: "), "{left}");
    let log = fs::read_to_string(ground.at("logs/r/1/agent-log.md")).unwrap();
    assert!(!log.contains("killed"), "{log}");
    let audit = fs::read_to_string(ground.at("logs/audit.ndjson")).unwrap();
    assert!(audit.lines().last().unwrap().contains(r#""result":"partial""#), "{audit}");

    fs::remove_file(ground.at("r/.git/refs/heads/f/P-1.lock")).unwrap();
    ground.carry_out(&["kill", "#1"]);
    assert_eq!(ground.branches("r"), ["main"]);
    assert_changed(&before, &ground.listing(), OF_KILL);
}

#[test]
fn a_state_that_does_not_parse_or_is_missing_names_nothing_to_kill() {
    let ground = Ground::with_task();
    let state = ground.at("logs/r/1/agent-state.json");
    fs::write(&state, "{").unwrap();
    let before = ground.listing();
    let ran = ground.run(&["kill", "#1"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_changed(&before, &ground.listing(), &[]);
    fs::remove_file(&state).unwrap();
    ground.assert_refused(&["kill", "#1"], "it has no state");
    let unknown = ground.run(&["kill", "#7"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
}

#[test]
fn hooks_and_the_environment_of_another_git_have_no_part_in_it() {
    let ground = Ground::with_task();
    ground.git("r", &["push", "-q", "origin", "f/P-1"]);
    fs::create_dir_all(ground.at("r/.git/hooks")).unwrap();
    for hook in ["reference-transaction", "pre-push", "post-checkout", "update"] {
        let file = ground.at("r/.git/hooks").join(hook);
        fs::write(&file, format!("#!/bin/sh\ntouch {}\n", ground.text("hook-ran"))).unwrap();
        std::process::Command::new("chmod").arg("+x").arg(&file).status().unwrap();
    }
    let before = ground.listing();
    let token = ground.token(&["kill", "#1", "--remote"]);
    let mut command = ground.program();
    command.args(["kill", "#1", "--remote", "--confirm", &token]);
    command.env("GIT_DIR", ground.at("remote.git")).env("GIT_WORK_TREE", ground.at("home"));
    command.env("GIT_CONFIG_PARAMETERS", "'core.hooksPath'='/nowhere'");
    let ran = crate::support::finish(crate::support::start(command), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_changed(&before, &ground.listing(), &[OF_KILL, OF_KILL_REMOTE].concat());
    assert_eq!(ground.branches("r"), ["main"]);
}
