//! The lock against the living, the dead and the strange, with the real program and real processes (contract L).

#![cfg(unix)]

mod support;

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use support::*;

const LONG_AGO: Duration = Duration::from_secs(3600);

/// A state file with one key, and its lock with this content, made `age` ago.
fn locked(folder: &Folder, content: impl AsRef<[u8]>, age: Duration) -> PathBuf {
    let file = folder.file("state.json", "{\"a\":1}\n");
    make_lock(&file, content, age);
    file
}

fn make_lock(file: &Path, content: impl AsRef<[u8]>, age: Duration) {
    let lock = lock_of(file);
    fs::write(&lock, content).unwrap();
    let modified = FileTimes::new().set_modified(SystemTime::now() - age);
    File::options().write(true).open(&lock).unwrap().set_times(modified).unwrap();
}

fn write_within(file: &Path, milliseconds: u32) -> (Ran, Duration) {
    let started = Instant::now();
    let timeout = milliseconds.to_string();
    let arguments = ["write", "--no-fsync", "--lock-timeout", &timeout].map(OsStr::new);
    let ran = run(arguments.into_iter().chain([file.as_os_str()]), "{\"b\":2}");
    (ran, started.elapsed())
}

#[track_caller]
fn assert_taken_over(file: &Path, most: Duration) {
    let (ran, took) = write_within(file, 10_000);
    assert_written(&ran);
    assert!(took < most, "took {took:?}");
    assert_eq!(fs::read_to_string(file).unwrap(), "{\"a\":1,\"b\":2}\n");
    assert!(!lock_of(file).exists());
}

#[track_caller]
fn assert_respected(file: &Path, why: &str) {
    let lock = fs::symlink_metadata(lock_of(file)).unwrap();
    let (ran, took) = write_within(file, 300);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
    assert!(ran.stderr.contains("retry once, then halt"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);
    assert!(took > Duration::from_millis(300) && took < Duration::from_millis(600), "took {took:?}");
    assert_eq!(fs::read_to_string(file).unwrap(), "{\"a\":1}\n");
    let after = fs::symlink_metadata(lock_of(file)).unwrap();
    assert_eq!((after.len(), after.modified().unwrap()), (lock.len(), lock.modified().unwrap()));
}

/// A pipestate that holds the lock of `file` and does not go on: strace stops it at its rename.
struct Holder {
    strace: Child,
    pid: i32,
}

impl Holder {
    fn start(file: &Path, patch: &str) -> Holder {
        let mut command = Command::new("strace");
        command.args([
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            "trace=renameat",
            "-e",
            "inject=renameat:delay_enter=600s",
        ]);
        command.arg(env!("CARGO_BIN_EXE_pipestate")).args(["write", "--no-fsync"]).arg(file);
        let mut strace = command.stdin(Stdio::piped()).spawn().expect("strace is installed");
        std::io::Write::write_all(&mut strace.stdin.take().unwrap(), patch.as_bytes()).unwrap();
        eventually("the holder has written its temporary file", || {
            let names = fs::read_dir(file.parent().unwrap()).unwrap();
            names.flatten().any(|entry| {
                let is_temporary = entry.file_name().as_encoded_bytes().ends_with(b".tmp");
                is_temporary && entry.metadata().is_ok_and(|metadata| metadata.len() > 0)
            })
        });
        let lock = fs::read_to_string(lock_of(file)).unwrap();
        Holder { strace, pid: lock.lines().next().unwrap().parse().unwrap() }
    }

    fn signal(&self, signal: i32) {
        let pid = rustix::process::Pid::from_raw(self.pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::from_named_raw(signal).unwrap()).unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.strace.kill();
        let _ = self.strace.wait();
    }
}
