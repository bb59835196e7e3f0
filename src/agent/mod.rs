//! Agent runs: what is particular to `agent-state.json` (contract S).
//!
//! * [`plan`] — where to go on and what not to do again (S1): pure. [`worktree`] is what it asks the disk and git.
//! * [`start`] — taking the plan (R4): one write, one winner.
//! * [`transition`] — what a phase has come to (S2).
//! * [`halt`] — stopping so that nobody overlooks it (S3), and the [`hooks`] that pass it on.
//! * [`attempt`] — the three attempts of a loop (S4).
//! * [`handoff`] — what one phase tells the next (S5).
//! * [`files`] — what a phase has put out (S6).
//! * [`result`] — what a sub-agent gives back (S7).
//!
//! Tasks, the folders that these states lie in, are [`crate::task`]; their log is [`crate::log`].

pub mod attempt;
pub mod files;
pub mod git;
pub mod halt;
pub mod handoff;
pub mod hooks;
mod index_lock;
pub mod plan;
pub mod result;
pub mod start;
pub mod state;
pub mod transition;
pub mod worktree;

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::document::Value;
use crate::error::Error;
use crate::kind::StateKind;
use crate::log;
use crate::merge::{Patch, Refusal};
use crate::pipeline::object::Object;
use crate::update::{self, Caller, Current, WriteOptions, Written};

/// The log beside the state file that was written.
fn log_of(written: &Written) -> PathBuf {
    written.place.real_path().with_file_name(log::LOG_FILE)
}

/// Edits an agent's document by the patch that `decide` makes of it, or by none.
fn edit(
    path: &Path,
    options: &WriteOptions,
    caller: Caller,
    decide: &mut dyn FnMut(Value<'_>) -> Result<Option<Object>, Refusal>,
) -> Result<Written, Error> {
    let ((), written) = update::edit(path, options, caller, &mut |Current { document, place, .. }| {
        let root = document.root();
        must_be_agent(&place.path, root)?;
        let patch = decide(root).map_err(|refusal| refusal.of(&place.path))?;
        let patches = patch.into_iter().map(|patch| Patch::parse(patch.into_text(), "the edit"));
        Ok(((), patches.collect::<Result<_, _>>()?))
    })?;
    Ok(written)
}

/// Only an agent's document is edited by these rules.
fn must_be_agent(path: &Path, root: Value<'_>) -> Result<(), Error> {
    if StateKind::of(path, root) == Some(StateKind::Agent) {
        return Ok(());
    }
    Err(refusal("", "this is no agent's state: neither its name nor a currentPhase says so").of(path))
}

fn refusal(pointer: impl Into<String>, reason: impl Into<String>) -> Refusal {
    Refusal { pointer: pointer.into(), reason: reason.into() }
}

/// Appends a line to the log of a run whose state is written. That it cannot be is a warning: the state is what counts.
fn tell_log(written: &mut Written, at: DateTime<Utc>, line: &str, options: &WriteOptions, caller: Caller) {
    if let Err(error) = log::append_line(&log_of(written), at, line, options, caller) {
        written.warnings.push(format!("the state is written, the line in the log is not: {error}"));
    }
}
