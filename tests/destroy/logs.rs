//! Clear-logs: two files of every run, and never a counter.

use std::fs;

use crate::ground::*;

#[test]
fn logs_and_states_go_and_all_else_stays() {
    let ground = Ground::with_task();
    ground.task("P-2");
    ground.new_task(&["--project", "q", "T"]);
    // As older tools named the folders of their runs.
    fs::create_dir(ground.at("logs/q/PROJ-9")).unwrap();
    fs::write(ground.at("logs/q/PROJ-9/agent-log.md"), "x").unwrap();
    fs::write(ground.at("logs/r/1/notes.txt"), "x").unwrap();
    fs::write(ground.at("logs/agent-log.md"), "of nobody").unwrap();
    let before = ground.listing();
    let done = ground.carry_out(&["clear-logs"]);
    assert_eq!(done["line"], "7 files deleted; the counters stay");
    let after = ground.listing();
    let [a, b, c, d] = ["logs/r/1", "logs/r/2", "logs/q/1", "logs/q/PROJ-9"];
    let allowed: Vec<String> = [a, b, c, d]
        .iter()
        .flat_map(|run| [format!("{run}/agent-log.md"), format!("{run}/agent-state.json")])
        .collect();
    let allowed: Vec<&str> =
        allowed.iter().map(String::as_str).chain(["logs/.plans", "logs/audit.ndjson"]).collect();
    assert_changed(&before, &after, &allowed);
    let files = |name: &str| after.keys().filter(|path| path.ends_with(name)).count();
    assert_eq!((files("agent-state.json"), files("agent-log.md")), (0, 1), "{after:#?}");

    assert_eq!(ground.new_task(&["--project", "r", "T"]), 3, "numbers go on");
    fs::remove_file(ground.at("logs/r/.counter")).unwrap();
    assert_eq!(ground.new_task(&["--project", "r", "T"]), 4, "also by the folders alone");
    let ran = ground.run(&["clear-logs", "--project", "q"]);
    assert_eq!(ran.stdout, "there is nothing to remove\n");
}

#[test]
fn runs_that_are_at_work_keep_theirs_unless_they_are_asked_for() {
    let ground = Ground::with_task();
    ground.task("P-2");
    ground.work_on(2);
    let before = ground.listing();
    ground.carry_out(&["clear-logs"]);
    let of_run = ["logs/r/1/agent-state.json", "logs/r/1/agent-log.md", "logs/.plans", "logs/audit.ndjson"];
    assert_changed(&before, &ground.listing(), &of_run);
    assert!(!ground.at("logs/r/1/agent-state.json").exists());
    let done = ground.carry_out(&["clear-logs", "--include-active", "--project", "r"]);
    assert_eq!(done["line"], "2 files deleted; the counters stay");
}

#[test]
fn a_link_is_removed_and_what_it_leads_to_is_not_and_other_things_of_that_name_stay() {
    let ground = Ground::with_task();
    fs::write(ground.at("precious"), "x").unwrap();
    fs::remove_file(ground.at("logs/r/1/agent-log.md")).unwrap();
    std::os::unix::fs::symlink(ground.at("precious"), ground.at("logs/r/1/agent-log.md")).unwrap();
    fs::create_dir_all(ground.at("logs/r/2/agent-log.md/deep")).unwrap();
    let before = ground.listing();
    ground.carry_out(&["clear-logs"]);
    let files = ["logs/r/1/agent-state.json", "logs/r/1/agent-log.md", "logs/.plans", "logs/audit.ndjson"];
    assert_changed(&before, &ground.listing(), &files);
    assert!(ground.at("logs/r/1/agent-log.md").symlink_metadata().is_err());
}

#[test]
fn a_log_that_was_written_to_since_voids_the_token() {
    let ground = Ground::with_task();
    let token = ground.token(&["clear-logs"]);
    let log = ground.at("logs/r/1/agent-log.md");
    fs::write(&log, fs::read_to_string(&log).unwrap() + "- more\n").unwrap();
    let ran = ground.confirm(&["clear-logs"], &token);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("has changed: log-file ") && log.exists(), "{ran:?}");
}

#[test]
fn a_state_whose_lock_is_held_is_left_and_told() {
    let ground = Ground::with_task();
    let sleeper = crate::support::Sleeper::new();
    fs::write(ground.at("logs/r/1/agent-state.json.lock"), sleeper.pid().to_string()).unwrap();
    let token = ground.token(&["clear-logs"]);
    let ran = ground.confirm(&["clear-logs", "--lock-timeout", "0"], &token);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("left: file ") && ran.stdout.contains("still held"), "{ran:?}");
    assert!(ground.at("logs/r/1/agent-state.json").exists() && ground.at("logs/r/1/agent-log.md").exists());
}
