//! Writers that are killed, stopped and signalled while they have the lock: the next one goes on, and nothing is left
//! behind (L4, L6, L10, A5). `npm run torture` does the same for longer, with more kinds of writers.

#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use support::*;

/// Big enough that a write of it, synced, takes milliseconds.
const BALLAST: usize = 4 << 20;

/// A state file whose writing takes a while.
fn big_state(folder: &Folder) -> PathBuf {
    folder.file("state.json", format!("{{\"a\":1,\"ballast\":\"{}\"}}\n", "x".repeat(BALLAST)))
}

/// A started writer that has been given its patch.
fn writing(file: &Path, patch: &str) -> Child {
    let mut command = pipestate();
    command.arg("write").arg(file);
    let mut child = start(command);
    child.stdin.take().unwrap().write_all(patch.as_bytes()).unwrap();
    child
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Whether the file has these keys; also that it parses, and that the ballast is whole.
fn has(file: &Path, keys: &[&str]) -> bool {
    let state: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(state["ballast"].as_str().unwrap().len(), BALLAST);
    keys.iter().all(|key| state.get(key).is_some())
}

fn temporaries(folder: &Folder) -> usize {
    folder.names().iter().filter(|name| name.starts_with(".pipestate-")).count()
}

#[track_caller]
fn assert_next_goes_on(file: &Path, patch: &str) {
    let started = Instant::now();
    assert_written(&write(file, patch));
    assert!(started.elapsed() < Duration::from_secs(1), "took {:?}", started.elapsed());
}

#[test]
fn writers_killed_before_the_rename_leave_one_temporary_at_most_and_the_next_none() {
    // claude-code #87677: 412 temporary files beside one state.
    let folder = Folder::new();
    let file = big_state(&folder);
    folder.file("state.json.tmp", "a user's");
    for round in 0..20 {
        let mut tries = 0..;
        let mut writer = loop {
            // The one that was there is swept before the new one is made.
            let mut swept = temporaries(&folder) == 0;
            let writer = writing(&file, &format!("{{\"never-{round}\":{}}}", tries.next().unwrap()));
            let mut seen = false;
            eventually("the writer has its temporary file, or has done with it", || {
                let now = temporaries(&folder);
                swept |= now == 0;
                seen = swept && now == 1;
                seen || has_ended(&writer)
            });
            if seen {
                break writer;
            }
            assert_written(&Ran::from(writer.wait_with_output().unwrap())); // it was quicker
        };
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert!(temporaries(&folder) <= 1, "{:?}", folder.names());
    }
    assert_next_goes_on(&file, "{\"b\":2}");
    assert!(has(&file, &["a", "b"]));
    assert_eq!(folder.names(), ["state.json", "state.json.tmp"]);
}

#[test]
fn three_hundred_signals_each_end_in_128_and_their_number_and_leave_nothing() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let seed = fastrand::get_seed();
    println!("seed {seed}");
    let mut told = 0;
    for round in 0..300 {
        let (sent, code) = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)][round % 3];
        let mut command = pipestate();
        command.arg("write").arg(&file);
        let mut child = start(command);
        // More than a pipe holds: once it is written the program is reading, and so it handles signals.
        let patch = format!("{{\"b\":{round},\"ballast\":\"{}\"}}", "x".repeat(100_000));
        child.stdin.take().unwrap().write_all(patch.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..4000)));
        // It has not been waited for, so the id is still its own, also if it has ended.
        signal(&child, sent);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert!(ran.code == Some(code) || ran.code == Some(0), "{ran:?}");
        told += usize::from(ran.code == Some(code));
        assert_eq!(folder.names(), ["state.json"], "after signal {sent:?} of round {round}");
        assert_next_goes_on(&file, &format!("{{\"after\":{round}}}"));
    }
    assert!(told > 100, "only {told} of 300 were signalled while they ran");
}

#[test]
fn a_holder_that_stands_still_is_waited_for_and_both_changes_are_there_in_the_end() {
    // gajae-code #669: a lock was taken from a stopped process after a minute, and its write was lost.
    let folder = Folder::new();
    let file = big_state(&folder);
    let (holder, lines) = loop {
        let holder = writing(&file, "{\"b\":2}");
        eventually("the holder has the lock, or has done with it", || {
            lock_of(&file).exists() || has_ended(&holder)
        });
        signal(&holder, Signal::STOP);
        let stopped = || fs::read_to_string(format!("/proc/{}/stat", holder.id())).unwrap();
        eventually("it stands still", || [") T ", ") Z "].iter().any(|state| stopped().contains(state)));
        if let Ok(lines) = fs::read_to_string(lock_of(&file)) {
            break (holder, lines);
        }
        signal(&holder, Signal::CONT); // it was quicker
        assert_eq!(Ran::from(holder.wait_with_output().unwrap()).code, Some(0));
        fs::write(&file, format!("{{\"a\":1,\"ballast\":\"{}\"}}\n", "x".repeat(BALLAST))).unwrap();
    };

    let mut command = pipestate();
    command.args(["write", "--lock-timeout", "500"]).arg(&file);
    let ran = finish(start(command), "{\"c\":3}");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(&format!("held by process {} (pipestate write)", holder.id())), "{ran:?}");
    assert_eq!(fs::read_to_string(lock_of(&file)).unwrap(), lines);
    assert!(!has(&file, &["c"]));

    signal(&holder, Signal::CONT);
    assert_written(&Ran::from(holder.wait_with_output().unwrap()));
    assert_next_goes_on(&file, "{\"c\":3}");
    assert!(has(&file, &["a", "b", "c"]));
    assert_eq!(folder.names(), ["state.json"]);
}

/// Without waiting for it: its id stays its own.
fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(child)), options).unwrap().is_some()
}

#[test]
fn many_who_find_one_dead_holder_lose_nothing_though_one_stops_on_the_way() {
    // npm/lockfile #4: one that finds the lock stale and is slow removes the lock of the one that was quick.
    let seed = fastrand::get_seed();
    println!("seed {seed}");
    let folder = Folder::new();
    let file = folder.file("state.json", "{}\n");
    for round in 0..200 {
        fs::write(&file, "{}\n").unwrap();
        fs::write(lock_of(&file), dead_pid().to_string()).unwrap();
        let writers: Vec<Child> =
            (0..8).map(|number| writing(&file, &format!("{{\"w{number}\":1}}"))).collect();
        let slow = &writers[0];
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..5000)));
        signal(slow, Signal::STOP);
        std::thread::sleep(Duration::from_millis(fastrand::u64(0..20)));
        signal(slow, Signal::CONT);
        for writer in writers {
            assert_written(&writer.wait_with_output().unwrap().into());
        }
        let state: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(state.as_object().unwrap().len(), 8, "round {round}: {state}");
        assert_eq!(folder.names(), ["state.json"]);
    }
}

#[test]
fn two_hundred_crowds_of_threads_over_one_dead_holder_lose_no_key() {
    use pipestate::atomic::Durability;
    use pipestate::merge::Patch;
    use pipestate::update::{self, Caller, WriteOptions};
    let folder = Folder::new();
    let file = folder.file("state.json", "{}\n");
    let options = WriteOptions { durability: Durability::Fast, ..WriteOptions::default() };
    let dead = dead_pid().to_string();
    for round in 0..200 {
        fs::write(&file, "{}\n").unwrap();
        fs::write(lock_of(&file), &dead).unwrap();
        let together = std::sync::Barrier::new(32);
        std::thread::scope(|scope| {
            for thread in 0..32 {
                let (file, options, together) = (&file, &options, &together);
                scope.spawn(move || {
                    let patch = Patch::parse(format!("{{\"t{thread}\":1}}").into_bytes(), "a test").unwrap();
                    together.wait();
                    let caller = Caller { program: "a test", interrupted: &|| None };
                    assert!(update::write(file, &patch, options, caller).unwrap().changed);
                });
            }
        });
        let state: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(state.as_object().unwrap().len(), 32, "round {round}");
        assert_eq!(folder.names(), ["state.json"]);
    }
}
