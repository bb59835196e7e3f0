//! `pipestate task`.

use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::edit::{EditOptions, as_caller};
use super::output::Output;
use crate::error::Error;
use crate::task::{self, NewTask, Repository, Task};

/// Number tasks, make their folders, and find them again
#[derive(Args)]
#[command(help_template = super::HELP)]
#[command(before_help = "\
Examples:
  pipestate task new --repo . --worktree .worktrees/PROJ-1 --branch feature/PROJ-1 PROJ-1
  pipestate task list
  STATE_FILE=$(pipestate task show --path '#2')")]
pub struct TaskCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    New(New),
    List(List),
    Show(Show),
}

/// Give a ticket the next number of its project, with folder, state and log
#[derive(Args)]
#[command(help_template = super::HELP)]
struct New {
    /// The project [default: the base name of the repository]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// The repository; once for each of several, with its --worktree and --branch [default: the one around us, unless
    /// --project is given]
    #[arg(long, value_name = "DIR")]
    repo: Vec<PathBuf>,
    /// The worktree that is made of it; a relative one starts at the repository
    #[arg(long, value_name = "DIR")]
    worktree: Vec<PathBuf>,
    /// The branch in it
    #[arg(long, value_name = "NAME")]
    branch: Vec<String>,
    #[command(flatten)]
    logs: LogsOptions,
    #[command(flatten)]
    edit: EditOptions,
    /// Print the task as one JSON object
    #[arg(long)]
    json: bool,
    /// The ticket
    ticket: String,
}

/// List the tasks, by project and number
#[derive(Args)]
#[command(help_template = super::HELP)]
struct List {
    /// Only those of this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    #[command(flatten)]
    logs: LogsOptions,
    /// Print the tasks as one JSON object
    #[arg(long)]
    json: bool,
}

/// Find a task by its number or its ticket; exit 1 when none or several are called so
#[derive(Args)]
#[command(help_template = super::HELP)]
struct Show {
    /// Only among those of this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Print the path of its state file and nothing else
    #[arg(long, conflicts_with = "json")]
    path: bool,
    #[command(flatten)]
    logs: LogsOptions,
    /// Print the task as one JSON object
    #[arg(long)]
    json: bool,
    /// #2, 2 or PROJ-67890
    task: String,
}

/// Where the tasks lie.
#[derive(Args)]
pub struct LogsOptions {
    /// The root of all logs [default: $PIPESTATE_LOGS_DIR or ~/.claude/logs/multi-agent]
    #[arg(long, value_name = "DIR")]
    pub logs_dir: Option<PathBuf>,
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

impl TaskCommand {
    pub fn json(&self) -> bool {
        match &self.command {
            Command::New(new) => new.json,
            Command::List(list) => list.json,
            Command::Show(show) => show.json,
        }
    }

    pub fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        match self.command {
            Command::New(new) => new.run(program, output),
            Command::List(list) => list.run(output),
            Command::Show(show) => show.run(output),
        }
    }
}

impl New {
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

impl List {
    fn run(self, output: &mut Output) -> Result<u8, Error> {
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

impl Show {
    fn run(self, output: &mut Output) -> Result<u8, Error> {
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
