//! Taking up a run that has stopped (S1, R4): the plan, taken in one write.
//!
//! 1. The plan is made without the lock, because git is asked for it.
//! 2. Under the lock the document must still be the one that the plan was made of; else the plan is made anew.
//! 3. The same write sets `running`, clears `haltReason` and records who resumed and when (`metadata.resumedAt`,
//!    `resumedBy`, `resumeConfirmed`). From then on the run is active by R7, so of several that start it one does, and
//!    the others find a run at work.

use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};

use super::plan::{Plan, Resumable, UNSAFE, of_file};
use super::state::Identity;
use super::{edit, refusal, tell_log};
use crate::document::{Kind, Value};
use crate::error::Error;
use crate::lock;
use crate::merge::Refusal;
use crate::pipeline::object::Object;
use crate::recovery::{Clock, Rule};
use crate::update::{self, Caller, WriteOptions, Written};
use crate::validate::Report;

/// So often the plan is made anew because somebody writes meanwhile.
const MOST_PLANS: usize = 10;

/// Starts the run of the document at `path` by its plan.
///
/// `clock` is read for every plan.
///
/// # Errors
/// [`Error::Refused`] where the plan has obstacles or the document is unsafe, naming the first; [`Error::Corrupt`]; those of
/// [`crate::update::edit`]. Nothing was written then.
pub fn start(
    path: &Path,
    clock: &dyn Fn() -> Clock,
    max_phase: u32,
    options: &WriteOptions,
    caller: Caller,
) -> Result<(Plan, Written), Error> {
    let by = format!("{}, process {} on {}", caller.program, std::process::id(), lock::host());
    let mut tries = 0;
    loop {
        tries += 1;
        let now = clock();
        let plan = match of_file(path, &now, max_phase)? {
            Resumable::Plan(plan) => *plan,
            Resumable::Unsafe(report) => {
                return Err(unsafe_error(path, &report));
            }
        };
        permit(&plan).map_err(|refusal| refusal.of(path))?;
        let exactly = WriteOptions { if_match: Some(plan.rev.clone()), ..options.clone() };
        match edit(path, &exactly, caller, &mut |root| claim(root, now.now, &by).map(Some)) {
            Err(Error::Conflict { .. }) if tries < MOST_PLANS => {}
            Err(error) => return Err(error),
            Ok(mut written) => {
                let name = Identity { id: plan.task_id.clone(), ticket: plan.ticket.clone() }.name();
                let line = format!("Resumed {name} from Phase {}", plan.phase);
                tell_log(&mut written, now.now, &line, options, caller);
                return Ok((plan, written));
            }
        }
    }
}

/// What an unsafe document is refused with: [`UNSAFE`] and the first thing that is wrong with it.
fn unsafe_error(path: &Path, report: &Report) -> Error {
    let first = report.findings.first();
    let why = first.map_or(String::new(), |finding| format!(" ({})", finding.message));
    let reason = format!("{UNSAFE}{why}");
    if report.exit_code() == 1 {
        let pointer = first.map(|finding| finding.pointer.clone()).unwrap_or_default();
        return Error::Refused { path: path.to_owned(), pointer, reason };
    }
    match update::read(path).and_then(|snapshot| snapshot.existing_document(path)) {
        Err(error @ Error::Io { .. }) => error, // missing, or not ours to read
        _ => Error::Corrupt { path: path.to_owned(), reason },
    }
}

fn permit(plan: &Plan) -> Result<(), Refusal> {
    let Some(first) = plan.obstacles.first() else { return Ok(()) };
    let way_out = match plan.decision.rule {
        Rule::R1 => "; if that run is known to be dead, say so with --stale-after 0s",
        _ if plan.worktrees.iter().any(|worktree| !worktree.is_ready()) => {
            "; `pipestate resume` without --start says what heals it"
        }
        _ => "",
    };
    let pointer = first.pointer.clone().unwrap_or_default();
    Err(refusal(pointer, format!("{}{way_out}", first.message)))
}

/// The patch that takes the run up.
fn claim(root: Value<'_>, at: DateTime<Utc>, by: &str) -> Result<Object, Refusal> {
    if let Some(metadata) = root.get("metadata").filter(|metadata| !metadata.is_null())
        && metadata.kind() != Kind::Object
    {
        let reason = format!("it is {} and no object to record the resume in", metadata.kind().described());
        return Err(refusal("/metadata", reason));
    }
    let mut metadata = Object::new();
    metadata
        .set("resumedAt", at.to_rfc3339_opts(SecondsFormat::Millis, true))
        .set("resumedBy", by)
        .set("resumeConfirmed", true);
    let mut patch = Object::new();
    patch.set("status", "running");
    if root.get("haltReason").is_some() {
        patch.set_text("haltReason", b"null");
    }
    patch.set_object("metadata", metadata);
    Ok(patch)
}
