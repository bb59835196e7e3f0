//! The recorded worktrees: whether each exists, is a git worktree, and its status reads (S1). Looked at and reported with
//! what heals it; nothing is healed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::state::Recorded;
use super::{git, index_lock};
use crate::child::MOST_OUTPUT;
use crate::text::{one_line, shell_quoted};

/// What is wrong with a worktree, or odd about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What it is, in kebab case; stable, for programs.
    pub code: &'static str,
    /// The same for people.
    pub message: String,
    /// Whether nobody should resume before it is healed.
    pub blocks: bool,
    /// Shell lines that heal it, in their order; none are run.
    pub heal: Vec<String>,
}

/// A recorded worktree as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    /// Where the document records it.
    pub pointer: String,
    /// Where it should be; in JSON with U+FFFD for what is not UTF-8 (A8).
    pub path: String,
    /// The branch that it is on; `None` when it is on none, or when that is not known.
    pub branch: Option<String>,
    /// Files that differ from the last commit, and files that git does not know.
    pub changed: Vec<String>,
    /// What is wrong with it, or odd about it.
    pub notes: Vec<Note>,
}

impl Worktree {
    /// Whether nothing about it keeps anyone from resuming.
    pub fn is_ready(&self) -> bool {
        self.notes.iter().all(|note| !note.blocks)
    }

    fn note(&mut self, code: &'static str, message: impl Into<String>, heal: Vec<String>) {
        self.notes.push(Note { code, message: message.into(), blocks: false, heal });
    }

    fn block(&mut self, code: &'static str, message: impl Into<String>, heal: Vec<String>) {
        self.notes.push(Note { code, message: message.into(), blocks: true, heal });
    }
}

/// Looks at a recorded worktree.
pub fn look_at(recorded: &Recorded) -> Worktree {
    let mut worktree = Worktree {
        pointer: recorded.pointer.clone(),
        path: recorded.path.to_string_lossy().into_owned(),
        branch: None,
        changed: Vec::new(),
        notes: Vec::new(),
    };
    if !recorded.path.is_absolute() {
        let message = "its path is relative, and no repoPath says to what";
        worktree.block("worktree-path-relative", message, Vec::new());
        return worktree;
    }
    match fs::metadata(&recorded.path) {
        Ok(facts) if facts.is_dir() => look_inside(recorded, &mut worktree),
        Ok(_) => worktree.block("worktree-no-folder", "there is no folder, but something else", Vec::new()),
        Err(error) if error.kind() == ErrorKind::NotFound => missing(recorded, &mut worktree),
        Err(error) => {
            worktree.block("worktree-unreadable", format!("it cannot be read: {error}"), Vec::new())
        }
    }
    worktree
}

/// A folder is there: is it the worktree, and does its status read?
fn look_inside(recorded: &Recorded, worktree: &mut Worktree) {
    let path = &recorded.path;
    let top = match git::ask(path, ["rev-parse", "--show-toplevel"]) {
        Ok(answer) => git::path_in(&answer),
        Err(why) => return not_readable(recorded, worktree, &why),
    };
    if fs::canonicalize(path).ok() != fs::canonicalize(&top).ok() {
        let message = format!("it is no worktree, but a folder in that of {}", top.display());
        return worktree.block("not-a-worktree", message, Vec::new());
    }
    if let Ok(folder) =
        git::ask(path, ["rev-parse", "--absolute-git-dir"]).map(|answer| git::path_in(&answer))
    {
        look_for_index_lock(&folder, &top, worktree);
    }
    look_for_lock(recorded, worktree);
    look_at_status(recorded, worktree);
}

/// A folder that git does not take for a worktree: often its repository has moved.
fn not_readable(recorded: &Recorded, worktree: &mut Worktree, why: &str) {
    let leads_nowhere = fs::read_to_string(recorded.path.join(".git"))
        .ok()
        .and_then(|link| Some(PathBuf::from(link.strip_prefix("gitdir: ")?.trim_end())))
        .filter(|folder| !recorded.path.join(folder).exists());
    match (leads_nowhere, &recorded.repository) {
        (Some(folder), Some(repository)) => worktree.block(
            "worktree-unlinked",
            format!(
                "its .git leads to {}, which is not there: its repository has moved or forgotten it",
                folder.display()
            ),
            vec![shell_line(repository, &["worktree", "repair", &recorded.path.to_string_lossy()])],
        ),
        _ => worktree.block("not-a-worktree", format!("its status does not read: {why}"), Vec::new()),
    }
}

fn look_for_index_lock(git_folder: &Path, top: &Path, worktree: &mut Worktree) {
    let Some(lock) = index_lock::find(git_folder, top) else { return };
    let path = git_folder.join("index.lock");
    let (code, what, heal) = if lock.in_use {
        ("index-lock", "a git is at work on its index", Vec::new())
    } else {
        (
            "index-lock-stale",
            "a stale lock is on its index",
            vec![format!("rm {}", shell_quoted(&path.to_string_lossy()))],
        )
    };
    worktree.block(code, format!("{what}: {}, {}", path.display(), lock.who), heal);
}

/// `git worktree lock`.
fn look_for_lock(recorded: &Recorded, worktree: &mut Worktree) {
    let own = fs::canonicalize(&recorded.path).ok();
    let listed = list(&recorded.path);
    let Some(entry) = listed.iter().find(|entry| fs::canonicalize(&entry.path).ok() == own) else { return };
    if let Some(reason) = &entry.locked {
        let heal = shell_line(&recorded.path, &["worktree", "unlock", &worktree.path]);
        worktree.block("worktree-locked", format!("it is locked{}", because(reason)), vec![heal]);
    }
}

/// Branch and changes.
fn look_at_status(recorded: &Recorded, worktree: &mut Worktree) {
    let arguments = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"];
    let answer = match git::ask(&recorded.path, arguments) {
        Ok(answer) => answer,
        Err(why) => {
            let message = format!("its status does not read: {why}");
            return worktree.block("status-unreadable", message, Vec::new());
        }
    };
    let (head, changed) = parse_status(&answer);
    worktree.branch = head.filter(|head| head != DETACHED);
    worktree.changed = changed;
    if !worktree.changed.is_empty() {
        let message = format!("it is dirty: {} changed", worktree.changed.len());
        worktree.note("worktree-dirty", message, Vec::new());
    }
    let switch = |branch: &str| vec![shell_line(&recorded.path, &["switch", branch])];
    match (worktree.branch.clone(), &recorded.branch) {
        (None, Some(branch)) => {
            worktree.note(
                "worktree-detached",
                format!("it is on no branch, and not on {branch}"),
                switch(branch),
            );
        }
        (None, None) => worktree.note("worktree-detached", "it is on no branch", Vec::new()),
        (Some(head), Some(branch)) if head != *branch => {
            worktree.note("branch-differs", format!("it is on {head}, and not on {branch}"), switch(branch));
        }
        _ => {}
    }
}

/// What `git status` has for the branch of a worktree that is on none.
const DETACHED: &str = "(detached)";

/// The branch and the changed paths in the answer of `git status --porcelain=v2 --branch -z`.
fn parse_status(answer: &[u8]) -> (Option<String>, Vec<String>) {
    let mut head = None;
    let mut changed = Vec::new();
    let mut records = answer.split(|&byte| byte == 0).map(String::from_utf8_lossy);
    while let Some(record) = records.next() {
        if let Some(name) = record.strip_prefix("# branch.head ") {
            head = Some(name.to_owned());
        }
        // How many fields stand before the path.
        let fields = match record.as_bytes().first() {
            Some(b'1') => 8,
            Some(b'2') => 9,
            Some(b'u') => 10,
            Some(b'?') => 1,
            _ => continue,
        };
        changed.extend(record.splitn(fields + 1, ' ').nth(fields).map(str::to_owned));
        if record.starts_with('2') {
            records.next(); // where it was renamed from
        }
    }
    (head, changed)
}

/// The changed paths in the answer of `git status --porcelain=v2 -z`.
pub fn changes(answer: &[u8]) -> Vec<String> {
    parse_status(answer).1
}

/// No folder is there: has the worktree moved, or is it gone?
fn missing(recorded: &Recorded, worktree: &mut Worktree) {
    let Some(repository) = recorded.repository.as_ref().filter(|repository| repository.is_dir()) else {
        let message = "it is missing, and no repoPath leads to the repository that could make it again";
        return worktree.block("worktree-missing", message, Vec::new());
    };
    let listed = list(repository);
    let moved = listed
        .iter()
        .find(|entry| recorded.branch.is_some() && entry.branch == recorded.branch && entry.path.is_dir());
    if let Some(entry) = moved {
        let at = entry.path.display();
        let branch = entry.branch.as_deref().unwrap_or_default();
        let message = format!(
            "it is not there; its branch {branch} is checked out at {at}: record that path if it has moved"
        );
        return worktree.block("worktree-moved", message, Vec::new());
    }
    let registered = listed.iter().find(|entry| entry.path == recorded.path);
    let mut heal = Vec::new();
    let mut message = "it is missing".to_owned();
    if let Some(reason) = registered.and_then(|entry| entry.locked.as_ref()) {
        message = format!("it is missing and locked{}", because(reason));
        heal.push(shell_line(repository, &["worktree", "unlock", &worktree.path]));
    }
    heal.push(shell_line(repository, &["worktree", "prune"]));
    if let Some(branch) = &recorded.branch {
        heal.push(shell_line(repository, &["worktree", "add", &worktree.path, branch]));
    }
    if registered.is_some() {
        message
            .push_str("; if its folder was moved by hand, `git worktree repair` at its new place mends that");
    }
    worktree.block("worktree-missing", message, heal);
}

/// The reason of a lock, behind the sentence that there is one.
pub fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason)) }
}

/// A worktree as its repository lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Where it is, or was.
    pub path: PathBuf,
    /// The commit that it is on.
    pub head: Option<String>,
    /// The branch that it is on.
    pub branch: Option<String>,
    /// The reason, perhaps empty, of one that is locked.
    pub locked: Option<String>,
}

/// The worktrees of a repository; none when they cannot be listed, of which its status tells more.
fn list(at: &Path) -> Vec<Entry> {
    entries(at).unwrap_or_default()
}

/// The same, with what git says when it cannot list them all.
pub fn entries(at: &Path) -> Result<Vec<Entry>, String> {
    let answer = git::ask(at, ["worktree", "list", "--porcelain", "-z"])?;
    if answer.len() >= MOST_OUTPUT {
        return Err("git lists more worktrees than can be read".into());
    }
    Ok(parse_list(&answer))
}

fn parse_list(answer: &[u8]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for record in answer.split(|&byte| byte == 0) {
        if let Some(path) = record.strip_prefix(b"worktree ") {
            entries.push(Entry { path: git::path_in(path), ..Entry::default() });
        }
        let Some(entry) = entries.last_mut() else { continue };
        let record = String::from_utf8_lossy(record);
        if let Some(head) = record.strip_prefix("HEAD ") {
            entry.head = Some(head.to_owned());
        }
        if let Some(branch) = record.strip_prefix("branch refs/heads/") {
            entry.branch = Some(branch.to_owned());
        }
        if let Some(reason) = record.strip_prefix("locked") {
            entry.locked = Some(reason.trim_start().to_owned());
        }
    }
    entries
}

/// A git command as a shell line.
pub fn shell_line(at: &Path, arguments: &[&str]) -> String {
    let mut line = format!("git -C {}", shell_quoted(&at.to_string_lossy()));
    for argument in arguments {
        line.push(' ');
        line.push_str(&shell_quoted(argument));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_read_whatever_the_names_are() {
        let answer = b"# branch.oid 1\0# branch.head feature/x\0\
            1 .M N... 100644 100644 100644 a a b.txt\0\
            2 R. N... 100644 100644 100644 a a R100 new name\0old name\0\
            u UU N... 1 1 1 1 a a a both\0? un tracked\0! ignored\0";
        let (head, changed) = parse_status(answer);
        assert_eq!(head.as_deref(), Some("feature/x"));
        assert_eq!(changed, ["b.txt", "new name", "both", "un tracked"]);
    }

    #[test]
    fn the_list_tells_branches_and_locks() {
        let answer = b"worktree /r\0HEAD 1\0branch refs/heads/main\0\0\
            worktree /w\0HEAD 1\0detached\0locked\0\0worktree /v\0HEAD 1\0branch refs/heads/a/b\0locked on a stick\0\0";
        let entry = |path: &str, branch: Option<&str>, locked: Option<&str>| Entry {
            path: path.into(),
            head: Some("1".into()),
            branch: branch.map(str::to_owned),
            locked: locked.map(str::to_owned),
        };
        assert_eq!(
            parse_list(answer),
            [
                entry("/r", Some("main"), None),
                entry("/w", None, Some("")),
                entry("/v", Some("a/b"), Some("on a stick"))
            ]
        );
    }

    #[test]
    fn a_shell_line_has_its_words_quoted() {
        assert_eq!(
            shell_line(Path::new("/a b"), &["worktree", "add", "/it's", "-x"]),
            r"git -C '/a b' worktree add '/it'\''s' -x"
        );
    }
}
