//! The tasks of a logs root: what their states record, and which of their runs are at work (R1).

use std::fs;
use std::path::Path;

use chrono::Utc;

use crate::agent::state::{self, RecordedRepository};
use crate::error::Error;
use crate::inside;
use crate::recovery::{Clock, Rule, STALE_AFTER};
use crate::runs::{Content, StateFile};
use crate::task::{self, Task};

/// A task, and what is known of its run.
#[derive(Debug)]
pub struct Surveyed {
    /// The task.
    pub task: Task,
    /// Its run.
    pub run: Run,
}

/// What a state file tells of its run.
#[derive(Debug)]
pub struct Run {
    /// What is recorded.
    pub recorded: Recorded,
    /// Whether it is at work (R1).
    pub is_active: bool,
}

/// What a state records of repositories.
#[derive(Debug)]
pub enum Recorded {
    /// These.
    Repositories(Vec<RecordedRepository>),
    /// There is no state.
    Nothing,
    /// It does not parse.
    Corrupt(String),
    /// It cannot be read, or must not be.
    Unknown(String),
}

/// Every task below the logs root.
pub fn tasks(logs: &Path) -> Result<Vec<Surveyed>, Error> {
    let tasks = task::list(logs, None)?.into_iter();
    Ok(tasks.map(|task| Surveyed { run: run(&task.state, logs), task }).collect())
}

/// What the state file at `path` tells. A link that leads out of the root is not followed.
pub fn run(path: &Path, logs: &Path) -> Run {
    let unknown = |recorded| Run { recorded, is_active: false };
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_symlink() && !inside::leads_inside(path, logs).unwrap_or(false) => {
            return unknown(Recorded::Unknown("its state is a link that leads out of the logs root".into()));
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return unknown(Recorded::Nothing),
        Err(error) => return unknown(Recorded::Unknown(format!("its state cannot be looked at: {error}"))),
    }
    let file = StateFile::read(path, None);
    let rule = file.assess(&Clock { now: Utc::now(), stale_after: STALE_AFTER }).decision.rule;
    let recorded = match file.content {
        Content::Document { document, .. } => Recorded::Repositories(state::repositories(document.root())),
        Content::Corrupt { fault, .. } => Recorded::Corrupt(fault),
        Content::Unreadable { why, .. } => Recorded::Unknown(format!("its state cannot be read: {why}")),
    };
    Run { recorded, is_active: rule == Rule::R1 }
}

impl Run {
    /// What the two runs have in common, in words: a worktree or a branch.
    pub fn shares(&self, other: &Run) -> Option<String> {
        let (Recorded::Repositories(own), Recorded::Repositories(others)) = (&self.recorded, &other.recorded)
        else {
            return None;
        };
        own.iter().find_map(|own| others.iter().find_map(|other| shared(own, other)))
    }
}

fn shared(one: &RecordedRepository, other: &RecordedRepository) -> Option<String> {
    let same = |one: &Path, other: &Path| {
        one == other
            || fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
    };
    if let (Some(own), Some(others)) = (&one.worktree, &other.worktree)
        && same(own, others)
    {
        return Some(format!("worktree {}", own.display()));
    }
    let (Some(branch), Some(own), Some(others)) = (&one.branch, &one.repository, &other.repository) else {
        return None;
    };
    (one.branch == other.branch && same(own, others)).then(|| format!("branch {branch}"))
}
