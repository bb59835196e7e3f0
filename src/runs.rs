//! Runs where they lie: read and decided about one by one ([`assess`]), or found below all scope roots ([`scan`]).
//!
//! Nothing here fails: what cannot be read is an assessment by R5 like any other, so that one broken run hides no
//! other. Nothing is locked and nothing is changed.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use crate::document::Document;
use crate::error::Error;
use crate::kind::StateKind;
use crate::pipeline::tiers::{STATE_FILE, scope_roots};
use crate::recovery::{self, Clock, Decision};
use crate::update::{self, Snapshot};

/// A state file and what to do about its run. Serialises to the object that `--json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assessment {
    /// The file, as the caller named it or as the scan found it; in JSON with U+FFFD for what is not UTF-8 (A8).
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// Which document it is; `None` for one of neither kind and for a file that does not tell.
    pub kind: Option<StateKind>,
    /// Revision of what was decided about (M7): `none` when there is no file, `None` when it could not be read.
    pub rev: Option<String>,
    /// The decision (R8).
    #[serde(flatten)]
    pub decision: Decision,
    /// The exit code that tells it (R8).
    pub exit_code: u8,
}

impl Assessment {
    fn new(path: &Path, kind: Option<StateKind>, rev: Option<String>, decision: Decision) -> Assessment {
        Assessment { path: path.to_owned(), kind, rev, exit_code: decision.rule.exit_code(), decision }
    }
}

/// Reads the state file at `path` and decides about its run.
pub fn assess(path: &Path, clock: &Clock) -> Assessment {
    match update::read(path) {
        Ok(Snapshot { text, rev, facts: Some(facts) }) => {
            let snapshot = Snapshot { text, rev: rev.clone(), facts: Some(facts) };
            let (kind, decision) = match snapshot.document(path) {
                Ok(document) => decide(path, &document, facts.modified, clock),
                Err(failure) => {
                    (StateKind::by_name(path), damaged(path, &failure, Some(facts.modified), clock))
                }
            };
            Assessment::new(path, kind, Some(rev), decision)
        }
        Ok(Snapshot { rev, facts: None, .. }) => {
            let decision = recovery::unreadable("missing", "there is no such file", clock);
            Assessment::new(path, StateKind::by_name(path), Some(rev), decision)
        }
        Err(failure) => {
            Assessment::new(path, StateKind::by_name(path), None, damaged(path, &failure, None, clock))
        }
    }
}

/// The exit code of several assessments: the worst, 3 before 1 before 0 (R8).
pub fn worst_exit_code(assessments: &[Assessment]) -> u8 {
    assessments.iter().map(|assessment| assessment.exit_code).max().unwrap_or(0)
}

/// Finds the pipeline runs below the scope roots of all tiers, in both layouts, of the workspaces and of the home
/// folder (P4), and decides about each (R8); sorted by root and path.
///
/// Run folders named `edit-*` are left out, and so are folders without a `pipeline-state.json`. A folder that cannot
/// be listed may hide runs: it is assessed as unreadable itself.
pub fn scan(workspaces: &[PathBuf], home: Option<&Path>, clock: &Clock) -> Vec<Assessment> {
    let below_workspaces = workspaces.iter().flat_map(|workspace| scope_roots(Some(workspace), None));
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in below_workspaces.chain(scope_roots(None, home)) {
        let root = root.runs_folder();
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots.iter().flat_map(|root| scan_root(root, clock)).collect()
}

/// Decides about every `{P}/{runId}` below a folder `temp`.
fn scan_root(temp: &Path, clock: &Clock) -> Vec<Assessment> {
    let mut found = Vec::new();
    for pipeline in folders_in(temp, &mut found, clock) {
        for run in folders_in(&pipeline, &mut found, clock) {
            let is_edit =
                run.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(EDIT.as_bytes()));
            let state = run.join(STATE_FILE);
            if !is_edit && is_there(&state) {
                found.push(assess(&state, clock));
            }
        }
    }
    found
}

/// What the names of run folders begin with that hold an edit of the pipeline itself, and no run (R8).
const EDIT: &str = "edit-";

/// The folders in `folder`, and in what links lead to, sorted. That there is none is usual; that it cannot be listed is
/// noted in `unlisted`.
fn folders_in(folder: &Path, unlisted: &mut Vec<Assessment>, clock: &Clock) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut folders: Vec<PathBuf> = match entries {
        Ok(entries) => entries.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()).collect(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Vec::new(),
        Err(error) => {
            let failure = Error::io(folder, "list the runs in it", "readdir", error);
            unlisted.push(Assessment::new(folder, None, None, damaged(folder, &failure, None, clock)));
            Vec::new()
        }
    };
    folders.sort();
    folders
}

/// Whether a name stands for something, be it a link that leads nowhere or in a folder that hides its files.
fn is_there(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Decides about a document, and which kind it is of.
fn decide(
    path: &Path,
    document: &Document,
    modified: SystemTime,
    clock: &Clock,
) -> (Option<StateKind>, Decision) {
    let kind = StateKind::of(path, document.root());
    (kind, recovery::decide(document.root(), kind, modified, clock))
}

/// What R5 has to say about a file that is corrupt or cannot be read.
fn damaged(path: &Path, failure: &Error, modified: Option<SystemTime>, clock: &Clock) -> Decision {
    match failure {
        Error::Corrupt { reason, .. } => recovery::corrupt(reason, modified, clock),
        failure => {
            let message = failure.to_string();
            // Which file it is stands beside the decision.
            let about_the_file = format!("{}: ", path.display());
            recovery::unreadable(
                "unreadable",
                message.strip_prefix(&about_the_file).unwrap_or(&message),
                clock,
            )
        }
    }
}

fn path_as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
