//! A repository: asked by [`crate::agent::git`], and told to remove. Everything that a state names reaches git as a whole
//! reference (`refs/heads/…`), an absolute path or an object's id, none of which git takes for a flag.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::agent::git;
use crate::agent::worktree::{Entry, entries};
use crate::child::MOST_OUTPUT;
use crate::disk::Folder;

/// As many commits are named; the rest is counted.
const MOST_NAMED: usize = 20;
/// What may take longer than a question: a push.
const PUSH_LIMIT: Duration = Duration::from_secs(60);

/// A repository and its worktrees, as they were when it was opened.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Its git folder, without links.
    pub common: PathBuf,
    /// The main worktree (of a bare one its git folder) first.
    pub worktrees: Vec<Entry>,
}

/// A branch as its repository has it.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The commit that it stands for.
    pub oid: String,
    /// Whether it is but another name of a branch.
    pub is_symbolic: bool,
    /// The remote that its configuration names.
    pub remote: Option<String>,
}

/// Commits that go with the last name that leads to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Commits {
    /// How many.
    pub count: u64,
    /// The first of them: short id and subject.
    pub named: Vec<String>,
}

/// A whole answer; one that was cut would hide what must not be overlooked.
fn ask(at: &Path, arguments: &[&str]) -> Result<String, String> {
    let answer = git::ask(at, arguments)?;
    if answer.len() >= MOST_OUTPUT {
        return Err(format!("the answer of git {} is too long", arguments[0]));
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

impl Repository {
    /// The repository that the folder at `path` belongs to.
    pub fn open(path: &Path) -> Result<Repository, String> {
        let common = git::ask(path, ["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        let common = real(&git::path_in(&common))?;
        let worktrees = entries(&common)?;
        if worktrees.is_empty() {
            return Err(format!("git lists no worktree of {}", common.display()));
        }
        Ok(Repository { common, worktrees })
    }

    /// The repository itself, as people know it.
    pub fn name(&self) -> &Path {
        &self.worktrees[0].path
    }

    /// Whether the object with this id is in it.
    pub fn has(&self, oid: &str) -> bool {
        git::ask(&self.common, ["cat-file", "-e", oid]).is_ok()
    }

    /// Where in the list the worktree at `path` is, there or not; `path` has no links in it.
    pub fn position(&self, path: &Path) -> Option<usize> {
        self.worktrees.iter().position(|entry| {
            entry.path == path || real(&entry.path).unwrap_or_else(|_| without_links(&entry.path)) == path
        })
    }

    /// The branch of exactly this name. What could be no branch's name is none.
    pub fn branch(&self, name: &str) -> Result<Option<Reference>, String> {
        let wanted = format!("refs/heads/{name}");
        if wanted.contains(['\0', '\n']) {
            return Ok(None);
        }
        let format = "--format=%(refname)%00%(objectname)%00%(symref)%00%(upstream:remotename)";
        let answer = ask(&self.common, &["for-each-ref", format, &wanted])?;
        let found = answer.lines().map(|line| line.split('\0').collect::<Vec<_>>());
        // As a pattern it may match other branches too; only one has the name itself.
        let found = found.filter_map(|fields| <[&str; 4]>::try_from(fields).ok());
        Ok(found.into_iter().find(|[found, ..]| *found == wanted).map(|[_, oid, symref, remote]| Reference {
            oid: oid.to_owned(),
            is_symbolic: !symref.is_empty(),
            remote: Some(remote.to_owned()).filter(|remote| !remote.is_empty()),
        }))
    }

    /// Whether the branch is the default of a remote.
    pub fn is_default(&self, name: &str) -> Result<bool, String> {
        let answer = ask(&self.common, &["for-each-ref", "--format=%(refname)%00%(symref)", "refs/remotes"])?;
        Ok(answer.lines().filter_map(|line| line.split_once('\0')).any(|(refname, symref)| {
            let remote = refname.strip_suffix("HEAD");
            remote.and_then(|remote| symref.strip_prefix(remote)).is_some_and(|default| default == name)
        }))
    }

    /// The remote for a branch whose configuration names none: `origin`, or the only one.
    pub fn usual_remote(&self) -> Result<Option<String>, String> {
        let answer = ask(&self.common, &["remote"])?;
        let mut remotes = answer.lines();
        let (first, second) = (remotes.next(), remotes.next());
        let only = first.filter(|_| second.is_none());
        Ok(answer.lines().find(|remote| *remote == "origin").or(only).map(str::to_owned))
    }

    /// The commit that the branch `name` stands for on a remote; `None` when it has no such branch.
    pub fn remote_branch(&self, remote: &str, name: &str) -> Result<Option<String>, String> {
        let wanted = format!("refs/heads/{name}");
        let answer = ask(&self.common, &["ls-remote", "--refs", "--", remote, &wanted])?;
        // As a pattern it matches whatever ends in it.
        let found = answer.lines().filter_map(|line| line.split_once('\t'));
        Ok(found.into_iter().find(|(_, found)| *found == wanted).map(|(oid, _)| oid.to_owned()))
    }
}

/// The commits behind `tip` that no other name leads to, when `branches`, and those on remotes (`origin/x`), are gone.
pub fn lost(common: &Path, tip: &str, branches: &[&str], on_remotes: &[String]) -> Result<Commits, String> {
    let mut which = vec![tip.to_owned(), "--not".to_owned()];
    which.extend(branches.iter().map(|name| format!("--exclude={name}")));
    which.extend(["--branches", "--tags"].map(str::to_owned));
    which.extend(on_remotes.iter().map(|name| format!("--exclude={name}")));
    which.push("--remotes".to_owned());
    let which: Vec<&str> = which.iter().map(String::as_str).collect();
    let count = ask(common, &[&["rev-list", "--count"], &which[..]].concat())?;
    let count = count.trim().parse().map_err(|_| format!("git counts {count:?} commits"))?;
    let most = format!("--max-count={MOST_NAMED}");
    let named = ["rev-list", &most, "--no-commit-header", "--format=%h %s"];
    let named = if count == 0 { String::new() } else { ask(common, &[&named[..], &which].concat())? };
    Ok(Commits { count, named: named.lines().map(str::to_owned).collect() })
}

/// Removes what git knows of a worktree that it lists at `listed`, and that is not there any more.
pub fn forget_worktree(common: &Path, listed: &Path) -> Result<(), String> {
    let arguments = ["worktree".as_ref(), "remove".as_ref(), "--force".as_ref(), listed.as_os_str()];
    match git::ask(common, arguments) {
        // Else somebody has pruned it meanwhile.
        Err(why) if entries(common)?.iter().any(|entry| entry.path == listed) => Err(why),
        _ => Ok(()),
    }
}

/// Deletes a branch while it stands for `oid`, and its configuration.
pub fn delete_branch(common: &Path, name: &str, oid: &str) -> Result<(), String> {
    git::ask(common, ["update-ref", "--no-deref", "-d", &format!("refs/heads/{name}"), oid])?;
    // There is none for most; what is left of it hinders nobody.
    let _ = git::ask(common, ["config", "--local", "--remove-section", &format!("branch.{name}")]);
    Ok(())
}

/// Deletes a branch of a remote while it stands for `oid` there.
pub fn delete_remote_branch(common: &Path, remote: &str, name: &str, oid: &str) -> Result<(), String> {
    let lease = format!("--force-with-lease=refs/heads/{name}:{oid}");
    let deletion = format!(":refs/heads/{name}");
    let arguments = ["push", "--no-verify", "--no-recurse-submodules", &lease, "--", remote, &deletion];
    git::run(common, arguments, PUSH_LIMIT).map(drop)
}

/// The path without links of something that is not there: the folder that it was in may be.
pub fn without_links(path: &Path) -> PathBuf {
    let parent = path.parent().and_then(|parent| real(parent).ok());
    parent.zip(path.file_name()).map_or_else(|| path.to_owned(), |(parent, name)| parent.join(name))
}

/// The path of a folder without links, spelt as git takes it.
pub fn real(path: &Path) -> Result<PathBuf, String> {
    let folder =
        Folder::open_path(path).map_err(|error| format!("{} cannot be opened: {error}", path.display()))?;
    Ok(folder.real_path())
}
