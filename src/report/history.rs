//! What has happened in a run, by its document and by the log beside it: when each phase was worked on, and what a reader
//! of the run should know of, in its order.

use chrono::{DateTime, Utc};

use crate::document::{Kind, Value};
use crate::phases::phases;
use crate::sort::sort_by;
use crate::time::Moment;

/// What kind of event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The run began.
    Start,
    /// A phase was begun, went on or ended.
    Phase,
    /// The run stopped for a human.
    Halt,
    /// Somebody took it up again.
    Resume,
    /// A loop tried again, or got its attempts back.
    Retry,
    /// It went on on another tier.
    Tier,
    /// It was over.
    End,
    /// Anything else that stands in the log.
    Note,
}

impl What {
    /// Its word on the page.
    pub fn word(self) -> &'static str {
        match self {
            What::Start => "start",
            What::Phase => "phase",
            What::Halt => "halt",
            What::Resume => "resume",
            What::Retry => "retry",
            What::Tier => "tier",
            What::End => "end",
            What::Note => "note",
        }
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When; `None` for a halt that only the document tells of.
    pub at: Option<DateTime<Utc>>,
    /// What kind of thing.
    pub what: What,
    /// The same in words.
    pub text: String,
}

/// A time in which a phase was worked on; without an end it still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub start: DateTime<Utc>,
    /// When it ended.
    pub end: Option<DateTime<Utc>>,
}

/// What the document itself says has happened.
pub fn of_document(root: Value<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut push = |at: Option<DateTime<Utc>>, what, text: String| {
        if at.is_some() {
            events.push(Event { at, what, text });
        }
    };
    let top = |fields: [&str; 2]| fields.iter().find_map(|field| moment(root, field));
    push(top(["started_at", "startedAt"]), What::Start, "Run started".into());
    push(top(["completed_at", "completedAt"]), What::End, "Run completed".into());
    if let Some(metadata) = root.get("metadata") {
        let resumed = |at: &str, by: &str| {
            let by = text(metadata, by).map_or(String::new(), |by| format!(" by {by}"));
            (moment(metadata, at), format!("Resumed{by}"))
        };
        for (at, told) in [resumed("resumed_at", "resumed_by"), resumed("resumedAt", "resumedBy")] {
            push(at, What::Resume, told);
        }
        for change in metadata.get("tier_changes").into_iter().flat_map(Value::elements) {
            let tier = |field| text(change, field).unwrap_or_else(|| "an unknown tier".into());
            push(moment(change, "at"), What::Tier, format!("From {} to {}", tier("from"), tier("to")));
        }
    }
    for (name, record) in loops(root) {
        for (index, attempt) in attempts(record).enumerate() {
            let on =
                text(attempt, "reflection").map_or(String::new(), |reflection| format!(": {reflection}"));
            push(moment(attempt, "at"), What::Retry, format!("Loop {name}, attempt {}{on}", index + 1));
        }
    }
    events
}

/// The halt that the document records, if the run stands in it.
pub fn halt(root: Value<'_>) -> Option<String> {
    text(root, "haltReason").or_else(|| text(root, "halt_reason"))
}

/// The loops of an agent's document (S4).
pub fn loops(root: Value<'_>) -> Vec<(String, Value<'_>)> {
    let members = root.get("loops").into_iter().flat_map(Value::members);
    members.map(|member| (member.key.to_str().into_owned(), member.value)).collect()
}

/// The attempts of a loop.
pub fn attempts(record: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    record.get("attempts").into_iter().flat_map(Value::elements)
}

/// The lines of a log that tell when something happened: `- 2026-07-31T13:40:00Z Phase 3 running`.
pub fn of_log(log: &str) -> Vec<Event> {
    log.lines().filter_map(event).collect()
}

fn event(line: &str) -> Option<Event> {
    let (time, text) = line.strip_prefix("- ")?.split_once(' ')?;
    let at = Moment::parse(time)?.at;
    let text = text.trim();
    let what = match text.split([' ', ':']).next()? {
        "HALT" => What::Halt,
        "Resumed" => What::Resume,
        "Loop" => What::Retry,
        "Task" => What::Start,
        "Phase" => What::Phase,
        _ => What::Note,
    };
    Some(Event { at: Some(at), what, text: text.to_owned() })
}

/// All events in their order; what both document and log tell of stands once.
pub fn merged(document: Vec<Event>, log: Vec<Event>) -> Vec<Event> {
    let is_told = |event: &Event| {
        log.iter().any(|other| {
            let apart = event.at.zip(other.at).map(|(a, b)| (a - b).num_seconds().abs());
            other.what == event.what && apart.is_some_and(|seconds| seconds <= 2)
        })
    };
    let mut events: Vec<Event> = document.into_iter().filter(|event| !is_told(event)).collect();
    events.extend(log.iter().cloned());
    sort_by(&mut events, |a, b| a.at.cmp(&b.at));
    events
}

/// When each phase was worked on: by the times in its record, else by the log. In the order of the document.
pub fn spans(root: Value<'_>, log: &[Event]) -> Vec<(String, Vec<Span>)> {
    let of_phase = |key: &str, value: Value<'_>| {
        let time = |fields: [&str; 2]| fields.iter().find_map(|field| moment(value, field));
        match time(["started_at", "startedAt"]) {
            Some(start) => {
                let end = time(["completed_at", "completedAt"]).filter(|end| *end >= start);
                vec![Span { start, end }]
            }
            None => in_log(key, log),
        }
    };
    phases(root).into_iter().map(|phase| (phase.key.clone(), of_phase(&phase.key, phase.value))).collect()
}

/// A phase begins when the log says it is running, and ends when it is said to be anything else or the run stops.
fn in_log(key: &str, log: &[Event]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for event in log {
        let Some(at) = event.at else { continue };
        let word = match event.what {
            What::Phase => step(&event.text).filter(|(phase, _)| *phase == key).map(|(_, word)| word),
            What::Halt => Some("halted"),
            _ => None,
        };
        let open = spans.last_mut().filter(|span| span.end.is_none());
        match (word, open) {
            (Some("running"), None) => spans.push(Span { start: at, end: None }),
            (Some("running") | None, _) => {}
            (Some(_), Some(span)) => span.end = Some(at.max(span.start)),
            (Some(_), None) => {}
        }
    }
    spans
}

/// `Phase 3 running, subStep red: a.rs` as its phase and its status.
fn step(text: &str) -> Option<(&str, &str)> {
    let (phase, rest) = text.strip_prefix("Phase ")?.split_once(' ')?;
    Some((phase, rest.split([',', ':', ' ']).next()?))
}

fn moment(object: Value<'_>, field: &str) -> Option<DateTime<Utc>> {
    Some(Moment::parse(&text(object, field)?)?.at)
}

fn text(object: Value<'_>, field: &str) -> Option<String> {
    let value = object.get(field)?;
    match value.kind() {
        Kind::String => value.as_str().map(String::from).filter(|text| !text.is_empty()),
        Kind::Number => value.as_number_text().map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn at(time: &str) -> DateTime<Utc> {
        Moment::parse(&format!("2026-07-01T{time}Z")).unwrap().at
    }

    const LOG: &str = "\
# Log

- 2026-07-01T09:00:00Z Task #7 started - PROJ-7
- 2026-07-01T09:01:00Z Phase 3 running
- 2026-07-01T09:05:00Z Phase 3 running, subStep red: a.rs
- 2026-07-01T09:10:00Z HALT phase 3: no subagent returned
- 2026-07-01T10:00:00Z Resumed PROJ-7 from Phase 3
- 2026-07-01T10:00:05Z Phase 3 running
- 2026-07-01T10:20:00Z Phase 3 done: a.rs
- somebody's note
- 2026-07-01T10:21:00Z a note of another tool
- 2026-07-01T10:30:00Z Phase 4 running
";

    #[test]
    fn a_phase_is_worked_on_between_running_and_whatever_ends_it() {
        let document = Document::parse(
            br#"{"phases":{"3":{},"4":{},"5":{"started_at":"2026-07-01T11:00:00Z"}}}"#.to_vec(),
        )
        .unwrap();
        let span = |start: &str, end: Option<&str>| Span { start: at(start), end: end.map(at) };
        assert_eq!(
            spans(document.root(), &of_log(LOG)),
            [
                ("3".into(), vec![span("09:01:00", Some("09:10:00")), span("10:00:05", Some("10:20:00"))]),
                ("4".into(), vec![span("10:30:00", None)]),
                ("5".into(), vec![span("11:00:00", None)]),
            ]
        );
    }

    #[test]
    fn what_document_and_log_both_tell_is_told_once_and_in_order() {
        let text = br#"{"started_at":"2026-07-01T08:00:00Z",
            "loops":{"fix":{"attempts":[{"at":"2026-07-01T09:06:00.5Z"},{"at":"2026-07-01T09:07:00Z","reflection":"r"}]}},
            "metadata":{"resumedAt":"2026-07-01T10:00:00.900Z","resumedBy":"x",
            "tier_changes":[{"from":"a","to":"b","at":"2026-07-01T09:30:00Z"},{"from":"a"},7]}}"#;
        let document = Document::parse(text.to_vec()).unwrap();
        let events = merged(of_document(document.root()), of_log(LOG));
        let told: Vec<(&str, &str)> =
            events.iter().map(|event| (event.what.word(), event.text.as_str())).collect();
        assert_eq!(
            told,
            [
                ("start", "Run started"),
                ("start", "Task #7 started - PROJ-7"),
                ("phase", "Phase 3 running"),
                ("phase", "Phase 3 running, subStep red: a.rs"),
                ("retry", "Loop fix, attempt 1"),
                ("retry", "Loop fix, attempt 2: r"),
                ("halt", "HALT phase 3: no subagent returned"),
                ("tier", "From a to b"),
                ("resume", "Resumed PROJ-7 from Phase 3"),
                ("phase", "Phase 3 running"),
                ("phase", "Phase 3 done: a.rs"),
                ("note", "a note of another tool"),
                ("phase", "Phase 4 running"),
            ]
        );
    }
}
