//! `pipestate guard` as a session calls it: an event on stdin, a decision on stdout, and exit 0 whatever comes.

#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::*;

fn event(tool: &str, input: Value, cwd: &str) -> String {
    json!({
        "session_id": "s1", "transcript_path": "/t.jsonl", "permission_mode": "default", "tool_use_id": "u1",
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "cwd": cwd,
    })
    .to_string()
}

fn quiet() -> Ran {
    Ran { code: Some(0), stdout: String::new(), stderr: String::new() }
}

#[test]
fn a_denial_is_one_object_in_the_form_of_the_hooks_contract() {
    let ran =
        run(["guard"], event("Write", json!({ "file_path": "/w/agent-state.json", "content": "{}" }), "/w"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let told = &answer["hookSpecificOutput"];
    assert_eq!((&told["hookEventName"], &told["permissionDecision"]), (&json!("PreToolUse"), &json!("deny")));
    let reason = told["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("pipestate write --replace /w/agent-state.json < NEW.json"), "{reason}");
}

#[test]
fn everything_else_prints_nothing() {
    for (tool, input) in [
        ("Bash", json!({ "command": "jq . agent-state.json" })),
        ("Read", json!({ "file_path": "/w/agent-state.json" })),
        ("Write", json!({ "file_path": "/w/a.json", "content": "\u{1F600} agent-state.json" })),
        ("mcp__x__y", json!({})),
    ] {
        assert_eq!(run(["guard"], event(tool, input, "/w")), quiet(), "{tool}");
    }
    // A lone surrogate is what JSON.stringify makes of a character that was cut in two.
    let cut = event("Edit", json!({ "file_path": "/w/a.json", "new_string": "CUT" }), "/w")
        .replace("CUT", r"\ud83d");
    assert_eq!(run(["guard"], cut), quiet());
}

#[test]
fn what_is_no_event_passes_with_a_line_on_stderr() {
    for wrong in ["", "not JSON", "{\"hook_event_name\":", "[]", "{}}"] {
        let ran = run(["guard"], wrong);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (Some(0), "", 1), "{wrong}");
        assert!(
            ran.stderr.starts_with("pipestate: warning: the guard lets this call pass: "),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(run(["guard", "--no-such-option"], "").code, Some(64));
}

#[test]
#[cfg(unix)]
fn a_link_to_a_state_is_a_state() {
    let folder = Folder::new();
    folder.file("agent-state.json", "{}");
    std::os::unix::fs::symlink("agent-state.json", folder.join("current.json")).unwrap();
    let cwd = folder.path().to_str().unwrap();
    let edit = |file: &str| run(["guard"], event("Edit", json!({ "file_path": file }), cwd)).stdout;
    assert!(edit("current.json").contains("deny"));
    assert!(edit(folder.join("current.json").to_str().unwrap()).contains("deny"));
    assert_eq!(edit("other.json"), "");
}

/// A copy under the same name is a backup where nothing is, and overwrites a state where one is.
#[test]
fn a_state_is_copied_away_but_not_onto_another() {
    let folder = Folder::new();
    folder.file("agent-state.json", "{}");
    std::fs::create_dir(folder.join("backup")).unwrap();
    let cwd = folder.path().to_str().unwrap();
    let copy = |command: &str| run(["guard"], event("Bash", json!({ "command": command }), cwd)).stdout;
    let (there, back) =
        ("cp agent-state.json backup/agent-state.json", "cp backup/agent-state.json agent-state.json");
    assert_eq!(copy(there), "");
    assert!(copy(back).contains("deny"));
    assert_eq!(copy(&format!("cd backup && {back}")), "", "nobody knows where it would go");
}

#[test]
fn the_settings_are_printed_without_reading_stdin() {
    let ran = run(["guard", "--print-config"], "ignored");
    let settings: Value = serde_json::from_str(&ran.stdout).unwrap();
    let group = &settings["hooks"]["PreToolUse"][0];
    assert_eq!(group["matcher"], "Bash|Write|Edit|MultiEdit|NotebookEdit");
    assert_eq!(group["hooks"][0]["command"], "pipestate guard");
}

/// It runs before every tool call. The bound is what a busy machine keeps; what it takes is in the README.
#[test]
fn a_large_write_is_judged_at_once() {
    let input = event("Write", json!({ "file_path": "/w/a.txt", "content": "x\n".repeat(5_000_000) }), "/w");
    let since = Instant::now();
    assert_eq!(run(["guard"], input), quiet());
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
}
