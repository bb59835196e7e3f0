//! Crashes: the program killed by strace at each of its renames and removals, and git at each of its own. Whatever is left, nothing
//! outside the plan has changed, no folder is half there, and a new plan finishes.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ground::*;
use crate::support::*;

/// How many calls of each way the short form kills at.
const SAMPLE: usize = 3;

/// What takes something away.
const CALLS: [&str; 6] = ["unlink", "unlinkat", "rename", "renameat", "renameat2", "rmdir"];

/// A call of a trace, by its name and how many of that name there have been.
type At = (String, usize);

/// A ground that can be brought back to what it was.
struct Saved {
    ground: Ground,
    copy: Folder,
    before: Listing,
}

impl Saved {
    fn new(ground: Ground) -> Saved {
        let copy = Folder::in_memory();
        copy_all(&ground.path(), copy.path());
        Saved { before: ground.listing(), ground, copy }
    }

    fn restore(&self) {
        for entry in fs::read_dir(self.ground.path()).unwrap() {
            fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
        copy_all(self.copy.path(), &self.ground.path());
    }

    /// The token that runs the plan.
    fn last_token(&self, call: &[&str]) -> String {
        let first = self.ground.token(call);
        if call[0] != "purge" {
            return first;
        }
        let ran = self.ground.run(&[call, &["--json", "--confirm", &first]].concat());
        let question: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        question["token"].as_str().unwrap().to_owned()
    }
}

/// With times and modes.
fn copy_all(from: &Path, to: &Path) {
    let mut source = from.as_os_str().to_owned();
    source.push("/.");
    assert!(Command::new("cp").arg("-a").arg(source).arg(to).status().unwrap().success());
}

/// Whether strace can be used here; says so when it cannot.
fn strace_is_available() -> bool {
    let available = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let available = available.is_ok_and(|output| output.status.success());
    if !available {
        println!("skipped: there is no strace, or it may not trace");
    }
    available
}

/// The program under strace.
fn traced(ground: &Ground, options: &[&str], call: &[&str], token: &str) -> Ran {
    let mut command = Command::new("strace");
    command.args(options).arg(env!("CARGO_BIN_EXE_pipestate")).args(call).args(["--confirm", token]);
    finish(start(ground.in_environment(command)), "")
}

/// Everything that this call removes or renames, in order.
fn trace(saved: &Saved, call: &[&str]) -> Vec<At> {
    let file = saved.copy.path().with_extension("trace");
    let filter = format!("trace={}", CALLS.map(|call| format!("?{call}")).join(","));
    let ran =
        traced(&saved.ground, &["-e", &filter, "-o", file.to_str().unwrap()], call, &saved.last_token(call));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(file).unwrap();
    let mut calls: Vec<At> = Vec::new();
    for name in
        text.lines().filter_map(|line| Some(line.split_once('(')?.0)).filter(|name| CALLS.contains(name))
    {
        let count = calls.iter().filter(|(other, _)| other == name).count();
        calls.push((name.to_owned(), count + 1));
    }
    calls
}

/// Whether everything is to be tried.
fn all() -> bool {
    std::env::var("PIPESTATE_FAULTS").as_deref() == Ok("all")
}

/// All calls, or a sample of them.
fn chosen(mut calls: Vec<At>) -> Vec<At> {
    if all() {
        return calls;
    }
    let seed = std::env::var("PIPESTATE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("crashes: PIPESTATE_SEED={seed}");
    fastrand::Rng::with_seed(seed).shuffle(&mut calls);
    calls.truncate(SAMPLE);
    calls
}

/// What is left in the end, whoever has ended it: without what tells of the runs themselves.
fn essence(listing: &Listing) -> Listing {
    let of_runs = ["logs/.plans", "logs/audit.ndjson", "logs/r/1/agent-log.md"];
    listing
        .iter()
        .filter(|(name, _)| !of_runs.iter().any(|path| name.starts_with(path)))
        .map(|(name, facts)| (name.clone(), facts.clone()))
        .collect()
}

/// The part of a listing at and below a folder.
fn part<'a>(listing: &'a Listing, folder: &str) -> Vec<(&'a String, &'a String)> {
    listing.iter().filter(|(name, _)| Path::new(name).starts_with(folder)).collect()
}

/// Kills `call` at every chosen call; `whole` are the folders that are there as they were or not at all.
fn kill_everywhere(ground: Ground, call: &[&str], allowed: &[&str], whole: &[&str]) {
    if !strace_is_available() {
        return;
    }
    let saved = Saved::new(ground);
    let ground = &saved.ground;
    let calls = trace(&saved, call);
    let end = essence(&ground.listing());
    let (all, calls) = (calls.len(), chosen(calls));
    println!("{}: killed at {} of {all} calls", call[0], calls.len());
    for (name, count) in calls {
        saved.restore();
        let token = saved.last_token(call);
        let kill = format!("--inject={name}:signal=KILL:when={count}");
        let ran = traced(ground, &["-o", "/dev/null", &kill], call, &token);
        assert_eq!(ran.code, None, "killed at {name} number {count}: {ran:?}");
        let about = format!("killed at {name} number {count}");
        let left = ground.listing();
        assert_changed(&saved.before, &left, allowed);
        for folder in whole {
            let now = part(&left, folder);
            assert!(
                now.is_empty() || now == part(&saved.before, folder),
                "{about}: half of {folder} is there"
            );
        }
        // The dead run's token is used, or its plan has changed, or nothing was removed yet.
        let again = ground.confirm(call, &token);
        if essence(&left) != essence(&saved.before) {
            assert_eq!(again.code, Some(1), "{about}: {again:?}");
        }
        let plan = ground.plan(call);
        if !plan["token"].is_null() {
            ground.carry_out(call);
        }
        let finished = essence(&ground.listing());
        assert_eq!(changes(&end, &finished), Vec::<String>::new(), "{about}: a new plan has not finished");
    }
}

#[test]
fn a_kill_that_is_killed_anywhere_is_finished_by_a_new_plan() {
    let ground = Ground::with_task();
    ground.task("P-2");
    ground.git("r", &["push", "-q", "origin", "f/P-1"]);
    fs::create_dir(ground.at("r/.worktrees/P-1/sub")).unwrap();
    fs::write(ground.at("r/.worktrees/P-1/sub/dirty"), "x").unwrap();
    let trash = ["r/.worktrees/.pipestate-trash-*", "logs/r/1/agent-log.md.lock", "logs/audit.ndjson.lock"];
    let allowed = [OF_KILL, OF_KILL_REMOTE, &trash].concat();
    kill_everywhere(ground, &["kill", "#1", "--remote"], &allowed, &["r/.worktrees/P-1"]);
}

#[test]
fn a_clearing_that_is_killed_anywhere_is_finished_by_a_new_plan() {
    let ground = Ground::with_task();
    ground.new_task(&["--project", "r", "P-2"]);
    ground.new_task(&["--project", "q", "T"]);
    let allowed =
        ["logs/r/1/agent-*", "logs/r/2/agent-*", "logs/q/1/agent-*", "logs/.plans", "logs/audit.ndjson*"];
    kill_everywhere(ground, &["clear-logs"], &allowed, &[]);
}

#[test]
fn a_purge_that_is_killed_anywhere_is_finished_by_a_new_plan() {
    let ground = Ground::with_task();
    ground.new_task(&["--project", "r", "P-2"]);
    ground.new_task(&["--project", "q", "T"]);
    let more = ["r/.worktrees", "logs/r", "logs/q", "logs/audit.ndjson*"];
    let whole = ["r/.worktrees/P-1", "logs/r/1", "logs/r/2", "logs/q/1"];
    kill_everywhere(ground, &["purge"], &[OF_KILL, &more].concat(), &whole);
}

#[test]
fn a_signal_ends_it_behind_what_it_is_doing() {
    if !strace_is_available() {
        return;
    }
    let ground = Ground::with_task();
    let call = ["kill", "#1"];
    let token = ground.token(&call);
    let ran = traced(&ground, &["-o", "/dev/null", "--inject=renameat:signal=TERM:when=1"], &call, &token);
    assert_eq!(ran.code, Some(128 + 15), "{ran:?}");
    let said: Vec<&str> = ran.stdout.lines().collect();
    let [removed, left] = said[..] else { panic!("{ran:?}") };
    assert!(
        removed.starts_with("removed: worktree ") && left.starts_with("left: branch f/P-1 of "),
        "{ran:?}"
    );
    assert!(!ground.listing().keys().any(|name| name.contains("trash") || name.ends_with(".lock")));
    ground.carry_out(&call);
    assert_eq!(ground.branches("r"), ["main"]);
}

/// A `git` that is killed at its call of this name and number, when it is asked for `verb`.
fn killed_git(ground: &Ground, verb: &str, (name, count): (&str, usize)) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let folder = ground.at("home/bin");
    fs::create_dir_all(&folder).unwrap();
    let real = Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout;
    let real = String::from_utf8(real).unwrap();
    let real = real.trim_end();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in\n*' {verb} '*) exec strace -o /dev/null --inject={name}:signal=KILL:when={count} {real} \"$@\" ;;\nesac\nexec {real} \"$@\"\n"
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn a_git_that_is_killed_is_told_and_a_new_plan_finishes() {
    if !strace_is_available() {
        return;
    }
    let ground = Ground::with_task();
    let saved = Saved::new(ground);
    let ground = &saved.ground;
    let (mut killed, mut first) = (0, true);
    for verb in ["worktree remove", "update-ref"] {
        for name in ["unlink", "rename", "rmdir"] {
            for count in 1..=if all() { usize::MAX } else { 1 } {
                if !std::mem::take(&mut first) {
                    saved.restore();
                }
                let token = ground.token(&["kill", "#1"]);
                let bin = killed_git(ground, verb, (name, count));
                let mut command = ground.program();
                let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
                command.args(["kill", "#1", "--confirm", &token]).env("PATH", path);
                let ran = finish(start(command), "");
                if ran.code == Some(0) {
                    break; // it makes no more calls of that name
                }
                let about = format!("{verb}, killed at {name} number {count}");
                assert_eq!(ran.code, Some(3), "{about}: {ran:?}");
                killed += 1;
                // git says itself that its locks have to be removed by hand.
                for lock in ground.listing().keys().filter(|name| name.ends_with(".lock")) {
                    fs::remove_file(ground.at(lock)).unwrap();
                }
                ground.carry_out(&["kill", "#1"]);
                assert_changed(&saved.before, &ground.listing(), &[OF_KILL, &["home/bin"]].concat());
                assert_eq!(ground.branches("r"), ["main"], "{about}");
                assert!(!ground.git("r", &["worktree", "list"]).contains("P-1"), "{about}");
                assert!(!ground.listing().keys().any(|name| name.contains("trash")), "{about}");
            }
        }
    }
    println!("git: killed at {killed} calls");
    assert!(killed > 2, "git removes and renames several files: {killed}");
}
