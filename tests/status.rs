//! `pipestate status`, and `--watch` beside real writers (contract R, A3).

#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::process::Command;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;
use support::*;

const RUNNING: &str =
    r#"{"pipeline_name":"docs","status":"running","phases":[{"name":"plan","status":"running"}]}"#;

fn status<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Ran {
    let mut command = pipestate();
    command.env_remove("NO_COLOR").arg("status").args(arguments);
    finish(start(command), "")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn state_in(folder: &Folder, run: &str, content: &str) -> PathBuf {
    let path = folder.join(run).join("pipeline-state.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn a_file_and_its_folder_show_the_same_without_colours_in_a_pipe() {
    let folder = Folder::new();
    let file = state_in(&folder, "run", RUNNING);
    let long_ago = ["--now", "2100-01-01"];
    let of_file = status(long_ago.into_iter().chain([text(&file)]));
    assert_eq!((of_file.code, of_file.stderr.as_str()), (Some(0), ""));
    assert!(of_file.stdout.starts_with("docs  "), "{}", of_file.stdout);
    assert!(of_file.stdout.ends_with("\n\n  ▸ 0 plan\n"), "{}", of_file.stdout);
    assert!(!of_file.stdout.contains('\u{1b}'));
    assert_eq!(status(long_ago.into_iter().chain([text(file.parent().unwrap())])), of_file);
}

#[test]
fn a_workspace_is_a_line_for_each_run_and_a_damaged_file_is_3() {
    let folder = Folder::new();
    state_in(&folder, ".claude/superpipelines/temp/p/a", r#"{"pipeline_name":"one","status":"paused"}"#);
    state_in(&folder, ".superpipelines/temp/p/b", r#"{"pipeline_name":"two","status":"completed"}"#);
    let names = |ran: &Ran| -> Vec<String> {
        ran.stdout.lines().map(|line| line.split("  ").next().unwrap().to_owned()).collect()
    };
    let ran = status([text(folder.path())]);
    assert_eq!((ran.code, names(&ran)), (Some(0), vec!["two".into(), "one".into()]));
    let broken = state_in(&folder, ".superpipelines/temp/p/c", "");
    let ran = status([text(folder.path())]);
    assert_eq!((ran.code, names(&ran)), (Some(3), vec!["two".into(), "(no name)".into(), "one".into()]));
    assert_eq!(status([text(&broken)]).code, Some(3));
    assert_eq!(status([text(&broken.with_file_name("none.json"))]).code, Some(3));
    let ran = status(["--watch", text(folder.path())]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(64), ""));
}

#[test]
fn a_folder_without_runs_says_so() {
    let folder = Folder::new();
    let ran = status(["--json", text(folder.path())]);
    let warning = format!(
        "pipestate: warning: {}: no state file in this folder, and no runs of a workspace below it\n",
        text(folder.path())
    );
    assert_eq!(ran, Ran { code: Some(0), stdout: "{\"ok\":true,\"runs\":[]}\n".into(), stderr: warning });
}

/// A `status --watch --json`, which prints a line at each change.
struct Watcher {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watcher {
    fn start(file: &Path) -> Watcher {
        let mut command = pipestate();
        command.args(["status", "--watch", "--json"]).arg(file).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Watcher { child, lines }
    }

    /// Status and first phase's status of the next picture; blocks until there is one.
    fn next(&mut self) -> (Value, Value) {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let view: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        (view["status"].clone(), view["phases"][0]["status"].clone())
    }

    /// Waits for its end: the exit code, and what else it printed.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

fn pair(status: &str, phase: &str) -> (Value, Value) {
    (status.into(), phase.into())
}

#[test]
fn watch_shows_every_write_and_ends_with_the_run() {
    let folder = Folder::new();
    let file = state_in(&folder, "run", RUNNING);
    let mut watcher = Watcher::start(&file);
    assert_eq!(watcher.next(), pair("running", "running"));
    for round in 0..20 {
        assert_written(&write(&file, &format!(r#"{{"phases":{{"0":{{"status":"round {round}"}}}}}}"#)));
        assert_eq!(watcher.next(), pair("running", &format!("round {round}")));
    }
    assert_written(&write(&file, r#"{"status":"completed"}"#));
    assert_eq!(watcher.next(), pair("completed", "round 19"));
    assert_eq!(watcher.end(), (Some(0), String::new()));
}

#[test]
fn watch_ends_at_once_when_the_run_has_ended_before() {
    let folder = Folder::new();
    for status in ["completed", "failed", "escalated", "paused"] {
        let file = state_in(&folder, status, &format!(r#"{{"status":"{status}"}}"#));
        let mut watcher = Watcher::start(&file);
        assert_eq!(watcher.next(), (status.into(), Value::Null));
        assert_eq!(watcher.end(), (Some(0), String::new()));
    }
}

#[test]
fn watch_sees_foreign_writers_a_missing_file_and_a_torn_one() {
    let folder = Folder::new();
    let file = state_in(&folder, "run", RUNNING);
    fs::remove_file(&file).unwrap();
    let mut watcher = Watcher::start(&file);
    assert_eq!(watcher.next(), (Value::Null, Value::Null));
    // In place, as careless tools write.
    fs::write(&file, RUNNING).unwrap();
    while watcher.next() != pair("running", "running") {}
    fs::write(&file, "{").unwrap();
    while watcher.next() != (Value::Null, Value::Null) {}
    // By a rename, as the documents' shells write.
    let fresh = file.with_extension("tmp");
    fs::write(&fresh, r#"{"status":"failed"}"#).unwrap();
    fs::rename(&fresh, &file).unwrap();
    while watcher.next() != ("failed".into(), Value::Null) {}
    assert_eq!(watcher.end(), (Some(0), String::new()));
}

#[test]
fn watch_tells_when_the_folder_goes() {
    let folder = Folder::new();
    let file = state_in(&folder, "run", RUNNING);
    let mut watcher = Watcher::start(&file);
    assert_eq!(watcher.next(), pair("running", "running"));
    fs::rename(folder.join("run"), folder.join("archived")).unwrap();
    let (code, rest) = watcher.end();
    assert_eq!(code, Some(3));
    let report: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!((&report["ok"], &report["error"]["code"]), (&Value::Bool(false), &"ERR_PIPESTATE_IO".into()));
}

#[cfg(unix)]
#[test]
fn watch_follows_a_link_to_where_the_writes_are() {
    let folder = Folder::new();
    let file = state_in(&folder, "run", RUNNING);
    let link = folder.join("pipeline-state.json");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let mut watcher = Watcher::start(&link);
    assert_eq!(watcher.next(), pair("running", "running"));
    assert_written(&write(&file, r#"{"status":"failed"}"#));
    assert_eq!(watcher.next(), pair("failed", "running"));
    assert_eq!(watcher.end(), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn watch_ends_on_ctrl_c_and_when_nobody_reads() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = Folder::new();
    let file = state_in(&folder, "run", RUNNING);
    let mut watcher = Watcher::start(&file);
    assert_eq!(watcher.next(), pair("running", "running"));
    kill_process(Pid::from_child(&watcher.child), Signal::INT).unwrap();
    assert_eq!(watcher.end(), (Some(130), String::new()));

    let mut watcher = Watcher::start(&file);
    assert_eq!(watcher.next(), pair("running", "running"));
    let Watcher { mut child, lines } = watcher;
    drop(lines);
    assert_written(&write(&file, r#"{"note":"nobody sees this"}"#));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Runs the program on a terminal of its own and returns what it showed there.
#[cfg(target_os = "linux")]
fn on_terminal(arguments: &str, environment: &[(&str, &str)]) -> String {
    let command = format!("{} status {arguments}", env!("CARGO_BIN_EXE_pipestate"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env_remove("NO_COLOR").env("TERM", "xterm");
    script.envs(environment.iter().copied());
    let ran = finish(start(script), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout.replace("\r\n", "\n")
}

#[cfg(target_os = "linux")]
#[test]
fn colours_are_for_terminals_that_want_them() {
    let folder = Folder::new();
    let file = state_in(&folder, "run", r#"{"status":"failed","phases":["failed"]}"#);
    let shown = |environment: &[(&str, &str)]| on_terminal(text(&file), environment);
    assert!(shown(&[]).ends_with("\n  \u{1b}[31m✗\u{1b}[0m 0\n"), "{}", shown(&[]));
    assert!(shown(&[("NO_COLOR", "")]).contains('\u{1b}'));
    for plain in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert_eq!(shown(&[plain]), status([text(&file)]).stdout);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn watch_on_a_terminal_puts_each_picture_in_the_place_of_the_last() {
    let folder = Folder::new();
    let file = state_in(&folder, "run", RUNNING);
    let command = format!("{} status --watch {}", env!("CARGO_BIN_EXE_pipestate"), text(&file));
    let mut script = Command::new("script");
    script.args(["-qefc", &command, "/dev/null"]).env("NO_COLOR", "1").env("TERM", "xterm");
    let mut child = start(script);
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    while !first.contains("▸ 0 plan") {
        assert_ne!(output.read_line(&mut first).unwrap(), 0, "{first}");
    }
    let lines = first.lines().count();
    assert!(!first.contains('\u{1b}'), "{first}");
    assert_written(&write(&file, r#"{"status":"completed","phases":{"0":{"status":"done"}}}"#));
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let pictures: Vec<&str> = rest.split(&format!("\u{1b}[{lines}A\u{1b}[J")).collect();
    // What came before is a clock that went on.
    assert!(pictures[0].is_empty() && pictures.len() > 1, "{rest:?}");
    assert!(pictures.last().unwrap().ends_with("\r\n\r\n  ✓ 0 plan\r\n"), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
