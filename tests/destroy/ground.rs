//! The ground of a test: a repository with a remote, worktrees and tasks, all in a folder of its own, and a listing of everything
//! in it with hashes, to tell what has changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::*;

pub struct Ground {
    folder: Folder,
}

/// Everything below a folder: its path and what it is told by.
pub type Listing = BTreeMap<String, String>;

impl Ground {
    /// The repository `r`, one commit on `main`, which is on the remote `remote.git` too.
    pub fn new() -> Ground {
        let ground = Ground { folder: Folder::in_memory() };
        fs::create_dir(ground.at("home")).unwrap();
        let config =
            "[user]\nname = n\nemail = n@example.com\n[init]\ndefaultBranch = main\n[gc]\nauto = 0\n";
        fs::write(ground.at("home/.gitconfig"), config).unwrap();
        ground.git(".", &["init", "-q", "r"]);
        fs::write(ground.at("r/a"), "a\n").unwrap();
        fs::write(ground.at("r/.gitignore"), "*.o\n").unwrap();
        ground.git("r", &["add", "."]);
        ground.git("r", &["commit", "-qm", "first"]);
        ground.git(".", &["clone", "-q", "--bare", "r", "remote.git"]);
        // What `git remote add` and `git fetch` would write, in less time.
        let remote = ground.text("remote.git");
        let config = fs::read_to_string(ground.at("r/.git/config")).unwrap();
        let fetch = "+refs/heads/*:refs/remotes/origin/*";
        let config = format!("{config}[remote \"origin\"]\n\turl = {remote}\n\tfetch = {fetch}\n");
        fs::write(ground.at("r/.git/config"), config).unwrap();
        for folder in ["refs", "logs/refs"] {
            fs::create_dir_all(ground.at("r/.git").join(folder).join("remotes/origin")).unwrap();
        }
        fs::write(ground.at("r/.git/logs/refs/remotes/origin/main"), "").unwrap();
        fs::copy(ground.at("r/.git/refs/heads/main"), ground.at("r/.git/refs/remotes/origin/main")).unwrap();
        ground
    }

    /// The same with the task `#1` in a worktree on `f/P-1`, a day ago.
    pub fn with_task() -> Ground {
        let ground = Ground::new();
        ground.task("P-1");
        ground
    }

    pub fn path(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    /// A task with its worktree and branch, whose run was at work a day ago.
    pub fn task(&self, ticket: &str) {
        let (worktree, branch) = (format!(".worktrees/{ticket}"), format!("f/{ticket}"));
        self.git("r", &["worktree", "add", "-q", &worktree, "-b", &branch]);
        self.new_task(&["--repo", &self.text("r"), "--worktree", &worktree, "--branch", &branch, ticket]);
    }

    /// `pipestate task new`; its number.
    pub fn new_task(&self, arguments: &[&str]) -> u64 {
        let ran = self.run(&[&["task", "new", "--no-fsync", "--json"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let task: Value = serde_json::from_str(&ran.stdout).unwrap();
        age(Path::new(task["state"].as_str().unwrap()));
        task["taskId"].as_u64().unwrap()
    }

    /// Writes the state of task `#1`, as of a day ago.
    pub fn state(&self, state: &Value) {
        let file = self.at("logs/r/1/agent-state.json");
        fs::write(&file, state.to_string()).unwrap();
        age(&file);
    }

    /// Has the run of a task of `r` be at work.
    pub fn work_on(&self, id: u64) {
        let state = self.text(&format!("logs/r/{id}/agent-state.json"));
        let ran = self.run(&["phase", &state, "1", "--status", "running"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    /// git, which has to succeed; what it printed.
    pub fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(self.at(folder)).args(arguments);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        let output = command.env("HOME", self.at("home")).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// The branches of a repository.
    pub fn branches(&self, folder: &str) -> Vec<String> {
        let branches = self.git(folder, &["for-each-ref", "--format=%(refname)", "refs/heads"]);
        branches.lines().map(|line| line.strip_prefix("refs/heads/").unwrap().to_owned()).collect()
    }

    /// The program, whose home and logs lie here.
    pub fn program(&self) -> Command {
        self.in_environment(pipestate())
    }

    pub fn in_environment(&self, mut command: Command) -> Command {
        command.current_dir(self.path()).env("HOME", self.at("home"));
        command.env("PIPESTATE_LOGS_DIR", self.at("logs")).env_remove("CLAUDE_PLUGIN_ROOT");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = self.program();
        command.args(arguments);
        finish(start(command), "")
    }

    /// A plan, as an object.
    #[track_caller]
    pub fn plan(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[arguments, &["--json"]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// A plan's token.
    #[track_caller]
    pub fn token(&self, arguments: &[&str]) -> String {
        self.plan(arguments)["token"].as_str().expect("something to remove").to_owned()
    }

    /// A plan, confirmed.
    #[track_caller]
    pub fn confirm(&self, arguments: &[&str], token: &str) -> Ran {
        self.run(&[arguments, &["--confirm", token]].concat())
    }

    /// Plans and confirms, twice where asked twice, until all is done.
    #[track_caller]
    pub fn carry_out(&self, arguments: &[&str]) -> Value {
        let mut token = self.token(arguments);
        loop {
            let ran = self.run(&[arguments, &["--json", "--confirm", &token]].concat());
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
            let result: Value = serde_json::from_str(&ran.stdout).unwrap();
            if result["done"] == true {
                return result;
            }
            token = result["token"].as_str().unwrap().to_owned();
        }
    }

    /// Asserts that a plan is refused, and that this changes nothing at all.
    #[track_caller]
    pub fn assert_refused(&self, arguments: &[&str], because: &str) {
        let before = self.listing();
        let ran = self.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        assert!(
            ran.stderr.contains(because) && ran.stderr.ends_with("nothing was removed\n"),
            "{}",
            ran.stderr
        );
        assert_changed(&before, &self.listing(), &[]);
    }

    /// Everything that is here.
    pub fn listing(&self) -> Listing {
        let mut listing = Listing::new();
        list(&self.path(), &self.path(), &mut listing);
        listing
    }
}

/// As if it had been written a day ago.
pub fn age(file: &Path) {
    let day_ago = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
    File::options().write(true).open(file).unwrap().set_modified(day_ago).unwrap();
}

fn list(root: &Path, folder: &Path, listing: &mut Listing) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = fs::symlink_metadata(&path).unwrap();
        let content = if facts.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if facts.is_file() {
            let hash = Sha256::digest(fs::read(&path).unwrap());
            format!("{hash:x}")
        } else {
            String::new()
        };
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        listing.insert(name, format!("{:o} {content}", facts.mode()));
        if facts.is_dir() {
            list(root, &path, listing);
        }
    }
}

/// The paths that two listings do not have in common.
pub fn changes(before: &Listing, after: &Listing) -> Vec<String> {
    let all = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    all.filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

/// Asserts that nothing has changed but what lies at or below these paths, or begins with one that ends in a `*`.
#[track_caller]
pub fn assert_changed(before: &Listing, after: &Listing, allowed: &[&str]) {
    let is_allowed = |name: &String| {
        allowed.iter().any(|path| match path.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == path || name.starts_with(&format!("{path}/")),
        })
    };
    let others: Vec<String> = changes(before, after).into_iter().filter(|name| !is_allowed(name)).collect();
    assert_eq!(others, Vec::<String>::new(), "changed, and not of the plan");
}

/// What killing task `#1` may change.
pub const OF_KILL: &[&str] = &[
    "r/.worktrees/P-1",
    "r/.git/worktrees",
    "r/.git/refs/heads/f",
    "r/.git/logs/refs/heads/f",
    "r/.git/config",
    "logs/r/1/agent-log.md",
    "logs/.plans",
    "logs/audit.ndjson",
];
/// The same with what goes with its branch on the remote.
pub const OF_KILL_REMOTE: &[&str] =
    &["remote.git/refs/heads/f", "r/.git/refs/remotes/origin/f", "r/.git/logs/refs/remotes/origin/f"];
