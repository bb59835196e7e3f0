//! Stopping so that nobody overlooks it (S3), in this order:
//!
//! 1. `status: "paused"` and `haltReason: "<phase>:<cause>"` are written.
//! 2. The alert, [`line()`], is told: also when 1 failed, because then nothing else tells of the halt.
//! 3. The log gets its line.
//! 4. The hooks run ([`super::hooks`]).
//!
//! What fails in 3 and 4 becomes a warning. What fails in 1 is the error that the call ends with, after all the rest.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::hooks::{self, HookRun, Hooks};
use super::state::{self, Identity};
use super::{edit, plan};
use crate::error::Error;
use crate::log;
use crate::pipeline::object::Object;
use crate::text::one_line;
use crate::update::{self, Caller, WriteOptions, Written};

/// Why a run stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The phase that cannot go on.
    pub phase: u32,
    /// Why, for people.
    pub text: String,
}

impl Cause {
    /// What `haltReason` becomes.
    pub fn reason(&self) -> String {
        format!("{}:{}", self.phase, self.text)
    }
}

/// How a halt went.
#[derive(Debug)]
pub struct Halted {
    /// The alert, as it was told.
    pub line: String,
    /// What the write did, or why there was none.
    pub written: Result<Written, Error>,
    /// The hooks that ran.
    pub hooks: Vec<HookRun>,
    /// What did not work beside the write.
    pub warnings: Vec<String>,
}

/// The alert, exactly as 003… has it, on one line whatever stands in the cause.
pub fn line(cause: &Cause, id: &str) -> String {
    one_line(&format!("HALT phase {}: {} - resume with /multi-agent:resume #{id}", cause.phase, cause.text))
}

/// Halts the run of the document at `path`. `tell` gets the alert once, as soon as the write is done or has failed.
pub fn halt(
    path: &Path,
    cause: &Cause,
    now: DateTime<Utc>,
    hooks: &Hooks,
    options: &WriteOptions,
    caller: Caller,
    tell: &mut dyn FnMut(&str),
) -> Halted {
    let written = edit(path, options, caller, &mut |_| Ok(Some(patch(cause))));
    follow(path, cause, written, now, hooks, options, caller, tell)
}

/// What halts a run.
pub(super) fn patch(cause: &Cause) -> Object {
    let mut patch = Object::new();
    patch.set("status", "paused").set("haltReason", cause.reason());
    patch
}

/// Everything that follows the write, whether that succeeded or not.
#[allow(clippy::too_many_arguments)] // each is one of the four steps' own
pub(super) fn follow(
    path: &Path,
    cause: &Cause,
    written: Result<Written, Error>,
    now: DateTime<Utc>,
    hooks: &Hooks,
    options: &WriteOptions,
    caller: Caller,
    tell: &mut dyn FnMut(&str),
) -> Halted {
    let (identity, workspace) = whose(path);
    let id = identity.id.or_else(|| state::id_by_folder(path)).unwrap_or_else(|| "?".to_owned());
    let line = line(cause, &id);
    tell(&line);
    let mut warnings = match &written {
        Ok(written) => written.warnings.clone(),
        Err(_) => Vec::new(),
    };
    let in_log = format!("HALT phase {}: {}", cause.phase, cause.text);
    if let Err(error) = log::append_line(&plan::log_beside(path), now, &in_log, options, caller) {
        warnings.push(format!("the halt is not in the log: {error}"));
    }
    let values = hooks::Values {
        state: path.to_string_lossy().into_owned(),
        phase: cause.phase.to_string(),
        cause: cause.text.clone(),
        id,
    };
    let (hooks, complaints) = hooks::run(hooks, &values, &workspace, caller);
    warnings.extend(complaints);
    Halted { line, written, hooks, warnings }
}

/// Whose run it is and which folders are its workspace, as far as the document can be read.
fn whose(path: &Path) -> (Identity, Vec<std::path::PathBuf>) {
    let document = update::read(path).and_then(|snapshot| snapshot.document(path));
    document.map_or_else(
        |_| (Identity::default(), Vec::new()),
        |document| (Identity::of(document.root()), state::workspace(document.root())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alert_is_one_line_whatever_the_cause_is() {
        let cause = Cause { phase: 4, text: "no\nsubagent \u{1b}[2J".into() };
        assert_eq!(
            line(&cause, "12"),
            "HALT phase 4: no\\nsubagent \\u{1b}[2J - resume with /multi-agent:resume #12"
        );
        assert_eq!(cause.reason(), "4:no\nsubagent \u{1b}[2J");
    }
}
