use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use crate::atomic::Durability;
use crate::lock::Lock;
use crate::update::{self, WriteOptions, Written};

const LONG: Duration = Duration::from_secs(60);

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn hold(path: &Path) -> Lock {
    let place = update::prepare(path, Durability::Fast).unwrap();
    lock::acquire(&place, "a test", LONG, &|| None).unwrap()
}

fn write_job(path: &Path, patch: &str, lock_timeout: Duration) -> WriteJob {
    let options = WriteOptions { durability: Durability::Fast, lock_timeout, ..WriteOptions::default() };
    WriteJob::new(path.to_owned(), Input::Text(patch.into()), options, "a test".into())
}

/// Submits a job and returns its id and where its result will come in.
fn start<J: Job>(owner: Owner, job: J) -> (JobId, Receiver<Result<J::Output, Error>>) {
    let (sender, receiver) = channel();
    let id = new_job();
    submit(owner, id, job, move |result| drop(sender.send(result)));
    (id, receiver)
}

fn write(path: &Path, patch: &str, lock_timeout: Duration) -> (JobId, Receiver<Result<Written, Error>>) {
    start(new_owner(), write_job(path, patch, lock_timeout))
}

/// Returns once the head of the line of `path` waits for its lock: it has been attempted, and is not being so.
fn until_parked(path: &Path) {
    until(|| ENGINE.state().lines.is_parked(&Line::of_file(path)));
}

/// Returns once the head of the line of `path` naps no more, but has a watch on the lock.
#[cfg(target_os = "linux")]
fn until_watched(path: &Path) {
    let line = Line::of_file(path);
    until(|| ENGINE.watched().values().flatten().any(|watched| **watched == line));
}

fn until(condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < LONG, "it never comes");
        std::thread::yield_now();
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn jobs_of_a_line_are_done_in_the_order_they_came() {
    let folder = folder();
    let file = folder.path().join("state.json");
    let lock = hold(&file);
    let written: Vec<_> = (0..200).map(|n| write(&file, &format!("{{\"{n}\":{n}}}"), LONG)).collect();
    lock.release().unwrap();
    for (_, written) in written {
        assert!(written.recv().unwrap().unwrap().changed);
    }
    // New keys go to the end.
    let expected: Vec<String> = (0..200).map(|n| format!("  \"{n}\": {n}")).collect();
    assert_eq!(read(&file), format!("{{\n{}\n}}\n", expected.join(",\n")));
}

#[test]
fn a_job_that_waits_for_nobody_overtakes_those_that_wait() {
    let folder = folder();
    let files: Vec<PathBuf> = (0..50).map(|n| folder.path().join(format!("{n}.json"))).collect();
    let locks: Vec<Lock> = files.iter().map(|file| hold(file)).collect();
    let waiting: Vec<_> = files.iter().map(|file| write(file, "{}", LONG)).collect();
    let (_, done) = start(new_owner(), Once::new(|_| Ok(7)));
    assert_eq!(done.recv().unwrap().unwrap(), 7);
    drop(locks);
    for (_, written) in waiting {
        assert!(written.recv().unwrap().unwrap().created);
    }
}

#[test]
#[cfg(target_os = "linux")] // only there locks are watched
fn a_lock_that_comes_free_is_noticed_at_once() {
    let folder = folder();
    let file = folder.path().join("state.json");
    let mut waits: Vec<Duration> = (0..21)
        .map(|round| {
            let lock = hold(&file);
            let (_, written) = write(&file, &format!("{{\"n\":{round}}}"), LONG);
            until_watched(&file);
            until_parked(&file);
            let released = Instant::now();
            lock.release().unwrap();
            written.recv().unwrap().unwrap();
            released.elapsed()
        })
        .collect();
    waits.sort();
    assert!(waits[10] < Duration::from_millis(20), "the poll would take 50 to 100 ms: {waits:?}");
}

#[test]
fn a_window_ends_the_wait_of_the_head_and_of_those_behind_it() {
    let folder = folder();
    let file = folder.path().join("state.json");
    let lock = hold(&file);
    let since = Instant::now();
    let window = Duration::from_millis(200);
    let (_, long) = write(&file, "{\"long\":1}", LONG);
    let short: Vec<_> = (0..3).map(|_| write(&file, "{\"short\":1}", window)).collect();
    for (_, short) in short {
        let error = short.recv().unwrap().unwrap_err();
        let Error::LockTimeout { path, holder, waited } = error else { panic!("{error}") };
        assert_eq!((path, holder.program.as_deref()), (file.clone(), Some("a test")));
        assert!(waited >= window);
    }
    assert!(since.elapsed() < window + Duration::from_millis(300));
    let (_, once) = write(&file, "{}", Duration::ZERO);
    assert!(matches!(once.recv().unwrap(), Err(Error::LockTimeout { .. })));
    lock.release().unwrap();
    long.recv().unwrap().unwrap();
    let (_, once) = write(&file, "{\"once\":1}", Duration::ZERO);
    assert!(once.recv().unwrap().unwrap().changed, "a window of 0 tries once");
    assert_eq!(read(&file), "{\n  \"long\": 1,\n  \"once\": 1\n}\n");
}

#[test]
fn an_abort_ends_the_wait_of_one_job() {
    let folder = folder();
    let file = folder.path().join("state.json");
    let lock = hold(&file);
    let (head, aborted_head) = write(&file, "{\"a\":1}", LONG);
    let (second, aborted_second) = write(&file, "{\"b\":1}", LONG);
    let (third, written) = write(&file, "{\"c\":1}", LONG);
    until_parked(&file);
    for (id, aborted) in [(second, aborted_second), (head, aborted_head)] {
        abort(id);
        assert!(matches!(aborted.recv().unwrap(), Err(Error::Aborted)));
        abort(id); // it is over
    }
    lock.release().unwrap();
    written.recv().unwrap().unwrap();
    abort(third);
    assert_eq!(read(&file), "{\n  \"c\": 1\n}\n");
}

/// Is attempted until told to go on.
fn running(
    started: impl FnOnce() + Send + 'static,
) -> Once<impl FnOnce(Interrupted) -> Result<(), Error> + Send> {
    Once::new(move |interrupted: Interrupted| {
        started();
        loop {
            if let Some(error) = interrupted() {
                return Err(error);
            }
            std::thread::yield_now();
        }
    })
}

#[test]
fn an_abort_tells_an_attempt_that_is_running_to_stop() {
    let (sender, started) = channel();
    let (id, stopped) = start(new_owner(), running(move || sender.send(()).unwrap()));
    started.recv().unwrap();
    abort(id);
    assert!(matches!(stopped.recv().unwrap(), Err(Error::Aborted)));
}

#[test]
fn an_owner_that_ends_leaves_nothing_running_and_nothing_settled() {
    let folder = folder();
    let file = folder.path().join("state.json");
    let lock = hold(&file);
    let (owner, other) = (new_owner(), new_owner());
    let (_, head) = start(owner, write_job(&file, "{\"a\":1}", LONG));
    let (_, kept) = start(other, write_job(&file, "{\"b\":1}", LONG));
    let (_, behind) = start(owner, write_job(&file, "{\"c\":1}", LONG));
    let (sender, started) = channel();
    let ended = Arc::new(AtomicBool::new(false));
    let (_, stopped) = start(owner, {
        let ended = ended.clone();
        let mut job = running(move || sender.send(()).unwrap());
        Once::new(move |interrupted| {
            let result = job.attempt(interrupted);
            ended.store(true, Ordering::SeqCst);
            result.map(drop)
        })
    });
    started.recv().unwrap();
    abandon(owner);
    assert!(ended.load(Ordering::SeqCst), "what was running has ended");
    assert!(matches!(stopped.recv().unwrap(), Err(Error::Aborted)));
    assert!(behind.recv().is_err(), "dropped unsettled");
    // The head may have been looking at the lock just then.
    assert!(matches!(head.recv(), Err(_) | Ok(Err(Error::Aborted))));
    lock.release().unwrap();
    kept.recv().unwrap().unwrap();
    assert_eq!(read(&file), "{\n  \"b\": 1\n}\n");
    abandon(owner); // there is nothing left of it
}

#[test]
fn a_panic_ends_one_job_and_its_lock_is_released() {
    let folder = folder();
    let file = folder.path().join("state.json");
    let line = Line::of_file(&file);
    let panicking = {
        let file = file.clone();
        Once::in_line(line, move |_| -> Result<(), Error> {
            let _lock = hold(&file);
            panic!("on purpose");
        })
    };
    let (_, failed) = start(new_owner(), panicking);
    let (_, written) = write(&file, "{\"a\":1}", LONG);
    let error = failed.recv().unwrap().unwrap_err();
    assert!(matches!(&error, Error::Bug(what) if what == "on purpose"), "{error}");
    written.recv().unwrap().unwrap();
}

#[test]
#[cfg(target_os = "linux")] // elsewhere they poll, so many of them that one is always at work
fn more_heads_than_keep_their_descriptors_wait_and_go_on() {
    let folder = folder();
    let files: Vec<PathBuf> = (0..200).map(|n| folder.path().join(format!("{n}.json"))).collect();
    let locks: Vec<Lock> = files.iter().map(|file| hold(file)).collect();
    let waiting: Vec<_> = files.iter().map(|file| write(file, "{}", LONG)).collect();
    files.iter().for_each(|file| until_parked(file));
    drop(locks);
    for (_, written) in waiting {
        assert!(written.recv().unwrap().unwrap().created);
    }
    let replace =
        WriteOptions { mode: update::Mode::Replace, durability: Durability::Fast, ..WriteOptions::default() };
    let job = WriteJob::new(files[0].clone(), Input::Text(b"{ }".to_vec()), replace, "a test".into());
    assert!(job.wait(&|| None).is_ok());
}

#[test]
fn a_removed_watch_of_one_spelling_leaves_the_other_ones() {
    let folder = folder();
    let file = folder.path().join("state.json");
    let other =
        folder.path().join(".").join("..").join(folder.path().file_name().unwrap()).join("state.json");
    let lock = hold(&file);
    let (id, aborted) = write(&file, "{\"a\":1}", LONG);
    let (_, written) = write(&other, "{\"b\":1}", LONG);
    until_parked(&file);
    until_parked(&other);
    abort(id);
    assert!(matches!(aborted.recv().unwrap(), Err(Error::Aborted)));
    lock.release().unwrap();
    written.recv().unwrap().unwrap();
}
