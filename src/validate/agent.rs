//! What an agent state must be for a resume not to guess (V1), and what is tolerated in it (V2): the cursor, the
//! phases, the status words, the keys beside them. How these go together (V3) is [`super::contradiction`]'s question.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::fields::{Fields, Shape};
use super::finding::Finding;
use super::keys_twice;
use crate::document::{Kind as JsonKind, Value, pointer_token};
use crate::text::quoted;
use crate::time::TIME_FIELDS;

/// The keys that the documents give an agent state, beside the times of R7.
const KNOWN_KEYS: &[&str] = &[
    "taskId",
    "ticket",
    "project",
    "projects",
    "repoPath",
    "worktreePath",
    "branch",
    "currentPhase",
    "phases",
    "status",
    "haltReason",
    "loops",
    "metadata",
    "subStep",
    "subSteps",
    "files",
    "retryCount",
];

/// The status words of both documents, and those that states in the wild have with the same meanings. Any other is a
/// warning (V2): no rule is known to hold for it.
const STATUS_WORDS: &[&str] = &[
    "pending",
    "not_started",
    "not-started",
    "idle",
    "running",
    "in_progress",
    "in-progress",
    "blocked",
    "paused",
    "done",
    "completed",
    "skipped",
    "failed",
    "escalated",
];

/// An agent state as far as it is well formed.
pub(super) struct Agent<'a> {
    /// Its members.
    pub(super) root: Fields<'a>,
    /// The current phase, when it is one and stands in the file once.
    pub(super) cursor: Option<u32>,
    /// The phases that have a record, by number.
    pub(super) phases: BTreeMap<u32, Phase<'a>>,
}

/// The record of one phase.
pub(super) struct Phase<'a> {
    /// Where it stands.
    pub(super) pointer: String,
    /// Its members; none in the legacy form that is only a status word.
    pub(super) fields: Fields<'a>,
    /// Its status word; `None` when it has none.
    pub(super) status: Option<Cow<'a, str>>,
}

impl<'a> Agent<'a> {
    /// Reads a state and adds everything in it that V1 and V2 do not take as it is. Phases are numbered up to
    /// `max_phase` (V7).
    pub(super) fn read(mut root: Fields<'a>, max_phase: u32, findings: &mut Vec<Finding>) -> Agent<'a> {
        let cursor = current_phase(&root, max_phase, findings);
        let phases = phases(&mut root, max_phase, findings);
        if let Some(status) = root.get("status") {
            status_word(status, "/status", findings);
        }
        unknown_keys(&root, findings);
        // These two are errors, and have been told.
        let is_odd = |finding: &Finding| !matches!(&*finding.pointer, "/currentPhase" | "/phases");
        findings.extend(keys_twice(&root, "").into_iter().filter(is_odd));
        Agent { root, cursor, phases }
    }

    /// What the run's status word means; a state without one counts as running (R6).
    pub(super) fn status(&self) -> Option<Cow<'a, str>> {
        match self.root.get("status") {
            None => Some(Cow::Borrowed("running")),
            Some(status) => status.as_str(),
        }
    }
}

impl Phase<'_> {
    /// Where its status stands, or would stand.
    pub(super) fn status_pointer(&self) -> String {
        match self.fields.get("status") {
            Some(_) => format!("{}/status", self.pointer),
            None => self.pointer.clone(),
        }
    }
}

const CURSOR: &str = "/currentPhase";

/// The cursor: an integer in the range, once (V1).
fn current_phase(root: &Fields<'_>, max_phase: u32, findings: &mut Vec<Finding>) -> Option<u32> {
    let twice = root.twice().any(|key| key == "currentPhase");
    if twice {
        let message = "currentPhase stands twice, and readers disagree about which one counts";
        findings.push(Finding::error("current-phase-twice", CURSOR, message));
    }
    let Some(value) = root.get("currentPhase") else {
        let message = "currentPhase is missing, so where to resume would be a guess";
        findings.push(Finding::error("current-phase-missing", CURSOR, message));
        return None;
    };
    let text = shown(value);
    let (code, message) = match cursor_number(value, findings)? {
        Number::Integer(phase) if phase <= u64::from(max_phase) => return (!twice).then_some(phase as u32),
        Number::Integer(_) | Number::Negative => (
            "current-phase-out-of-range",
            format!("currentPhase is {text}, and the phases are 0 to {max_phase}"),
        ),
        Number::Fractional => {
            ("current-phase-fractional", format!("currentPhase is {text}, and phases are whole numbers"))
        }
    };
    findings.push(Finding::error(code, CURSOR, message));
    None
}

/// The number that a cursor is, also in the legacy spellings `4.0` and `"4"`, which are warned of (V2).
fn cursor_number(value: Value<'_>, findings: &mut Vec<Finding>) -> Option<Number> {
    let text = shown(value);
    match value.kind() {
        JsonKind::Number => {
            let number = Number::read(value.as_number_text()?);
            if matches!(number, Number::Integer(_)) && !value.raw().iter().all(u8::is_ascii_digit) {
                let message = format!("currentPhase is written as {text}, and a phase is written in digits");
                findings.push(Finding::warning("current-phase-spelling", CURSOR, message));
            }
            Some(number)
        }
        JsonKind::String => match decimal(&value.as_str()?) {
            Some(phase) => {
                let message =
                    format!("currentPhase is the string {text}, to which JavaScript adds 1 as a digit");
                findings.push(Finding::warning("current-phase-spelling", CURSOR, message));
                Some(Number::Integer(phase))
            }
            None => {
                let message = format!("currentPhase is the string {text}, which is no phase");
                findings.push(Finding::error("current-phase-not-an-integer", CURSOR, message));
                None
            }
        },
        JsonKind::Null => {
            let message = "currentPhase is null, so where to resume would be a guess";
            findings.push(Finding::error("current-phase-null", CURSOR, message));
            None
        }
        other => {
            let message = format!("currentPhase is {} instead of an integer", other.described());
            findings.push(Finding::error("current-phase-not-an-integer", CURSOR, message));
            None
        }
    }
}

/// A scalar as a message shows it.
pub(super) fn shown(value: Value<'_>) -> String {
    /// Of a number, in digits.
    const LONGEST: usize = 40;
    match (value.as_str(), value.as_number_text()) {
        (Some(text), _) => quoted(&text),
        (_, Some(number)) if number.len() > LONGEST => format!("{}…", &number[..LONGEST]),
        (_, Some(number)) => number.to_owned(),
        _ => value.kind().described().to_owned(),
    }
}

/// The exact value of a JSON number, as far as a phase is concerned: what rounds to an integer is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    /// An integer from 0 up; the largest stands for all beyond it.
    Integer(u64),
    /// An integer below 0.
    Negative,
    /// Not an integer.
    Fractional,
}

impl Number {
    /// Reads the text of a JSON number: `4`, `4.0`, `40e-1`, `-0` are integers.
    pub(super) fn read(text: &str) -> Number {
        let (negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = format!("{whole}{fraction}");
        let digits = all_digits.trim_end_matches('0');
        let beyond = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
        let exponent = exponent.parse().unwrap_or(beyond);
        // The number is `digits` times ten to the power of `scale`.
        let scale = exponent.saturating_add((all_digits.len() - digits.len()) as i64 - fraction.len() as i64);
        match digits.trim_start_matches('0') {
            "" => Number::Integer(0),
            _ if scale < 0 => Number::Fractional,
            _ if negative => Number::Negative,
            digits => {
                let power = u32::try_from(scale).ok().and_then(|scale| 10_u64.checked_pow(scale));
                let value = power.and_then(|power| digits.parse::<u64>().ok()?.checked_mul(power));
                Number::Integer(value.unwrap_or(u64::MAX))
            }
        }
    }
}

/// A number as phases are keyed: digits only, without leading zeros, so that it names one key.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let is_canonical = text == "0" || !text.starts_with('0') && !text.is_empty();
    if !is_canonical || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}

/// The phases: an object keyed by their numbers, or a legacy array (V1).
fn phases<'a>(
    root: &mut Fields<'a>,
    max_phase: u32,
    findings: &mut Vec<Finding>,
) -> BTreeMap<u32, Phase<'a>> {
    const POINTER: &str = "/phases";
    if root.twice().any(|key| key == "phases") {
        let message = "phases stands twice, and readers disagree about which one counts";
        findings.push(Finding::error("phases-twice", POINTER, message));
    }
    let Some(value) = root.get("phases") else {
        let message = "phases is missing, so nothing tells what has been done";
        findings.push(Finding::warning("phases-missing", POINTER, message));
        return BTreeMap::new();
    };
    match value.kind() {
        JsonKind::Object => keyed_phases(root.take_inside("phases").unwrap_or_default(), max_phase, findings),
        JsonKind::Array => listed_phases(value, max_phase, findings),
        other => {
            let message = format!("phases is {} instead of an object keyed by phase", other.described());
            findings.push(Finding::error("phases-not-an-object", POINTER, message));
            BTreeMap::new()
        }
    }
}

fn keyed_phases<'a>(
    mut members: Fields<'a>,
    max_phase: u32,
    findings: &mut Vec<Finding>,
) -> BTreeMap<u32, Phase<'a>> {
    let pointer = |key: &str| format!("/phases/{}", pointer_token(key));
    for key in members.twice() {
        let message =
            format!("phase {} stands twice, and readers disagree about which one counts", quoted(&key));
        findings.push(Finding::error("phase-twice", pointer(&key), message));
    }
    let mut keyed = Vec::new();
    for member in members.iter() {
        let key = member.key.to_str();
        match decimal(&key) {
            Some(number) if number <= u64::from(max_phase) => keyed.push((number as u32, member.value)),
            _ => {
                let message = format!("{} is no phase: they are \"0\" to \"{max_phase}\"", quoted(&key));
                findings.push(Finding::error("phase-key-unknown", pointer(&key), message));
            }
        }
    }
    let mut phases = BTreeMap::new();
    for (number, value) in keyed {
        let fields = members.take_inside(&number.to_string()).unwrap_or_default();
        phases.extend(record(number, value, fields, findings).map(|phase| (number, phase)));
    }
    phases
}

fn listed_phases<'a>(
    value: Value<'a>,
    max_phase: u32,
    findings: &mut Vec<Finding>,
) -> BTreeMap<u32, Phase<'a>> {
    let mut phases = BTreeMap::new();
    let mut elements = value.elements();
    for (number, element) in (0..=max_phase).zip(elements.by_ref()) {
        let fields = Fields::of(element, &Shape::Flat);
        phases.extend(record(number, element, fields, findings).map(|phase| (number, phase)));
    }
    let beyond = elements.count();
    if beyond > 0 {
        let message = format!("phases has {beyond} elements too many: the phases are 0 to {max_phase}");
        findings.push(Finding::error("phases-too-long", "/phases", message));
    }
    phases
}

/// The record of one phase: an object with these fields, or a legacy status word (V1).
fn record<'a>(
    number: u32,
    value: Value<'a>,
    fields: Fields<'a>,
    findings: &mut Vec<Finding>,
) -> Option<Phase<'a>> {
    let pointer = format!("/phases/{number}");
    let status = match value.kind() {
        JsonKind::Object => {
            findings.extend(keys_twice(&fields, &pointer));
            let status = fields.get("status");
            status.and_then(|status| status_word(status, &format!("{pointer}/status"), findings))
        }
        JsonKind::String => status_word(value, &pointer, findings),
        other => {
            let message = format!("phase {number} is {} instead of a record", other.described());
            findings.push(Finding::error("phase-not-a-record", pointer, message));
            return None;
        }
    };
    Some(Phase { pointer, fields, status })
}

/// Reads a status; one that no rule knows is a warning (V2).
fn status_word<'a>(value: Value<'a>, pointer: &str, findings: &mut Vec<Finding>) -> Option<Cow<'a, str>> {
    let word = value.as_str();
    let message = match &word {
        Some(word) if STATUS_WORDS.contains(&&**word) => return Some(word.clone()),
        Some(word) => format!("the status {} is not a known one", quoted(word)),
        None => format!("the status is {} instead of a word", value.kind().described()),
    };
    findings.push(Finding::warning("status-unknown", pointer, message));
    word
}

/// Keys beside the phases that no document defines (V2): other tools' fields, or misspellings.
fn unknown_keys(root: &Fields<'_>, findings: &mut Vec<Finding>) {
    for member in root.iter() {
        let key = member.key.to_str();
        if !KNOWN_KEYS.contains(&&*key) && !TIME_FIELDS.contains(&&*key) {
            let message =
                format!("{} is no field that an agent state has; pipestate does not read it", quoted(&key));
            findings.push(Finding::warning("key-unknown", format!("/{}", pointer_token(&key)), message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::StateKind;
    use crate::validate::Options;
    use crate::validate::tests::{check, lines};

    /// What is found in a state with this cursor and nothing else to say about it.
    fn of_cursor(cursor: &str) -> Vec<String> {
        lines(&format!(r#"{{"currentPhase":{cursor},"phases":{{}}}}"#))
    }

    #[test]
    fn v1_an_integer_in_the_range_is_a_cursor() {
        for cursor in ["0", "4", "7"] {
            assert_eq!(of_cursor(cursor), [""; 0], "{cursor}");
        }
    }

    #[test]
    fn v2_a_cursor_that_a_resume_would_have_to_guess_is_an_error() {
        for (cursor, finding) in [
            ("null", "currentPhase is null, so where to resume would be a guess [current-phase-null]"),
            ("8", "currentPhase is 8, and the phases are 0 to 7 [current-phase-out-of-range]"),
            ("-1", "currentPhase is -1, and the phases are 0 to 7 [current-phase-out-of-range]"),
            ("-10e-1", "currentPhase is -10e-1, and the phases are 0 to 7 [current-phase-out-of-range]"),
            (
                "18446744073709551620",
                "currentPhase is 18446744073709551620, and the phases are 0 to 7 [current-phase-out-of-range]",
            ),
            ("4.5", "currentPhase is 4.5, and phases are whole numbers [current-phase-fractional]"),
            ("-0.5", "currentPhase is -0.5, and phases are whole numbers [current-phase-fractional]"),
            ("1e-400", "currentPhase is 1e-400, and phases are whole numbers [current-phase-fractional]"),
            (
                "4.00000000000000000000000000000000000000001",
                "currentPhase is 4.00000000000000000000000000000000000000…, and phases are whole numbers \
                 [current-phase-fractional]",
            ),
            ("true", "currentPhase is a boolean instead of an integer [current-phase-not-an-integer]"),
            ("[4]", "currentPhase is an array instead of an integer [current-phase-not-an-integer]"),
            ("{}", "currentPhase is an object instead of an integer [current-phase-not-an-integer]"),
            (r#""""#, r#"currentPhase is the string "", which is no phase [current-phase-not-an-integer]"#),
            (
                r#""04""#,
                r#"currentPhase is the string "04", which is no phase [current-phase-not-an-integer]"#,
            ),
            (
                r#""4.0""#,
                r#"currentPhase is the string "4.0", which is no phase [current-phase-not-an-integer]"#,
            ),
            (
                r#""+4""#,
                r#"currentPhase is the string "+4", which is no phase [current-phase-not-an-integer]"#,
            ),
            (
                r#""testing\n""#,
                r#"currentPhase is the string "testing\n", which is no phase [current-phase-not-an-integer]"#,
            ),
        ] {
            assert_eq!(of_cursor(cursor), [format!("error /currentPhase: {finding}")], "{cursor}");
        }
        assert_eq!(
            lines(r#"{"phases":{}}"#),
            ["error /currentPhase: currentPhase is missing, so where to resume would be a guess \
              [current-phase-missing]"]
        );
    }

    #[test]
    fn v2_a_cursor_that_stands_twice_is_an_error_however_it_is_spelled() {
        let twice = "error /currentPhase: currentPhase stands twice, and readers disagree about which one counts \
                     [current-phase-twice]";
        assert_eq!(lines(r#"{"currentPhase":4,"phases":{},"currentPhase":4}"#), [twice]);
        assert_eq!(lines(r#"{"currentPhase":4,"phases":{},"current\u0050hase":5}"#), [twice]);
        assert_eq!(
            lines(r#"{"currentPhase":4,"phases":{"0":"pending"},"currentPhase":9}"#),
            [
                twice,
                "error /currentPhase: currentPhase is 9, and the phases are 0 to 7 [current-phase-out-of-range]"
            ]
        );
        // One that stands elsewhere in the file is another field.
        assert_eq!(lines(r#"{"currentPhase":4,"phases":{"4":{"currentPhase":5}}}"#), [""; 0]);
    }

    #[test]
    fn v2_other_spellings_of_an_integer_are_warnings() {
        for spelling in ["4.0", "4e0", "40e-1", "0.4E+1", "-0", "0e999999999999999999999"] {
            assert_eq!(
                of_cursor(spelling),
                [format!(
                    "warning /currentPhase: currentPhase is written as {spelling}, and a phase is written in digits \
                     [current-phase-spelling]"
                )]
            );
        }
        for spelling in [r#""4""#, r#""\u0034""#] {
            assert_eq!(
                of_cursor(spelling),
                [
                    r#"warning /currentPhase: currentPhase is the string "4", to which JavaScript adds 1 as a digit [current-phase-spelling]"#
                ]
            );
        }
        assert_eq!(
            of_cursor(r#""8""#),
            [
                r#"error /currentPhase: currentPhase is "8", and the phases are 0 to 7 [current-phase-out-of-range]"#,
                r#"warning /currentPhase: currentPhase is the string "8", to which JavaScript adds 1 as a digit [current-phase-spelling]"#,
            ]
        );
    }

    #[test]
    fn a_number_has_its_exact_value() {
        use Number::*;
        for (text, number) in [
            ("0", Integer(0)),
            ("-0.0e5", Integer(0)),
            ("100", Integer(100)),
            ("1e19", Integer(10_000_000_000_000_000_000)),
            ("18446744073709551615", Integer(u64::MAX)),
            ("1e20", Integer(u64::MAX)),
            ("1e400", Integer(u64::MAX)),
            ("1e99999999999999999999", Integer(u64::MAX)),
            ("1e-99999999999999999999", Fractional),
            ("0.5e1", Integer(5)),
            ("0.05e1", Fractional),
            ("1200e-2", Integer(12)),
            ("1200e-3", Fractional),
            ("-7", Negative),
            ("-7.5", Fractional),
        ] {
            assert_eq!(Number::read(text), number, "{text}");
        }
    }

    #[test]
    fn v1_phases_are_an_object_or_an_array_of_records_or_words() {
        for phases in [
            "{}",
            "[]",
            r#"{"0":{"status":"done"},"7":{"status":"pending"}}"#,
            r#"{"0":"done","4":"running"}"#,
            r#"{"4":{}}"#,
            r#"["done","done","skipped",{"status":"completed"},"running","pending","pending","pending"]"#,
        ] {
            assert_eq!(lines(&format!(r#"{{"currentPhase":4,"phases":{phases}}}"#)), [""; 0], "{phases}");
        }
    }

    #[test]
    fn v2_phases_that_are_not_well_formed_are_errors() {
        let of = |phases: &str| lines(&format!(r#"{{"currentPhase":0,"phases":{phases}}}"#));
        for (phases, kind) in
            [("null", "null"), ("4", "a number"), (r#""x""#, "a string"), ("false", "a boolean")]
        {
            assert_eq!(
                of(phases),
                [format!(
                    "error /phases: phases is {kind} instead of an object keyed by phase [phases-not-an-object]"
                )]
            );
        }
        for key in ["8", "-1", "04", "3.5", "1-2", "0b", "planning", "", "99999999999999999999999"] {
            assert_eq!(
                of(&format!(r#"{{"{key}":{{"status":"pending"}}}}"#)),
                [format!(
                    r#"error /phases/{key}: "{key}" is no phase: they are "0" to "7" [phase-key-unknown]"#
                )]
            );
        }
        assert_eq!(
            of(r#"{"a/b~":1}"#),
            [r#"error /phases/a~1b~0: "a/b~" is no phase: they are "0" to "7" [phase-key-unknown]"#]
        );
        for (entry, kind) in [("1", "a number"), ("[]", "an array"), ("null", "null"), ("true", "a boolean")]
        {
            let line = |n| {
                format!("error /phases/{n}: phase {n} is {kind} instead of a record [phase-not-a-record]")
            };
            assert_eq!(of(&format!(r#"{{"2":{entry}}}"#)), [line(2)]);
            assert_eq!(of(&format!(r#"["pending",{entry}]"#)), [line(1)]);
        }
        assert_eq!(
            of(r#"{"4":"pending","\u0034":"pending"}"#),
            [
                r#"error /phases/4: phase "4" stands twice, and readers disagree about which one counts [phase-twice]"#
            ]
        );
        assert_eq!(
            of(r#"["pending","pending","pending","pending","pending","pending","pending","pending",0,1]"#),
            ["error /phases: phases has 2 elements too many: the phases are 0 to 7 [phases-too-long]"]
        );
        assert_eq!(
            lines(r#"{"currentPhase":0,"phases":{"9":{}},"phases":{}}"#),
            [
                "error /phases: phases stands twice, and readers disagree about which one counts [phases-twice]"
            ]
        );
    }

    #[test]
    fn v2_missing_phases_are_a_warning() {
        assert_eq!(
            lines(r#"{"currentPhase":4}"#),
            ["warning /phases: phases is missing, so nothing tells what has been done [phases-missing]"]
        );
    }

    #[test]
    fn v2_status_words_of_documents_and_of_the_wild_are_known_and_others_are_warnings() {
        for word in STATUS_WORDS {
            let text = format!(r#"{{"currentPhase":4,"status":"{word}","phases":{{"4":"{word}"}}}}"#);
            let unknown = lines(&text).into_iter().filter(|line| line.contains("status-unknown"));
            assert_eq!(unknown.count(), 0, "{word}");
        }
        assert_eq!(
            lines(
                r#"{"currentPhase":0,"status":null,"phases":{"1":"Done","2":{"status":"awaiting\u001b[2J"},"3":{"status":3}}}"#
            ),
            [
                r#"warning /phases/1: the status "Done" is not a known one [status-unknown]"#,
                r#"warning /phases/2/status: the status "awaiting\u{1b}[2J" is not a known one [status-unknown]"#,
                "warning /phases/3/status: the status is a number instead of a word [status-unknown]",
                "warning /status: the status is null instead of a word [status-unknown]",
            ]
        );
    }

    #[test]
    fn v2_keys_beside_the_phases_that_no_document_defines_are_warnings() {
        // T1, S2, S3, S4 and R7.
        let known = r#"{"taskId":2,"ticket":"PROJ-1","project":"p","projects":[{}],"repoPath":"/r","worktreePath":"/w",
            "branch":"b","currentPhase":0,"phases":{"0":{"status":"pending","anything":1}},"status":"paused",
            "haltReason":"0:x","loops":{},"metadata":{"x":1},"retryCount":1,"started_at":null,"updatedAt":null}"#;
        assert_eq!(lines(known), [""; 0]);
        assert_eq!(
            lines(r#"{"currentPhase":0,"phases":{},"revision":7,"a/b":1,"__proto__":{},"":0,"x\ny":1}"#),
            [
                r#"warning /revision: "revision" is no field that an agent state has; pipestate does not read it [key-unknown]"#,
                r#"warning /a~1b: "a/b" is no field that an agent state has; pipestate does not read it [key-unknown]"#,
                r#"warning /__proto__: "__proto__" is no field that an agent state has; pipestate does not read it [key-unknown]"#,
                r#"warning /: "" is no field that an agent state has; pipestate does not read it [key-unknown]"#,
                r#"warning /x\ny: "x\ny" is no field that an agent state has; pipestate does not read it [key-unknown]"#,
            ]
        );
    }

    #[test]
    fn d6_other_keys_that_stand_twice_are_warnings_where_the_rules_look() {
        let twice =
            "the key stands twice: the last one counts, and a patch that sets it is refused [key-twice]";
        assert_eq!(
            lines(
                r#"{"currentPhase":4,"status":"failed","phases":{"4":{"status":"done","status":"failed","x":{"y":1,"y":2}}},"status":"paused","status":"paused"}"#
            ),
            [format!("warning /phases/4/status: {twice}"), format!("warning /status: {twice}")]
        );
    }

    #[test]
    fn v7_a_host_names_its_own_highest_phase() {
        let options = |max_phase| Options { kind: Some(StateKind::Agent), max_phase, strict: false };
        let text = r#"{"currentPhase":16,"phases":{"16":"running","17":"pending"}}"#;
        assert_eq!(
            check(text, &options(16)),
            [r#"error /phases/17: "17" is no phase: they are "0" to "16" [phase-key-unknown]"#]
        );
        assert_eq!(check(text, &options(17)), [""; 0]);
        assert_eq!(check(text, &options(u32::MAX)), [""; 0]);
        assert_eq!(
            check(r#"{"currentPhase":0,"phases":["running","pending"]}"#, &options(0)),
            ["error /phases: phases has 1 elements too many: the phases are 0 to 0 [phases-too-long]"]
        );
    }

    #[test]
    fn all_findings_are_reported_the_errors_first() {
        assert_eq!(
            lines("\n{\"currentPhase\":\"9\",\"phases\":{\"0\":1,\"x\":2,\"5\":\"odd\"},\"more\":1}"),
            [
                r#"error /currentPhase: currentPhase is "9", and the phases are 0 to 7 [current-phase-out-of-range]"#,
                r#"error /phases/x: "x" is no phase: they are "0" to "7" [phase-key-unknown]"#,
                "error /phases/0: phase 0 is a number instead of a record [phase-not-a-record]",
                "warning: the document begins with white space, and the first byte of a state file is `{` [leading-white-space]",
                r#"warning /currentPhase: currentPhase is the string "9", to which JavaScript adds 1 as a digit [current-phase-spelling]"#,
                r#"warning /phases/5: the status "odd" is not a known one [status-unknown]"#,
                r#"warning /more: "more" is no field that an agent state has; pipestate does not read it [key-unknown]"#,
            ]
        );
    }
}
