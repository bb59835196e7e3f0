//! Faults: what the kernel refuses, what kills the program, what the disk cannot do (contract L4, A3, A5, X1, X2).
//!
//! `cargo test --test faults` tries a sample; with `PIPESTATE_FAULTS=all` (`npm run faults`) everything is tried.
//! `PIPESTATE_SEED` repeats a sample; it is printed with `--nocapture`.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod disks;
mod manual;
mod order;
mod power;
mod strace;
#[path = "../support/mod.rs"]
mod support;
mod sweep;
mod users;
mod ways;

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sweep::Tried;
use ways::{System, WAYS};

/// How many faults of each way the short form tries.
const SAMPLE: usize = 5;

/// How many writers start together.
const CROWD: usize = 30;

/// `None` to try everything.
fn sample() -> Option<usize> {
    (std::env::var("PIPESTATE_FAULTS").as_deref() != Ok("all")).then_some(SAMPLE)
}

fn seeded(what: &str) -> fastrand::Rng {
    let seed = std::env::var("PIPESTATE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("{what}: PIPESTATE_SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Where the runs' folders lie: in memory where that can be, so that syncs cost nothing.
fn scratch_root() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if tempfile::tempfile_in(&memory).is_ok() { memory } else { std::env::temp_dir() }
}

#[test]
fn no_error_and_no_kill_at_any_call_of_a_write_loses_or_leaves_anything() {
    if !strace::available() {
        return;
    }
    let mut random = seeded("faults");
    let scratch = tempfile::tempdir_in(scratch_root()).unwrap();
    let total = try_ways(scratch.path(), sample(), &mut random);
    println!("faults: in all {} runs: {total}", total.runs());
}

fn try_ways(parent: &Path, sample: Option<usize>, random: &mut fastrand::Rng) -> Tried {
    fs::set_permissions(parent, Permissions::from_mode(0o755)).unwrap(); // nobody has to enter it
    let mut total = Tried::default();
    for way in WAYS.iter().filter(|way| is_root() || !way.needs_root()) {
        let tried = way.try_faults(parent, sample, random);
        println!("faults: {}: {tried}", way.name);
        total += tried;
    }
    total
}

/// Somebody who looks at a lock has its kernel lock for an instant. Without hard links a lock is empty at first, and its
/// maker, finding it looked at, took it for a stranger's without a name and waited two seconds with all the others.
#[test]
fn a_crowd_without_hard_links_all_finish_and_lose_nothing() {
    let folder = support::Folder::new();
    let file = folder.file("state.json", "{}");
    let started = Instant::now();
    let children: Vec<_> = (0..CROWD)
        .map(|number| {
            let mut command = support::pipestate();
            command.args(["write", "--no-fsync"]).arg(&file);
            System::NoLinks.confine(&mut command);
            let mut child = support::start(command);
            child.stdin.take().unwrap().write_all(format!("{{\"k{number}\":{number}}}").as_bytes()).unwrap();
            child
        })
        .collect();
    for child in children {
        support::assert_written(&child.wait_with_output().unwrap().into());
    }
    let state: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(state.as_object().unwrap().len(), CROWD);
    assert_eq!(folder.names(), ["state.json"]);
    assert!(started.elapsed() < Duration::from_secs(2), "took {:?}", started.elapsed());
}

/// A large state is read by two threads. A system that has none left is no failure.
#[test]
fn a_large_state_is_written_also_where_no_thread_can_be_started() {
    if !strace::available() {
        return;
    }
    let folder = support::Folder::new();
    let ballast = "x".repeat(9_000_000);
    let file = folder.file("state.json", format!("{{\"a\":1,\"ballast\":\"{ballast}\"}}\n"));
    let trace = tempfile::NamedTempFile::new().unwrap();
    let refuse = ["--inject=clone,clone3:error=EAGAIN", "--trace=clone,clone3"];
    let mut command = strace::command(trace.path(), refuse);
    command.arg("write").arg(&file);
    support::assert_written(&support::finish(support::start(command), "{\"a\":2}"));
    assert!(fs::read(&file).unwrap() == format!("{{\"a\":2,\"ballast\":\"{ballast}\"}}\n").into_bytes());
    assert_eq!(folder.names(), ["state.json"]);
    assert!(fs::read_to_string(trace.path()).unwrap().contains("(INJECTED)"));
}
