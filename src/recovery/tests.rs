//! States x clocks -> decisions, whole.

use std::time::UNIX_EPOCH;

use super::Choice::{Abort, Archive, Finalize, Restart, Resume, Skip};
use super::*;
use crate::document::Document;
use crate::kind::StateKind::{Agent, Pipeline};

/// When every file of these tests was modified.
const MODIFIED: &str = "2026-07-01T12:00:00Z";

fn at(time: &str) -> DateTime<Utc> {
    time.parse().unwrap()
}

fn modified() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(at(MODIFIED).timestamp() as u64)
}

fn clock(now: &str) -> Clock {
    Clock { now: at(now), stale_after: STALE_AFTER }
}

fn decide_at(kind: impl Into<Option<StateKind>>, text: &str, now: &str) -> Decision {
    let document = Document::parse(text.into()).unwrap();
    decide(document.root(), kind.into(), modified(), &clock(now))
}

/// A decision with the parts that its rule does not fix.
fn expected(
    rule: Rule,
    status: Option<&str>,
    choices: &[Choice],
    (age, active, source): (u64, &str, &str),
    reasons: Vec<Reason>,
) -> Decision {
    Decision {
        rule,
        status: status.map(str::to_owned),
        action: rule.action(),
        choices: choices.to_vec(),
        auto_resume: false,
        age: Some(Duration::from_secs(age)),
        last_active: Some(Activity { at: at(active), source: source.to_owned() }),
        reasons,
    }
}

const STALE_CHOICES: &[Choice] = &[Resume, Restart, Abort];

fn active(told: &str) -> Reason {
    Reason::new("active", format!("active {told}: a run is at work, start no other"))
}

fn crashed(told: &str) -> Reason {
    Reason::new("crashed", format!("running, but not active for {told} (1h or more): crashed"))
}

fn stopped(code: &'static str) -> Reason {
    let message = format!("is {code}: a human decides, and a resume has to be confirmed");
    Reason::at(code, "/status", message)
}

fn completed() -> Reason {
    Reason::at("completed", "/status", "is completed: skip the run or archive it")
}

fn assumed() -> Reason {
    Reason::at("status-assumed", "/status", "is missing: an agent state without it counts as running")
}

#[test]
fn a_running_run_is_at_work_for_less_than_an_hour_and_crashed_from_then_on() {
    for kind in [Agent, Pipeline] {
        let decide_at = |now| decide_at(kind, r#"{"status":"running"}"#, now);
        let running = Some("running");
        assert_eq!(
            decide_at("2026-07-01T12:59:59Z"),
            expected(Rule::R1, running, &[], (3599, MODIFIED, "mtime"), vec![active("59m59s ago by mtime")])
        );
        assert_eq!(
            decide_at("2026-07-01T13:00:00Z"),
            expected(
                Rule::R2,
                running,
                STALE_CHOICES,
                (3600, MODIFIED, "mtime"),
                vec![crashed("1h by mtime")]
            )
        );
    }
}

#[test]
fn every_other_status_decides_the_same_at_any_age() {
    let unknown = |word: &str| {
        let message = format!("is {word}, and none of running, completed, escalated, failed, paused");
        Reason::at("status-unknown", "/status", message)
    };
    let no_status = |what: &str| Reason::at("status-unknown", "/status", format!("is {what}, and no status"));
    let missing = Reason::at("status-missing", "/status", "is missing: what became of the run is not known");
    let twice = Reason::at("status-twice", "/status", "stands there twice: which one counts is not known");
    for (text, rule, status, choices, reason) in [
        (r#"{"status":"completed"}"#, Rule::R3, Some("completed"), &[Skip, Archive][..], completed()),
        (r#"{"status":"done"}"#, Rule::R3, Some("done"), &[Skip, Archive], completed()),
        (r#"{"status":"escalated"}"#, Rule::R4, Some("escalated"), &[], stopped("escalated")),
        (r#"{"status":"failed"}"#, Rule::R4, Some("failed"), &[], stopped("failed")),
        (r#"{"status":"paused"}"#, Rule::R4, Some("paused"), &[], stopped("paused")),
        ("{}", Rule::R6, None, &[], missing),
        (r#"{"status":null}"#, Rule::R6, None, &[], no_status("null")),
        (r#"{"status":["running"]}"#, Rule::R6, None, &[], no_status("an array")),
        (r#"{"status":""}"#, Rule::R6, Some(""), &[], unknown("\"\"")),
        (r#"{"status":"Running"}"#, Rule::R6, Some("Running"), &[], unknown("\"Running\"")),
        (r#"{"status":"in_progress"}"#, Rule::R6, Some("in_progress"), &[], unknown("\"in_progress\"")),
        (r#"{"status":"in-progress"}"#, Rule::R6, Some("in-progress"), &[], unknown("\"in-progress\"")),
        (r#"{"status":"idle"}"#, Rule::R6, Some("idle"), &[], unknown("\"idle\"")),
        (r#"{"status":"not_started"}"#, Rule::R6, Some("not_started"), &[], unknown("\"not_started\"")),
        (r#"{"status":"run\nning"}"#, Rule::R6, Some("run\nning"), &[], unknown("\"run\\nning\"")),
        (r#"{"status":"completed","status":"running"}"#, Rule::R6, Some("running"), &[], twice),
    ] {
        for (now, age) in [("2026-07-01T12:00:01Z", 1), ("2026-09-09T12:00:00Z", 70 * 86_400)] {
            assert_eq!(
                decide_at(Pipeline, text, now),
                expected(rule, status, choices, (age, MODIFIED, "mtime"), vec![reason.clone()]),
                "{text}"
            );
        }
    }
}

#[test]
fn an_agent_state_without_a_status_counts_as_running_and_one_with_an_unknown_status_does_not() {
    let text = r#"{"currentPhase":4,"phases":{"4":{"status":"running"}}}"#;
    assert_eq!(
        decide_at(Agent, text, "2026-07-01T12:10:00Z"),
        expected(Rule::R1, None, &[], (600, MODIFIED, "mtime"), vec![active("10m ago by mtime"), assumed()])
    );
    assert_eq!(
        decide_at(Agent, text, "2026-07-01T15:12:00Z"),
        expected(
            Rule::R2,
            None,
            STALE_CHOICES,
            (11_520, MODIFIED, "mtime"),
            vec![crashed("3h12m by mtime"), assumed()]
        )
    );
    assert_eq!(decide_at(Agent, r#"{"status":null}"#, MODIFIED).rule, Rule::R6);
}

#[test]
fn a_document_of_neither_kind_is_decided_by_its_status_and_said_to_be_of_neither() {
    let neither =
        Reason::new("kind-unknown", "is neither an agent's nor a pipeline's state; only its status was read");
    assert_eq!(
        decide_at(None, r#"{"status":"completed"}"#, MODIFIED),
        expected(
            Rule::R3,
            Some("completed"),
            &[Skip, Archive],
            (0, MODIFIED, "mtime"),
            vec![completed(), neither]
        )
    );
    assert_eq!(decide_at(None, "{}", MODIFIED).rule, Rule::R6);
}

#[test]
fn the_newest_time_of_file_top_metadata_phases_and_tier_changes_counts() {
    let newer = "2026-07-01T12:30:00Z";
    for (text, source) in [
        (r#"{"status":"running","started_at":"T"}"#, "/started_at"),
        (r#"{"status":"running","updated_at":"T","started_at":"2026-07-01T11:00:00Z"}"#, "/updated_at"),
        (r#"{"status":"running","last_updated":"T"}"#, "/last_updated"),
        (r#"{"status":"running","completed_at":"T"}"#, "/completed_at"),
        (r#"{"status":"running","resumed_at":"T"}"#, "/resumed_at"),
        (r#"{"status":"running","startedAt":"T"}"#, "/startedAt"),
        (r#"{"status":"running","updatedAt":"T"}"#, "/updatedAt"),
        (r#"{"status":"running","lastUpdated":"T"}"#, "/lastUpdated"),
        (r#"{"status":"running","completedAt":"T"}"#, "/completedAt"),
        (r#"{"status":"running","resumedAt":"T"}"#, "/resumedAt"),
        (r#"{"status":"running","metadata":{"resumed_at":"T"}}"#, "/metadata/resumed_at"),
        (r#"{"status":"running","phases":[{},{"started_at":"T"}]}"#, "/phases/1/started_at"),
        (r#"{"status":"running","phases":{"a/b":{"completedAt":"T"}}}"#, "/phases/a~1b/completedAt"),
        (r#"{"status":"running","metadata":{"tier_changes":[{"at":"T"}]}}"#, "/metadata/tier_changes/0/at"),
        (
            r#"{"status":"running","metadata":{"tierChanges":[{"at":null},{"at":"T"}]}}"#,
            "/metadata/tierChanges/1/at",
        ),
        // An offset is another spelling of the same instant.
        (r#"{"status":"running","updated_at":"2026-07-01T17:30:00+05:00"}"#, "/updated_at"),
    ] {
        let told = format!("59m ago by {source}");
        assert_eq!(
            decide_at(None, &text.replace("\"T\"", &format!("\"{newer}\"")), "2026-07-01T13:29:00Z").reasons
                [0],
            active(&told),
            "{text}"
        );
    }
    // Other fields and older times do not count.
    let text = r#"{"status":"running","created_at":"2026-07-01T12:30:00Z","started_at":"2026-07-01T11:59:59Z",
        "phases":[{"steps":[{"started_at":"2026-07-01T12:30:00Z"}]}],"last":{"updated_at":"2026-07-01T12:30:00Z"}}"#;
    assert_eq!(
        decide_at(Pipeline, text, "2026-07-01T13:29:00Z"),
        expected(
            Rule::R2,
            Some("running"),
            STALE_CHOICES,
            (5340, MODIFIED, "mtime"),
            vec![crashed("1h29m by mtime")]
        )
    );
}

#[test]
fn a_time_in_the_future_is_told_and_counts_as_active() {
    let text =
        r#"{"status":"running","updated_at":"2026-07-01T20:00:00Z","started_at":"2026-07-01T19:00:00Z"}"#;
    let skew = Reason::at(
        "clock-skew",
        "/updated_at",
        "is 5h in the future: clocks differ, and it counts as active (and 1 more)",
    );
    assert_eq!(
        decide_at(Pipeline, text, "2026-07-01T15:00:00Z"),
        expected(
            Rule::R1,
            Some("running"),
            &[],
            (0, "2026-07-01T20:00:00Z", "/updated_at"),
            vec![active("0s ago by /updated_at"), skew]
        )
    );
    let skew = Reason::new(
        "clock-skew",
        "the modification time is 2m in the future: clocks differ, and it counts as active",
    );
    assert_eq!(
        decide_at(Pipeline, r#"{"status":"running"}"#, "2026-07-01T11:58:00Z"),
        expected(
            Rule::R1,
            Some("running"),
            &[],
            (0, MODIFIED, "mtime"),
            vec![active("0s ago by mtime"), skew.clone()]
        )
    );
    // Also when nothing else would: no silence is short enough.
    let document = Document::parse(br#"{"status":"running"}"#.to_vec()).unwrap();
    let never = |now| Clock { now: at(now), stale_after: Duration::ZERO };
    let rule = |now| decide(document.root(), Some(Pipeline), modified(), &never(now)).rule;
    assert_eq!((rule("2026-07-01T11:59:59Z"), rule(MODIFIED)), (Rule::R1, Rule::R2));
}

#[test]
fn odd_times_are_told_once_each_and_ignored_or_taken_for_utc() {
    let text = r#"{"status":"paused","started_at":"2026-07-01","updated_at":"2026-07-01 12:30:00",
        "completed_at":"<iso8601>","resumed_at":1714000000000,"last_updated":null,"metadata":{"updated_at":""}}"#;
    assert_eq!(
        decide_at(Pipeline, text, "2026-07-01T13:00:00Z"),
        expected(
            Rule::R4,
            Some("paused"),
            &[],
            (1800, "2026-07-01T12:30:00Z", "/updated_at"),
            vec![
                stopped("paused"),
                Reason::at(
                    "time-without-zone",
                    "/started_at",
                    "is \"2026-07-01\" without a zone, and taken for UTC (and 1 more)"
                ),
                Reason::at(
                    "time-unreadable",
                    "/completed_at",
                    "is \"<iso8601>\", and no ISO 8601 time; it is ignored (and 2 more)"
                ),
            ]
        )
    );
}

#[test]
fn a_running_pipeline_whose_phases_are_all_done_is_complete_and_only_to_be_finalised() {
    let unfinalised =
        Reason::at("complete-unfinalised", "/phases", "are all done: complete, and only to be finalised");
    let all_done = r#"{"status":"running","phases":[{"status":"done"},{"status":"completed"}]}"#;
    assert_eq!(
        decide_at(Pipeline, all_done, "2026-07-01T12:01:00Z"),
        expected(
            Rule::R1,
            Some("running"),
            &[],
            (60, MODIFIED, "mtime"),
            vec![active("1m ago by mtime"), unfinalised.clone()]
        )
    );
    assert_eq!(
        decide_at(Pipeline, all_done, "2026-07-01T14:00:00Z"),
        expected(
            Rule::R2,
            Some("running"),
            &[Finalize, Resume, Restart, Abort],
            (7200, MODIFIED, "mtime"),
            vec![crashed("2h by mtime"), unfinalised]
        )
    );
    for (kind, text) in [
        (Agent, all_done),
        (Pipeline, r#"{"status":"running","phases":[]}"#),
        (Pipeline, r#"{"status":"running","phases":[{"status":"done"},{"status":"skipped"}]}"#),
        (Pipeline, r#"{"status":"failed","phases":[{"status":"done"}]}"#),
        (Pipeline, r#"{"status":"escalated","phases":[{"status":"done"}]}"#),
    ] {
        let decision = decide_at(kind, text, "2026-07-01T14:00:00Z");
        assert!(decision.reasons.iter().all(|reason| reason.code != "complete-unfinalised"), "{text}");
        assert!(!decision.choices.contains(&Finalize), "{text}");
    }
}

#[test]
fn what_halted_and_what_failed_is_told() {
    let text = r#"{"status":"paused","haltReason":"4:validator failed twice",
        "phases":{"3":{"status":"done"},"4":{"status":"failed","error":"no such file"},"5":{"status":"failed"}}}"#;
    assert_eq!(
        decide_at(Agent, text, "2026-07-01T12:00:05Z"),
        expected(
            Rule::R4,
            Some("paused"),
            &[],
            (5, MODIFIED, "mtime"),
            vec![
                stopped("paused"),
                Reason::at("halt-reason", "/haltReason", "is \"4:validator failed twice\""),
                Reason::at("phase-failed", "/phases/4", "failed: \"no such file\" (and 1 more)"),
            ]
        )
    );
    // History of a run that got over it.
    let completed_run = r#"{"status":"completed","haltReason":"old","phases":{"4":{"status":"failed"}}}"#;
    assert_eq!(
        decide_at(Agent, completed_run, MODIFIED),
        expected(Rule::R3, Some("completed"), &[Skip, Archive], (0, MODIFIED, "mtime"), vec![completed()])
    );
}

#[test]
fn a_damaged_file_calls_a_human_and_is_never_resumed() {
    let now = clock("2026-07-01T12:00:30Z");
    let decision = |age, last_active, reason| Decision {
        rule: Rule::R5,
        status: None,
        action: Action::Escalate,
        choices: vec![],
        auto_resume: false,
        age,
        last_active,
        reasons: vec![reason],
    };
    assert_eq!(
        corrupt("it is empty", modified(), &now),
        decision(
            Some(Duration::from_secs(30)),
            Some(Activity { at: at(MODIFIED), source: "mtime".into() }),
            Reason::new("corrupt", "it is empty; never resume from it")
        )
    );
    assert_eq!(
        unreadable("unreadable", "permission denied"),
        decision(None, None, Reason::new("unreadable", "permission denied"))
    );
}

#[test]
fn the_exit_code_follows_the_rule_and_the_worst_is_the_largest() {
    let codes = [Rule::R3, Rule::R1, Rule::R2, Rule::R4, Rule::R6, Rule::R5].map(Rule::exit_code);
    assert_eq!(codes, [0, 1, 1, 1, 1, 3]);
}

#[test]
fn a_decision_is_data() {
    let decision = decide_at(Pipeline, r#"{"status":"running"}"#, "2026-07-01T13:00:00.5Z");
    assert_eq!(
        serde_json::to_value(&decision).unwrap(),
        serde_json::json!({
            "rule": "R2",
            "status": "running",
            "action": "ask",
            "choices": ["resume", "restart", "abort"],
            "autoResume": false,
            "ageMs": 3_600_500,
            "lastActive": { "at": "2026-07-01T12:00:00.000Z", "source": "mtime" },
            "reasons": [
                { "code": "crashed", "message": "running, but not active for 1h by mtime (1h or more): crashed" },
            ],
        })
    );
}
