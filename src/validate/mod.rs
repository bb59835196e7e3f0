//! Is it safe to resume? The V rules, read from a state file without changing it or taking its lock.
//!
//! 1. The file is read and parsed. What is missing, cannot be read, or holds no JSON object ends here, with a finding
//!    that names it as what it is (V2); its exit code is 3.
//! 2. Its [`StateKind`] decides which rules apply: by file name, then by its keys, or as the caller says.
//! 3. What D1 and D6 say of any document: white space in front, keys that stand twice.
//! 4. What the kind's rules say: of an agent state `agent` has V1 and V2, `contradiction` V3. Of a pipeline's
//!    document `pipeline` has V4, and [`surroundings`] what lies around its run.
//! 5. A [`Report`] has all findings, the errors first, and the answer (V5).
//!
//! An error is what would make a resume guess; a warning is what a resume can live with. Nothing is repaired, and
//! `write` asks none of this (V8). The disk is asked for nothing but whether listed files exist and what lies around
//! a run, and of [`validate_text`] for no more than its caller says.

mod agent;
mod contradiction;
mod fields;
mod finding;
mod pipeline;

use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

pub use finding::{Finding, Severity};

use crate::document::{Document, Fault, FaultKind, Kind as JsonKind, Value, pointer_token};
use crate::error::Error;
use crate::kind::{StateKind, or_unknown};
use crate::pipeline::surroundings::{self, Notice, Weight};
use crate::runs::home_folder;
use crate::sort::sort_by;
use crate::update;
use agent::Agent;
use fields::{Fields, Shape};

/// The highest phase of the documented profile (V7).
pub const DEFAULT_MAX_PHASE: u32 = 7;

/// The code of a key that stands twice (D6).
pub(crate) const KEY_TWICE: &str = "key-twice";

/// Where the rules look, in documents of either kind.
const SHAPE: Shape = Shape::Named(&[("phases", Shape::Each(&Shape::Flat))]);

/// What is asked of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The kind to check it as; `None` finds it out.
    pub kind: Option<StateKind>,
    /// The highest phase of the host's phase list (V7).
    pub max_phase: u32,
    /// Whether warnings fail too.
    pub strict: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { kind: None, max_phase: DEFAULT_MAX_PHASE, strict: false }
    }
}

/// The answer about one state file (V5). Serialises to the object that `--json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether it is safe to resume: no errors, and when strict no warnings.
    pub ok: bool,
    /// The file, as the caller named it; in JSON with U+FFFD for what is not UTF-8 (A8).
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// As which kind it was checked.
    #[serde(serialize_with = "or_unknown")]
    pub kind: Option<StateKind>,
    /// Revision of what was checked (M7): `none` when there is no file, nothing when it could not be read.
    pub rev: Option<String>,
    /// All that was found, errors first, then warnings.
    pub findings: Vec<Finding>,
    /// Whether there was a document to check.
    #[serde(skip)]
    is_document: bool,
}

impl Report {
    /// The exit code that tells this answer (V5): 3 missing, unreadable or corrupt, 1 unsafe, 0 safe.
    pub fn exit_code(&self) -> u8 {
        match (self.is_document, self.ok) {
            (false, _) => 3,
            (true, false) => 1,
            (true, true) => 0,
        }
    }

    /// A document was checked.
    fn of_document(
        path: &Path,
        kind: Option<StateKind>,
        rev: String,
        mut findings: Vec<Finding>,
        strict: bool,
    ) -> Report {
        let fails = |finding: &Finding| match finding.severity {
            Severity::Error => true,
            Severity::Warning => strict,
            Severity::Advice | Severity::Info => false,
        };
        sort_by(&mut findings, |a, b| a.severity.cmp(&b.severity));
        let ok = !findings.iter().any(fails);
        Report { ok, path: path.to_owned(), kind, rev: Some(rev), findings, is_document: true }
    }

    /// There was no document to check.
    fn of_no_document(path: &Path, rev: Option<String>, options: &Options, finding: Finding) -> Report {
        let kind = options.kind.or_else(|| StateKind::by_name(path));
        Report { ok: false, path: path.to_owned(), kind, rev, findings: vec![finding], is_document: false }
    }
}

/// The exit code of several answers: the worst, 3 before 1 before 0 (V5).
pub fn worst_exit_code<'a>(reports: impl IntoIterator<Item = &'a Report>) -> u8 {
    reports.into_iter().map(Report::exit_code).max().unwrap_or(0)
}

/// Validates the state file at `path`.
///
/// Takes no lock and changes nothing: what it reads is one whole document (A3), and it may be outdated as soon as it is
/// read, which `rev` makes visible. Never fails: a file that is missing, cannot be read or is corrupt is a report with a
/// finding that says so, so that several files can be reported together.
pub fn validate_file(path: &Path, options: &Options) -> Report {
    match update::read(path) {
        Ok(snapshot) if snapshot.facts.is_some() => {
            let disk = Disk { exists: &file_exists, around: &|root| around(path, root) };
            validate(path, snapshot.text, snapshot.rev, options, &disk)
        }
        Ok(snapshot) => {
            let finding = Finding::error("missing", "", "there is no such file");
            Report::of_no_document(path, Some(snapshot.rev), options, finding)
        }
        Err(error) => Report::of_no_document(path, None, options, unreadable(path, &error)),
    }
}

/// Validates a text as if it stood in the file at `path`, of which only the name is used.
///
/// `exists` is asked whether a listed file is there (V3); it gets the path as the document has it, joined to the
/// recorded worktree unless it is absolute.
///
/// ```
/// use std::path::Path;
/// use pipestate::validate::{Options, validate_text};
///
/// let text = br#"{"currentPhase": 9, "phases": {}}"#.to_vec();
/// let report = validate_text(Path::new("agent-state.json"), text, &Options::default(), &|_| true);
/// let lines: Vec<String> = report.findings.iter().map(|finding| finding.to_string()).collect();
/// assert_eq!(
///     lines,
///     ["error /currentPhase: currentPhase is 9, and the phases are 0 to 7 [current-phase-out-of-range]"]
/// );
/// assert_eq!(report.exit_code(), 1);
/// ```
pub fn validate_text(
    path: &Path,
    text: Vec<u8>,
    options: &Options,
    exists: &dyn Fn(&Path) -> bool,
) -> Report {
    let rev = update::revision(&[&text]);
    validate(path, text, rev, options, &Disk { exists, around: &|_| Vec::new() })
}

/// What is asked of the disk.
struct Disk<'a> {
    /// Whether a listed file is there.
    exists: &'a dyn Fn(&Path) -> bool,
    /// What there is to say about the surroundings of a pipeline's run with this document.
    around: &'a dyn Fn(Value<'_>) -> Vec<Finding>,
}

/// Whether scope root, plugin and preferences are still what the document of a run says.
fn around(path: &Path, root: Value<'_>) -> Vec<Finding> {
    let finding = |Notice { weight, code, pointer, message }| {
        let severity = match weight {
            Weight::Mismatch => Severity::Warning,
            Weight::Advice => Severity::Advice,
            Weight::Note => Severity::Info,
        };
        Finding { severity, code, pointer, message }
    };
    let home = home_folder();
    surroundings::notices(path, root, home.as_deref()).into_iter().map(finding).collect()
}

fn validate(path: &Path, text: Vec<u8>, rev: String, options: &Options, disk: &Disk) -> Report {
    let document = match parse(text) {
        Ok(document) => document,
        Err(corruption) => return Report::of_no_document(path, Some(rev), options, corruption),
    };
    let root = Fields::of(document.root(), &SHAPE);
    let by_keys = || StateKind::by_keys(|key| root.get(key).is_some());
    let kind = options.kind.or_else(|| StateKind::by_name(path)).or_else(by_keys);
    let mut findings = Vec::new();
    if document.has_leading_whitespace() {
        findings.push(leading_white_space());
    }
    match kind {
        Some(StateKind::Agent) => {
            let agent = Agent::read(root, options.max_phase, &mut findings);
            contradiction::check(&agent, disk.exists, &mut findings);
        }
        Some(StateKind::Pipeline) => {
            pipeline::check(root, &mut findings);
            findings.extend((disk.around)(document.root()));
        }
        None => {
            findings.push(unknown_kind());
            findings.extend(keys_twice(&root, ""));
        }
    }
    Report::of_document(path, kind, rev, findings, options.strict)
}

/// The document in a text, or what the text is instead of one.
///
/// JSON that is no object is corruption here as it is for every reader and writer of state ([`Error::Corrupt`]): one
/// file has one answer at every door (X1).
fn parse(text: Vec<u8>) -> Result<Document, Finding> {
    let document = Document::parse(text).map_err(|fault| {
        Finding::error(corruption_code(&fault), "", format!("the file is corrupt: {fault}"))
    })?;
    match document.root().kind() {
        JsonKind::Object => Ok(document),
        other => {
            let message = format!(
                "the file is corrupt: it is {}, and a state document is an object",
                other.described()
            );
            Err(Finding::error("corrupt-not-an-object", "", message))
        }
    }
}

/// The code of a corruption: what it is, where the accident can be told (V2), else where the grammar broke.
pub(crate) fn corruption_code(fault: &Fault) -> &'static str {
    match fault.kind {
        FaultKind::Empty => "corrupt-empty",
        FaultKind::ByteOrderMark => "corrupt-byte-order-mark",
        FaultKind::Utf16 => "corrupt-utf-16",
        FaultKind::NulPadding { .. } => "corrupt-nul-padding",
        FaultKind::ConflictMarker => "corrupt-conflict-marker",
        FaultKind::Torn => "corrupt-torn",
        FaultKind::TrailingBytes { .. } => "corrupt-trailing-bytes",
        FaultKind::MissingComma => "corrupt-missing-comma",
        FaultKind::TrailingComma => "corrupt-trailing-comma",
        FaultKind::MissingColon => "corrupt-missing-colon",
        FaultKind::WrongBracket { .. } => "corrupt-wrong-bracket",
        FaultKind::SingleQuotes => "corrupt-single-quotes",
        FaultKind::UnquotedKey => "corrupt-unquoted-key",
        FaultKind::Comment => "corrupt-comment",
        FaultKind::UnknownWord(_) => "corrupt-unknown-word",
        FaultKind::BadNumber => "corrupt-bad-number",
        FaultKind::BadEscape => "corrupt-bad-escape",
        FaultKind::ControlCharacter(_) => "corrupt-control-character",
        FaultKind::InvalidUtf8(_) => "corrupt-invalid-utf-8",
        FaultKind::Unexpected { .. } => "corrupt-unexpected-character",
    }
}

/// A file that is there and cannot be read.
fn unreadable(path: &Path, error: &Error) -> Finding {
    let message = error.to_string();
    // Which file it is stands in the report.
    let about_the_file = format!("{}: ", path.display());
    Finding::error("unreadable", "", message.strip_prefix(&about_the_file).unwrap_or(&message))
}

/// White space before the `{`: accepted on reading and warned of (D1).
fn leading_white_space() -> Finding {
    Finding::warning(
        "leading-white-space",
        "",
        "the document begins with white space, and the first byte of a state file is `{`",
    )
}

/// A document of neither kind. No V rule applies to it, so nothing vouches for it: it is not safe to resume, as for
/// the script that pipestate replaces, which refuses what has no `currentPhase`.
fn unknown_kind() -> Finding {
    Finding::error(
        "kind-unknown",
        "",
        "neither an agent nor a pipeline state: it has no currentPhase, current_phase or pipeline_id; check the file, \
         or say what it is with --kind",
    )
}

/// The keys that stand twice in the object at `pointer`: readers disagree about which counts, and a patch that sets
/// one is refused (D6).
fn keys_twice(fields: &Fields<'_>, pointer: &str) -> Vec<Finding> {
    let twice = |key: Cow<'_, str>| {
        let message = "the key stands twice: the last one counts, and a patch that sets it is refused";
        Finding::warning(KEY_TWICE, format!("{pointer}/{}", pointer_token(&key)), message)
    };
    fields.twice().map(twice).collect()
}

/// Whether a listed file exists. One that we may not look at is not known to be missing.
fn file_exists(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

fn path_as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Validates a text as an `agent-state.json`.
    pub(super) fn report(text: &str, options: &Options, exists: &dyn Fn(&Path) -> bool) -> Report {
        validate_text(Path::new("agent-state.json"), text.into(), options, exists)
    }

    /// The findings in a text, as they are printed; every listed file exists.
    pub(super) fn check(text: &str, options: &Options) -> Vec<String> {
        report(text, options, &|_| true).findings.iter().map(Finding::to_string).collect()
    }

    /// The same with the options that nobody set.
    pub(super) fn lines(text: &str) -> Vec<String> {
        check(text, &Options::default())
    }

    /// Kind, findings and exit code of a text in a file of this name.
    fn answer(name: &str, text: &[u8], kind: Option<StateKind>) -> (Option<StateKind>, Vec<String>, u8) {
        let options = Options { kind, ..Options::default() };
        let report = validate_text(Path::new(name), text.to_vec(), &options, &|_| true);
        let lines = report.findings.iter().map(Finding::to_string).collect();
        (report.kind, lines, report.exit_code())
    }

    #[test]
    fn the_kind_is_told_by_file_name_then_by_keys() {
        for (name, text, kind) in [
            ("agent-state.json", r#"{"pipeline_id":"x"}"#, Some(StateKind::Agent)),
            ("a/pipeline-state.json", r#"{"currentPhase":4}"#, Some(StateKind::Pipeline)),
            ("s.json", r#"{"currentPhase":4}"#, Some(StateKind::Agent)),
            ("s.json", r#"{"currentPhase":null}"#, Some(StateKind::Agent)),
            ("s.json", r#"{"currentPhase":4,"pipeline_id":"x"}"#, Some(StateKind::Pipeline)),
            ("s.json", r#"{"current_phase":"testing"}"#, Some(StateKind::Pipeline)),
            ("s.json", r#"{"phases":{"0":{"currentPhase":4}}}"#, None),
            ("agent-state.json.bak", "{}", None),
            ("s.json", "[]", None),
        ] {
            let document = Document::parse(text.into()).unwrap();
            assert_eq!(StateKind::of(Path::new(name), document.root()), kind, "{name} {text}");
            assert_eq!(answer(name, text.as_bytes(), None).0, kind, "{name} {text}");
        }
        assert_eq!(answer("pipeline-state.json", b"{}", Some(StateKind::Agent)).0, Some(StateKind::Agent));
    }

    #[test]
    fn what_is_neither_kind_is_not_vouched_for() {
        let unknown = "error: neither an agent nor a pipeline state: it has no currentPhase, current_phase or pipeline_id; \
                       check the file, or say what it is with --kind [kind-unknown]";
        assert_eq!(answer("s.json", br#"{"phases":{"9":null}}"#, None), (None, vec![unknown.to_owned()], 1));
    }

    #[test]
    fn of_a_pipeline_document_the_document_and_its_schema_are_checked() {
        let text = b" {\"current_phase\":\"x\",\"status\":\"running\",\"status\":\"failed\"}";
        let (kind, lines, code) = answer("s.json", text, None);
        assert_eq!((kind, code), (Some(StateKind::Pipeline), 1));
        for line in [
            "error /phases: phases is missing [field-missing]",
            "warning: the document begins with white space, and the first byte of a state file is `{` [leading-white-space]",
            "warning /status: the key stands twice: the last one counts, and a patch that sets it is refused [key-twice]",
        ] {
            assert!(lines.iter().any(|found| found == line), "{line} in {lines:#?}");
        }
    }

    #[test]
    fn v2_a_file_that_does_not_parse_is_named_as_what_it_is() {
        for (text, finding) in [
            (&b""[..], "it is empty [corrupt-empty]"),
            (b"\xef\xbb\xbf{}", "a byte order mark at the start (byte 0) [corrupt-byte-order-mark]"),
            (b"\xff\xfe{\0}\0", "it is UTF-16, and JSON here is UTF-8 [corrupt-utf-16]"),
            (
                b"{}}",
                "a byte after the end of the document at line 1, column 3 (byte 2) [corrupt-trailing-bytes]",
            ),
            (
                b"{}\n\0\0\0",
                "a run of 3 NUL bytes at line 2, column 1 (byte 3): what a crash leaves where nothing was written \
                 [corrupt-nul-padding]",
            ),
            (
                b"{\n<<<<<<< HEAD\n}",
                "a merge-conflict marker at line 2, column 1 (byte 2): a merge was left unresolved \
                 [corrupt-conflict-marker]",
            ),
            (
                b"{\"currentPhase\":4,",
                "unexpected end of the text at line 1, column 19 (byte 18): it is torn [corrupt-torn]",
            ),
            (
                b"{\"a\":\"\xff\"}",
                "a byte that is not UTF-8 (0xFF) at line 1, column 7 (byte 6) [corrupt-invalid-utf-8]",
            ),
            (b"{\"a\":1 \"b\":2}", "a missing comma at line 1, column 8 (byte 7) [corrupt-missing-comma]"),
            (b"{\"a\":1,}", "a trailing comma at line 1, column 7 (byte 6) [corrupt-trailing-comma]"),
            (b"[]", "it is an array, and a state document is an object [corrupt-not-an-object]"),
            (b" null ", "it is null, and a state document is an object [corrupt-not-an-object]"),
        ] {
            for (name, kind) in [("agent-state.json", Some(StateKind::Agent)), ("s.json", None)] {
                let lines = vec![format!("error: the file is corrupt: {finding}")];
                assert_eq!(answer(name, text, None), (kind, lines, 3));
            }
        }
    }

    #[test]
    fn v5_errors_fail_warnings_fail_when_strict_and_the_worst_of_several_counts() {
        let exit_code = |text: &str, strict| {
            report(text, &Options { strict, ..Options::default() }, &|_| true).exit_code()
        };
        let (safe, odd, unsafe_) = (r#"{"currentPhase":4,"phases":{}}"#, r#"{"currentPhase":4}"#, "{}");
        assert_eq!([safe, odd, unsafe_, "{"].map(|text| exit_code(text, false)), [0, 0, 1, 3]);
        assert_eq!([safe, odd, unsafe_, "{"].map(|text| exit_code(text, true)), [0, 1, 1, 3]);

        let reports = ["{", unsafe_, odd].map(|text| report(text, &Options::default(), &|_| true));
        assert_eq!(worst_exit_code(&reports), 3);
        assert_eq!(worst_exit_code(&reports[1..]), 1);
        assert_eq!(worst_exit_code(&reports[2..]), 0);
        assert_eq!(worst_exit_code([]), 0);
    }

    #[test]
    fn a_report_serialises_to_what_json_output_prints() {
        let json = |report: &Report| serde_json::to_string(report).unwrap();
        let text = r#"{"currentPhase":9,"phases":{}}"#;
        assert_eq!(
            json(&report(text, &Options::default(), &|_| true)),
            format!(
                r#"{{"ok":false,"path":"agent-state.json","kind":"agent","rev":"{}","findings":[{{"severity":"error","code":"current-phase-out-of-range","pointer":"/currentPhase","message":"currentPhase is 9, and the phases are 0 to 7"}}]}}"#,
                update::revision(&[text.as_bytes()])
            )
        );
    }

    #[test]
    #[cfg(unix)]
    fn a8_a_path_that_is_not_utf_8_is_reported_all_the_same() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/no/such/\xff.json"));
        let report = validate_file(path, &Options::default());
        assert_eq!(report.path, path);
        assert_eq!(
            serde_json::to_string(&report).unwrap(),
            "{\"ok\":false,\"path\":\"/no/such/\u{fffd}.json\",\"kind\":\"unknown\",\"rev\":\"none\",\
             \"findings\":[{\"severity\":\"error\",\"code\":\"missing\",\"pointer\":\"\",\
             \"message\":\"there is no such file\"}]}"
        );
    }

    #[test]
    #[allow(clippy::disallowed_methods)] // the test lays out its own folder
    fn v5_a_file_is_read_or_told_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent-state.json");
        let answer = |path: &Path| {
            let report = validate_file(path, &Options::default());
            let lines: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
            (report.rev.clone(), lines, report.exit_code())
        };
        let missing = (Some("none".to_owned()), vec!["error: there is no such file [missing]".to_owned()], 3);
        assert_eq!(answer(&path), missing);
        assert_eq!(answer(&path.join("below/agent-state.json")), missing);

        std::fs::create_dir(&path).unwrap();
        let unreadable = "error: cannot read the state file: it is a folder [unreadable]".to_owned();
        assert_eq!(answer(&path), (None, vec![unreadable], 3));
        std::fs::remove_dir(&path).unwrap();

        // Whether listed files exist is asked of the disk.
        let text = format!(
            r#"{{"currentPhase":4,"worktreePath":{:?},"phases":{{"4":{{"files":["agent-state.json","gone.rs","agent-state.json/x"]}}}}}}"#,
            folder.path()
        );
        std::fs::write(&path, &text).unwrap();
        let files = [
            r#"warning /phases/4/files/1: the listed file "gone.rs" does not exist [file-missing]"#,
            r#"warning /phases/4/files/2: the listed file "agent-state.json/x" does not exist [file-missing]"#,
        ];
        assert_eq!(
            answer(&path),
            (Some(update::revision(&[text.as_bytes()])), files.map(String::from).into(), 0)
        );
        // Nothing was changed or left behind.
        assert_eq!(std::fs::read(&path).unwrap(), text.as_bytes());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn d3_depth_is_limited_by_memory_alone() {
        let deep = 100_000;
        let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(deep), close.repeat(deep));
        let text = format!(
            r#"{{"currentPhase":4,"loops":{},"metadata":{},"phases":{{"4":{{"files":[{}],"x":{}}}}}}}"#,
            nested("[", "]"),
            nested(r#"{"metadata":"#, "}"),
            nested("[", "]"),
            nested(r#"{"phases":"#, "}")
        );
        assert_eq!(
            lines(&text),
            ["warning /phases/4/files/0: the listed file is not named by a path [file-not-a-path]"]
        );
        let text = format!(r#"{{"currentPhase":4,"phases":{}}}"#, nested(r#"{"4":"#, "}"));
        assert_eq!(lines(&text), [""; 0]);
    }
}
