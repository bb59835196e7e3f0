//! Kill, clear-logs and purge (contract T2, T3): what is planned, shown, confirmed and only then removed.
//!
//! 1. [`survey`] — the tasks of the logs root, what their states record, and which of them are at work.
//! 2. [`plan`] — everything that one call would remove, as [`item`]s, in the order in which it goes. [`worktree`] says what may
//!    go of a repository, [`git`] asks it, [`tree`] measures folders.
//! 3. [`token`] — the plan as a file, and the right to run it once.
//! 4. [`run`] — the removal, item by item; folders by way of the [`trash`].
//! 5. [`audit`] — who removed what.
//!
//! What is on disk after each step, and why a new plan finishes what a crash has left, is a table in `docs/design.md`.

mod audit;
mod git;
pub mod item;
pub mod plan;
pub mod request;
mod run;
mod survey;
pub mod token;
mod trash;
mod tree;
mod worktree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::Utc;

use crate::disk::Folder;
use crate::error::Error;
use crate::lock;
use crate::place::{Missing, Place};
use crate::task;
use crate::update::{Caller, WriteOptions};
use plan::Plan;
use request::{Command, Request};
pub use run::Done;
use token::{Plans, Prepared, Stage, Token};

/// What the second question of a purge is answered with.
pub const PERMANENTLY: &str = "Purge permanently";

/// What confirming came to.
#[derive(Debug)]
pub enum Confirmed {
    /// The plan was run, all of it.
    Done(Done),
    /// Nothing is removed yet: this has to be confirmed as well (purge).
    AskAgain(Box<Prepared>),
}

/// Plans what `request` asks for. All that is written is the plan itself.
///
/// # Errors
/// [`Error::NothingRemoved`] where something must not be removed; those of finding a task; [`Error::Corrupt`] for the state
/// of a task that is to be killed; [`Error::Io`].
pub fn plan(request: &Request, logs: &Path) -> Result<Prepared, Error> {
    let request = request.resolved(logs)?;
    let plan = Plan::make(&request, logs)?;
    if plan.is_empty() {
        return Ok(Prepared { plan, token: None });
    }
    Plans::make(logs)?.prepare(plan, Stage::First, Utc::now())
}

/// Runs the plan that `token` stands for, once; of a purge that is confirmed for the first time it asks again.
///
/// `expected` is the call that the token must belong to. A crash leaves what a new plan lists.
///
/// # Errors
/// [`Error::NothingRemoved`] for a token that is unknown, used, expired, of another call, or void because something has
/// changed; [`Error::NotAllRemoved`] where something could not be removed; those of waiting for a lock.
pub fn confirm(
    logs: &Path,
    token: &str,
    expected: Option<&Request>,
    options: &WriteOptions,
    caller: Caller,
) -> Result<Confirmed, Error> {
    let token = Token::parse(token, logs)?;
    let expected = expected.map(|request| request.resolved(logs)).transpose()?;
    let plans = Plans::open(logs, &token)?;
    let place = Arc::new(Place::find(&plans.path().join("run"), Missing::Fail)?);
    let lock = lock::acquire(&place, caller.program, options.lock_timeout, caller.interrupted)?;
    let stored = plans.take(&token, expected.as_ref(), Utc::now())?;
    let plan = Plan::make(&stored.request, logs)?;
    stored.must_still_be(&plan, logs)?;
    if stored.request.command == Command::Purge && stored.stage == Stage::First {
        return plans
            .prepare(plan, Stage::Permanent, Utc::now())
            .map(|again| Confirmed::AskAgain(Box::new(again)));
    }
    let audit = audit::Audit { logs, request: &stored.request, token: &token, options, caller };
    audit.started()?;
    let outcome = run::run(&plan, logs, options, caller);
    let warning = audit.ended(&outcome).err();
    let _ = lock.release(); // a lock that stays is a dead one's, and hinders nobody
    let mut done = outcome.done(&plan, logs)?;
    done.warnings.extend(
        warning.map(|error| format!("all is removed, the audit's last line is not written: {error}")),
    );
    Ok(Confirmed::Done(done))
}

/// Takes a token back that nobody will use.
pub fn withdraw(logs: &Path, token: &str) -> Result<(), Error> {
    let token = Token::parse(token, logs)?;
    Plans::open(logs, &token)?.withdraw(&token)
}

/// The logs root as it is: without links.
fn real(logs: &Path) -> Result<PathBuf, Error> {
    let folder =
        Folder::open_path(logs).map_err(|source| Error::io(logs, "open the logs root", "open", source))?;
    Ok(folder.real_path())
}

/// A refusal.
fn nothing_removed(path: &Path, reason: impl Into<String>) -> Error {
    Error::NothingRemoved { path: path.to_owned(), reason: reason.into() }
}

/// A task's project and number, for sentences.
fn name_of(task: &task::Task) -> String {
    format!("{} {}", task.project, task.number())
}
