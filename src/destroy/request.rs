//! What is asked for, in one spelling, and the line that asks for it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::task;
use crate::text::shell_quoted;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Worktree and branch of a task; the logs stay.
    Kill,
    /// `agent-log.md` and `agent-state.json`; worktrees, branches and counters stay.
    ClearLogs,
    /// Worktrees, branches, logs and counters.
    Purge,
}

impl Command {
    /// The subcommand.
    pub fn word(self) -> &'static str {
        match self {
            Command::Kill => "kill",
            Command::ClearLogs => "clear-logs",
            Command::Purge => "purge",
        }
    }
}

/// A call, without its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// What is to be done.
    pub command: Command,
    /// The task that is to be killed: `#2`, `2` or its ticket; `None` for the others.
    pub task: Option<String>,
    /// The project; `None` for all of them.
    pub project: Option<String>,
    /// Whether branches on remotes go as well.
    pub remote: bool,
    /// Whether runs that are at work (R1) are taken too.
    pub include_active: bool,
}

impl Request {
    /// The same in one spelling: a task by project and number.
    pub(super) fn resolved(&self, logs: &Path) -> Result<Request, Error> {
        let Some(name) = &self.task else { return Ok(self.clone()) };
        let task = task::find(logs, self.project.as_deref(), name)?;
        Ok(Request { task: Some(task.number()), project: Some(task.project), ..self.clone() })
    }

    /// The call as a shell line, with this token; `logs` is the root that was named.
    pub fn line(&self, token: Option<&str>, logs: Option<&Path>) -> String {
        let mut line = format!("pipestate {}", self.command.word());
        let mut add = |word: &str| {
            line.push(' ');
            line.push_str(&shell_quoted(word));
        };
        if let Some(task) = &self.task {
            add(task);
        }
        if let Some(project) = &self.project {
            add("--project");
            add(project);
        }
        if self.remote {
            add("--remote");
        }
        if self.include_active {
            add("--include-active");
        }
        if let Some(logs) = logs {
            add("--logs-dir");
            add(&std::path::absolute(logs).unwrap_or(logs.to_owned()).to_string_lossy());
        }
        if let Some(token) = token {
            add("--confirm");
            add(token);
        }
        line
    }
}
