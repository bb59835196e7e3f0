//! The removal. Each thing is looked at once more just before it goes; what cannot be removed keeps what tells where it is.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::Utc;
use serde::Serialize;
use serde_json::{Value, json};

use super::git::{self, Repository};
use super::item::{self, Item};
use super::plan::{Group, Plan};
use super::request::Command;
use super::worktree::{self, Surroundings};
use super::{real, trash, tree};
use crate::disk::{self, FileKind, Folder};
use crate::error::Error;
use crate::inside;
use crate::lock;
use crate::log;
use crate::place::{Missing, Place};
use crate::update::{Caller, WriteOptions};

/// What a run came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What is removed, in its order.
    pub removed: Vec<Item>,
    /// What is not, and why.
    pub left: Vec<String>,
    warnings: Vec<String>,
}

/// A run that is done, all of it. Serialises to what `--json` prints and JavaScript gets.
#[derive(Debug, Serialize)]
pub struct Done {
    /// What was done.
    pub command: Command,
    /// The sentence that tells it.
    pub line: String,
    /// What was removed.
    pub removed: Vec<String>,
    /// What went wrong without making it a failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Done {
    /// As `--json` prints it and JavaScript gets it.
    pub fn to_json(&self) -> Value {
        let mut object = json!({ "done": true });
        if let (Value::Object(object), Ok(Value::Object(done))) = (&mut object, serde_json::to_value(self)) {
            object.extend(done);
        }
        object
    }
}

impl Outcome {
    /// The run as a result.
    ///
    /// # Errors
    /// [`Error::NotAllRemoved`].
    pub fn done(self, plan: &Plan, logs: &Path) -> Result<Done, Error> {
        let removed: Vec<String> = self.removed.iter().map(Item::described).collect();
        if !self.left.is_empty() {
            return Err(Error::NotAllRemoved { path: logs.to_owned(), removed, left: self.left });
        }
        let line = match plan.request.command {
            Command::Kill => plan.groups.first().map_or(String::new(), |group| killed(group, logs)),
            Command::ClearLogs => format!("{}; the counters stay", counted(&self.removed)),
            Command::Purge => format!("Purged permanently: {}", counted(&self.removed)),
        };
        Ok(Done { command: plan.request.command, line, removed, warnings: self.warnings })
    }
}

/// The sentence of the source document.
fn killed(group: &Group, logs: &Path) -> String {
    let id = group.task_id.unwrap_or_default();
    format!("Task #{id} killed (logs preserved at {})", folder_of(group, logs).display())
}

/// Where a task's logs lie.
fn folder_of(group: &Group, logs: &Path) -> PathBuf {
    logs.join(&group.project).join(group.task_id.unwrap_or_default().to_string())
}

/// How many of each kind, in the order in which they came.
fn counted(removed: &[Item]) -> String {
    let mut counts: Vec<((&str, &str), usize)> = Vec::new();
    for nouns in removed.iter().filter_map(nouns) {
        match counts.iter_mut().find(|(counted, _)| *counted == nouns) {
            Some((_, count)) => *count += 1,
            None => counts.push((nouns, 1)),
        }
    }
    let told = |&((one, several), count): &_| format!("{count} {}", if count == 1 { one } else { several });
    match &counts[..] {
        [] => "nothing deleted".to_owned(),
        counts => format!("{} deleted", counts.iter().map(told).collect::<Vec<_>>().join(", ")),
    }
}

/// What one and several of its kind are called; `None` for what nobody counts.
fn nouns(item: &Item) -> Option<(&'static str, &'static str)> {
    match item {
        Item::Worktree(_) => Some(("worktree", "worktrees")),
        Item::Branch(_) => Some(("branch", "branches")),
        Item::RemoteBranch(_) => Some(("remote branch", "remote branches")),
        Item::LogFile(_) => Some(("file", "files")),
        Item::LogFolder(_) => Some(("log folder", "log folders")),
        Item::Counter(_) => Some(("counter", "counters")),
        Item::Trash(_) => Some(("rest of an interrupted run", "rests of interrupted runs")),
        Item::Lock(_) | Item::ProjectFolder(_) => None,
    }
}

/// Removes everything that `plan` lists, as far as that can be done.
pub fn run(plan: &Plan, logs: &Path, options: &WriteOptions, caller: Caller) -> Outcome {
    let mut outcome = Outcome::default();
    let remover = match real(logs) {
        Ok(logs) => Remover { around: Surroundings::of(&logs), options, caller },
        Err(error) => {
            outcome.left.push(error.to_string());
            return outcome;
        }
    };
    let mut unfinished = HashSet::new();
    for group in &plan.groups {
        let is_held_back = group.is_last && unfinished.contains(&group.project);
        if !remover.remove_group(group, is_held_back, &mut outcome) {
            unfinished.insert(&group.project);
        }
        if plan.request.command == Command::Kill
            && outcome.left.is_empty()
            && let Err(why) = remover.tell_log(group, logs)
        {
            outcome.warnings.push(format!("the task is killed, the line in its log is not written: {why}"));
        }
    }
    outcome
}

struct Remover<'a> {
    around: Surroundings,
    options: &'a WriteOptions,
    caller: Caller<'a>,
}

impl Remover<'_> {
    /// Removes the items of a group up to the first that stays; whether none does.
    fn remove_group(&self, group: &Group, is_held_back: bool, outcome: &mut Outcome) -> bool {
        let mut stays = is_held_back;
        for item in &group.items {
            let result = match (stays, (self.caller.interrupted)()) {
                (true, _) => Err("kept with what stays before it".to_owned()),
                (false, Some(interrupted)) => Err(interrupted.to_string()),
                (false, None) => self.remove(item),
            };
            match result {
                Ok(()) => outcome.removed.push(item.clone()),
                Err(why) => {
                    outcome.left.push(format!("{}: {why}", item.described()));
                    stays = true;
                }
            }
        }
        !stays
    }

    /// The one line that a kill leaves in a log (T2).
    fn tell_log(&self, group: &Group, logs: &Path) -> Result<(), String> {
        let log = folder_of(group, logs).join(log::LOG_FILE);
        let is_link = std::fs::symlink_metadata(&log).is_ok_and(|facts| facts.is_symlink());
        if is_link && !inside::leads_inside(&log, logs).unwrap_or(false) {
            return Err(format!("{} is a link that leads out of the logs root", log.display()));
        }
        let told = log::append_line(&log, Utc::now(), &killed(group, logs), self.options, self.caller);
        told.map_err(|error| error.to_string())
    }

    fn remove(&self, item: &Item) -> Result<(), String> {
        match item {
            Item::Trash(folder) => {
                must_be_same(&worktree::folder(&folder.path)?, folder)?;
                trash::empty(&folder.path).map_err(|error| error.to_string())
            }
            Item::Worktree(worktree) => self.remove_worktree(worktree),
            Item::RemoteBranch(branch) => {
                git::delete_remote_branch(&branch.git_folder, &branch.remote, &branch.name, &branch.oid)
            }
            Item::Branch(branch) => {
                let repository = Repository::open(&branch.git_folder)?;
                worktree::must_be_free(&repository, &branch.name, None)?;
                git::delete_branch(&branch.git_folder, &branch.name, &branch.oid)
            }
            Item::LogFolder(folder) => {
                must_be_same(&worktree::folder(&folder.path)?, folder)?;
                let trash = trash::put(&folder.path).map_err(|error| error.to_string())?;
                empty(&trash)
            }
            Item::LogFile(file) | Item::Counter(file) => self.remove_file(file),
            Item::Lock(file) => {
                let place = Place::find(&file.path.with_extension(""), Missing::Fail);
                let unlocked = place.and_then(|place| lock::unlock(&place, false));
                unlocked.map(drop).map_err(|error| error.to_string())
            }
            Item::ProjectFolder(folder) => {
                disk::remove_empty_folder(&folder.path).map_err(|error| error.to_string())
            }
        }
    }

    fn remove_worktree(&self, worktree: &item::Worktree) -> Result<(), String> {
        let repository = Repository::open(&worktree.git_folder)?;
        let now = worktree::look_at(&repository, &worktree.path, &self.around)?;
        let now = now.map(|now| item::Worktree { lost: worktree.lost.clone(), ..now });
        must_be_same(&now.as_ref(), &Some(worktree))?;
        let listed = repository.position(&worktree.path).map(|index| &repository.worktrees[index].path);
        let listed = listed.ok_or("git does not list it any more")?;
        if !worktree.exists {
            return git::forget_worktree(&worktree.git_folder, listed);
        }
        let trash = trash::put(&worktree.path).map_err(|error| error.to_string())?;
        git::forget_worktree(&worktree.git_folder, listed)
            .map_err(|why| format!("it is in {} now, and git does not forget it: {why}", trash.display()))?;
        empty(&trash)
    }

    /// Unlinks a file under its lock, so that no writer is at work on it. A link is unlinked, and what it leads to stays.
    fn remove_file(&self, file: &item::File) -> Result<(), String> {
        let told = |error: Error| error.to_string();
        let is_link = std::fs::symlink_metadata(&file.path).is_ok_and(|facts| facts.is_symlink());
        let lock = match is_link {
            true => None,
            false => {
                let place = Arc::new(Place::find(&file.path, Missing::Fail).map_err(told)?);
                let (program, interrupted) = (self.caller.program, self.caller.interrupted);
                Some(lock::acquire(&place, program, self.options.lock_timeout, interrupted).map_err(told)?)
            }
        };
        let look = tree::look_at_file(&file.path).map_err(|error| error.to_string())?;
        let is_same = look.is_some_and(|(facts, fingerprint)| {
            fingerprint == file.fingerprint && matches!(facts.kind, FileKind::Regular | FileKind::Link)
        });
        must_be_same(&is_same, &true)?;
        let (Some(parent), Some(name)) = (file.path.parent(), file.path.file_name()) else {
            return Err("it has no name".into());
        };
        let folder = Folder::open_path(parent).map_err(|error| error.to_string())?;
        folder.unlink(name).map_err(|error| error.to_string())?;
        folder.sync().map_err(|error| format!("it is removed, not known to be durably: {error}"))?;
        drop(lock);
        Ok(())
    }
}

fn must_be_same<T: PartialEq>(now: &T, planned: &T) -> Result<(), String> {
    if now == planned { Ok(()) } else { Err("it has changed since the plan was made".into()) }
}

fn empty(trash: &Path) -> Result<(), String> {
    trash::empty(trash)
        .map_err(|error| format!("it is in {} now, which cannot be removed: {error}", trash.display()))
}
