//! The things that a plan removes, each with everything that it is bound to, and how they are told.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use super::git::Commits;

/// One thing that is removed in one go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Item {
    /// What a run that was interrupted has left.
    Trash(Folder),
    /// A worktree: its folder, and what git knows of it.
    Worktree(Worktree),
    /// A branch on a remote.
    RemoteBranch(RemoteBranch),
    /// A branch.
    Branch(Branch),
    /// A task's folder with everything in it.
    LogFolder(Folder),
    /// `agent-log.md` or `agent-state.json`.
    LogFile(File),
    /// A project's counter.
    Counter(File),
    /// A dead holder's lock of a file that is not there.
    Lock(File),
    /// The folder of a project in which nothing else is.
    ProjectFolder(EmptyFolder),
}

/// A folder with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Folder {
    /// Where it is.
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// Bytes in its files.
    pub size: u64,
    /// How many files.
    pub files: u64,
    /// The first of them.
    pub names: Vec<String>,
    /// What changes with it.
    pub fingerprint: String,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct File {
    /// Where it is.
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// What changes with it.
    pub fingerprint: String,
}

/// A folder that will be empty by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EmptyFolder {
    /// Where it is.
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
}

/// A worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    /// Where it is, or was.
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// The git folder of its repository.
    #[serde(serialize_with = "path_as_text")]
    pub git_folder: PathBuf,
    /// Whether its folder is there; else only git knows of it.
    pub exists: bool,
    /// The commit that it is on.
    pub head: Option<String>,
    /// The branch that it is on.
    pub branch: Option<String>,
    /// Bytes in its files.
    pub size: u64,
    /// How many files.
    pub files: u64,
    /// Files that differ from the last commit, and files that git does not know.
    pub uncommitted: Names,
    /// Files that git is told to overlook.
    pub ignored: Names,
    /// Folders in it that are repositories of their own.
    pub repositories: Names,
    /// Commits that nothing else leads to; only of one that is on no branch.
    pub lost: Commits,
    /// What changes with it.
    pub fingerprint: String,
}

/// A branch on a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteBranch {
    /// The git folder of the repository that knows the remote.
    #[serde(serialize_with = "path_as_text")]
    pub git_folder: PathBuf,
    /// The remote's name there.
    pub remote: String,
    /// The branch, without `refs/heads/`.
    pub name: String,
    /// The commit that it stands for.
    pub oid: String,
    /// Whether that commit is in this repository too; else nobody here knows what goes with it.
    pub is_fetched: bool,
    /// Commits that nothing else leads to.
    pub lost: Commits,
}

/// A branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Branch {
    /// The git folder of its repository.
    #[serde(serialize_with = "path_as_text")]
    pub git_folder: PathBuf,
    /// The branch, without `refs/heads/`.
    pub name: String,
    /// The commit that it stands for.
    pub oid: String,
    /// Commits that nothing else leads to.
    pub lost: Commits,
}

/// Names, all of them or the beginning of a list that is too long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Names {
    /// How many are named.
    pub count: usize,
    /// Whether there are more.
    pub more: bool,
    /// The names.
    pub names: Vec<String>,
}

impl Names {
    /// Of a list that is whole, or cut.
    pub fn new(names: Vec<String>, more: bool) -> Names {
        Names { count: names.len(), more, names }
    }
}

impl Item {
    /// What it is and where, in a phrase.
    pub fn described(&self) -> String {
        match self {
            Item::Trash(folder) => format!("trash {}", folder.path.display()),
            Item::Worktree(worktree) if worktree.exists => format!("worktree {}", worktree.path.display()),
            Item::Worktree(worktree) => {
                format!("registration of the missing worktree {}", worktree.path.display())
            }
            Item::RemoteBranch(branch) => format!(
                "branch {} on the remote {} of {}",
                branch.name,
                branch.remote,
                branch.git_folder.display()
            ),
            Item::Branch(branch) => format!("branch {} of {}", branch.name, branch.git_folder.display()),
            Item::LogFolder(folder) => format!("logs {}", folder.path.display()),
            Item::LogFile(file) => format!("file {}", file.path.display()),
            Item::Counter(file) => format!("counter {}", file.path.display()),
            Item::Lock(file) => format!("dead lock {}", file.path.display()),
            Item::ProjectFolder(folder) => format!("folder {}", folder.path.display()),
        }
    }

    /// The lines of a plan about it.
    pub fn lines(&self) -> Vec<String> {
        let first = self.described();
        match self {
            Item::Trash(folder) => {
                vec![format!("{first} ({}), left by an interrupted run", amount(folder.files, folder.size))]
            }
            Item::LogFolder(folder) => {
                let more = if folder.files > folder.names.len() as u64 { ", …" } else { "" };
                let names = folder.names.join(", ");
                vec![format!("{first} ({}: {names}{more})", amount(folder.files, folder.size))]
            }
            Item::Worktree(worktree) if worktree.exists => {
                let on = match (&worktree.branch, &worktree.head) {
                    (Some(branch), _) => format!("on {branch}"),
                    (None, head) => format!("on no branch, at {}", short(head.as_deref().unwrap_or("-"))),
                };
                let mut lines = vec![format!("{first} ({on}, {})", amount(worktree.files, worktree.size))];
                lines.extend(lost_names("uncommitted file", "uncommitted files", &worktree.uncommitted));
                lines.extend(lost_names(
                    "ignored file or folder",
                    "ignored files and folders",
                    &worktree.ignored,
                ));
                lines.extend(lost_names("repository in it", "repositories in it", &worktree.repositories));
                lines.extend(lost_commits("unpushed ", &worktree.lost));
                lines
            }
            Item::Worktree(_) | Item::ProjectFolder(_) => vec![first],
            Item::RemoteBranch(branch) => {
                let mut lines = vec![format!("{first} (at {})", short(&branch.oid))];
                if !branch.is_fetched {
                    lines.push("  commits would be lost that were never fetched from there".into());
                }
                lines.extend(lost_commits("", &branch.lost));
                lines
            }
            Item::Branch(branch) => {
                let mut lines = vec![format!("{first} (at {})", short(&branch.oid))];
                lines.extend(lost_commits("unpushed ", &branch.lost));
                lines
            }
            Item::LogFile(file) | Item::Counter(file) | Item::Lock(file) => {
                vec![format!("{first} ({})", bytes(file.size))]
            }
        }
    }
}

fn short(oid: &str) -> &str {
    oid.get(..10).unwrap_or(oid)
}

fn lost_names(one: &str, several: &str, names: &Names) -> Option<String> {
    let what = if names.count == 1 { one } else { several };
    let at_least = if names.more { "at least " } else { "" };
    let list = names.names.join(", ");
    (names.count > 0).then(|| format!("  {at_least}{} {what} would be lost: {list}", names.count))
}

fn lost_commits(which: &str, commits: &Commits) -> Option<String> {
    let what = if commits.count == 1 { "commit" } else { "commits" };
    let more = if commits.count > commits.named.len() as u64 { ", …" } else { "" };
    let list = commits.named.join(", ");
    (commits.count > 0).then(|| format!("  {} {which}{what} would be lost: {list}{more}", commits.count))
}

fn amount(files: u64, size: u64) -> String {
    let what = if files == 1 { "file" } else { "files" };
    format!("{files} {what}, {}", bytes(size))
}

/// A size for people.
pub fn bytes(size: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = size as f64;
    let mut unit = "bytes";
    for larger in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if unit == "bytes" { format!("{size} bytes") } else { format!("{value:.1} {unit}") }
}

/// In JSON with U+FFFD for what is not UTF-8 (A8); the fingerprints have it as it is.
pub(super) fn path_as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_the_largest_unit_that_they_fill() {
        for (size, told) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(bytes(size), told);
        }
    }
}
