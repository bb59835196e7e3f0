//! What a pipeline document must be (V4): the schema of the source document, field by field.
//!
//! An error is a field that is missing, of another type, or of a form that the document does not give it. What real
//! states have instead, and a reader understands without a guess, is a warning: phases keyed by name, a cursor that is a
//! string of digits or a key of those phases, other status words, times without a zone, fields that later versions
//! added. A document with only part of its fields is told as that, and so is every field.
//!
//! `schemas/pipeline-state.schema.json` says the same as far as a schema can (V6). It cannot say how fields go together
//! (`index-differs`, `current-phase-out-of-range`, `current-phase-no-phase`), what the calendar says (`not-a-time`), and
//! what stands twice (`phase-twice`).

use super::agent::{Number, decimal, shown};
use super::fields::{Fields, Shape};
use super::finding::Finding;
use super::keys_twice;
use crate::document::{Kind as JsonKind, Value, pointer_token};
use crate::phases::is_done;
use crate::pipeline::names::{PATTERNS, PHASE_STATUSES, RUN_STATUSES, is_name, is_stamp, is_uuid};
use crate::pipeline::tiers::Tier;
use crate::pipeline::{scope, version};
use crate::time::{Moment, TIME_FIELDS, Zone};

/// A field of an object.
struct Field {
    key: &'static str,
    /// What it is to be without it.
    missing: Missing,
    /// Says what is wrong or odd about its value, if anything is.
    rule: fn(Value<'_>) -> Verdict,
}

/// What a missing field is.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    /// A run cannot be told from another, or be resumed, without it.
    Error,
    /// Documents of earlier versions do not have it.
    Warning,
    /// It comes later in a run, or not at all.
    Fine,
}

/// What there is to say about a value, as the end of a sentence that the field's name begins.
enum Verdict {
    Fine,
    Odd(&'static str, String),
    Wrong(&'static str, String),
}

use Verdict::{Fine, Odd, Wrong};

const fn field(key: &'static str, missing: Missing, rule: fn(Value<'_>) -> Verdict) -> Field {
    Field { key, missing, rule }
}

/// The fields at the top, but for the phases and what depends on them.
static TOP: [Field; 11] = [
    field("pipeline_id", Missing::Error, uuid),
    field("pipeline_name", Missing::Error, name),
    field("plugin_version", Missing::Warning, semver),
    field("scope_root_dir", Missing::Warning, folder_name),
    field("run_id", Missing::Error, run_id),
    field("started_at", Missing::Error, time),
    field("pattern", Missing::Error, pattern),
    field("status", Missing::Error, run_status),
    field("current_phase", Missing::Error, |_| Fine),
    field("phases", Missing::Error, array_or_object),
    field("metadata", Missing::Error, object),
];

static METADATA: [Field; 12] = [
    field("source_tier", Missing::Warning, tier),
    field("runtime_tier", Missing::Warning, tier),
    field("platform_profile", Missing::Warning, object_or_null),
    field("tier_changes", Missing::Warning, array),
    field("source_scope_root", Missing::Warning, text_or_null),
    field("isolation_warning", Missing::Warning, text_or_null),
    field("resolved_models", Missing::Fine, object_or_null),
    field("preference_files_consulted", Missing::Fine, object_or_null),
    field("model_tiers_version_at_run", Missing::Fine, text_or_null),
    field("resumed_at", Missing::Fine, time),
    field("resumed_by", Missing::Fine, text_or_null),
    field("resume_confirmed", Missing::Fine, boolean),
];

static TIER_CHANGE: [Field; 3] = [
    field("from", Missing::Warning, text_or_null),
    field("to", Missing::Error, tier),
    field("at", Missing::Error, time),
];

static CONSULTED: [Field; 4] = [
    field("user_path", Missing::Fine, text_or_null),
    field("user_hash", Missing::Fine, text_or_null),
    field("workspace_path", Missing::Fine, text_or_null),
    field("workspace_hash", Missing::Fine, text_or_null),
];

/// The fields of a phase. In phases that are keyed the shape is another one, and only what is there is looked at.
static PHASE: [Field; 6] = [
    field("index", Missing::Warning, |_| Fine),
    field("name", Missing::Warning, name_or_odd),
    field("status", Missing::Warning, phase_status),
    field("agent", Missing::Warning, text_or_null),
    field("outputs", Missing::Warning, texts),
    field("error", Missing::Warning, text_or_null_or_odd),
];

/// Adds everything that V4 does not take as it is.
pub(super) fn check(mut root: Fields<'_>, findings: &mut Vec<Finding>) {
    let mut missing = fields(&root, "", &TOP, findings);
    missing += metadata(&root, findings);
    if missing > 0 {
        let message = format!("the document is partial: {missing} of its fields are missing");
        findings.push(Finding::warning("partial", "", message));
    }
    stamp_of_another(&root, findings);
    times(&root, "", &["started_at"], findings);
    let phases = phases(&mut root, findings);
    let cursor = root.get("current_phase").and_then(|value| current_phase(value, &phases, findings));
    contradictions(&root, cursor, &phases, findings);
    findings.extend(keys_twice(&root, ""));
}

/// Checks the fields of an object; how many are missing that should be there.
fn fields(
    object: &Fields<'_>,
    pointer: &str,
    expected: impl IntoIterator<Item = &'static Field>,
    findings: &mut Vec<Finding>,
) -> usize {
    let mut missing = 0;
    for Field { key, missing: weight, rule } in expected {
        let at = format!("{pointer}/{key}");
        let Some(value) = object.get(key) else {
            missing += usize::from(*weight != Missing::Fine);
            findings.extend(missing_field(key, *weight, at));
            continue;
        };
        match rule(value) {
            Fine => {}
            Odd(code, message) => findings.push(Finding::warning(code, at, format!("{key} {message}"))),
            Wrong(code, message) => findings.push(Finding::error(code, at, format!("{key} {message}"))),
        }
    }
    missing
}

fn missing_field(key: &str, weight: Missing, at: String) -> Option<Finding> {
    let message = format!("{key} is missing");
    match weight {
        Missing::Error => Some(Finding::error("field-missing", at, message)),
        Missing::Warning => Some(Finding::warning("field-missing", at, message)),
        Missing::Fine => None,
    }
}

/// The metadata, and in it the log of tiers and the preferences; how many fields are missing.
fn metadata(root: &Fields<'_>, findings: &mut Vec<Finding>) -> usize {
    let Some(value) = root.get("metadata").filter(|value| value.kind() == JsonKind::Object) else { return 0 };
    let metadata = Fields::of(value, &Shape::Flat);
    let is_old = metadata.get("tier").is_some();
    if is_old {
        let message = "tier is an old document's source_tier; the next write moves it there";
        findings.push(Finding::warning("tier-of-old-document", "/metadata/tier", message));
    }
    // An old document has one tier for both.
    let is_expected =
        |field: &&Field| !is_old || !field.key.ends_with("_tier") || metadata.get(field.key).is_some();
    let missing = fields(&metadata, "/metadata", METADATA.iter().filter(is_expected), findings);
    times(&metadata, "/metadata", &["resumed_at"], findings);
    findings.extend(keys_twice(&metadata, "/metadata"));
    let changes = metadata.get("tier_changes").into_iter().flat_map(Value::elements);
    for (index, change) in changes.enumerate() {
        let pointer = format!("/metadata/tier_changes/{index}");
        record(change, &pointer, &TIER_CHANGE, findings);
    }
    if let Some(consulted) = metadata.get("preference_files_consulted").filter(|value| !value.is_null()) {
        let consulted = Fields::of(consulted, &Shape::Flat);
        fields(&consulted, "/metadata/preference_files_consulted", &CONSULTED, findings);
    }
    missing
}

/// An object with these fields.
fn record<'a>(
    value: Value<'a>,
    pointer: &str,
    expected: impl IntoIterator<Item = &'static Field>,
    findings: &mut Vec<Finding>,
) -> Option<Fields<'a>> {
    if value.kind() != JsonKind::Object {
        let message = format!("this is {} instead of a record", value.kind().described());
        findings.push(Finding::error("not-a-record", pointer, message));
        return None;
    }
    let record = Fields::of(value, &Shape::Flat);
    fields(&record, pointer, expected, findings);
    Some(record)
}

/// A run id of another pipeline's name.
fn stamp_of_another(root: &Fields<'_>, findings: &mut Vec<Finding>) {
    let text = |key: &str| root.get(key).and_then(Value::as_str);
    let (Some(id), Some(name)) = (text("run_id"), text("pipeline_name")) else { return };
    if is_stamp(&id, None) && is_name(&name) && !is_stamp(&id, Some(&name)) {
        let message = "run_id is the stamp of another pipeline";
        findings.push(Finding::warning("run-id-of-another", "/run_id", message));
    }
}

/// The other fields that tell when something happened (R7), for what is told of every time.
fn times(object: &Fields<'_>, pointer: &str, told: &[&str], findings: &mut Vec<Finding>) {
    for key in TIME_FIELDS.iter().filter(|key| !told.contains(key)) {
        let Some(value) = object.get(key).filter(|value| !value.is_null()) else { continue };
        if let Odd(code, message) | Wrong(code, message) = time(value) {
            findings.push(Finding::warning(code, format!("{pointer}/{key}"), format!("{key} {message}")));
        }
    }
}

/// The phases as far as they are well formed.
enum Phases {
    /// A list, with the status of each.
    Listed(Vec<Option<String>>),
    /// An object, with keys and status.
    Keyed(Vec<(String, Option<String>)>),
    /// Neither.
    None,
}

fn phases(root: &mut Fields<'_>, findings: &mut Vec<Finding>) -> Phases {
    let Some(value) = root.get("phases") else { return Phases::None };
    match value.kind() {
        JsonKind::Array => {
            let listed = value.elements().enumerate();
            Phases::Listed(listed.map(|(index, phase)| listed_phase(index, phase, findings)).collect())
        }
        JsonKind::Object => {
            let message = "phases is an object; it is read by its keys, and never written as an array";
            findings.push(Finding::warning("phases-keyed", "/phases", message));
            keyed_phases(root.take_inside("phases").unwrap_or_default(), findings)
        }
        _ => Phases::None,
    }
}

fn listed_phase(place: usize, value: Value<'_>, findings: &mut Vec<Finding>) -> Option<String> {
    let pointer = format!("/phases/{place}");
    let phase = record(value, &pointer, &PHASE, findings)?;
    if let Some(index) = phase.get("index") {
        match index.as_number_text().map(Number::read) {
            Some(Number::Integer(index)) if index == place as u64 => {}
            Some(Number::Integer(_)) => findings.push(Finding::error(
                "index-differs",
                format!("{pointer}/index"),
                format!("index is {}, and the phase is the one at {place}", shown(index)),
            )),
            _ => findings.push(Finding::error(
                "index-not-an-integer",
                format!("{pointer}/index"),
                format!("index is {}, and no place in a list", shown(index)),
            )),
        }
    }
    phase_details(&phase, &pointer, findings)
}

fn keyed_phases(members: Fields<'_>, findings: &mut Vec<Finding>) -> Phases {
    let pointer = |key: &str| format!("/phases/{}", pointer_token(key));
    for key in members.twice() {
        let message = "the phase stands twice, and readers disagree about which one counts";
        findings.push(Finding::error("phase-twice", pointer(&key), message));
    }
    let mut keyed = Vec::new();
    for member in members.iter() {
        let key = member.key.to_str().into_owned();
        let is_there = |field: &&Field| member.value.get(field.key).is_some();
        let phase = record(member.value, &pointer(&key), PHASE.iter().filter(is_there), findings);
        let status = phase.and_then(|phase| phase_details(&phase, &pointer(&key), findings));
        keyed.push((key, status));
    }
    Phases::Keyed(keyed)
}

/// What is told of phases of either shape; the status of this one.
fn phase_details(phase: &Fields<'_>, pointer: &str, findings: &mut Vec<Finding>) -> Option<String> {
    times(phase, pointer, &[], findings);
    findings.extend(keys_twice(phase, pointer));
    phase.get("status").and_then(Value::as_str).map(String::from)
}

/// Reads the cursor: which place in a list it means, if it means one.
fn current_phase(value: Value<'_>, phases: &Phases, findings: &mut Vec<Finding>) -> Option<usize> {
    let mut say = |verdict| match verdict {
        Fine => true,
        Odd(code, message) => {
            findings.push(Finding::warning(code, "/current_phase", format!("current_phase {message}")));
            true
        }
        Wrong(code, message) => {
            findings.push(Finding::error(code, "/current_phase", format!("current_phase {message}")));
            false
        }
    };
    let text = value.as_str();
    let number = match (value.as_number_text(), &text) {
        (Some(number), _) => Some(Number::read(number)),
        (None, Some(text)) => decimal(text).map(Number::Integer),
        (None, None) => Some(Number::Fractional),
    };
    let number = match number {
        Some(Number::Integer(number)) => Some(number),
        Some(Number::Negative | Number::Fractional) => {
            say(not("current-phase-not-an-integer", value, "the index of a phase"));
            return None;
        }
        None => None,
    };
    if number.is_some() && !value.raw().iter().all(u8::is_ascii_digit) {
        say(Odd("current-phase-spelling", format!("is {}, and a phase is written in digits", shown(value))));
    }
    let key = number.map_or_else(|| text.unwrap_or_default().into_owned(), |number| number.to_string());
    let is_phase = say(points_at(value, &key, number, phases));
    let place = number.filter(|_| is_phase && matches!(phases, Phases::Listed(_)));
    place.and_then(|place| usize::try_from(place).ok())
}

/// Whether a cursor of this key, which is a number or is not, means one of the phases.
fn points_at(value: Value<'_>, key: &str, number: Option<u64>, phases: &Phases) -> Verdict {
    match (phases, number) {
        (Phases::Listed(list), Some(number)) => {
            // A run without phases is at its start.
            if number < list.len().max(1) as u64 {
                return Fine;
            }
            let message = format!("is {}, and there are {} phases", shown(value), list.len());
            Wrong("current-phase-out-of-range", message)
        }
        (Phases::Keyed(keyed), number) if keyed.iter().any(|(other, _)| other == key) => match number {
            Some(_) => Fine,
            None => Odd("current-phase-by-name", format!("is {}, the key of a phase", shown(value))),
        },
        (Phases::Keyed(_), _) => {
            Wrong("current-phase-no-phase", format!("is {}, and no phase has that key", shown(value)))
        }
        (Phases::None, Some(_)) => Fine,
        (Phases::Listed(_) | Phases::None, None) => {
            not("current-phase-not-an-integer", value, "the index of a phase")
        }
    }
}

/// What cannot all be true (V3), and a run that is complete but not said to be (P7).
fn contradictions(root: &Fields<'_>, cursor: Option<usize>, phases: &Phases, findings: &mut Vec<Finding>) {
    let all: Vec<(String, Option<&str>)> = match phases {
        Phases::Listed(list) => {
            list.iter().enumerate().map(|(index, status)| (index.to_string(), status.as_deref())).collect()
        }
        Phases::Keyed(keyed) => keyed.iter().map(|(key, status)| (key.clone(), status.as_deref())).collect(),
        Phases::None => Vec::new(),
    };
    let mut warn = |code, key: &str, message: String| {
        findings.push(Finding::warning(code, format!("/phases/{}/status", pointer_token(key)), message));
    };
    let is_over = |status: &Option<&str>| status.is_some_and(|status| is_done(status) || status == "skipped");
    for (place, (key, status)) in all.iter().enumerate() {
        if cursor.is_some_and(|cursor| place < cursor) && !is_over(status) {
            warn(
                "earlier-phase-not-done",
                key,
                format!("phase {key} is not done, and the current phase is a later one"),
            );
        }
        if cursor.is_some_and(|cursor| place > cursor) && status.is_some_and(is_done) {
            warn(
                "later-phase-done",
                key,
                format!("phase {key} is done, and the current phase is an earlier one"),
            );
        }
    }
    let status = root.get("status").and_then(Value::as_str);
    if status.as_deref().is_some_and(is_done) {
        for (key, _) in all.iter().filter(|(_, status)| !is_over(status)) {
            warn(
                "phase-open-in-finished-run",
                key,
                format!("phase {key} is not done, and the run is completed"),
            );
        }
    }
    if status.as_deref() == Some("running")
        && !all.is_empty()
        && all.iter().all(|(_, status)| status.is_some_and(is_done))
    {
        let message = "all phases are done, and the run is only to be finalised";
        findings.push(Finding::advice("complete-unfinalised", "/status", message));
    }
}

// The rules of single values.

fn uuid(value: Value<'_>) -> Verdict {
    text(value, "not-a-uuid", "a UUID", is_uuid)
}

fn name(value: Value<'_>) -> Verdict {
    text(value, "not-a-name", "a name of a-z, 0-9 and -, 48 of them at most", is_name)
}

fn name_or_odd(value: Value<'_>) -> Verdict {
    match (value.kind(), name(value)) {
        (JsonKind::String, Wrong(code, message)) => Odd(code, message),
        (_, verdict) => verdict,
    }
}

fn semver(value: Value<'_>) -> Verdict {
    if value.is_null() {
        return Odd(
            "plugin-version-open",
            "is null: it was not known at init, and can be filled once".into(),
        );
    }
    text(value, "not-a-version", "a semantic version", |text| version::major(text).is_some())
}

fn folder_name(value: Value<'_>) -> Verdict {
    text(value, "not-a-folder-name", "the name of a folder", scope::is_name)
}

fn run_id(value: Value<'_>) -> Verdict {
    text(value, "not-a-run-id", "a UUID or a stamp", |text| is_uuid(text) || is_stamp(text, None))
}

fn time(value: Value<'_>) -> Verdict {
    let Some(text) = value.as_str() else { return not("not-a-string", value, "a time in ISO 8601") };
    match Moment::parse(&text) {
        Some(Moment { zone: Zone::Given, .. }) => Fine,
        Some(Moment { zone: Zone::Missing, .. }) => {
            Odd("time-without-zone", format!("is {} without a zone, and taken for UTC", shown(value)))
        }
        None => not("not-a-time", value, "a time in ISO 8601"),
    }
}

fn pattern(value: Value<'_>) -> Verdict {
    let of_number = value.as_number_text().filter(|text| PATTERNS.contains(text));
    if let Some(number) = of_number {
        return Odd("pattern-a-number", format!("is the number {number}, and patterns are strings"));
    }
    text(value, "not-a-pattern", "one of 1, 2, 2b, 3, 4, 5", |text| PATTERNS.contains(&text))
}

fn run_status(value: Value<'_>) -> Verdict {
    word(value, &RUN_STATUSES)
}

fn phase_status(value: Value<'_>) -> Verdict {
    word(value, &PHASE_STATUSES)
}

fn tier(value: Value<'_>) -> Verdict {
    match value.as_str() {
        Some(id) if Tier::parse(&id).is_some() => Fine,
        Some(_) => Odd("tier-unknown", format!("is {}, and no known tier", shown(value))),
        None => not("not-a-string", value, "a tier"),
    }
}

/// A status; one that no rule knows is odd, since a reader can tell it from those that one does.
fn word(value: Value<'_>, known: &[&str]) -> Verdict {
    match value.as_str() {
        Some(word) if known.contains(&&*word) => Fine,
        Some(_) => Odd("status-unknown", format!("is {}, and none of {}", shown(value), known.join(", "))),
        None => not("not-a-string", value, "a status"),
    }
}

fn texts(value: Value<'_>) -> Verdict {
    let is_list =
        value.kind() == JsonKind::Array && value.elements().all(|text| text.kind() == JsonKind::String);
    if is_list { Fine } else { not("not-a-list-of-strings", value, "a list of strings") }
}

fn text_or_null(value: Value<'_>) -> Verdict {
    one_of(value, &[JsonKind::String, JsonKind::Null], "a string or null")
}

fn text_or_null_or_odd(value: Value<'_>) -> Verdict {
    match text_or_null(value) {
        Wrong(code, message) => Odd(code, message),
        verdict => verdict,
    }
}

fn boolean(value: Value<'_>) -> Verdict {
    one_of(value, &[JsonKind::Bool], "true or false")
}

fn object(value: Value<'_>) -> Verdict {
    one_of(value, &[JsonKind::Object], "an object")
}

fn object_or_null(value: Value<'_>) -> Verdict {
    one_of(value, &[JsonKind::Object, JsonKind::Null], "an object or null")
}

fn array(value: Value<'_>) -> Verdict {
    one_of(value, &[JsonKind::Array], "an array")
}

fn array_or_object(value: Value<'_>) -> Verdict {
    one_of(value, &[JsonKind::Array, JsonKind::Object], "an array of phases")
}

fn one_of(value: Value<'_>, kinds: &[JsonKind], what: &str) -> Verdict {
    if kinds.contains(&value.kind()) { Fine } else { not("wrong-type", value, what) }
}

fn text(value: Value<'_>, code: &'static str, what: &str, is_right: fn(&str) -> bool) -> Verdict {
    match value.as_str() {
        Some(text) if is_right(&text) => Fine,
        _ => not(code, value, what),
    }
}

fn not(code: &'static str, value: Value<'_>, what: &str) -> Verdict {
    Wrong(code, format!("is {}, and not {what}", shown(value)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value as Json, json};

    use crate::validate::{Options, validate_text};

    /// A document as init makes it, and a phase further.
    fn run() -> Json {
        json!({
            "pipeline_id": "0b1c2d3e-0000-4000-8000-0123456789ab",
            "pipeline_name": "docs",
            "plugin_version": "1.2.3",
            "scope_root_dir": ".agents/codex",
            "run_id": "docs-20260731-134000",
            "started_at": "2026-07-31T13:40:00.000Z",
            "pattern": "2b",
            "status": "running",
            "current_phase": 1,
            "phases": [
                {"index": 0, "name": "plan", "status": "done", "agent": "planner", "outputs": ["a.md"], "error": null},
                {"index": 1, "name": "write", "status": "running", "agent": null, "outputs": [], "error": null},
                {"index": 2, "name": "check", "status": "pending", "agent": null, "outputs": [], "error": null},
            ],
            "metadata": {
                "source_tier": "tier_1d",
                "runtime_tier": "tier_2",
                "platform_profile": {"id": "cursor"},
                "tier_changes": [{"from": "tier_1d", "to": "tier_2", "at": "2026-07-31T13:41:00Z"}],
                "source_scope_root": ".agents/codex",
                "isolation_warning": null,
                "resolved_models": {},
                "preference_files_consulted": {
                    "user_path": "~/p.json", "user_hash": null, "workspace_path": null, "workspace_hash": null,
                },
                "model_tiers_version_at_run": "2026-07-01",
                "resumed_at": "2026-07-31T13:41:00Z",
                "resumed_by": "somebody",
                "resume_confirmed": true,
            },
        })
    }

    fn findings(document: &Json) -> Vec<String> {
        let text = document.to_string().into_bytes();
        let report = validate_text(Path::new("pipeline-state.json"), text, &Options::default(), &|_| true);
        report.findings.iter().map(ToString::to_string).collect()
    }

    /// What is found in a run in which the value at this pointer is another one.
    fn with(pointer: &str, value: Json) -> Vec<String> {
        let mut run = run();
        *run.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        findings(&run)
    }

    #[test]
    fn a_document_as_the_source_has_it_is_valid() {
        assert_eq!(findings(&run()), [""; 0]);
    }

    #[test]
    fn every_field_of_another_type_or_form_is_an_error_of_its_own() {
        for (pointer, value, finding) in [
            ("/pipeline_id", json!("x"), "pipeline_id is \"x\", and not a UUID [not-a-uuid]"),
            ("/pipeline_id", json!(null), "pipeline_id is null, and not a UUID [not-a-uuid]"),
            (
                "/pipeline_name",
                json!("Docs"),
                "pipeline_name is \"Docs\", and not a name of a-z, 0-9 and -, 48 of them at most [not-a-name]",
            ),
            (
                "/plugin_version",
                json!("1.2"),
                "plugin_version is \"1.2\", and not a semantic version [not-a-version]",
            ),
            (
                "/scope_root_dir",
                json!("/w/.claude"),
                "scope_root_dir is \"/w/.claude\", and not the name of a folder [not-a-folder-name]",
            ),
            ("/run_id", json!("run-1"), "run_id is \"run-1\", and not a UUID or a stamp [not-a-run-id]"),
            ("/started_at", json!(1), "started_at is 1, and not a time in ISO 8601 [not-a-string]"),
            (
                "/started_at",
                json!("2026-02-30"),
                "started_at is \"2026-02-30\", and not a time in ISO 8601 [not-a-time]",
            ),
            ("/pattern", json!("6"), "pattern is \"6\", and not one of 1, 2, 2b, 3, 4, 5 [not-a-pattern]"),
            ("/status", json!(null), "status is null, and not a status [not-a-string]"),
            ("/metadata", json!([]), "metadata is an array, and not an object [wrong-type]"),
            (
                "/phases/1/outputs",
                json!("a"),
                "outputs is \"a\", and not a list of strings [not-a-list-of-strings]",
            ),
            (
                "/phases/1/outputs",
                json!([1]),
                "outputs is an array, and not a list of strings [not-a-list-of-strings]",
            ),
            ("/phases/1/agent", json!(1), "agent is 1, and not a string or null [wrong-type]"),
            ("/phases/1/index", json!(2), "index is 2, and the phase is the one at 1 [index-differs]"),
            ("/phases/1/index", json!("1"), "index is \"1\", and no place in a list [index-not-an-integer]"),
            ("/phases/1/status", json!(7), "status is 7, and not a status [not-a-string]"),
            ("/phases/2", json!("pending"), "this is a string instead of a record [not-a-record]"),
            ("/metadata/source_tier", json!(1), "source_tier is 1, and not a tier [not-a-string]"),
            (
                "/metadata/platform_profile",
                json!("x"),
                "platform_profile is \"x\", and not an object or null [wrong-type]",
            ),
            ("/metadata/tier_changes", json!({}), "tier_changes is an object, and not an array [wrong-type]"),
            ("/metadata/tier_changes/0", json!("x"), "this is a string instead of a record [not-a-record]"),
            (
                "/metadata/tier_changes/0/at",
                json!("now"),
                "at is \"now\", and not a time in ISO 8601 [not-a-time]",
            ),
            (
                "/metadata/resume_confirmed",
                json!("yes"),
                "resume_confirmed is \"yes\", and not true or false [wrong-type]",
            ),
            (
                "/metadata/preference_files_consulted/user_hash",
                json!(1),
                "user_hash is 1, and not a string or null [wrong-type]",
            ),
        ] {
            assert_eq!(with(pointer, value)[0], format!("error {pointer}: {finding}"));
        }
        assert_eq!(
            with("/phases", json!("x"))[0],
            "error /phases: phases is \"x\", and not an array of phases [wrong-type]"
        );
    }

    #[test]
    fn what_real_states_have_instead_is_a_warning() {
        for (pointer, value, finding) in [
            (
                "/plugin_version",
                json!(null),
                "plugin_version is null: it was not known at init, and can be filled once [plugin-version-open]",
            ),
            (
                "/started_at",
                json!("2026-07-31"),
                "started_at is \"2026-07-31\" without a zone, and taken for UTC [time-without-zone]",
            ),
            ("/pattern", json!(2), "pattern is the number 2, and patterns are strings [pattern-a-number]"),
            (
                "/status",
                json!("in_progress"),
                "status is \"in_progress\", and none of running, completed, escalated, failed, paused [status-unknown]",
            ),
            (
                "/phases/2/status",
                json!("not_started"),
                "status is \"not_started\", and none of pending, running, done, completed, failed [status-unknown]",
            ),
            (
                "/phases/2/name",
                json!("Check it"),
                "name is \"Check it\", and not a name of a-z, 0-9 and -, 48 of them at most [not-a-name]",
            ),
            (
                "/phases/2/error",
                json!({"code": 1}),
                "error is an object, and not a string or null [wrong-type]",
            ),
            (
                "/metadata/runtime_tier",
                json!("tier_9"),
                "runtime_tier is \"tier_9\", and no known tier [tier-unknown]",
            ),
            (
                "/metadata/tier_changes/0/at",
                json!("2026-07-31T13:41:00"),
                "at is \"2026-07-31T13:41:00\" without a zone, and taken for UTC [time-without-zone]",
            ),
            (
                "/run_id",
                json!("other-20260731-134000"),
                "run_id is the stamp of another pipeline [run-id-of-another]",
            ),
        ] {
            assert_eq!(with(pointer, value), [format!("warning {pointer}: {finding}")]);
        }
    }

    #[test]
    fn a_cursor_means_a_phase_or_is_an_error() {
        for (cursor, finding) in [
            (json!(1), None),
            (
                json!("1"),
                Some(
                    "warning /current_phase: current_phase is \"1\", and a phase is written in digits [current-phase-spelling]",
                ),
            ),
            (
                json!(3),
                Some(
                    "error /current_phase: current_phase is 3, and there are 3 phases [current-phase-out-of-range]",
                ),
            ),
            (
                json!("3"),
                Some(
                    "error /current_phase: current_phase is \"3\", and there are 3 phases [current-phase-out-of-range]",
                ),
            ),
            (
                json!(-1),
                Some(
                    "error /current_phase: current_phase is -1, and not the index of a phase [current-phase-not-an-integer]",
                ),
            ),
            (
                json!(0.5),
                Some(
                    "error /current_phase: current_phase is 0.5, and not the index of a phase [current-phase-not-an-integer]",
                ),
            ),
            (
                json!(null),
                Some(
                    "error /current_phase: current_phase is null, and not the index of a phase [current-phase-not-an-integer]",
                ),
            ),
            (
                json!([1]),
                Some(
                    "error /current_phase: current_phase is an array, and not the index of a phase [current-phase-not-an-integer]",
                ),
            ),
            (
                json!("write"),
                Some(
                    "error /current_phase: current_phase is \"write\", and not the index of a phase [current-phase-not-an-integer]",
                ),
            ),
            (
                json!("01"),
                Some(
                    "error /current_phase: current_phase is \"01\", and not the index of a phase [current-phase-not-an-integer]",
                ),
            ),
        ] {
            let found = with("/current_phase", cursor.clone());
            assert_eq!(found.first().map(String::as_str), finding, "{cursor}");
        }
        let mut empty = run();
        (empty["phases"], empty["current_phase"]) = (json!([]), json!(0));
        assert_eq!(findings(&empty), [""; 0], "a run without phases is at its start");
    }

    #[test]
    fn keyed_phases_are_read_by_their_keys() {
        let keyed = |cursor: Json, phases: Json| {
            let mut run = run();
            (run["current_phase"], run["phases"]) = (cursor, phases);
            findings(&run)
        };
        const KEYED: &str = "warning /phases: phases is an object; it is read by its keys, and never written as an array [phases-keyed]";
        let phases = || json!({"3": {"status": "done"}, "3.5": {"status": "running"}, "plan": {}});
        assert_eq!(keyed(json!(3), phases()), [KEYED]);
        let spelling = "warning /current_phase: current_phase is \"3\", and a phase is written in digits [current-phase-spelling]";
        assert_eq!(keyed(json!("3"), phases()), [KEYED, spelling]);
        for name in ["3.5", "plan"] {
            let by_name = format!(
                "warning /current_phase: current_phase is \"{name}\", the key of a phase [current-phase-by-name]"
            );
            assert_eq!(keyed(json!(name), phases()), [KEYED.to_owned(), by_name]);
        }
        for nowhere in [json!(0), json!("0"), json!("x")] {
            assert_eq!(
                keyed(nowhere.clone(), phases())[0],
                format!(
                    "error /current_phase: current_phase is {nowhere}, and no phase has that key [current-phase-no-phase]"
                )
            );
        }
        let odd = keyed(json!("a/b"), json!({"a/b": {"status": 1}, "c": "done"}));
        assert_eq!(odd[0], "error /phases/a~1b/status: status is 1, and not a status [not-a-string]");
        assert_eq!(odd[1], "error /phases/c: this is a string instead of a record [not-a-record]");
    }

    #[test]
    fn a_partial_document_is_told_as_one_field_by_field() {
        let document =
            json!({"metadata": {"source_tier": "tier_1", "runtime_tier": "tier_1d", "resolved_models": {}}});
        let error = |key: &str| format!("error /{key}: {key} is missing [field-missing]");
        let warning = |key: &str| {
            format!("warning /{key}: {} is missing [field-missing]", key.rsplit('/').next().unwrap())
        };
        let mut expected: Vec<String> = [
            "pipeline_id",
            "pipeline_name",
            "run_id",
            "started_at",
            "pattern",
            "status",
            "current_phase",
            "phases",
        ]
        .map(error)
        .into();
        expected.extend(
            [
                "plugin_version",
                "scope_root_dir",
                "metadata/platform_profile",
                "metadata/tier_changes",
                "metadata/source_scope_root",
                "metadata/isolation_warning",
            ]
            .map(warning),
        );
        expected.push("warning: the document is partial: 14 of its fields are missing [partial]".into());
        assert_eq!(findings(&document), expected);
    }

    #[test]
    fn an_old_document_has_one_tier_and_is_warned_of() {
        let mut old = run();
        let metadata = old["metadata"].as_object_mut().unwrap();
        metadata.remove("source_tier");
        metadata.remove("runtime_tier");
        metadata.insert("tier".into(), json!("tier_1"));
        let warning = "warning /metadata/tier: tier is an old document's source_tier; the next write moves it there \
                       [tier-of-old-document]";
        assert_eq!(findings(&old), [warning]);
    }

    #[test]
    fn contradictions_are_warnings_and_a_complete_run_is_advice() {
        assert_eq!(
            with("/current_phase", json!(2)),
            [
                "warning /phases/1/status: phase 1 is not done, and the current phase is a later one [earlier-phase-not-done]"
            ]
        );
        assert_eq!(
            with("/current_phase", json!(0)),
            [""; 0],
            "a phase at work behind the cursor is no contradiction that V3 names"
        );
        assert_eq!(
            with("/phases/2/status", json!("done")),
            [
                "warning /phases/2/status: phase 2 is done, and the current phase is an earlier one [later-phase-done]"
            ]
        );
        assert_eq!(
            with("/status", json!("completed")),
            [
                "warning /phases/1/status: phase 1 is not done, and the run is completed [phase-open-in-finished-run]",
                "warning /phases/2/status: phase 2 is not done, and the run is completed [phase-open-in-finished-run]",
            ]
        );
        let mut complete = run();
        complete["current_phase"] = json!(2);
        for phase in complete["phases"].as_array_mut().unwrap() {
            phase["status"] = json!("completed");
        }
        let advice =
            "advice /status: all phases are done, and the run is only to be finalised [complete-unfinalised]";
        assert_eq!(findings(&complete), [advice]);
    }
}
