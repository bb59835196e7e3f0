//! What becomes of phases and of the run as a whole (S2, P7): decided under the lock, each in one write.
//!
//! Phases are an array or, in the wild, an object; the cursor is a number or a string. A transition finds its phase by
//! exactly the index or key that it has in the document, and writes both in the shape in which they are there.

use std::path::Path;

use super::names::RUN_STATUSES;
use super::object::Object;
use crate::document::{Kind, Value, pointer_token};
use crate::error::Error;
use crate::kind::StateKind;
use crate::merge::{Patch, Refusal};
use crate::phases::{is_done, phases};
use crate::recovery::is_complete;
use crate::update::{self, Caller, Current, Steps, WriteOptions, Written};

/// What a phase comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseStatus {
    /// It has to be done, perhaps again.
    Pending,
    /// It is at work.
    Running,
    /// It is done.
    Done,
    /// It failed, and with it the run.
    Failed,
}

impl PhaseStatus {
    /// The status of a word; `completed` is `done` (V4).
    pub fn parse(word: &str) -> Option<PhaseStatus> {
        Some(match word {
            "pending" => PhaseStatus::Pending,
            "running" => PhaseStatus::Running,
            "done" | "completed" => PhaseStatus::Done,
            "failed" => PhaseStatus::Failed,
            _ => return None,
        })
    }

    /// The word that is written.
    pub fn word(self) -> &'static str {
        match self {
            PhaseStatus::Pending => "pending",
            PhaseStatus::Running => "running",
            PhaseStatus::Done => "done",
            PhaseStatus::Failed => "failed",
        }
    }
}

/// A step of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The phase: its index, or its key where phases are an object.
    pub phase: String,
    /// What it comes to.
    pub status: PhaseStatus,
    /// What it has put out; added to what is recorded already.
    pub outputs: Vec<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Writes a step of a phase into the document at `path`.
///
/// # Errors
/// Those of [`set_phase`] and of [`update::edit`].
pub fn write_phase(
    path: &Path,
    transition: &Transition,
    options: &WriteOptions,
    caller: Caller,
) -> Result<Written, Error> {
    let edit = update::edit(path, options, caller, &mut |current| Ok(((), set_phase(current, transition)?)));
    edit.map(|((), written)| written)
}

/// Marks the run of the document at `path` completed (P7).
///
/// # Errors
/// Those of [`finalize`] and of [`update::edit`].
pub fn write_completed(path: &Path, options: &WriteOptions, caller: Caller) -> Result<Written, Error> {
    let edit = update::edit(path, options, caller, &mut |current| Ok(((), finalize(current)?)));
    edit.map(|((), written)| written)
}

/// What a step of a phase writes: the phase's status, outputs and error, the cursor, and with a failed phase the run's
/// status (S2).
///
/// # Errors
/// [`Error::Refused`] where there is no such phase, or no record of it, or where the phase would start in a run that
/// has ended or been stopped.
pub fn set_phase(current: &Current, transition: &Transition) -> Result<Steps, Error> {
    decide(current, |root| step(root, transition).map(Some))
}

/// What marks a run completed that is running and whose phases are all done (P7); nothing for one that is completed.
///
/// # Errors
/// [`Error::Refused`] for any other.
pub fn finalize(current: &Current) -> Result<Steps, Error> {
    decide(current, |root| match &*status(root)? {
        "running" => all_done(root).map(|()| Some(br#"{"status":"completed"}"#.to_vec())),
        word if is_done(word) => Ok(None),
        word => refuse("/status", format!("it is {word:?}, and only a running run is finalized")),
    })
}

/// Decides about a pipeline's document by one patch, or by none.
fn decide(
    Current { document, place, .. }: &Current,
    patch: impl Fn(Value<'_>) -> Result<Option<Vec<u8>>, Refusal>,
) -> Result<Steps, Error> {
    let root = document.root();
    if StateKind::of(&place.path, root) != Some(StateKind::Pipeline) {
        let reason = "this is no pipeline's document".to_owned();
        return Err(Refusal { pointer: String::new(), reason }.of(&place.path));
    }
    let patch = patch(root).map_err(|refusal| refusal.of(&place.path))?;
    patch.into_iter().map(|patch| Patch::parse(patch, "the transition")).collect()
}

/// The patch that a step is.
fn step(root: Value<'_>, transition: &Transition) -> Result<Vec<u8>, Refusal> {
    if transition.status == PhaseStatus::Running {
        must_not_have_stopped(root)?;
    }
    let record = record(root, &transition.phase)?;
    let mut changed = Object::new();
    changed.set("status", transition.status.word());
    let outputs = more_outputs(record, transition)?;
    if !outputs.is_empty() {
        changed.set_text("outputs", &outputs);
    }
    let had_error = record.get("error").is_some_and(|error| !error.is_null());
    if let Some(error) = &transition.error {
        changed.set("error", error);
    } else if had_error && transition.status != PhaseStatus::Failed {
        changed.set_text("error", b"null");
    }
    let mut phases = Object::new();
    phases.set_object(&transition.phase, changed);
    let mut patch = Object::new();
    if transition.status == PhaseStatus::Failed {
        patch.set("status", "failed");
    }
    patch.set_text("current_phase", &cursor(root, &transition.phase)).set_object("phases", phases);
    Ok(patch.into_text())
}

/// A phase does not start in a run that has ended or been stopped: that takes a resume, which is asked for (R3, R4).
fn must_not_have_stopped(root: Value<'_>) -> Result<(), Refusal> {
    match root.get("status").and_then(Value::as_str) {
        Some(status) if is_done(&status) || (status != "running" && RUN_STATUSES.contains(&&*status)) => {
            refuse(
                "/status",
                format!("the run is {status}, and a phase starts in a running one: see `pipestate recover`"),
            )
        }
        _ => Ok(()),
    }
}

/// The record of a phase, by its index or key as the document has it.
fn record<'a>(root: Value<'a>, phase: &str) -> Result<Value<'a>, Refusal> {
    let pointer = format!("/phases/{}", pointer_token(phase));
    let all = root.get("phases").filter(|phases| matches!(phases.kind(), Kind::Array | Kind::Object));
    let Some(all) = all else { return refuse("/phases", "there are no phases here".into()) };
    match all.at(&[phase]) {
        Some(record) if record.kind() == Kind::Object => Ok(record),
        Some(other) => refuse(
            &pointer,
            format!("it is {}, and a phase is recorded in an object", other.kind().described()),
        ),
        None => {
            let known: Vec<String> = phases(root).into_iter().map(|phase| phase.key).collect();
            refuse(&pointer, format!("there is no such phase, but these: {}", list(&known)))
        }
    }
}

/// What adds outputs to the recorded ones; empty when there is nothing to add.
fn more_outputs(record: Value<'_>, transition: &Transition) -> Result<Vec<u8>, Refusal> {
    let mut outputs = transition.outputs.clone();
    let mut seen = std::collections::HashSet::new();
    outputs.retain(|output| seen.insert(output.clone()));
    let text = |outputs: &[String]| serde_json::to_vec(outputs).expect("strings are JSON");
    match record.get("outputs").filter(|outputs| !outputs.is_null()) {
        None if outputs.is_empty() => Ok(Vec::new()),
        None => Ok(text(&outputs)),
        Some(recorded) if recorded.kind() == Kind::Array => {
            let known: Vec<_> = recorded.elements().filter_map(Value::as_str).collect();
            outputs.retain(|output| !known.iter().any(|known| known == output));
            let first = recorded.elements().count();
            let mut append = Object::new();
            for (index, output) in outputs.iter().enumerate() {
                append.set(&(first + index).to_string(), output);
            }
            Ok(if append.is_empty() { Vec::new() } else { append.into_text() })
        }
        Some(_) if outputs.is_empty() => Ok(Vec::new()),
        Some(other) => refuse(
            &format!("/phases/{}/outputs", pointer_token(&transition.phase)),
            format!("it is {}, and outputs are added to an array", other.kind().described()),
        ),
    }
}

/// The cursor on a phase: a number where the phase has one, unless the document has a string there.
fn cursor(root: Value<'_>, phase: &str) -> Vec<u8> {
    let is_string = root.get("current_phase").is_some_and(|cursor| cursor.kind() == Kind::String);
    let is_number = serde_json::from_str::<serde_json::Number>(phase).is_ok();
    if is_number && !is_string {
        return phase.as_bytes().to_vec();
    }
    serde_json::to_vec(phase).expect("a string is JSON")
}

fn status(root: Value<'_>) -> Result<String, Refusal> {
    match root.get("status").map(|status| (status, status.as_str())) {
        Some((_, Some(word))) => Ok(word.into_owned()),
        Some((other, None)) => {
            refuse("/status", format!("it is {}, and no status", other.kind().described()))
        }
        None => refuse("/status", "it is missing: what became of the run is not known".into()),
    }
}

/// Whether there are phases and all of them are done (P7), or which are not.
fn all_done(root: Value<'_>) -> Result<(), Refusal> {
    let phases = phases(root);
    if is_complete(&phases) {
        return Ok(());
    }
    let open: Vec<String> =
        phases.into_iter().filter(|phase| !phase.is_done()).map(|phase| phase.key).collect();
    match open.first() {
        None => refuse("/phases", "there are none, so nothing has been done".into()),
        Some(first) => refuse(
            &format!("/phases/{}", pointer_token(first)),
            format!("not all phases are done; open are {}", list(&open)),
        ),
    }
}

fn refuse<T>(pointer: &str, reason: String) -> Result<T, Refusal> {
    Err(Refusal { pointer: pointer.to_owned(), reason })
}

/// Keys for a message, no more of them than anyone reads.
fn list(keys: &[String]) -> String {
    const MOST: usize = 12;
    let shown = keys.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    match keys.len() {
        0 => "none".into(),
        count if count > MOST => format!("{shown} and {} more", count - MOST),
        _ => shown,
    }
}
