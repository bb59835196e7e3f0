//! `pipestate task`: numbers, folders and names (contract T1, T3).

#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::{Value, json};
use support::*;

/// The program, whose home and logs lie in the test's folder.
fn program(folder: &Folder) -> Command {
    let mut command = pipestate();
    command.current_dir(folder.path()).env("HOME", folder.join("home"));
    command.env("PIPESTATE_LOGS_DIR", folder.join("logs"));
    command
}

fn task(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut command = program(folder);
    command.arg("task").args(arguments);
    finish(start(command), "")
}

fn new(folder: &Folder, arguments: &[&str]) -> Value {
    let ran = task(folder, &[&["new", "--no-fsync", "--json"], arguments].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn state_of(task: &Value) -> PathBuf {
    task["state"].as_str().unwrap().into()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_new_task_has_a_number_a_folder_a_state_and_a_log() {
    let folder = Folder::new();
    let arguments =
        ["new", "--repo", "/r/web", "--worktree", ".worktrees/P-1", "--branch", "f/P-1", "PROJ-12345"];
    let ran = task(&folder, &arguments);
    assert_eq!(
        ran,
        Ran { code: Some(0), stdout: "Task #1 started - PROJ-12345\n".into(), stderr: String::new() }
    );
    let at = folder.join("logs/web/1");
    assert_eq!(
        fs::read_to_string(at.join("agent-state.json")).unwrap(),
        r#"{
  "taskId": 1,
  "ticket": "PROJ-12345",
  "project": "web",
  "repoPath": "/r/web",
  "worktreePath": "/r/web/.worktrees/P-1",
  "branch": "f/P-1",
  "currentPhase": 0,
  "phases": {
    "0": {
      "status": "pending"
    }
  }
}
"#
    );
    let log = fs::read_to_string(at.join("agent-log.md")).unwrap();
    assert!(log.starts_with("- 2") && log.ends_with("Z Task #1 started - PROJ-12345\n"), "{log}");
    assert_eq!(fs::read_to_string(folder.join("logs/web/.counter")).unwrap(), "1\n");
    let mut names: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["agent-log.md", "agent-state.json"]);
}

#[test]
fn several_repositories_are_recorded_each() {
    let folder = Folder::new();
    let made = new(
        &folder,
        &["--project", "p", "--repo", "/a", "--branch", "x", "--repo", "/b", "--branch", "y", "T-1"],
    );
    let state: Value = serde_json::from_slice(&fs::read(state_of(&made)).unwrap()).unwrap();
    let project = |path: &str, name: &str, branch: &str| json!({ "taskId": 1, "ticket": "T-1", "project": name, "repoPath": path, "worktreePath": null, "branch": branch });
    assert_eq!(state["projects"], json!([project("/a", "a", "x"), project("/b", "b", "y")]));
    assert_eq!((&state["repoPath"], &state["project"]), (&json!("/a"), &json!("p")));
    let unpaired = task(&folder, &["new", "--repo", "/a", "--repo", "/b", "--branch", "x", "T-2"]);
    assert_eq!(unpaired.code, Some(64));
}

#[test]
fn the_project_is_that_of_the_repository_around_us() {
    let folder = Folder::new();
    let ran = task(&folder, &["new", "T-1"]);
    assert_eq!((ran.code, fs::exists(folder.join("logs")).unwrap()), (Some(64), false), "{ran:?}");
    let repository = folder.join("web");
    assert!(Command::new("git").args(["init", "-q", text(&repository)]).status().unwrap().success());
    fs::create_dir(repository.join("sub")).unwrap();
    let mut command = program(&folder);
    command.current_dir(repository.join("sub")).args(["task", "new", "--json", "T-1"]);
    // As in a hook of another repository.
    command.env("GIT_DIR", "/nowhere").env("GIT_WORK_TREE", "/nowhere");
    let made: Value = serde_json::from_str(&finish(start(command), "").stdout).unwrap();
    assert_eq!(made["project"], "web");
}

#[test]
fn numbers_go_on_whatever_becomes_of_counter_and_folders() {
    let folder = Folder::new();
    let id = || new(&folder, &["--project", "p", "T"])["taskId"].as_u64().unwrap();
    let counter = folder.join("logs/p/.counter");
    assert_eq!((id(), id()), (1, 2));
    fs::remove_file(&counter).unwrap();
    assert_eq!(id(), 3, "the folders know");
    fs::remove_dir_all(folder.join("logs/p/3")).unwrap();
    assert_eq!(id(), 4, "the counter knows");
    fs::write(&counter, "0041\r\n").unwrap();
    assert_eq!(id(), 42);
    fs::write(folder.join("logs/p/50"), "").unwrap();
    assert_eq!(id(), 51, "a name that is taken by a file is no task's");
    fs::create_dir(folder.join("logs/p/007")).unwrap();
    for garbage in ["", "fifty", "\u{0}", "9007199254740991", "18446744073709551616"] {
        fs::write(&counter, garbage).unwrap();
        let ran = task(&folder, &["new", "--project", "p", "T"]);
        assert_eq!((ran.code, ran.stderr.contains("is no number, and is written anew")), (Some(0), true));
    }
    assert_eq!(id(), 57);
}

#[test]
fn two_hundred_at_once_get_two_hundred_numbers_with_the_counter_deleted_half_way() {
    let folder = Folder::new();
    let children: Vec<Child> = (0..200)
        .map(|ticket| {
            let mut command = program(&folder);
            command.args(["task", "new", "--no-fsync", "--lock-timeout", "300000", "--project", "p"]);
            command.arg(format!("T-{ticket}"));
            start(command)
        })
        .collect();
    eventually("half of the folders are there", || folder.join("logs/p/100").exists());
    let _ = fs::remove_file(folder.join("logs/p/.counter"));
    let mut lines = BTreeSet::new();
    for child in children {
        let ran = finish(child, "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        lines.insert(ran.stdout);
    }
    assert_eq!(lines.len(), 200);
    let list = task(&folder, &["list", "--json"]);
    let tasks: Value = serde_json::from_str(&list.stdout).unwrap();
    let all = tasks["tasks"].as_array().unwrap();
    let ids: BTreeSet<u64> = all.iter().map(|task| task["taskId"].as_u64().unwrap()).collect();
    let tickets: BTreeSet<&str> = all.iter().map(|task| task["ticket"].as_str().unwrap()).collect();
    assert_eq!((ids, tickets.len()), ((1..=200).collect(), 200));
}

#[test]
fn a_task_is_found_by_number_and_by_ticket_and_what_is_ambiguous_is_listed() {
    let folder = Folder::new();
    for (project, ticket) in [("api", "A-1"), ("web", "W-1"), ("web", "W-2"), ("web", "W-1")] {
        new(&folder, &["--project", project, ticket]);
    }
    fs::write(folder.join("logs/web/2/agent-state.json"), "{").unwrap();
    let logs = folder.join("logs");
    let line = |id: u64, project: &str, ticket: &str| {
        format!("#{id} {project} {ticket} - phase 0 {}/{project}/{id}/agent-state.json\n", text(&logs))
    };
    let found = |stdout: String| Ran { code: Some(0), stdout, stderr: String::new() };
    assert_eq!(task(&folder, &["show", "A-1"]), found(line(1, "api", "A-1")));
    assert_eq!(task(&folder, &["show", "3"]), found(line(3, "web", "W-1")));
    assert_eq!(task(&folder, &["show", "#3"]), found(line(3, "web", "W-1")));
    assert_eq!(task(&folder, &["show", "--project", "web", "1"]), found(line(1, "web", "W-1")));
    let path = format!("{}/web/3/agent-state.json\n", text(&logs));
    assert_eq!(task(&folder, &["show", "--path", "#3"]), found(path));
    let refused = |stderr: String| Ran { code: Some(1), stdout: String::new(), stderr };
    assert_eq!(
        task(&folder, &["show", "#1"]),
        refused(format!(
            "pipestate: {}: \"#1\" is the name of several tasks: api #1 A-1, web #1 W-1; say which by --project and its number\n",
            text(&logs)
        ))
    );
    assert_eq!(
        task(&folder, &["show", "W-1"]),
        refused(format!(
            "pipestate: {}: \"W-1\" is the name of several tasks: web #1 W-1, web #3 W-1; say which by --project and its number\n",
            text(&logs)
        ))
    );
    for none in ["W-2", "9", "../web/1", "#", ""] {
        assert_eq!(task(&folder, &["show", none]).code, Some(1), "{none}");
    }
    let listed = task(&folder, &["list"]);
    assert_eq!(listed.code, Some(0));
    assert_eq!(listed.stdout.lines().count(), 4);
    assert!(listed.stdout.lines().nth(2).unwrap().contains("/web/2/agent-state.json: "), "{listed:?}");
}

#[test]
fn names_that_lead_elsewhere_are_refused_and_nothing_is_made() {
    let folder = Folder::new();
    for project in ["..", ".", "a/b", "../x", "/tmp/x", "a\\b", "", ".plans", "-x", "a\nb"] {
        let ran = task(&folder, &["new", &format!("--project={project}"), "T-1"]);
        assert_eq!(ran.code, Some(64), "{project:?} {ran:?}");
    }
    for ticket in ["../x", "a/b", "", ".."] {
        let ran = task(&folder, &["new", "--project", "p", ticket]);
        assert_eq!(ran.code, Some(64), "{ticket:?} {ran:?}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_of_the_logs_are_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    new(&folder, &["--project", "real", "T-1"]);
    fs::create_dir_all(folder.join("elsewhere/1")).unwrap();
    fs::write(folder.join("elsewhere/1/agent-state.json"), r#"{"ticket":"OUT"}"#).unwrap();
    symlink(folder.join("elsewhere"), folder.join("logs/out")).unwrap();
    symlink(folder.join("elsewhere/1"), folder.join("logs/real/7")).unwrap();
    let ran = task(&folder, &["new", "--project", "out", "T-2"]);
    assert_eq!((ran.code, ran.stderr.contains(": leads out of ")), (Some(1), true), "{ran:?}");
    assert_eq!(task(&folder, &["show", "OUT"]).code, Some(1));
    assert_eq!(task(&folder, &["list"]).stdout.lines().count(), 1);
    let names: Vec<_> = fs::read_dir(folder.join("elsewhere")).unwrap().collect();
    assert_eq!(names.len(), 1);
    assert_eq!(new(&folder, &["--project", "real", "T-3"])["taskId"], 8, "the link's name is taken");
}
