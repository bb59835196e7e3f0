//! Runs where they lie: read once ([`StateFile::read`]), decided about as often as the clock goes on
//! ([`StateFile::assess`]), and found below all scope roots ([`find`], [`scan`]).
//!
//! Nothing here fails: what cannot be read is decided about by R5 like anything else, so that one broken run hides no
//! other. Nothing is locked and nothing is changed.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Serialize, Serializer};

use crate::document::Document;
use crate::error::Error;
use crate::inside;
use crate::kind::{AGENT_FILE, PIPELINE_FILE, StateKind, or_unknown};
use crate::pipeline::surroundings::{self, Notice, Weight};
use crate::pipeline::tiers::{STATE_FILE, scope_roots};
use crate::recovery::{self, Clock, Decision, Reason, Rule};
use crate::sort::sort_by;
use crate::status::View;
use crate::update;

/// A state file as it was read, and what was seen around it.
#[derive(Clone, Debug)]
pub struct StateFile {
    /// The file, as the caller named it or as the scan found it.
    pub path: PathBuf,
    /// Which document it is; `None` for one of neither kind and for a file that does not tell.
    pub kind: Option<StateKind>,
    /// Revision of what was read (M7): `none` when there is no file, `None` when it could not be read.
    pub rev: Option<String>,
    /// What was in it.
    pub content: Content,
    /// Whether what lies around the run is still what the document says (P5).
    surroundings: Vec<Notice>,
}

/// What a state file holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// A state document.
    Document {
        /// The document.
        document: Document,
        /// When the file was modified.
        modified: SystemTime,
    },
    /// Something else: it is corrupt.
    Corrupt {
        /// What it is.
        fault: String,
        /// When the file was modified.
        modified: SystemTime,
    },
    /// Nothing that could be read.
    Unreadable {
        /// The code of the reason: `missing`, `unreadable`.
        code: &'static str,
        /// The reason for people.
        why: String,
    },
}

/// A state file and what to do about its run. Serialises to the object that `--json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assessment {
    /// The file; in JSON with U+FFFD for what is not UTF-8 (A8).
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// Which document it is.
    #[serde(serialize_with = "or_unknown")]
    pub kind: Option<StateKind>,
    /// Revision of what was decided about.
    pub rev: Option<String>,
    /// The decision (R8).
    #[serde(flatten)]
    pub decision: Decision,
    /// The exit code that tells it (R8).
    pub exit_code: u8,
}

impl StateFile {
    /// Reads the state file at `path`, and looks at what is around it. `home` is what `~` stands for in it.
    pub fn read(path: &Path, home: Option<&Path>) -> StateFile {
        let (rev, content) = match update::read(path) {
            Ok(snapshot) => {
                let rev = snapshot.rev.clone();
                let content = match snapshot.facts {
                    Some(facts) => Content::of(path, snapshot.document(path), facts.modified),
                    None => Content::Unreadable { code: "missing", why: "there is no such file".into() },
                };
                (Some(rev), content)
            }
            Err(failure) => (None, Content::unreadable(path, &failure)),
        };
        let kind = match &content {
            Content::Document { document, .. } => StateKind::of(path, document.root()),
            _ => StateKind::by_name(path),
        };
        let surroundings = match &content {
            Content::Document { document, .. } if kind == Some(StateKind::Pipeline) => {
                surroundings::notices(path, document.root(), home)
            }
            _ => Vec::new(),
        };
        StateFile { path: path.to_owned(), kind, rev, content, surroundings }
    }

    /// A document as if it stood in the file at `path`, around which nothing is looked at.
    pub fn of(path: &Path, document: Document, modified: SystemTime) -> StateFile {
        let kind = StateKind::of(path, document.root());
        let content = Content::Document { document, modified };
        StateFile { path: path.to_owned(), kind, rev: None, content, surroundings: Vec::new() }
    }

    /// Decides about the run, by this clock.
    pub fn assess(&self, clock: &Clock) -> Assessment {
        let mut decision = match &self.content {
            Content::Document { document, modified } => {
                recovery::decide(document.root(), self.kind, *modified, clock)
            }
            Content::Corrupt { fault, modified } => recovery::corrupt(fault, *modified, clock),
            Content::Unreadable { code, why } => recovery::unreadable(code, why),
        };
        // Advice for a resume says nothing about a run that is done.
        let tells = |notice: &&Notice| decision.rule != Rule::R3 || notice.weight == Weight::Mismatch;
        let surroundings = self.surroundings.iter().filter(tells);
        let reasons = surroundings.map(|notice| Reason::at(notice.code, &notice.pointer, &notice.message));
        decision.reasons.extend(reasons.collect::<Vec<_>>());
        Assessment {
            path: self.path.clone(),
            kind: self.kind,
            rev: self.rev.clone(),
            exit_code: decision.rule.exit_code(),
            decision,
        }
    }
}

impl Content {
    fn of(path: &Path, document: Result<Document, Error>, modified: SystemTime) -> Content {
        match document {
            Ok(document) => Content::Document { document, modified },
            Err(Error::Corrupt { reason, .. }) => Content::Corrupt { fault: reason, modified },
            Err(failure) => Content::unreadable(path, &failure),
        }
    }

    fn unreadable(path: &Path, failure: &Error) -> Content {
        let message = failure.to_string();
        // Which file it is stands beside the decision.
        let about_the_file = format!("{}: ", path.display());
        let why = message.strip_prefix(&about_the_file).unwrap_or(&message).to_owned();
        Content::Unreadable { code: "unreadable", why }
    }
}

/// The exit code of several assessments: the worst, 3 before 1 before 0 (R8).
pub fn worst_exit_code(assessments: &[Assessment]) -> u8 {
    assessments.iter().map(|assessment| assessment.exit_code).max().unwrap_or(0)
}

/// Where to look for runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The workspaces.
    pub workspaces: Vec<PathBuf>,
    /// The home folder, with the runs that belong to no workspace; `None` leaves those out. It is what `~` stands for.
    pub home: Option<PathBuf>,
}

/// The home folder of who runs this: `HOME`, where the system has no other way.
pub fn home_folder() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// Decides about every run that [`find`] finds (R8).
///
/// # Errors
/// [`Error::Io`] for a workspace that cannot be listed: a mistyped one has no runs, which must not pass for an answer.
pub fn scan(places: &Places, clock: &Clock) -> Result<Vec<Assessment>, Error> {
    Ok(find(places)?.iter().map(|file| file.assess(clock)).collect())
}

/// Finds the pipeline runs below the scope roots of all tiers, in both layouts, of the workspaces and of the home
/// folder (P4), and reads each; sorted by root and path.
///
/// Run folders named `edit-*` are left out, and so are folders without a `pipeline-state.json`. A folder that cannot
/// be listed may hide runs: it is in the list itself, as unreadable.
///
/// # Errors
/// As [`scan`].
pub fn find(places: &Places) -> Result<Vec<StateFile>, Error> {
    for workspace in &places.workspaces {
        fs::read_dir(workspace)
            .map_err(|error| Error::io(workspace, "look for runs below this folder", "readdir", error))?;
    }
    let below_workspaces = places.workspaces.iter().flat_map(|workspace| scope_roots(Some(workspace), None));
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for root in below_workspaces.chain(scope_roots(None, places.home.as_deref())) {
        let root = root.runs_folder();
        // Two spellings of one folder (`.` and the home folder), or links, hold the same runs.
        if seen.insert(fs::canonicalize(&root).unwrap_or(root.clone())) {
            found.extend(find_below(&root, places.home.as_deref()));
        }
    }
    Ok(found)
}

/// The state file that a path means: itself, or the one in that folder; `None` for a folder without one.
pub fn state_file(path: &Path) -> Option<PathBuf> {
    if !path.is_dir() {
        return Some(path.to_owned());
    }
    [PIPELINE_FILE, AGENT_FILE].iter().map(|name| path.join(name)).find(|file| file.is_file())
}

/// The same, or all state files below a folder that is a workspace or the root of all logs.
///
/// # Errors
/// As [`scan`], also when there are none.
pub fn state_files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if let Some(file) = state_file(path) {
        return Ok(vec![file]);
    }
    let mut files = find(&Places { workspaces: vec![path.to_owned()], home: None })?;
    files.extend(find_tasks(path, None));
    if files.is_empty() {
        let none =
            io::Error::new(ErrorKind::NotFound, "there is no state file in it, and no run or task below it");
        return Err(Error::io(path, "find a state file here", "readdir", none));
    }
    Ok(files.into_iter().map(|file| file.path).collect())
}

/// Reads the state of every task below the root of all logs, `{project}/{number}/agent-state.json` (T1). Links that lead
/// out of the root are not followed (T3); a task without a state is none. `home` is as in [`StateFile::read`].
pub fn find_tasks(logs: &Path, home: Option<&Path>) -> Vec<StateFile> {
    let mut found = Vec::new();
    let leads_out = |path: &Path| path.is_symlink() && !inside::leads_inside(path, logs).unwrap_or(false);
    for project in folders_in(logs, &mut found) {
        for task in folders_in(&project, &mut found) {
            let is_number =
                task.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit));
            let state = task.join(AGENT_FILE);
            let leads_out = [&project, &task, &state].into_iter().any(|path| leads_out(path));
            if is_number && is_there(&state) && !leads_out {
                found.push(StateFile::read(&state, home));
            }
        }
    }
    found
}

/// Every run of workspaces and home folder and every task below `logs`, the newest first by when it was active (R7); what
/// tells no time comes last.
///
/// # Errors
/// As [`scan`].
pub fn newest_first(places: &Places, logs: Option<&Path>, clock: &Clock) -> Result<Vec<View>, Error> {
    let mut files = find(places)?;
    if let Some(logs) = logs {
        files.extend(find_tasks(logs, places.home.as_deref()));
    }
    let mut views: Vec<View> = files.iter().map(|file| View::of(file, clock)).collect();
    let active = |view: &View| view.assessment.decision.last_active.as_ref().map(|activity| activity.at);
    sort_by(&mut views, |a, b| {
        active(b).cmp(&active(a)).then_with(|| a.assessment.path.cmp(&b.assessment.path))
    });
    Ok(views)
}

/// Reads every `{P}/{runId}/pipeline-state.json` below a folder `temp`.
fn find_below(temp: &Path, home: Option<&Path>) -> Vec<StateFile> {
    let mut found = Vec::new();
    for pipeline in folders_in(temp, &mut found) {
        for run in folders_in(&pipeline, &mut found) {
            let name = run.file_name().unwrap_or_default().as_encoded_bytes();
            let state = run.join(STATE_FILE);
            if !name.starts_with(EDIT) && is_there(&state) {
                found.push(StateFile::read(&state, home));
            }
        }
    }
    found
}

/// What the names of run folders begin with that hold an edit of the pipeline itself, and no run (R8).
const EDIT: &[u8] = b"edit-";

/// The folders in `folder`, and what links to folders lead to, sorted. That there is none is usual; that it cannot be
/// listed is noted in `unlisted`.
fn folders_in(folder: &Path, unlisted: &mut Vec<StateFile>) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut folders: Vec<PathBuf> = match entries {
        Ok(entries) => entries.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()).collect(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Vec::new(),
        Err(error) => {
            let failure = Error::io(folder, "list the runs in it", "readdir", error);
            unlisted.push(StateFile {
                path: folder.to_owned(),
                kind: None,
                rev: None,
                content: Content::unreadable(folder, &failure),
                surroundings: Vec::new(),
            });
            Vec::new()
        }
    };
    sort_by(&mut folders, Ord::cmp);
    folders
}

/// Whether a name stands for something, be it a link that leads nowhere or in a folder that hides its files.
fn is_there(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn path_as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
