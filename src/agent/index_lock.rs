//! `index.lock`: git's lock on a worktree's index, which a git that was killed leaves behind. git writes nobody's name into
//! it, so who made it is told by its owner and age, and by the processes that have it open or work in that worktree.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::disk::Folder;
use crate::time;

/// What is known of the lock in a git folder; `None` when there is none.
#[derive(Debug)]
pub struct IndexLock {
    /// Whether a process that lives has to do with it.
    pub in_use: bool,
    /// Who made it, in words.
    pub who: String,
}

/// Looks for the lock in `git_folder`, the git folder of the worktree at `worktree`.
pub fn find(git_folder: &Path, worktree: &Path) -> Option<IndexLock> {
    let name = OsStr::new("index.lock");
    let facts = Folder::open_path(git_folder).ok()?.facts(name).ok()?;
    let age = facts.age(SystemTime::now()).unwrap_or_default();
    let made = format!("made {} ago by user {}", time::told(age), facts.uid);
    let by = users(&git_folder.join(name), worktree);
    let processes = match &by[..] {
        [] => "no process has it open and no git works there".to_owned(),
        by => by.join(", "),
    };
    Some(IndexLock { in_use: !by.is_empty(), who: format!("{made}; {processes}") })
}

/// The processes that have the lock open, and the gits that work in the worktree, as far as /proc shows them.
fn users(lock: &Path, worktree: &Path) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let mut users = Vec::new();
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) else {
            continue;
        };
        let process = process.path();
        let program = fs::read_to_string(process.join("comm")).unwrap_or_default();
        let program = program.trim_end();
        let has_it_open = || {
            let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
            open.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == lock))
        };
        let works_there = || {
            program.starts_with("git")
                && fs::read_link(process.join("cwd")).is_ok_and(|folder| folder.starts_with(worktree))
        };
        if has_it_open() {
            users.push(format!("{program} (process {pid}) has it open"));
        } else if works_there() {
            users.push(format!("{program} (process {pid}) works there"));
        }
    }
    users
}
