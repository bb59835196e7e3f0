//! What a phase has come to (S2): one write, and one line in the log.

use std::collections::HashSet;
use std::path::Path;

use chrono::{DateTime, Utc};

use super::state::{record, roots};
use super::{edit, refusal, tell_log};
use crate::document::{Kind, Value, pointer_token};
use crate::error::Error;
use crate::inside;
use crate::merge::Refusal;
use crate::phases::is_done;
use crate::pipeline::object::Object;
use crate::pipeline::transition::PhaseStatus;
use crate::update::{Caller, WriteOptions, Written};

/// A step of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The phase.
    pub phase: u32,
    /// What it comes to; with a failed phase the run is paused.
    pub status: PhaseStatus,
    /// Files that it has put out, relative to the worktree or below it; added to those that are recorded.
    pub files: Vec<String>,
    /// The unit that is done by this; it has put out the same files.
    pub sub_step: Option<String>,
    /// How often the phase has been tried again.
    pub retry_count: Option<u64>,
}

/// Writes a step of a phase into the document at `path`, and a line into the log beside it if `with_log`.
///
/// # Errors
/// [`Error::Refused`] for a file that does not lie in the worktree, a phase that would start in a run that has ended or
/// been stopped, and a field that has another shape; those of [`crate::update::edit`]. That the log cannot be written is
/// a warning.
pub fn set_phase(
    path: &Path,
    transition: &Transition,
    now: DateTime<Utc>,
    with_log: bool,
    options: &WriteOptions,
    caller: Caller,
) -> Result<Written, Error> {
    let mut written = edit(path, options, caller, &mut |root| step(root, transition).map(Some))?;
    if with_log {
        tell_log(&mut written, now, &transition.line(), options, caller);
    }
    Ok(written)
}

impl Transition {
    fn line(&self) -> String {
        let mut line = format!("Phase {} {}", self.phase, self.status.word());
        if let Some(token) = &self.sub_step {
            line.push_str(&format!(", subStep {token}"));
        }
        if let Some(count) = self.retry_count {
            line.push_str(&format!(", retry {count}"));
        }
        if !self.files.is_empty() {
            line.push_str(&format!(": {}", self.files.join(", ")));
        }
        line
    }
}

/// The patch that a step is.
fn step(root: Value<'_>, transition: &Transition) -> Result<Object, Refusal> {
    if transition.status == PhaseStatus::Running {
        must_not_have_stopped(root)?;
    }
    let pointer = format!("/phases/{}", transition.phase);
    let files = inside_worktree(root, transition, &pointer)?;
    let record = record(root, transition.phase);
    let mut changed = Object::new();
    changed.set("status", transition.status.word());
    add_files(&mut changed, record, &files, &pointer)?;
    if let Some(count) = transition.retry_count {
        changed.set("retryCount", count);
    }
    if let Some(token) = &transition.sub_step {
        changed.set("subStep", token);
        add_unit(&mut changed, record, token, &files, &pointer)?;
    }
    let mut phases = Object::new();
    phases.set_object(&transition.phase.to_string(), changed);
    let mut patch = Object::new();
    if transition.status == PhaseStatus::Failed {
        patch.set("status", "paused");
    }
    patch.set("currentPhase", transition.phase).set_object("phases", phases);
    Ok(patch)
}

/// A phase does not start in a run that has ended or been stopped: that takes a resume, which is asked for (R3, R4).
fn must_not_have_stopped(root: Value<'_>) -> Result<(), Refusal> {
    match root.get("status").and_then(Value::as_str) {
        Some(status) if is_done(&status) || matches!(&*status, "paused" | "failed" | "escalated") => {
            Err(refusal(
                "/status",
                format!("the run is {status}, and a phase starts in a running one: see `pipestate resume`"),
            ))
        }
        _ => Ok(()),
    }
}

/// The files of a step as they are recorded: relative to the worktree, each once.
fn inside_worktree(root: Value<'_>, transition: &Transition, pointer: &str) -> Result<Vec<String>, Refusal> {
    let roots = roots(root);
    let mut seen = HashSet::new();
    let mut files = Vec::new();
    for file in &transition.files {
        let below = roots.iter().find_map(|root| Path::new(file).strip_prefix(root).ok()?.to_str());
        let path = inside::relative(below.unwrap_or(file)).map_err(|why| {
            refusal(format!("{pointer}/files"), format!("{file:?} is no file of the worktree: {why}"))
        })?;
        if seen.insert(path.clone()) {
            files.push(path);
        }
    }
    Ok(files)
}

/// Adds files to those that a record lists.
fn add_files(
    changed: &mut Object,
    record: Option<Value<'_>>,
    files: &[String],
    pointer: &str,
) -> Result<(), Refusal> {
    let recorded = record.and_then(|record| record.get("files")).filter(|files| !files.is_null());
    match recorded {
        _ if files.is_empty() => {}
        None => drop(changed.set("files", files)),
        Some(recorded) if recorded.kind() == Kind::Array => {
            let known: HashSet<_> = recorded.elements().filter_map(Value::as_str).collect();
            let new = files.iter().filter(|file| !known.contains(file.as_str()));
            let mut append = Object::new();
            for (index, file) in (recorded.elements().count()..).zip(new) {
                append.set(&index.to_string(), file);
            }
            if !append.is_empty() {
                changed.set_object("files", append);
            }
        }
        Some(other) => {
            let reason = format!("it is {}, and files are added to a list", other.kind().described());
            return Err(refusal(format!("{pointer}/files"), reason));
        }
    }
    Ok(())
}

/// Adds a unit with its files to those that a record names.
fn add_unit(
    changed: &mut Object,
    record: Option<Value<'_>>,
    token: &str,
    files: &[String],
    pointer: &str,
) -> Result<(), Refusal> {
    let pointer = format!("{pointer}/subSteps");
    let recorded = record.and_then(|record| record.get("subSteps")).filter(|units| !units.is_null());
    if let Some(other) = recorded.filter(|units| units.kind() != Kind::Object) {
        let reason = format!("it is {}, and units are recorded in an object", other.kind().described());
        return Err(refusal(pointer, reason));
    }
    let known = recorded.and_then(|units| units.get(token)).filter(|unit| unit.kind() == Kind::Object);
    let mut unit = Object::new();
    add_files(&mut unit, known, files, &format!("{pointer}/{}", pointer_token(token)))?;
    if known.is_none() && files.is_empty() {
        unit.set("files", files);
    }
    let mut units = Object::new();
    units.set_object(token, unit);
    changed.set_object("subSteps", units);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::merge::{Nulls, Patch, merge};

    fn transition(phase: u32, status: PhaseStatus) -> Transition {
        Transition { phase, status, files: Vec::new(), sub_step: None, retry_count: None }
    }

    fn apply(text: &str, transition: &Transition) -> Result<String, Refusal> {
        let document = Document::parse(text.into()).unwrap();
        let patch = Patch::parse(step(document.root(), transition)?.into_text(), "the step").unwrap();
        let edits = merge(&document, &patch, Nulls::Store)?;
        Ok(String::from_utf8(edits.apply(document.text())).unwrap())
    }

    #[test]
    #[cfg(unix)] // its absolute paths are of Unix
    fn a_step_sets_its_phase_and_the_cursor_and_keeps_the_rest() {
        let step = Transition {
            files: vec!["a".into(), "./b/c".into(), "/w/d".into(), "a".into()],
            sub_step: Some("green".into()),
            retry_count: Some(2),
            ..transition(3, PhaseStatus::Running)
        };
        assert_eq!(
            apply(
                r#"{"worktreePath":"/w","currentPhase":2,"x":1.0,"phases":{"3":{"files":["a"],"subSteps":{"red":{"files":["a"]}}}}}"#,
                &step
            )
            .unwrap(),
            r#"{"worktreePath":"/w","currentPhase":3,"x":1.0,"phases":{"3":{"files":["a","b/c","d"],"subSteps":{"red":{"files":["a"]},"green":{"files":["a","b/c","d"]}},"status":"running","retryCount":2,"subStep":"green"}}}"#
        );
    }

    #[test]
    fn lists_of_phases_and_bare_words_become_what_the_step_says() {
        let step = transition(1, PhaseStatus::Done);
        assert_eq!(
            apply(r#"{"currentPhase":1,"phases":["done","running"]}"#, &step).unwrap(),
            r#"{"currentPhase":1,"phases":["done",{"status":"done"}]}"#
        );
        assert_eq!(
            apply(r#"{"currentPhase":0}"#, &step).unwrap(),
            r#"{"currentPhase":1,"phases":{"1":{"status":"done"}}}"#
        );
    }

    #[test]
    fn a_failed_phase_pauses_the_run_and_a_paused_run_starts_no_phase() {
        let failed = apply(r#"{"currentPhase":4}"#, &transition(4, PhaseStatus::Failed)).unwrap();
        assert_eq!(failed, r#"{"currentPhase":4,"status":"paused","phases":{"4":{"status":"failed"}}}"#);
        let refused = apply(&failed, &transition(4, PhaseStatus::Running)).unwrap_err();
        assert_eq!(refused.pointer, "/status");
        assert!(apply(&failed, &transition(4, PhaseStatus::Done)).is_ok());
    }

    #[test]
    fn files_outside_of_the_worktree_are_refused() {
        for file in ["../x", "/etc/passwd", "", "/w2/x"] {
            let step = Transition { files: vec![file.into()], ..transition(4, PhaseStatus::Done) };
            let refused = apply(r#"{"worktreePath":"/w","currentPhase":4}"#, &step).unwrap_err();
            assert_eq!(refused.pointer, "/phases/4/files", "{file}");
        }
    }
}
