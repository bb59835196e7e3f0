//! Tasks: their numbers, folders and names (T1, T3).
//!
//! `<logs>/{project}/{id}/` holds a task's `agent-state.json` and `agent-log.md`. A number is given so:
//!
//! 1. The lock of `{project}/.counter`, which makes one at a time of all that ask.
//! 2. The next number is the larger of the counter and of the highest folder, plus one: whichever of the two is lost or
//!    garbage, the other still knows.
//! 3. The counter is written first. A crash behind it leaves a number unused, never one used twice.
//! 4. The folder is made exclusively. Somebody who gives numbers without the lock may have been quicker: the next one.
//! 5. The lock is released; state and log are written into the folder, which nobody else has.
//!
//! A crash between 4 and 5 leaves an empty folder, whose number counts as given and which is listed as a task without a
//! state.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;

use crate::agent::git;
use crate::agent::state::{self, Identity};
use crate::atomic::{self, Durability, Replaced};
use crate::document::Value;
use crate::error::Error;
use crate::inside;
use crate::kind::AGENT_FILE;
use crate::lock::{self, Lock};
use crate::log;
use crate::merge::Patch;
use crate::pipeline::object::Object;
use crate::place;
use crate::runs::home_folder;
use crate::sort::sort_by;
use crate::update::{self, Caller, Mode, NO_REVISION, WriteOptions};

/// The environment variable that names the logs root.
pub const LOGS_VARIABLE: &str = "PIPESTATE_LOGS_DIR";

/// Where the logs lie below the home folder.
const LOGS_BELOW_HOME: &str = ".claude/logs/multi-agent";

/// The counter in a project's folder.
pub const COUNTER: &str = ".counter";

/// The largest number that JavaScript counts to without leaving any out; a counter or a folder beyond it is garbage.
const LARGEST_ID: u64 = (1 << 53) - 1;

/// The logs root: what was asked for, else `PIPESTATE_LOGS_DIR`, else the one below the home folder.
///
/// # Errors
/// [`Error::Usage`] when there is no home folder.
pub fn logs_root(asked: Option<PathBuf>) -> Result<PathBuf, Error> {
    logs_root_below(asked, home_folder().as_deref()).ok_or_else(|| {
        Error::Usage(format!(
            "there is no home folder for the logs: name their root with --logs-dir or {LOGS_VARIABLE}"
        ))
    })
}

/// The same with another home folder, or without one.
pub fn logs_root_below(asked: Option<PathBuf>, home: Option<&Path>) -> Option<PathBuf> {
    let variable = || std::env::var_os(LOGS_VARIABLE).filter(|root| !root.is_empty()).map(PathBuf::from);
    asked.or_else(variable).or_else(|| Some(home?.join(LOGS_BELOW_HOME)))
}

/// A repository that a task works on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repository {
    /// The repository.
    pub path: Option<PathBuf>,
    /// The worktree made of it; a relative one starts at the repository.
    pub worktree: Option<PathBuf>,
    /// The branch in it.
    pub branch: Option<String>,
}

impl Repository {
    /// The repository that `folder` lies in, also when that is in a worktree of it; `None` outside of any.
    pub fn around(folder: &Path) -> Option<Repository> {
        let answer = git::ask(folder, ["rev-parse", "--path-format=absolute", "--git-common-dir"]).ok()?;
        let git_folder = git::path_in(&answer);
        let is_inside = git_folder.file_name().is_some_and(|name| name == ".git");
        let path = if is_inside { git_folder.parent()?.to_owned() } else { git_folder };
        Some(Repository { path: Some(path), ..Repository::default() })
    }
}

/// What a task is made of.
#[derive(Clone, Debug)]
pub struct NewTask<'a> {
    /// The project; else the base name of the first repository.
    pub project: Option<&'a str>,
    /// The ticket.
    pub ticket: &'a str,
    /// The repositories; with several each is also recorded in `projects[]`.
    pub repositories: &'a [Repository],
}

/// A task that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its number.
    pub task_id: u64,
    /// Its project.
    pub project: String,
    /// Its ticket; `None` when its state does not tell.
    pub ticket: Option<String>,
    /// The run's status word; `None` when its state does not tell.
    pub status: Option<String>,
    /// The cursor; `None` when its state does not tell.
    pub current_phase: Option<u32>,
    /// Its folder; in JSON with U+FFFD for what is not UTF-8 (A8).
    #[serde(serialize_with = "path_as_text")]
    pub folder: PathBuf,
    /// Its state file.
    #[serde(serialize_with = "path_as_text")]
    pub state: PathBuf,
    /// Its log.
    #[serde(serialize_with = "path_as_text")]
    pub log: PathBuf,
    /// What is wrong with it: no state, a corrupt one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Makes a task: its number, its folder, its state and its log. What went wrong without making it a failure is told too.
///
/// # Errors
/// [`Error::Usage`] for a project or a ticket that is no name; [`Error::OutsideRoot`] for a project's folder that lies
/// elsewhere; those of a write.
pub fn create(
    logs: &Path,
    new: &NewTask,
    now: DateTime<Utc>,
    options: &WriteOptions,
    caller: Caller,
) -> Result<(Task, Vec<String>), Error> {
    check_ticket(new.ticket)?;
    let project = project_of(new)?;
    let folder = logs.join(&project);
    place::refuse_plugin_root(&folder.join(COUNTER))?;
    if fs::symlink_metadata(&folder).is_ok() {
        must_lie_inside(&folder, logs)?;
    }
    let (id, mut warnings) = give_number(&folder, options, caller)?;
    let task = Task {
        task_id: id,
        project,
        ticket: Some(new.ticket.to_owned()),
        status: None,
        current_phase: Some(0),
        ..Task::in_folder(folder.join(id.to_string()))
    };
    let options = WriteOptions { mode: Mode::Replace, if_match: Some(NO_REVISION.into()), ..options.clone() };
    let first = Patch::parse(first_state(&task, new)?, "the first state")?;
    let written = update::write(&task.state, &first, &options, caller)?;
    warnings.extend(written.warnings);
    let line = format!("Task #{id} started - {}", new.ticket);
    if let Err(error) = log::append_line(&task.log, now, &line, &options, caller) {
        warnings.push(format!("the task is made, the line in its log is not: {error}"));
    }
    Ok((task, warnings))
}

impl Task {
    /// A task of which only the folder is known.
    fn in_folder(folder: PathBuf) -> Task {
        Task {
            task_id: 0,
            project: String::new(),
            ticket: None,
            status: None,
            current_phase: None,
            state: folder.join(AGENT_FILE),
            log: folder.join(log::LOG_FILE),
            folder,
            fault: None,
        }
    }

    /// `#1`.
    pub fn number(&self) -> String {
        format!("#{}", self.task_id)
    }

    /// The task with what its state tells.
    fn read(mut self) -> Task {
        match update::read(&self.state).and_then(|snapshot| snapshot.existing_document(&self.state)) {
            Ok(document) => {
                let root = document.root();
                self.ticket = Identity::of(root).ticket;
                self.status = root.get("status").and_then(Value::as_str).map(String::from);
                self.current_phase = state::cursor(root);
            }
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                self.fault = Some("it has no state".into());
            }
            Err(error) => self.fault = Some(error.to_string()),
        }
        self
    }
}

/// A ticket is a word of messages and the name of worktree and branch.
fn check_ticket(ticket: &str) -> Result<(), Error> {
    inside::name(ticket).map_err(|why| Error::Usage(format!("the ticket {ticket:?} is no name: {why}")))
}

/// The project of a new task.
fn project_of(new: &NewTask) -> Result<String, Error> {
    let by_repository = || {
        let path = std::path::absolute(new.repositories.first()?.path.as_ref()?).ok()?;
        path.file_name()?.to_str().map(str::to_owned)
    };
    let project = new.project.map(str::to_owned).or_else(by_repository).ok_or_else(|| {
        Error::Usage("which project the task belongs to is not known: name it with --project, or a repository with --repo".into())
    })?;
    check_project(&project)?;
    Ok(project)
}

/// A project is a folder's name, and not one that is used otherwise.
fn check_project(project: &str) -> Result<(), Error> {
    let no_name = |why: &str| Error::Usage(format!("the project {project:?} is no name: {why}"));
    inside::name(project).map_err(no_name)?;
    if project == PLANS { Err(no_name("that folder is for plans")) } else { Ok(()) }
}

/// The folder beside the projects that is none (T2).
pub const PLANS: &str = ".plans";

/// The next number of a project, its folder made (T1).
fn give_number(folder: &Path, options: &WriteOptions, caller: Caller) -> Result<(u64, Vec<String>), Error> {
    let place = update::prepare(&folder.join(COUNTER), options.durability)?;
    let since = std::time::Instant::now();
    loop {
        let left = options.lock_timeout.saturating_sub(since.elapsed());
        let lock = lock::acquire(&place, caller.program, left, caller.interrupted)?;
        if let Some(given) = give_number_locked(&lock, folder, options, caller)? {
            let _ = lock.release(); // a lock that stays is a dead one's, and hinders nobody
            return Ok(given);
        }
        // Our lock was removed under us, and no number is given (L11).
        if since.elapsed() >= options.lock_timeout {
            return Err(Error::LockLost { path: place.path.clone() });
        }
    }
}

fn give_number_locked(
    lock: &Lock,
    folder: &Path,
    options: &WriteOptions,
    caller: Caller,
) -> Result<Option<(u64, Vec<String>)>, Error> {
    let place = lock.place();
    let counter = update::read_at(place)?;
    let (counted, warnings) = match read_counter(&counter.text) {
        Some(number) => (number, Vec::new()),
        None if counter.facts.is_none() => (0, Vec::new()),
        None => (0, vec![format!("{} is no number, and is written anew", place.path.display())]),
    };
    let mut id = counted.max(highest_folder(folder)?);
    loop {
        id += 1;
        if id > LARGEST_ID {
            return Err(place.failed("count on", "write")(ErrorKind::FileTooLarge.into()));
        }
        let may_commit = || match (caller.interrupted)() {
            Some(error) => Err(error),
            None => lock.is_ours().map_err(place.failed("look at the lock", "stat")),
        };
        let text = format!("{id}\n");
        let facts = counter.facts.as_ref();
        if atomic::replace(place, facts, &[text.as_bytes()], options.durability, &may_commit)?
            == Replaced::LockLost
        {
            return Ok(None);
        }
        let task = folder.join(id.to_string());
        let made = place::make_new_folder(&task, options.durability == Durability::Durable);
        if made.map_err(|source| Error::io(&task, "make the task's folder", "mkdir", source))? {
            return Ok(Some((id, warnings)));
        }
    }
}

/// The number in a counter, whoever wrote it; `None` for anything else.
fn read_counter(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok().filter(|number| *number < LARGEST_ID) } else { None }
}

/// The highest number that anything in the project's folder is called by.
fn highest_folder(folder: &Path) -> Result<u64, Error> {
    let names = names_in(folder)?;
    Ok(names.iter().filter_map(|name| id_of(name.to_str()?)).max().unwrap_or(0))
}

/// The number that is written so: decimal, without zeros in front.
pub fn id_of(text: &str) -> Option<u64> {
    let is_canonical = !text.starts_with('0') && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if is_canonical { text.parse().ok().filter(|id| *id < LARGEST_ID) } else { None }
}

/// The names in a folder, sorted; none when there is no such folder.
pub fn names_in(folder: &Path) -> Result<Vec<OsString>, Error> {
    let failed = |source| Error::io(folder, "list this folder", "readdir", source);
    match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => {
            let names = entries.map_err(failed)?.map(|entry| Ok(entry.map_err(failed)?.file_name()));
            let mut names: Vec<OsString> = names.collect::<Result<_, Error>>()?;
            sort_by(&mut names, Ord::cmp);
            Ok(names)
        }
    }
}

/// The document of a new task (T1).
fn first_state(task: &Task, new: &NewTask) -> Result<Vec<u8>, Error> {
    let none = Repository::default();
    let mut document = Object::new();
    document.set("taskId", task.task_id).set("ticket", new.ticket).set("project", &task.project);
    set_repository(&mut document, new.repositories.first().unwrap_or(&none))?;
    if new.repositories.len() > 1 {
        let mut projects = Vec::new();
        for repository in new.repositories {
            let mut project = Object::new();
            let name = repository.path.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
            project.set("taskId", task.task_id).set("ticket", new.ticket).set("project", name);
            set_repository(&mut project, repository)?;
            projects.push(project.into_text());
        }
        document.set_text("projects", &[b"[", projects.join(&b',').as_slice(), b"]"].concat());
    }
    document.set("currentPhase", 0).set("phases", json!({ "0": { "status": "pending" } }));
    Ok(document.into_text())
}

fn set_repository(object: &mut Object, repository: &Repository) -> Result<(), Error> {
    let path = repository.path.as_deref().map(absolute).transpose()?;
    let worktree = match (&repository.worktree, &path) {
        (Some(worktree), Some(repository)) => Some(repository.join(worktree)),
        (Some(worktree), None) => Some(absolute(worktree)?),
        (None, _) => None,
    };
    object.set("repoPath", path.as_deref().map(text).transpose()?);
    object.set("worktreePath", worktree.as_deref().map(text).transpose()?);
    object.set("branch", repository.branch.as_deref());
    Ok(())
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| Error::io(path, "use this path", "getcwd", source))
}

/// A path as JSON can hold it.
fn text(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| {
        Error::Usage(format!("{} is not UTF-8, and a state cannot record such a path", path.display()))
    })
}

/// Every task below the logs root, or of one project; by project and number.
///
/// # Errors
/// [`Error::Usage`] for a project that is no name; [`Error::Io`] for a folder that cannot be listed; [`Error::OutsideRoot`]
/// for the project that was asked for, if its folder lies elsewhere.
pub fn list(logs: &Path, project: Option<&str>) -> Result<Vec<Task>, Error> {
    let projects = match project {
        Some(project) => {
            check_project(project)?;
            let folder = logs.join(project);
            if fs::symlink_metadata(&folder).is_ok() {
                must_lie_inside(&folder, logs)?;
            }
            vec![project.to_owned()]
        }
        None => names_in(logs)?.into_iter().filter_map(|name| name.into_string().ok()).collect(),
    };
    let mut tasks = Vec::new();
    for project in projects.into_iter().filter(|project| project != PLANS) {
        tasks.extend(tasks_of(logs, &project)?);
    }
    Ok(tasks)
}

/// The tasks of a project, by number. What leads out of the logs root is none.
fn tasks_of(logs: &Path, project: &str) -> Result<Vec<Task>, Error> {
    let folder = logs.join(project);
    if !folder.is_dir() || must_lie_inside(&folder, logs).is_err() {
        return Ok(Vec::new());
    }
    let names = names_in(&folder)?;
    let mut ids: Vec<u64> = names.iter().filter_map(|name| id_of(name.to_str()?)).collect();
    ids.sort_unstable();
    let tasks = ids.into_iter().filter_map(|id| {
        let task = Task::in_folder(folder.join(id.to_string()));
        let is_task = task.folder.is_dir() && must_lie_inside(&task.folder, logs).is_ok();
        let leads_out = fs::symlink_metadata(&task.state).is_ok_and(|facts| facts.is_symlink())
            && !inside::leads_inside(&task.state, logs).unwrap_or(false);
        let task = Task { task_id: id, project: project.to_owned(), ..task };
        match (is_task, leads_out) {
            (false, _) => None,
            (true, false) => Some(task.read()),
            (true, true) => Some(Task {
                fault: Some("its state is a link that leads out of the logs root".into()),
                ..task
            }),
        }
    });
    Ok(tasks.collect())
}

/// Finds the one task that is called `name`: `#2`, `2`, or a ticket (T3).
///
/// # Errors
/// [`Error::NoTask`], [`Error::AmbiguousTask`], and those of [`list`].
pub fn find(logs: &Path, project: Option<&str>, name: &str) -> Result<Task, Error> {
    let id = id_of(name.strip_prefix('#').unwrap_or(name));
    let is_meant = |task: &Task| Some(task.task_id) == id || task.ticket.as_deref() == Some(name);
    let mut found: Vec<Task> = list(logs, project)?.into_iter().filter(is_meant).collect();
    match found.len() {
        0 => Err(Error::NoTask { root: logs.to_owned(), name: name.to_owned() }),
        1 => Ok(found.remove(0)),
        _ => {
            let candidate = |task: &Task| {
                let ticket = task.ticket.as_deref().unwrap_or("-");
                format!("{} {} {ticket}", task.project, task.number())
            };
            let candidates = found.iter().map(candidate).collect();
            Err(Error::AmbiguousTask { root: logs.to_owned(), name: name.to_owned(), candidates })
        }
    }
}

/// A folder that lies elsewhere, because a link leads out of the root, is not touched (T3).
fn must_lie_inside(folder: &Path, root: &Path) -> Result<(), Error> {
    match inside::leads_inside(folder, root) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::OutsideRoot { path: folder.to_owned(), root: root.to_owned() }),
        Err(source) => Err(Error::io(folder, "follow this folder", "realpath", source)),
    }
}

fn path_as_text<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_a_number_and_anything_else_is_garbage() {
        for (text, number) in [
            ("7\n", Some(7)),
            (" 007 ", Some(7)),
            ("0", Some(0)),
            ("", None),
            ("seven", None),
            ("-1", None),
            ("1e3", None),
            ("9007199254740991", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(read_counter(text.as_bytes()), number, "{text:?}");
        }
        assert_eq!(read_counter(b"\xff"), None);
    }

    #[test]
    fn ids_are_decimals_in_one_spelling() {
        assert_eq!(id_of("12"), Some(12));
        for none in ["", "0", "012", "+1", "1a", "9007199254740991"] {
            assert_eq!(id_of(none), None, "{none}");
        }
    }
}
