//! What may be removed of a repository that a state records: its worktree, its branch, and the branch of that name on a
//! remote. What a state says is a claim; git and the disk have to agree with it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::git::{Commits, Repository, real, without_links};
use super::item::{Branch, Folder, Item, Names, RemoteBranch, Worktree};
use super::{trash, tree};
use crate::agent::git;
use crate::agent::state::RecordedRepository;
use crate::agent::worktree::{because, changes, shell_line};
use crate::child::MOST_OUTPUT;

/// Folders that no worktree may take with it.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The current folder; `None` when it is gone.
    current: Option<PathBuf>,
    /// The logs root.
    logs: PathBuf,
}

impl Surroundings {
    /// Those of this process, and of the logs root without links.
    pub fn of(logs: &Path) -> Surroundings {
        let current = std::env::current_dir().ok().and_then(|current| real(&current).ok());
        Surroundings { current, logs: logs.to_owned() }
    }
}

/// What was found of a recorded repository.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// What can be removed, in its order.
    pub items: Vec<Item>,
    /// What is odd about it.
    pub notes: Vec<String>,
}

/// Looks at everything that is recorded of one repository.
///
/// # Errors
/// Why it must not be removed, or is not known well enough.
pub fn find(recorded: &RecordedRepository, remote: bool, around: &Surroundings) -> Result<Found, String> {
    let mut found = Found::default();
    let RecordedRepository { repository, worktree, branch } = recorded;
    if worktree.is_none() && branch.is_none() {
        return Ok(found);
    }
    let Some(path) = repository else {
        return Err(
            "its state records no repoPath, so that nobody knows whose worktree and branch it names".into()
        );
    };
    if !path.is_absolute() {
        return Err(format!("its state records a relative repoPath, {}", path.display()));
    }
    if !path.is_dir() {
        let is_there = worktree.as_ref().is_some_and(|worktree| fs::symlink_metadata(worktree).is_ok());
        if is_there {
            return Err(format!("its repository {} is not there, and its worktree is", path.display()));
        }
        found.notes.push(format!("its repository {} is not there any more", path.display()));
        return Ok(found);
    }
    let repository =
        Repository::open(path).map_err(|why| format!("{} is no repository: {why}", path.display()))?;
    let mut own = None;
    if let Some(path) = worktree {
        found.items.extend(left_trash(path)?.map(Item::Trash));
        match look_at(&repository, path, around)? {
            Some(worktree) => {
                own = Some(worktree.path.clone());
                found.items.push(Item::Worktree(worktree));
            }
            None => found.notes.push(format!("its worktree {} is not there any more", path.display())),
        }
    }
    if let Some(name) = branch {
        let branches = look_at_branch(&repository, name, own.as_deref(), remote)?;
        if branches.is_empty() {
            found.notes.push(format!("its branch {name} is not in {} any more", repository.name().display()));
        }
        found.items.extend(branches);
    }
    Ok(found)
}

/// What a run that was interrupted has left of the worktree at `path`.
fn left_trash(path: &Path) -> Result<Option<Folder>, String> {
    let trash = trash::of(&without_links(path));
    let trash = trash.filter(|trash| fs::symlink_metadata(trash).is_ok_and(|facts| facts.is_dir()));
    trash.map(|trash| folder(&trash)).transpose()
}

/// A folder with all that is in it.
pub fn folder(path: &Path) -> Result<Folder, String> {
    let tree = tree::look_through(path)
        .map_err(|error| format!("{} cannot be looked through: {error}", path.display()))?;
    let names = tree.first.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    Ok(Folder {
        path: path.to_owned(),
        size: tree.size,
        files: tree.files,
        names,
        fingerprint: tree.fingerprint,
    })
}

/// Looks at the worktree at `path`, there or not; `None` when git knows nothing of it either.
///
/// # Errors
/// Why it must not be removed.
pub fn look_at(
    repository: &Repository,
    path: &Path,
    around: &Surroundings,
) -> Result<Option<Worktree>, String> {
    let told = path.display();
    if !path.is_absolute() {
        return Err(format!("its state records a relative worktreePath, {told}"));
    }
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_symlink() => Err(format!("{told} is a link, and no worktree")),
        Ok(facts) if !facts.is_dir() => Err(format!("{told} is no folder")),
        Ok(_) => present(repository, path, around).map(Some),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            missing(repository, &without_links(path))
        }
        Err(error) => Err(format!("{told} cannot be looked at: {error}")),
    }
}

/// Only git knows of it, if that.
fn missing(repository: &Repository, path: &Path) -> Result<Option<Worktree>, String> {
    let Some(index) = repository.position(path) else { return Ok(None) };
    let entry = &repository.worktrees[index];
    if index == 0 {
        return Err(format!("{} is the main worktree", path.display()));
    }
    if let Some(reason) = &entry.locked {
        return Err(locked(repository, path, reason));
    }
    Ok(Some(Worktree {
        path: path.to_owned(),
        git_folder: repository.common.clone(),
        exists: false,
        head: entry.head.clone(),
        branch: entry.branch.clone(),
        size: 0,
        files: 0,
        uncommitted: Names::default(),
        ignored: Names::default(),
        repositories: Names::default(),
        lost: Commits::default(),
        fingerprint: String::new(),
    }))
}

fn present(repository: &Repository, path: &Path, around: &Surroundings) -> Result<Worktree, String> {
    let path = real(path)?;
    let told = path.display();
    let Some(index) = repository.position(&path) else {
        return Err(format!("{told} is no worktree of {}", repository.name().display()));
    };
    if index == 0 {
        return Err(format!("{told} is the main worktree of its repository"));
    }
    let entry = &repository.worktrees[index];
    must_belong_to(repository, &path)?;
    if let Some(reason) = &entry.locked {
        return Err(locked(repository, &path, reason));
    }
    if around.current.as_ref().is_some_and(|current| current.starts_with(&path)) {
        return Err(format!("the current folder lies in the worktree {told}: call it from elsewhere"));
    }
    let others = repository.worktrees.iter().map(|entry| real(&entry.path));
    let others = others.flatten().filter(|other| *other != path);
    let inner =
        others.chain([around.logs.clone(), repository.common.clone()]).find(|other| other.starts_with(&path));
    if let Some(inner) = inner {
        return Err(format!("{} lies in the worktree {told}, and would go with it", inner.display()));
    }
    let (uncommitted, ignored) = status(&path)?;
    let tree =
        tree::look_through(&path).map_err(|error| format!("{told} cannot be looked through: {error}"))?;
    let repositories = tree.repositories.iter().map(|path| path.to_string_lossy().into_owned());
    Ok(Worktree {
        git_folder: repository.common.clone(),
        exists: true,
        head: entry.head.clone(),
        branch: entry.branch.clone(),
        size: tree.size,
        files: tree.files,
        uncommitted,
        ignored,
        repositories: Names::new(repositories.collect(), false),
        lost: Commits::default(),
        fingerprint: tree.fingerprint,
        path,
    })
}

/// The folder itself has to say whose worktree it is: another may lie where git has one listed.
fn must_belong_to(repository: &Repository, path: &Path) -> Result<(), String> {
    let ask = |what: &str| {
        let answer = git::ask(path, ["rev-parse", "--path-format=absolute", what]);
        answer.and_then(|answer| real(&git::path_in(&answer)))
    };
    let no_worktree = |why: String| format!("{} is no worktree: {why}", path.display());
    let top = ask("--show-toplevel").map_err(no_worktree)?;
    if top != path {
        return Err(no_worktree(format!("it is a folder in that of {}", top.display())));
    }
    let common = ask("--git-common-dir").map_err(no_worktree)?;
    if common != repository.common {
        return Err(format!("{} belongs to another repository, {}", path.display(), common.display()));
    }
    Ok(())
}

fn locked(repository: &Repository, path: &Path, reason: &str) -> String {
    let unlock = shell_line(repository.name(), &["worktree", "unlock", &path.to_string_lossy()]);
    format!("the worktree {} is locked{}; `{unlock}` unlocks it", path.display(), because(reason))
}

/// What is not committed, and what git overlooks. Folders of files that git does not know are one name.
fn status(path: &Path) -> Result<(Names, Names), String> {
    let arguments = ["status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignored=matching"];
    let answer = git::ask(path, arguments)
        .map_err(|why| format!("the status of {} does not read: {why}", path.display()))?;
    let more = answer.len() >= MOST_OUTPUT;
    let ignored = answer.split(|&byte| byte == 0).filter_map(|record| record.strip_prefix(b"! "));
    let ignored = ignored.map(|name| String::from_utf8_lossy(name).into_owned());
    Ok((Names::new(changes(&answer), more), Names::new(ignored.collect(), more)))
}

/// The branch `name`, on its remote first, whose name its configuration tells. None when there is no such branch.
fn look_at_branch(
    repository: &Repository,
    name: &str,
    own_worktree: Option<&Path>,
    remote: bool,
) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    let local = repository.branch(name)?;
    if let Some(reference) = &local {
        if reference.is_symbolic {
            return Err(format!("the branch {name} is only another name of a branch"));
        }
        must_be_free(repository, name, own_worktree)?;
    }
    if repository.is_default(name)? {
        return Err(format!("the branch {name} is the default of a remote"));
    }
    if remote {
        let configured = local.as_ref().and_then(|reference| reference.remote.clone());
        let remote = match configured {
            Some(remote) => Some(remote),
            None => repository.usual_remote()?,
        };
        // `.` is this repository itself, for a branch that follows another.
        if let Some(remote) = remote.filter(|remote| remote != ".")
            && let Some(oid) = repository
                .remote_branch(&remote, name)
                .map_err(|why| format!("the remote {remote} does not tell whether it has {name}: {why}"))?
        {
            items.push(Item::RemoteBranch(RemoteBranch {
                git_folder: repository.common.clone(),
                remote,
                name: name.to_owned(),
                is_fetched: repository.has(&oid),
                oid,
                lost: Commits::default(),
            }));
        }
    }
    if let Some(reference) = local {
        items.push(Item::Branch(Branch {
            git_folder: repository.common.clone(),
            name: name.to_owned(),
            oid: reference.oid,
            lost: Commits::default(),
        }));
    }
    Ok(items)
}

/// A branch is not deleted under a worktree that has it checked out.
pub fn must_be_free(repository: &Repository, name: &str, except: Option<&Path>) -> Result<(), String> {
    let is_own = |path: &Path| {
        except == Some(path) || except.is_some_and(|own| real(path).is_ok_and(|path| path == own))
    };
    let elsewhere = repository
        .worktrees
        .iter()
        .find(|entry| entry.branch.as_deref() == Some(name) && !is_own(&entry.path));
    match elsewhere {
        Some(entry) => Err(format!("the branch {name} is checked out at {}", entry.path.display())),
        None => Ok(()),
    }
}
