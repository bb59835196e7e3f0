//! `pipestate list`: every run and task of the known roots, newest first.

#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::*;

const NOW: &str = "2026-07-01T12:00:00Z";

fn state(folder: &Folder, name: &str, content: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = fs::File::create(&path).unwrap();
    fs::write(&path, content).unwrap();
    // The times in the documents are the newest.
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
}

fn list(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut command = pipestate();
    command.current_dir(folder.path()).env("HOME", folder.join("home")).env_remove("PIPESTATE_LOGS_DIR");
    command.args(["list", "--now", NOW]).args(arguments);
    finish(start(command), "")
}

fn with_runs() -> Folder {
    let folder = Folder::new();
    let at = |time: &str| format!("\"updated_at\":\"2026-07-01T{time}:00Z\"");
    state(
        &folder,
        "w/.superpipelines/temp/docs/r1/pipeline-state.json",
        &format!(r#"{{"pipeline_name":"docs","run_id":"r1","status":"running",{}}}"#, at("11:50")),
    );
    state(
        &folder,
        "w/.claude/superpipelines/temp/api/r2/pipeline-state.json",
        &format!(r#"{{"pipeline_name":"api","run_id":"r2","status":"completed",{}}}"#, at("09:00")),
    );
    state(
        &folder,
        "home/.claude/logs/multi-agent/web/7/agent-state.json",
        &format!(r#"{{"taskId":7,"ticket":"PROJ-7","currentPhase":3,{}}}"#, at("10:00")),
    );
    state(&folder, "home/.claude/logs/multi-agent/web/8/agent-log.md", "no state: no task");
    state(&folder, "home/.claude/logs/multi-agent/web/x/agent-state.json", "{}");
    folder
}

#[test]
fn runs_and_tasks_are_listed_newest_first() {
    let folder = with_runs();
    let ran = list(&folder, &["w"]);
    let home = folder.join("home");
    let lines = [
        "   10m  refuse    running    pipeline  docs                      w/.superpipelines/temp/docs/r1/pipeline-state.json\n".into(),
        format!("    2h  ask       -          agent     PROJ-7 (task 7)           {}/.claude/logs/multi-agent/web/7/agent-state.json\n", home.display()),
        "    3h  skip      completed  pipeline  api                       w/.claude/superpipelines/temp/api/r2/pipeline-state.json\n".into(),
    ];
    assert_eq!(ran, Ran { code: Some(0), stdout: lines.concat(), stderr: String::new() });
    // Without the home folder its tasks are not listed; a logs root that is named is.
    assert_eq!(list(&folder, &["--no-user", "w"]).stdout, [&*lines[0], &lines[2]].concat());
    let named = list(&folder, &["--no-user", "--logs-dir", "home/.claude/logs/multi-agent", "w"]).stdout;
    assert_eq!(named.lines().count(), 3);
    // A workspace twice, or two that share a root, are listed once.
    assert_eq!(list(&folder, &["w", "w/.", "w"]).stdout, lines.concat());
}

#[test]
fn a_damaged_state_is_listed_and_is_3() {
    let folder = with_runs();
    state(&folder, "home/.claude/logs/multi-agent/web/9/agent-state.json", "{\"currentPhase\":");
    let ran = list(&folder, &["--json", "w"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""));
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let actions: Vec<&str> =
        told["runs"].as_array().unwrap().iter().map(|run| run["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["refuse", "ask", "skip", "escalate"]);
    assert_eq!((&told["ok"], &told["runs"][1]["name"]), (&Value::Bool(false), &"PROJ-7".into()));
    let ran = list(&folder, &["nowhere"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (Some(3), "", 1));
}

#[test]
fn nothing_to_list_is_an_empty_list() {
    let folder = Folder::new();
    fs::create_dir(folder.join("home")).unwrap();
    assert_eq!(list(&folder, &[]), Ran { code: Some(0), stdout: String::new(), stderr: String::new() });
    assert_eq!(list(&folder, &["--json"]).stdout, "{\"ok\":true,\"runs\":[]}\n");
}

#[test]
#[cfg(unix)]
fn links_that_lead_out_of_the_logs_are_not_followed() {
    let folder = with_runs();
    let logs = folder.join("home/.claude/logs/multi-agent");
    state(&folder, "elsewhere/1/agent-state.json", "{}");
    let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, logs.join(name)).unwrap();
    link(&folder.join("elsewhere"), "linked");
    link(&folder.join("elsewhere/1"), "web/20");
    fs::create_dir(logs.join("web/21")).unwrap();
    link(&folder.join("elsewhere/1/agent-state.json"), "web/21/agent-state.json");
    link(&logs.join("web/7"), "web/22");
    let listed = list(&folder, &["w"]).stdout;
    assert_eq!(listed.lines().filter(|line| line.contains("  agent  ")).count(), 2, "{listed}");
}

/// The bound is what a busy machine keeps with an unoptimised build; what it takes is in docs/design.md.
#[test]
fn a_thousand_runs_are_listed_in_seconds() {
    let folder = Folder::new();
    let phases: Vec<String> = (0..8)
        .map(|index| {
            format!(r#"{{"index":{index},"name":"phase-{index}","status":"done","outputs":["a.md","b.md"]}}"#)
        })
        .collect();
    for run in 0..500 {
        let time = format!("2026-07-01T{:02}:{:02}:00Z", run / 60, run % 60);
        let pipeline = format!(
            r#"{{"pipeline_name":"p{}","run_id":"r{run}","status":"running","updated_at":"{time}","phases":[{}]}}"#,
            run % 10,
            phases.join(",")
        );
        state(
            &folder,
            &format!("w/.superpipelines/temp/p{}/r{run}/pipeline-state.json", run % 10),
            &pipeline,
        );
        let agent = format!(
            r#"{{"taskId":{run},"currentPhase":3,"updatedAt":"{time}","phases":{{"3":{{"status":"running"}}}}}}"#
        );
        state(&folder, &format!("home/.claude/logs/multi-agent/web/{}/agent-state.json", run + 1), &agent);
    }
    let since = Instant::now();
    let ran = list(&folder, &["w"]);
    let took = since.elapsed();
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 1000));
    assert!(
        ran.stdout.lines().next().unwrap().contains("r499")
            || ran.stdout.lines().next().unwrap().contains("/500/")
    );
    assert!(took < Duration::from_secs(5), "{took:?}");
    println!("1000 runs in {took:?}");
}
