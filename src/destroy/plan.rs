//! What one call would remove, all of it, in the order in which it goes. Only looks.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::item::{self, EmptyFolder, Item, path_as_text};
use super::request::{Command, Request};
use super::survey::{self, Recorded, Surveyed};
use super::worktree::{self, Surroundings};
use super::{git, name_of, nothing_removed, real, trash, tree};
use crate::disk::FileKind;
use crate::error::Error;
use crate::kind::AGENT_FILE;
use crate::lock;
use crate::log::LOG_FILE;
use crate::place::{Missing, Place};
use crate::task::{self, COUNTER, PLANS, Task};

/// What a call would remove.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The call.
    pub request: Request,
    /// What goes, task by task.
    pub groups: Vec<Group>,
    /// What does not go, though it was asked for.
    pub kept: Vec<Kept>,
}

/// What goes together: the first item that cannot be removed keeps those behind it, which tell where it is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// The project.
    pub project: String,
    /// The task; `None` for what is the project's own.
    pub task_id: Option<u64>,
    /// Its ticket.
    pub ticket: Option<String>,
    /// Whether it goes only when all other groups of the project have gone.
    #[serde(skip)]
    pub is_last: bool,
    /// What goes, in this order.
    pub items: Vec<Item>,
    /// What is odd about it.
    pub notes: Vec<String>,
}

/// What is left alone.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    /// Where it is.
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl Kept {
    fn new(path: &Path, reason: impl Into<String>) -> Kept {
        Kept { path: path.to_owned(), reason: reason.into() }
    }
}

impl Plan {
    /// Looks at everything that `request` would remove.
    ///
    /// # Errors
    /// As [`super::plan`].
    pub fn make(request: &Request, logs: &Path) -> Result<Plan, Error> {
        let mut plan = Plan { request: request.clone(), groups: Vec::new(), kept: Vec::new() };
        if request.command != Command::Kill && !logs.exists() {
            return Ok(plan);
        }
        let logs = &real(logs)?;
        let tasks = survey::tasks(logs)?;
        let survey = Survey { request, logs, tasks: &tasks, around: Surroundings::of(logs) };
        match request.command {
            Command::Kill => survey.kill(&mut plan)?,
            Command::ClearLogs => survey.projects(&mut plan, Survey::clear)?,
            Command::Purge => survey.projects(&mut plan, Survey::purge)?,
        }
        plan.leave_out_repetitions();
        plan.count_lost_commits().map_err(|why| nothing_removed(logs, why))?;
        plan.groups.retain(|group| request.command == Command::Kill || !group.items.is_empty());
        Ok(plan)
    }

    /// Whether there is nothing to confirm. A kill leaves at least its line in the log.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Everything that goes.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.groups.iter().flat_map(|group| &group.items)
    }

    /// What a token is bound to. Reasons and notes are for people.
    pub fn listing(&self) -> Value {
        let bound = |group: &Group| json!({ "project": group.project, "taskId": group.task_id, "items": group.items });
        let kept: Vec<_> = self.kept.iter().map(|kept| kept.path.to_string_lossy()).collect();
        json!({ "groups": self.groups.iter().map(bound).collect::<Vec<_>>(), "kept": kept })
    }

    /// The lines that show it.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for group in &self.groups {
            let ticket = group.ticket.as_ref().map_or(String::new(), |ticket| format!(" {ticket}"));
            lines.push(match group.task_id {
                Some(id) => format!("{} #{id}{ticket}:", group.project),
                None => format!("{}:", group.project),
            });
            lines.extend(group.items.iter().flat_map(Item::lines).map(|line| format!("  {line}")));
            lines.extend(group.notes.iter().map(|note| format!("  ({note})")));
        }
        let kept = |kept: &Kept| format!("kept: {}: {}", kept.path.display(), kept.reason);
        lines.extend(self.kept.iter().map(kept));
        lines
    }

    /// What two tasks record goes with the first.
    fn leave_out_repetitions(&mut self) {
        let mut seen = HashSet::new();
        for group in &mut self.groups {
            group.items.retain(|item| seen.insert(item.described()));
        }
    }

    fn count_lost_commits(&mut self) -> Result<(), String> {
        let all: Vec<Item> = self.items().cloned().collect();
        for item in self.groups.iter_mut().flat_map(|group| &mut group.items) {
            match item {
                Item::Branch(branch) => branch.lost = lost(&all, &branch.git_folder, &branch.oid)?,
                Item::RemoteBranch(branch) if branch.is_fetched => {
                    branch.lost = lost(&all, &branch.git_folder, &branch.oid)?;
                }
                Item::Worktree(worktree) if worktree.branch.is_none() => {
                    let head = worktree.head.iter().find(|head| head.bytes().any(|digit| digit != b'0'));
                    if let Some(head) = head {
                        worktree.lost = lost(&all, &worktree.git_folder, head)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The commits behind `tip` that are lost when all branches of the plan are gone.
fn lost(all: &[Item], git_folder: &Path, tip: &str) -> Result<git::Commits, String> {
    let branches = all.iter().filter_map(|item| match item {
        Item::Branch(branch) if branch.git_folder == git_folder => Some(branch.name.as_str()),
        _ => None,
    });
    let on_remotes = all.iter().filter_map(|item| match item {
        Item::RemoteBranch(branch) if branch.git_folder == git_folder => {
            Some(format!("{}/{}", branch.remote, branch.name))
        }
        _ => None,
    });
    git::lost(git_folder, tip, &branches.collect::<Vec<_>>(), &on_remotes.collect::<Vec<_>>())
}

/// What the plan is made from.
struct Survey<'a> {
    request: &'a Request,
    logs: &'a Path,
    tasks: &'a [Surveyed],
    around: Surroundings,
}

impl Survey<'_> {
    fn kill(&self, plan: &mut Plan) -> Result<(), Error> {
        let Request { task, project, .. } = self.request;
        let is_meant = |other: &&Surveyed| {
            project.as_ref() == Some(&other.task.project) && task.as_ref() == Some(&other.task.number())
        };
        let own = self.tasks.iter().find(is_meant);
        let own = own.ok_or_else(|| nothing_removed(self.logs, "the task has gone since"))?;
        let task = &own.task;
        let refused = |reason: String| nothing_removed(&task.state, reason);
        self.must_be_real(task).map_err(refused)?;
        let mut notes = vec![format!("its logs stay at {}", task.folder.display())];
        if own.run.is_active {
            notes.push("its run is at work".to_owned());
        }
        for other in self.tasks.iter().filter(|other| other.task.folder != task.folder) {
            let Some(shared) = own.run.shares(&other.run) else { continue };
            let also = format!("its {shared} is also that of {}", name_of(&other.task));
            match other.run.is_active {
                true => return Err(refused(format!("{also}, whose run is at work"))),
                false => notes.push(also),
            }
        }
        let items = match &own.run.recorded {
            Recorded::Corrupt(reason) => {
                return Err(Error::Corrupt { path: task.state.clone(), reason: reason.clone() });
            }
            _ => self.in_repositories(own, &mut notes).map_err(refused)?,
        };
        plan.groups.push(group(task, items, notes));
        Ok(())
    }

    /// Does `work` for every project that is asked for.
    fn projects(
        &self,
        plan: &mut Plan,
        work: fn(&Self, &mut Plan, &str, &Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Some(project) = &self.request.project {
            task::list(self.logs, Some(project))?; // which says what is wrong with its name or folder
        }
        for name in task::names_in(self.logs)? {
            let Some(project) = name.to_str().filter(|name| *name != PLANS) else { continue };
            if self.request.project.as_ref().is_some_and(|asked| asked != project) {
                continue;
            }
            let folder = self.logs.join(project);
            match fs::symlink_metadata(&folder) {
                Ok(facts) if facts.is_dir() => work(self, plan, project, &folder)?,
                Ok(facts) if facts.is_symlink() && folder.is_dir() => {
                    plan.kept.push(Kept::new(&folder, "it is a link, which is not followed"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The two files of every run of a project.
    fn clear(&self, plan: &mut Plan, project: &str, folder: &Path) -> Result<(), Error> {
        self.left_trash(plan, project, folder)?;
        for name in task::names_in(folder)? {
            let at = folder.join(&name);
            if is_trash(&at) {
                continue;
            }
            match self.files_of_run(&at) {
                Ok(items) if items.is_empty() => {}
                Ok(items) => {
                    let task =
                        self.tasks.iter().find(|known| known.task.folder == at).map(|known| &known.task);
                    plan.groups.push(Group {
                        project: project.to_owned(),
                        task_id: task.map(|task| task.task_id),
                        ticket: task.and_then(|task| task.ticket.clone()),
                        is_last: false,
                        items,
                        notes: Vec::new(),
                    });
                }
                Err(reason) => plan.kept.push(Kept::new(&at, reason)),
            }
        }
        Ok(())
    }

    fn files_of_run(&self, at: &Path) -> Result<Vec<Item>, String> {
        if !at.is_dir() {
            return Ok(Vec::new());
        }
        let mut items = Vec::new();
        // The state first: what is left without one looks like no run.
        for file in [AGENT_FILE, LOG_FILE].map(|name| at.join(name)) {
            match log_file(&file)? {
                Some(file) => items.push(Item::LogFile(file)),
                None => items.extend(dead_lock(&file)),
            }
        }
        if items.is_empty() {
            return Ok(items);
        }
        if is_link(at) {
            return Err("it is a link, which is not followed".into());
        }
        let run = survey::run(&at.join(AGENT_FILE), self.logs);
        match run.recorded {
            Recorded::Unknown(why) => Err(why),
            _ if run.is_active && !self.request.include_active => Err(AT_WORK.into()),
            _ => Ok(items),
        }
    }

    /// Everything of a project.
    fn purge(&self, plan: &mut Plan, project: &str, folder: &Path) -> Result<(), Error> {
        self.left_trash(plan, project, folder)?;
        let kept_before = plan.kept.len();
        let mut others = Vec::new();
        let counter = folder.join(COUNTER);
        let dead_lock = dead_lock(&counter);
        let lock_name = format!("{COUNTER}.lock");
        for name in task::names_in(folder)? {
            let at = folder.join(&name);
            let is_its_own = name == COUNTER || is_trash(&at) || (dead_lock.is_some() && *name == *lock_name);
            let task = self.tasks.iter().find(|known| known.task.folder == at);
            match (task, is_its_own) {
                (Some(task), _) => match self.all_of(task) {
                    Ok(group) => plan.groups.push(group),
                    Err(reason) => plan.kept.push(Kept::new(&at, reason)),
                },
                (None, true) => {}
                (None, false) if name.to_str().is_some_and(|name| task::id_of(name).is_some()) => {
                    plan.kept.push(Kept::new(&at, "it is no folder below the logs root"));
                }
                (None, false) => others.push(name.to_string_lossy().into_owned()),
            }
        }
        if plan.kept.len() > kept_before {
            if fs::symlink_metadata(&counter).is_ok() {
                plan.kept.push(Kept::new(&counter, "tasks of its project are kept"));
            }
            return Ok(());
        }
        let mut items = Vec::new();
        items.extend(dead_lock.filter(|_| !counter.exists()));
        match log_file(&counter) {
            Ok(counter) => items.extend(counter.map(Item::Counter)),
            Err(reason) => others.push(format!("{COUNTER} ({reason})")),
        }
        if others.is_empty() {
            items.push(Item::ProjectFolder(EmptyFolder { path: folder.to_owned() }));
        } else {
            plan.kept.push(Kept::new(folder, format!("other files are in it: {}", others.join(", "))));
        }
        plan.groups.push(Group { is_last: true, ..of_project(project, items) });
        Ok(())
    }

    /// Everything of a task.
    fn all_of(&self, own: &Surveyed) -> Result<Group, String> {
        self.must_be_real(&own.task)?;
        if !self.request.include_active {
            if own.run.is_active {
                return Err(AT_WORK.into());
            }
            let at_work = self.tasks.iter().filter(|other| other.run.is_active);
            let shared = at_work.into_iter().find_map(|other| Some((own.run.shares(&other.run)?, other)));
            if let Some((shared, other)) = shared {
                return Err(format!(
                    "its {shared} is also that of {}, whose run is at work",
                    name_of(&other.task)
                ));
            }
        }
        // Whoever holds the lock would write into a folder that is on its way out.
        let place = Place::find(&own.task.state, Missing::Fail).map_err(|error| error.to_string())?;
        if let Some(holder) =
            lock::holder_of(&place).map_err(|error| error.to_string())?.filter(|holder| holder.alive)
        {
            return Err(format!("its state is locked: {holder}"));
        }
        let mut notes = Vec::new();
        let mut items = match own.run.recorded {
            Recorded::Nothing => {
                notes.push("it has no state, so no worktree and no branch of it is known".to_owned());
                Vec::new()
            }
            _ => self.in_repositories(own, &mut notes)?,
        };
        items.push(Item::LogFolder(worktree::folder(&own.task.folder)?));
        Ok(group(&own.task, items, notes))
    }

    /// Worktrees and branches of a task.
    fn in_repositories(&self, own: &Surveyed, notes: &mut Vec<String>) -> Result<Vec<Item>, String> {
        let repositories = match &own.run.recorded {
            Recorded::Repositories(repositories) => repositories,
            Recorded::Nothing => {
                return Err("it has no state, which would tell its worktree and branch".into());
            }
            Recorded::Corrupt(why) => {
                return Err(format!(
                    "its state is corrupt, and tells no worktree: {why}; clear-logs deletes it"
                ));
            }
            Recorded::Unknown(why) => return Err(why.clone()),
        };
        let mut items = Vec::new();
        for recorded in repositories {
            let found = worktree::find(recorded, self.request.remote, &self.around)?;
            items.extend(found.items);
            notes.extend(found.notes);
        }
        Ok(items)
    }

    /// What interrupted runs have left in a project's folder.
    fn left_trash(&self, plan: &mut Plan, project: &str, folder: &Path) -> Result<(), Error> {
        let mut items = Vec::new();
        for at in task::names_in(folder)?.iter().map(|name| folder.join(name)).filter(|at| is_trash(at)) {
            match worktree::folder(&at) {
                Ok(trash) => items.push(Item::Trash(trash)),
                Err(reason) => plan.kept.push(Kept::new(&at, reason)),
            }
        }
        plan.groups.push(of_project(project, items));
        Ok(())
    }

    /// A folder that a link leads to has another place, where it is found as well (T3).
    fn must_be_real(&self, task: &Task) -> Result<(), String> {
        match [self.logs.join(&task.project), task.folder.clone()].into_iter().find(|path| is_link(path)) {
            Some(link) => Err(format!("{} is a link, which is not followed", link.display())),
            None => Ok(()),
        }
    }
}

/// Why a run is kept that nobody has asked for expressly.
const AT_WORK: &str = "its run is at work (R1); --include-active takes it too";

fn group(task: &Task, items: Vec<Item>, notes: Vec<String>) -> Group {
    Group {
        project: task.project.clone(),
        task_id: Some(task.task_id),
        ticket: task.ticket.clone(),
        is_last: false,
        items,
        notes,
    }
}

fn of_project(project: &str, items: Vec<Item>) -> Group {
    Group {
        project: project.to_owned(),
        task_id: None,
        ticket: None,
        is_last: false,
        items,
        notes: Vec::new(),
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_symlink())
}

fn is_trash(path: &Path) -> bool {
    let has_its_name =
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(trash::PREFIX));
    has_its_name && fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

/// The lock of `file`, if its holder is dead: whoever removed the file may have been killed before they gave it back.
fn dead_lock(file: &Path) -> Option<Item> {
    let place = Place::find(file, Missing::Fail).ok()?;
    let holder = lock::holder_of(&place).ok()??;
    let path = file.with_file_name(&place.lock_name);
    let (facts, fingerprint) = tree::look_at_file(&path).ok()??;
    (!holder.alive).then_some(Item::Lock(item::File { path, size: facts.size, fingerprint }))
}

/// A file, or a link instead of one; `None` when there is none.
fn log_file(path: &Path) -> Result<Option<item::File>, String> {
    match tree::look_at_file(path) {
        Ok(None) => Ok(None),
        Ok(Some((facts, fingerprint))) => match facts.kind {
            FileKind::Regular | FileKind::Link => {
                Ok(Some(item::File { path: path.to_owned(), size: facts.size, fingerprint }))
            }
            kind => Err(format!("{} is {}, and no file", path.display(), kind.described())),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be looked at: {error}", path.display())),
    }
}
