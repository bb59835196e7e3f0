//! Views as they are printed, whole.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::document::Document;
use crate::recovery::STALE_AFTER;
use crate::text::width;

/// 2026-07-01T12:00:00Z, when every file here was modified.
const MODIFIED: u64 = 1_782_907_200;

fn file(path: &str, text: &str) -> StateFile {
    let document = Document::parse(text.into()).unwrap();
    let modified = UNIX_EPOCH + Duration::from_secs(MODIFIED);
    StateFile::of(Path::new(path), document, modified)
}

/// The view twelve minutes later, without colours.
fn shown(path: &str, text: &str) -> String {
    let now = DateTime::from_timestamp(MODIFIED as i64 + 12 * 60, 0).unwrap();
    let view = View::of(&file(path, text), &Clock { now, stale_after: STALE_AFTER });
    let lines: Vec<String> = lines(&view).iter().map(|line| line.text(false)).collect();
    for line in &lines {
        assert!(width(line) <= COLUMNS, "{} columns: {line}", width(line));
    }
    lines.join("\n")
}

#[track_caller]
fn assert_shown(path: &str, text: &str, expected: &str) {
    let shown = shown(path, text);
    assert_eq!(shown, expected.trim_matches('\n'), "it is now:\n{shown}\n");
}

#[test]
fn a_pipeline_run_is_a_head_and_a_line_for_each_phase() {
    assert_shown(
        "w/.superpipelines/temp/checkout-flow/2f9c1a7e/pipeline-state.json",
        r#"{"pipeline_name":"checkout-flow","run_id":"2f9c1a7e-1c1f-4b7e-9c55-0d5c4c1e7b10","status":"running",
            "started_at":"2026-07-01T11:30:00Z","current_phase":1,"phases":[
            {"index":0,"name":"plan","status":"done","agent":"planner","started_at":"2026-07-01T11:30:00Z",
             "completed_at":"2026-07-01T11:42:03Z","outputs":["docs/plan.md","docs/tasks.md"],"error":null},
            {"index":1,"name":"implement","status":"running","agent":"implementer",
             "started_at":"2026-07-01T11:42:03Z","outputs":[],"error":null},
            {"index":2,"name":"review","status":"pending","agent":"reviewer","outputs":[],"error":null}]}"#,
        "
checkout-flow                                    running, active 12m ago: refuse
pipeline, run 2f9c1a7e-1c1f-4b7e-9c55-0d5c4c1e7b10
w/.superpipelines/temp/checkout-flow/2f9c1a7e/pipeline-state.json
  active 12m ago by mtime: a run is at work, start no other

  ✓ 0 plan       planner      12m3s   docs/plan.md, docs/tasks.md
> ▸ 1 implement  implementer  29m57s
  . 2 review     reviewer
",
    );
}

#[test]
fn an_agent_state_shows_where_it_halted() {
    assert_shown(
        "/home/u/.claude/logs/multi-agent/shop/7/agent-state.json",
        r#"{"taskId":7,"ticket":"PROJ-12345","status":"paused","haltReason":"4:validator failed twice",
            "currentPhase":4,"phases":{"0":{"status":"done"},"4":{"status":"failed","subStep":"green",
            "files":["ButtonView.swift"],"error":"validator failed twice"},"3":{"status":"done",
            "files":["Tests.swift","Plan.md"],"subStep":"build"}}}"#,
        "
PROJ-12345                                          paused, active 12m ago: stop
agent, task 7
/home/u/.claude/logs/multi-agent/shop/7/agent-state.json
  /status: is paused: a human decides, and a resume has to be confirmed
  /haltReason: is \"4:validator failed twice\"
  /phases/4: failed: \"validator failed twice\"

  ✓ 0
  ✓ 3  Tests.swift, Plan.md
> ✗ 4  validator failed twice; at green; ButtonView.swift
",
    );
}

#[test]
fn phases_of_every_shape_are_shown_with_what_they_have() {
    assert_shown(
        "state.json",
        r#"{"current_phase":"testing","phases":{"brainstorm":{"status":"completed","outputs":"spec.md"},
            "testing":{"status":"awaiting_user_commit_approval","artifacts":[{"path":"a.md"},{"size":3},"b.md"]},
            "0b":"skipped","x":"in-progress","y":null,"z":[1]}}"#,
        "
(no name)                                        no status, active 12m ago: stop
pipeline
state.json
  /status: is missing: what became of the run is not known

  ✓ brainstorm  spec.md
> ? testing     awaiting_user_commit_approval; a.md, b.md
  - 0b
  ▸ x
  . y
  . z
",
    );
    assert_shown(
        "agent-state.json",
        r#"{"currentPhase":"10","phases":{"10":"running","3.5":"done","2":{"agent":"a"},"3":"done"}}"#,
        "
(no name)                                      no status, active 12m ago: refuse
agent
agent-state.json
  active 12m ago by mtime: a run is at work, start no other
  /status: is missing: an agent state without it counts as running

  . 2    a
  ✓ 3
  ✓ 3.5
> ▸ 10
",
    );
    assert_shown(
        "state.json",
        r#"{"status":"completed","phases":7}"#,
        "
(no name)                                        completed, active 12m ago: skip
neither a pipeline's state nor an agent's
state.json
  /status: is completed: skip the run or archive it
  is neither an agent's nor a pipeline's state; only its status was read
  choices: skip, archive
",
    );
}

#[test]
fn what_is_too_long_is_cut_by_columns_and_nothing_of_it_steers_the_terminal() {
    let long = "very-long-name-".repeat(9);
    let path = format!("/w/.superpipelines/temp/{long}/run-1/pipeline-state.json");
    let text = format!(
        r#"{{"pipeline_name":"{long}","run_id":"{long}","status":"waiting for the approval of a human",
        "phases":[{{"name":"{long}","agent":"{long}","status":"done","outputs":["{long}","b","c"]}},
        {{"name":"設計と実装を行うとても長い名前のフェーズ","agent":"設計担当エージェント","status":"running",
          "outputs":["文書/設計/設計書と計画.md","文書/設計/とても長い名前の設計書と計画.md"]}},
        {{"name":"a\u001b[2Jb\nc\u202ed","status":"failed","error":"line 1\nline 2 {long}","outputs":["x"]}}]}}"#
    );
    assert_shown(
        &path,
        &text,
        "
very-long-name-very-long-name-very-long…  waiting for the…, active 12m ago: stop
pipeline, run very-long-name-very-long-name-very-long-name-very-long-name-very-…
…ng-name-very-long-name-very-long-name-very-long-name-/run-1/pipeline-state.json
  /status: is \"waiting for the approval of a human\", and none of running,
    completed, escalated, failed, paused
  /phases/2: failed: \"line 1\\nline 2
    very-long-name-very-long-name-very-long-name-v…\"

  ✓ 0 very-long-name-very-l…  very-long-name-…  …ry-long-name-very-long-name- +2
  ▸ 1 設計と実装を行うとて…   設計担当エージ…   文書/設計/設計書と計画.md +1
  ✗ 2 a\\u{1b}[2Jb\\nc\\u{202e…                    line 1\\nline 2 very-long-name-v…
",
    );
}

#[test]
fn a_summary_is_one_line_of_80_columns() {
    let now = DateTime::from_timestamp(MODIFIED as i64 + 400 * 86_400, 0).unwrap();
    let clock = Clock { now, stale_after: STALE_AFTER };
    for name in ["short", "設計と実装を行うとても長い名前のフェーズ設計と実装を行うとても長い名前"]
    {
        let text = format!(r#"{{"pipeline_name":"{name}","status":"running"}}"#);
        let line = summary(&View::of(&file("pipeline-state.json", &text), &clock)).text(false);
        assert_eq!(width(&line), COLUMNS, "{line}");
        assert!(line.ends_with("  running, active 400d ago: ask"), "{line}");
    }
}

#[test]
fn colours_surround_what_they_are_for_and_nothing_else() {
    let clock =
        Clock { now: DateTime::from_timestamp(MODIFIED as i64, 0).unwrap(), stale_after: STALE_AFTER };
    let text = r#"{"status":"failed","phases":["done","running","pending","failed"]}"#;
    let lines = lines(&View::of(&file("pipeline-state.json", text), &clock));
    let coloured: Vec<String> = lines.iter().map(|line| line.text(true)).collect();
    assert!(coloured[0].ends_with("  failed, active 0s ago: \u{1b}[31mstop\u{1b}[0m"), "{}", coloured[0]);
    assert_eq!(
        coloured[6..],
        [
            "  \u{1b}[32m✓\u{1b}[0m 0",
            "  \u{1b}[33m▸\u{1b}[0m 1",
            "  \u{1b}[2m.\u{1b}[0m 2",
            "  \u{1b}[31m✗\u{1b}[0m 3"
        ]
    );
}

#[test]
fn a_view_is_data() {
    let now = DateTime::from_timestamp(MODIFIED as i64 + 60, 0).unwrap();
    let clock = Clock { now, stale_after: STALE_AFTER };
    let text = r#"{"run_id":"r","status":"completed","current_phase":0,"phases":[{"name":"plan","status":"done",
        "started_at":"2026-07-01T11:00:00Z","completed_at":"2026-07-01T11:00:01.5Z","outputs":["a.md"]}]}"#;
    assert_eq!(
        serde_json::to_value(View::of(&file("pipeline-state.json", text), &clock)).unwrap(),
        serde_json::json!({
            "name": null,
            "run": "run r",
            "path": "pipeline-state.json",
            "kind": "pipeline",
            "rev": null,
            "rule": "R3",
            "status": "completed",
            "action": "skip",
            "choices": ["skip", "archive"],
            "autoResume": false,
            "ageMs": 60_000,
            "lastActive": { "at": "2026-07-01T12:00:00.000Z", "source": "mtime" },
            "reasons": [{
                "code": "completed",
                "message": "is completed: skip the run or archive it",
                "pointer": "/status",
            }],
            "exitCode": 0,
            "phases": [{
                "key": "0",
                "name": "plan",
                "status": "done",
                "mark": "done",
                "isCurrent": true,
                "agent": null,
                "durationMs": 1_500,
                "subStep": null,
                "error": null,
                "outputs": ["a.md"],
            }],
        })
    );
}
