//! What is wrong with a state file, where, and what a repaired one would be: [`examine`] only looks, [`propose`] writes a
//! copy beside it.
//!
//! 1. The text: every fault of it with its offset, line and column, and what can be done about it ([`repair`]).
//! 2. The document: what the validator says of it ([`crate::validate`]), with where it stands, and keys that stand twice at
//!    any depth. Of a text with faults, the same about the repaired one.
//! 3. Beside it: the lock and whether its holder lives, temporary files that nobody will rename any more.
//!
//! A proposal is never put in the file's place and is never resumed unasked: its name is no state file's, so that no scan and
//! no command finds it, and it takes a `pipestate write --replace` to become the state.

mod repair;

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

pub use repair::{Change, Position};

use crate::disk;
use crate::document::Document;
use crate::error::Error;
use crate::kind::{StateKind, or_unknown};
use crate::lock;
use crate::place::{self, Missing, Place};
use crate::sort::sort_by;
use crate::update;
use crate::validate::{self, Finding, Options, Report, Severity};
use repair::Repaired;

/// So many proposals may lie beside a state file.
pub const MOST_PROPOSALS: usize = 5;

/// What is wrong with a state file. Serialises to the object that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// Whether it is safe to resume from it.
    pub ok: bool,
    /// The file; in JSON with U+FFFD for what is not UTF-8 (A8).
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// Which document it is.
    #[serde(serialize_with = "or_unknown")]
    pub kind: Option<StateKind>,
    /// Revision of what was examined (M7): `none` when there is no file, nothing when it could not be read.
    pub rev: Option<String>,
    /// All that was found: the text or the document first, then what lies beside it.
    pub findings: Vec<Symptom>,
    /// What a repair would change; `None` when there is nothing to repair.
    pub repair: Option<Repair>,
    /// As `pipestate validate` has it (V5): 3 missing, unreadable or corrupt, 1 unsafe, 0 safe.
    pub exit_code: u8,
    /// The repaired document.
    #[serde(skip)]
    repaired: Option<Document>,
}

/// A finding and where it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Symptom {
    /// What is wrong.
    #[serde(flatten)]
    pub finding: Finding,
    /// Where, if it stands anywhere.
    #[serde(flatten, serialize_with = "position")]
    pub at: Option<Position>,
}

/// What a repair would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// Whether all that is wrong with the text can be mended.
    pub possible: bool,
    /// The changes; where it is not possible, those up to what cannot be mended.
    pub changes: Vec<MadeChange>,
    /// What the validator says of the repaired document.
    pub findings: Vec<Finding>,
    /// The proposal that was written.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "some_path_as_text")]
    pub proposal: Option<PathBuf>,
}

/// A change as `--json` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MadeChange {
    /// What is changed.
    pub what: String,
    /// Where.
    #[serde(flatten, serialize_with = "position")]
    pub at: Option<Position>,
}

/// Examines the state file at `path`. Takes no lock and changes nothing; what cannot be read is a finding like any other.
pub fn examine(path: &Path) -> Diagnosis {
    let (report, text) = report_and_text(path);
    let was_read = report.rev.as_deref().is_some_and(|rev| rev != update::NO_REVISION);
    let mut diagnosis = Diagnosis {
        ok: report.ok,
        path: path.to_owned(),
        kind: report.kind,
        exit_code: report.exit_code(),
        rev: report.rev.clone(),
        findings: Vec::new(),
        repair: None,
        repaired: None,
    };
    if was_read {
        diagnosis.examine_text(&text, report);
    } else {
        diagnosis.findings = report.findings.into_iter().map(Symptom::nowhere).collect();
    }
    diagnosis.findings.extend(beside(path).into_iter().map(Symptom::nowhere));
    diagnosis
}

/// What the validator says of a file, and the text that it says it of: somebody may be writing it.
fn report_and_text(path: &Path) -> (Report, Vec<u8>) {
    const MOST_TRIES: usize = 20;
    for _ in 0..MOST_TRIES {
        let report = validate::validate_file(path, &Options::default());
        match update::read(path) {
            Ok(snapshot) if Some(&snapshot.rev) == report.rev.as_ref() => return (report, snapshot.text),
            Err(_) if report.rev.is_none() => return (report, Vec::new()),
            _ => {}
        }
    }
    // Nobody writes that fast; without surroundings one look is enough.
    let text = update::read(path).map(|snapshot| snapshot.text).unwrap_or_default();
    let exists = |file: &Path| file.exists();
    (validate::validate_text(path, text.clone(), &Options::default(), &exists), text)
}

impl Diagnosis {
    fn examine_text(&mut self, text: &[u8], report: Report) {
        let Repaired { faults, changes, document } = repair::repair(text);
        let is_corrupt = !faults.is_empty();
        self.findings = match Document::parse(text.to_vec()) {
            Ok(document) => findings_in(&document, report.findings),
            Err(_) => faults.iter().map(Symptom::of_fault).collect(),
        };
        if !is_corrupt && changes.is_empty() {
            return;
        }
        let findings: Option<Vec<Finding>> = document.as_ref().filter(|_| is_corrupt).map(|document| {
            let exists = |file: &Path| file.exists();
            let text = document.text().to_vec();
            let report = validate::validate_text(&self.path, text, &Options::default(), &exists);
            findings_in(document, report.findings).into_iter().map(|symptom| symptom.finding).collect()
        });
        let changes =
            changes.into_iter().map(|Change { at, what }| MadeChange { what, at: Some(at) }).collect();
        let findings = findings.unwrap_or_default();
        self.repair = Some(Repair { possible: document.is_some(), changes, findings, proposal: None });
        self.repaired = document;
    }
}

/// What the validator says of a document, each where it stands, and the keys that stand twice.
fn findings_in(document: &Document, findings: Vec<Finding>) -> Vec<Symptom> {
    let at = |offset: usize| {
        let (line, column) = document.line_column(offset);
        Some(Position { offset, line, column })
    };
    let place = |finding: Finding| {
        let value = document.root().pointer(&finding.pointer).filter(|_| !finding.pointer.is_empty());
        Symptom { at: value.and_then(|value| at(value.span().start)), finding }
    };
    let mut symptoms: Vec<Symptom> =
        findings.into_iter().filter(|finding| finding.code != validate::KEY_TWICE).map(place).collect();
    for twice in repair::twice(document.root()) {
        let (line, column) = document.line_column(twice.hidden.start);
        let message = format!(
            "the key stands twice, first at line {line}, column {column}: the last one counts, and a patch that sets it is refused"
        );
        let finding = Finding::warning(validate::KEY_TWICE, twice.pointer, message);
        symptoms.push(Symptom { finding, at: at(twice.again) });
    }
    symptoms
}

impl Symptom {
    fn nowhere(finding: Finding) -> Symptom {
        Symptom { finding, at: None }
    }

    fn of_fault(fault: &crate::document::Fault) -> Symptom {
        let at = Position { offset: fault.offset, line: fault.line, column: fault.column };
        let finding = Finding::error(validate::corruption_code(fault), "", fault.to_string());
        Symptom { finding, at: Some(at) }
    }
}

/// The lock, and what dead writers have left, beside a state file.
fn beside(path: &Path) -> Vec<Finding> {
    let Ok(place) = Place::find(path, Missing::Fail) else { return Vec::new() };
    let mut findings = Vec::new();
    match lock::holder_of(&place) {
        Ok(None) => {}
        Ok(Some(holder)) if holder.alive => {
            findings.push(Finding::info("locked", "", format!("the lock is {holder}")))
        }
        Ok(Some(holder)) => {
            let message = format!(
                "the lock is {holder}; the next writer takes it over, and `pipestate unlock` removes it"
            );
            findings.push(Finding::warning("stale-lock", "", message));
        }
        Err(error) => findings.push(Finding::info("lock-unknown", "", error.to_string())),
    }
    let Ok(mut names) = place.folder.names() else { return findings };
    sort_by(&mut names, Ord::cmp);
    for name in names {
        let shown = crate::text::quoted(&name.to_string_lossy());
        if disk::is_abandoned(&place.folder, &name) {
            let message = format!(
                "{shown} is what a dead writer has left; the next one that finds its lock removes it"
            );
            findings.push(Finding::warning("left-over-temporary", "", message));
        } else if is_foreign_temporary(&name, &place.name) {
            let message =
                format!("{shown} looks like another tool's unfinished write; pipestate never removes it");
            findings.push(Finding::advice("foreign-temporary", "", message));
        } else if is_proposal(&name, &place.name) {
            findings.push(Finding::info("proposal", "", format!("{shown} is a repair that was proposed")));
        }
    }
    findings
}

/// `agent-state.json.tmp`, `agent-state.json.1234.tmp`, `.agent-state.json.x1y2`: what tools call their unfinished writes.
fn is_foreign_temporary(name: &OsStr, state: &OsStr) -> bool {
    let (name, state) = (name.as_encoded_bytes(), state.as_encoded_bytes());
    let hidden = name.strip_prefix(b".").and_then(|name| name.strip_prefix(state));
    match name.strip_prefix(state) {
        Some(rest) => rest.starts_with(b".tmp") || (rest.starts_with(b".") && rest.ends_with(b".tmp")),
        None => hidden.is_some_and(|rest| rest.starts_with(b".")),
    }
}

/// How long the name of a proposal is at most (A8).
const LONGEST_NAME: usize = 240;

/// `agent-state.json.proposed-1`; of a state with a name too long for that, a hash of it.
fn proposal_name(state: &OsStr, number: usize) -> OsString {
    let mut name = state.to_owned();
    if name.len() > LONGEST_NAME {
        name = format!("state-{}", update::revision(&[state.as_encoded_bytes()])).into();
    }
    name.push(format!(".proposed-{number}"));
    name
}

fn is_proposal(name: &OsStr, state: &OsStr) -> bool {
    (1..=MOST_PROPOSALS).any(|number| proposal_name(state, number) == name)
}

/// Writes the repaired document of a diagnosis beside its file, as one of at most [`MOST_PROPOSALS`], and notes where. The
/// file itself is not touched. The same proposal a second time is the one that is there.
///
/// A crash leaves the file as it was, and perhaps a proposal that is not whole.
///
/// # Errors
/// [`Error::Refused`] when so many lie there already; [`Error::PluginRoot`] (A7); [`Error::Io`].
pub fn propose(diagnosis: &mut Diagnosis) -> Result<(), Error> {
    let (Some(repair), Some(document)) = (&mut diagnosis.repair, &diagnosis.repaired) else { return Ok(()) };
    let path = &diagnosis.path;
    place::refuse_plugin_root(path)?;
    let place = Place::find(path, Missing::Fail)?;
    // As private as the state itself.
    let mode = place.folder.facts(&place.name).map_err(place.failed("look at it", "stat"))?.mode & 0o666;
    for number in 1..=MOST_PROPOSALS {
        let name = proposal_name(&place.name, number);
        let proposal = place.folder.real_path().join(&name);
        let file = match place.folder.create(&name, mode) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if std::fs::read(&proposal).is_ok_and(|there| there == document.text()) {
                    repair.proposal = Some(proposal);
                    return Ok(());
                }
                continue;
            }
            Err(error) => return Err(Error::io(&proposal, "create the proposal", "open", error)),
        };
        let written = disk::write_all(&file, &[document.text()])
            .and_then(|()| disk::sync_file(&file))
            .and_then(|()| place.folder.sync());
        if let Err(error) = written {
            let _ = place.folder.unlink(&name); // ours, and not whole
            return Err(Error::io(&proposal, "write the proposal", "write", error));
        }
        repair.proposal = Some(proposal);
        return Ok(());
    }
    let reason = format!(
        "{MOST_PROPOSALS} proposals lie beside it already: look at them, and remove what is not needed"
    );
    Err(Error::Refused { path: path.clone(), pointer: String::new(), reason })
}

/// The worst exit code of several: 3 before 1 before 0.
pub fn worst_exit_code(diagnoses: &[Diagnosis]) -> u8 {
    diagnoses.iter().map(|diagnosis| diagnosis.exit_code).max().unwrap_or(0)
}

/// Whether a finding asks somebody to do something.
pub fn is_trouble(finding: &Finding) -> bool {
    matches!(finding.severity, Severity::Error | Severity::Warning)
}

fn path_as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn some_path_as_text<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

/// `offset`, `line` and `column`, or nothing.
fn position<S: Serializer>(at: &Option<Position>, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let mut map = serializer.serialize_map(None)?;
    if let Some(Position { offset, line, column }) = at {
        map.serialize_entry("offset", offset)?;
        map.serialize_entry("line", line)?;
        map.serialize_entry("column", column)?;
    }
    map.end()
}
