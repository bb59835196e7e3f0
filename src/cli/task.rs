//! `pipestate task`.

use std::path::{Path, PathBuf};

use chrono::Utc;
use serde_json::{Value, json};

use super::arguments::{Command, Run, arguments};
use super::edit::{EditOptions, as_caller};
use super::output::Output;
use crate::error::Error;
use crate::task::{self, NewTask, Repository, Task};

/// The commands about tasks.
pub static COMMAND: Command = Command::group(
    "task",
    "Number tasks, make their folders, and find them again",
    "\
Examples:
  pipestate task new --repo . --worktree .worktrees/PROJ-1 --branch feature/PROJ-1 PROJ-1
  pipestate task list
  STATE_FILE=$(pipestate task show --path '#2')",
    &[&Command::new::<New>("new"), &Command::new::<List>("list"), &Command::new::<Show>("show")],
);

arguments! {
    /// Give a ticket the next number of its project, with folder, state and log
    struct New {
        /// The project [default: the base name of the repository]
        project: Option<String> = option("project", "NAME"),
        /// The repository; once for each of several, with its --worktree and --branch [default: the one around us, unless
        /// --project is given]
        repo: Vec<PathBuf> = option("repo", "DIR"),
        /// The worktree that is made of it; a relative one starts at the repository
        worktree: Vec<PathBuf> = option("worktree", "DIR"),
        /// The branch in it
        branch: Vec<String> = option("branch", "NAME"),
        logs: LogsOptions = group(LogsOptions::ARGUMENTS),
        edit: EditOptions = group(EditOptions::ARGUMENTS),
        /// Print the task as one JSON object
        json: bool = flag("json"),
        /// The ticket
        ticket: String = operand("TICKET"),
    }
}

arguments! {
    /// List the tasks, by project and number
    struct List {
        /// Only those of this project
        project: Option<String> = option("project", "NAME"),
        logs: LogsOptions = group(LogsOptions::ARGUMENTS),
        /// Print the tasks as one JSON object
        json: bool = flag("json"),
    }
}

arguments! {
    /// Find a task by its number or its ticket; exit 1 when none or several are called so
    struct Show {
        /// Only among those of this project
        project: Option<String> = option("project", "NAME"),
        /// Print the path of its state file and nothing else
        path: bool = flag("path").excludes("json"),
        logs: LogsOptions = group(LogsOptions::ARGUMENTS),
        /// Print the task as one JSON object
        json: bool = flag("json"),
        /// #2, 2 or PROJ-67890
        task: String = operand("TASK"),
    }
}

arguments! {
    /// Where the tasks lie.
    pub struct LogsOptions {
        /// The root of all logs [default: $PIPESTATE_LOGS_DIR or ~/.claude/logs/multi-agent]
        pub logs_dir: Option<PathBuf> = option("logs-dir", "DIR"),
    }
}

impl LogsOptions {
    /// The root that is named.
    pub fn named(&self) -> Option<PathBuf> {
        self.logs_dir.clone()
    }

    /// The root that the options ask for.
    pub fn root(self) -> Result<PathBuf, Error> {
        task::logs_root(self.logs_dir)
    }
}

impl Run for New {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let mut repositories = pair(self.repo, self.worktree, self.branch)?;
        if repositories.is_empty() && self.project.is_none() {
            repositories.extend(Repository::around(Path::new(".")));
        }
        let options = self.edit.read()?;
        let logs = self.logs.root()?;
        let new =
            NewTask { project: self.project.as_deref(), ticket: &self.ticket, repositories: &repositories };
        let (task, warnings) =
            as_caller(program, "task new", |caller| task::create(&logs, &new, Utc::now(), &options, caller))?;
        for warning in &warnings {
            output.warning(warning);
        }
        let line = format!("Task {} started - {}", task.number(), self.ticket);
        if let Err(error) = output.result(to_value(&task), &line) {
            output.warning(&error.to_string()); // it is made all the same
        }
        Ok(0)
    }
}

/// The repositories of a task: what belongs to one stands at the same place of each list.
fn pair(
    paths: Vec<PathBuf>,
    worktrees: Vec<PathBuf>,
    branches: Vec<String>,
) -> Result<Vec<Repository>, Error> {
    let count = paths.len().max(worktrees.len()).max(branches.len());
    let fits = |length: usize| length == count || length == 0;
    if count > 1 && !(paths.len() == count && fits(worktrees.len()) && fits(branches.len())) {
        let message = "of several repositories each has its --repo, and --worktree and --branch are given for all or none";
        return Err(Error::Usage(message.into()));
    }
    let (mut paths, mut worktrees, mut branches) =
        (paths.into_iter(), worktrees.into_iter(), branches.into_iter());
    let next = |_| Repository { path: paths.next(), worktree: worktrees.next(), branch: branches.next() };
    Ok((0..count).map(next).collect())
}

impl Run for List {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let tasks = task::list(&self.logs.root()?, self.project.as_deref())?;
        if self.json {
            output.result(json!({ "tasks": tasks }), "")?;
        } else {
            for task in &tasks {
                output.line(&line(task))?;
            }
        }
        Ok(0)
    }
}

impl Run for Show {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let task = task::find(&self.logs.root()?, self.project.as_deref(), &self.task)?;
        if self.path {
            output.bytes(&[task.state.as_os_str().as_encoded_bytes(), b"\n"])?;
        } else {
            output.result(to_value(&task), &line(&task))?;
        }
        Ok(0)
    }
}

/// `#2 web PROJ-67890 paused phase 4 /logs/web/2/agent-state.json`: a `-` for what its state does not tell.
fn line(task: &Task) -> String {
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let phase = task.current_phase.map_or("-".to_owned(), |phase| phase.to_string());
    let fault = task.fault.as_ref().map_or(String::new(), |fault| format!(": {fault}"));
    format!(
        "{} {} {} {} phase {phase} {}{fault}",
        task.number(),
        task.project,
        word(&task.ticket),
        word(&task.status),
        task.state.display()
    )
}

fn to_value(task: &Task) -> Value {
    serde_json::to_value(task).expect("a task is JSON")
}
