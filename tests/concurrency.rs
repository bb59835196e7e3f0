//! Many writers on one file: nothing is lost, and a reader at any instant sees a whole document (A1, A3, L9).

#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use support::*;

/// Reads the file over and over until `end`, and answers how often; every time it must parse.
fn read_until(file: &Path, end: &AtomicBool) -> usize {
    let mut reads = 0;
    while !end.load(Ordering::Relaxed) {
        let text = fs::read(file).unwrap();
        serde_json::from_slice::<serde_json::Value>(&text)
            .unwrap_or_else(|error| panic!("a reader saw {error} in {}", String::from_utf8_lossy(&text)));
        reads += 1;
    }
    reads
}

/// Does something to the file while a reader looks on.
fn under_a_reader(file: &Path, work: impl FnOnce()) {
    /// Ends the reader also when the work panics, which would wait for it for ever.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| read_until(file, &end));
        let at_the_end = End(&end);
        work();
        drop(at_the_end);
        assert!(reader.join().unwrap() > 10, "the reader was at work");
    });
}

fn keys(file: &Path) -> BTreeSet<String> {
    let state: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    state.into_iter().map(|(key, _)| key).collect()
}

fn expected(writers: impl IntoIterator<Item = String>, rounds: usize) -> BTreeSet<String> {
    writers.into_iter().flat_map(|writer| (0..rounds).map(move |round| format!("{writer}-{round}"))).collect()
}

fn wait_for(children: Vec<Child>) {
    for child in children {
        assert_eq!(
            Ran::from(child.wait_with_output().unwrap()),
            Ran { code: Some(0), stdout: String::new(), stderr: String::new() }
        );
    }
}

/// A shell that runs the program once for every key.
fn shell(file: &Path, writer: &str, rounds: usize) -> Child {
    let loop_ = "i=0; while [ $i -lt $4 ]; do printf '{\"%s-%d\":%d}' $3 $i $i | \"$1\" write --no-fsync \"$2\" || exit; i=$((i+1)); done";
    let mut command = Command::new("sh");
    command
        .args(["-c", loop_, "sh", env!("CARGO_BIN_EXE_pipestate")])
        .arg(file)
        .args([writer, &rounds.to_string()]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn plain_writer(file: &Path, writer: &str, rounds: usize) -> Child {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/plain-writer.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(file).args([writer, &rounds.to_string()]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn fifty_writers_lose_no_key_in_fifty_rounds() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{}\n");
    let writers = || (0..50).map(|number| format!("w{number}"));
    under_a_reader(&file, || wait_for(writers().map(|writer| shell(&file, &writer, 50)).collect()));
    assert_eq!(keys(&file), expected(writers(), 50));
    assert_eq!(folder.names(), ["state.json"]);
}

#[test]
fn twenty_shells_writing_nested_keys_lose_none() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"phases\":[{\"files\":{}},{\"files\":{}}]}");
    let script = "for i in 0 1 2 3 4 5 6 7 8 9; do printf '{\"phases\":{\"1\":{\"files\":{\"%s-%d\":1}}}}' $3 $i \
                  | \"$1\" write --no-fsync \"$2\" || exit; done";
    let shells = (0..20).map(|number| {
        let mut command = Command::new("sh");
        command
            .args(["-c", script, "sh", env!("CARGO_BIN_EXE_pipestate")])
            .arg(&file)
            .arg(format!("s{number}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    under_a_reader(&file, || wait_for(shells.collect()));
    let state: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(state["phases"][1]["files"].as_object().unwrap().len(), 200);
    assert_eq!(state["phases"][0]["files"].as_object().unwrap().len(), 0);
}

#[test]
fn a_mixed_crowd_with_writers_that_create_the_lock_exclusively_loses_nothing() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{}\n");
    let ours = || (0..6).map(|number| format!("p{number}"));
    let theirs = || (0..4).map(|number| format!("j{number}"));
    under_a_reader(&file, || {
        let children = ours()
            .map(|writer| shell(&file, &writer, 40))
            .chain(theirs().map(|writer| plain_writer(&file, &writer, 40)));
        wait_for(children.collect());
    });
    assert_eq!(keys(&file), expected(ours().chain(theirs()), 40));
    assert_eq!(folder.names(), ["state.json"]);
}

#[test]
fn a_hundred_writers_started_together_all_finish() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{}\n");
    let names = || (0..100).map(|number| format!("w{number}"));
    let children = names().map(|name| {
        let mut command = pipestate();
        command.arg("write").arg(&file);
        let mut child = start(command);
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("{{\"{name}-0\":0}}").as_bytes())
            .unwrap();
        child
    });
    wait_for(children.collect());
    assert_eq!(keys(&file), expected(names(), 1));
}

#[test]
fn many_who_find_one_dead_holder_never_hold_together() {
    // proper-lockfile #121: two find the lock stale, one removes it and takes it, the other removes the new one.
    for _ in 0..20 {
        let folder = Folder::new();
        let file = folder.file("state.json", "{}\n");
        fs::write(lock_of(&file), dead_pid().to_string()).unwrap();
        let names = || (0..32).map(|number| format!("w{number}"));
        let children: Vec<Child> = names()
            .map(|name| {
                let mut command = pipestate();
                command.args(["write", "--no-fsync"]).arg(&file);
                let mut child = start(command);
                std::io::Write::write_all(
                    &mut child.stdin.take().unwrap(),
                    format!("{{\"{name}-0\":0}}").as_bytes(),
                )
                .unwrap();
                child
            })
            .collect();
        wait_for(children);
        assert_eq!(keys(&file), expected(names(), 1));
        assert_eq!(folder.names(), ["state.json"]);
    }
}

#[test]
fn threads_of_one_process_exclude_each_other() {
    use pipestate::merge::Patch;
    use pipestate::update::{Caller, WriteOptions, write};
    let folder = Folder::new();
    let file = folder.file("state.json", "{}\n");
    let options = WriteOptions { durability: pipestate::atomic::Durability::Fast, ..WriteOptions::default() };
    thread::scope(|scope| {
        for thread in 0..8 {
            let (file, options) = (&file, &options);
            scope.spawn(move || {
                for round in 0..50 {
                    let patch =
                        Patch::parse(format!("{{\"t{thread}-{round}\":1}}").into_bytes(), "a test").unwrap();
                    let written =
                        write(file, &patch, options, Caller { program: "a test", interrupted: &|| None })
                            .unwrap();
                    assert!(written.changed);
                }
            });
        }
    });
    assert_eq!(keys(&file), expected((0..8).map(|thread| format!("t{thread}")), 50));
}
