//! The essentials of the contract on Windows, with the real program and real processes: where files that are open
//! stand in the way, kernel locks are mandatory and a file has several spellings.

#![cfg(windows)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use pipestate::disk::PATIENCE;
use pipestate::lock;
use pipestate::place::{Missing, Place};
use support::*;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, GetShortPathNameW, LOCKFILE_EXCLUSIVE_LOCK,
    LockFileEx,
};

const SHARE_NOTHING: u32 = 0;
const SHARE_ALL: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
/// What most programs share that are not written for this: a reader of theirs keeps a file from being replaced.
const SHARE_ALL_BUT_DELETE: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE;

fn state(folder: &Folder) -> PathBuf {
    folder.file("state.json", "{\"a\":1}\n")
}

fn hold_open(file: &Path, share: u32) -> File {
    OpenOptions::new().read(true).share_mode(share).open(file).unwrap()
}

#[track_caller]
fn assert_merged(file: &Path) {
    assert_written(&write(file, "{\"b\":2}"));
    assert_eq!(fs::read_to_string(file).unwrap(), "{\"a\":1,\"b\":2}\n");
    assert!(!lock_of(file).exists());
}

/// A write that gives up on the lock after a moment, and says who has it.
#[track_caller]
fn assert_respected(file: &Path, why: &str) {
    let arguments = ["write", "--no-fsync", "--lock-timeout", "300"].map(OsStr::new);
    let ran = run(arguments.into_iter().chain([file.as_os_str()]), "{\"b\":2}");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(file).unwrap(), "{\"a\":1}\n");
    assert!(fs::symlink_metadata(lock_of(file)).is_ok(), "the lock is left alone");
}

fn make_lock(file: &Path, content: impl AsRef<[u8]>, age: Duration) {
    fs::write(lock_of(file), content).unwrap();
    let modified = FileTimes::new().set_modified(SystemTime::now() - age);
    File::options().write(true).open(lock_of(file)).unwrap().set_times(modified).unwrap();
}

/// A pipestate process that has the lock of `file` until it is dropped or killed: this test program, called again.
struct Holder(Child);

impl Holder {
    fn start(file: &Path) -> Holder {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_holder_for_the_other_tests", "--nocapture"]).env(HOLD, file);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        assert!(stdout.lines().any(|line| line.unwrap().contains("held")), "the holder has the lock");
        Holder(child)
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const HOLD: &str = "PIPESTATE_TEST_HOLD";

#[test]
fn a_holder_for_the_other_tests() {
    let Some(file) = std::env::var_os(HOLD) else { return };
    let place = Arc::new(Place::find(Path::new(&file), Missing::Fail).unwrap());
    let _lock = lock::acquire(&place, "a test", Duration::from_secs(10), &|| None).unwrap();
    println!("\nheld");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_write_creates_folders_and_file_and_merges_into_it() {
    let folder = Folder::new();
    let file = folder.join("a").join("b").join("state.json");
    assert_written(&run([OsStr::new("write"), file.as_os_str()], "{\"a\":1}"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"a\": 1\n}\n");
    assert_written(&write(&file, "{\"b\":2}"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
    let left: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn long_names_and_names_of_any_script_work() {
    let folder = Folder::new();
    let deep = (0..5).fold(folder.path().to_owned(), |path, _| path.join("f".repeat(60)));
    for file in
        [folder.join("状態 émoji😀 .json"), folder.join("-"), deep.join(format!("{}.json", "n".repeat(200)))]
    {
        assert_written(&run([OsStr::new("write"), OsStr::new("--"), file.as_os_str()], "{\"a\":1}"));
        assert_written(&run([OsStr::new("write"), OsStr::new("--"), file.as_os_str()], "{\"a\":2}"));
        let got = run([OsStr::new("get"), OsStr::new("--"), file.as_os_str(), OsStr::new("/a")], "");
        assert_eq!((got.code, got.stdout.as_str()), (Some(0), "2\n"), "{file:?} {}", got.stderr);
    }
}

#[test]
fn a_path_that_names_a_stream_or_a_folder_is_refused() {
    let folder = Folder::new();
    for file in [folder.join("state.json:stream"), folder.path().to_owned()] {
        let ran = write(&file, "{\"a\":1}");
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_living_pipestate_is_respected_and_its_lock_is_readable() {
    let folder = Folder::new();
    let file = state(&folder);
    let holder = Holder::start(&file);
    // What another tool does: parseInt(readFileSync(lock)).
    let lock = fs::read_to_string(lock_of(&file)).unwrap();
    assert_eq!(lock.lines().next(), Some(holder.0.id().to_string().as_str()));
    assert_respected(&file, &format!("held by process {} (a test) for ", holder.0.id()));
    assert_respected(&file, "alive: it has the kernel lock");
}

#[test]
fn a_killed_pipestate_is_taken_over() {
    let folder = Folder::new();
    let file = state(&folder);
    Holder::start(&file).kill();
    assert!(lock_of(&file).exists());
    assert_merged(&file);
    assert_eq!(folder.names(), ["state.json"]);
}

#[test]
fn a_killed_holder_releases_the_lock_to_one_who_waits() {
    let folder = Folder::new();
    let file = state(&folder);
    let mut holder = Holder::start(&file);
    let mut command = pipestate();
    command.args(["write", "--no-fsync", "--lock-timeout", "60000"]).arg(&file);
    let waiting = start(command);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| finish(waiting, "{\"b\":2}"));
        std::thread::sleep(Duration::from_millis(300)); // long enough to wait; either way it must succeed
        holder.kill();
        assert_written(&waiting.join().unwrap());
    });
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\":1,\"b\":2}\n");
}

#[test]
fn a_bare_id_is_judged_by_its_process() {
    let folder = Folder::new();
    let file = state(&folder);
    let mut child = pipestate().arg("--version").stdout(Stdio::null()).spawn().unwrap();
    child.wait().unwrap();
    let mut waiting = pipestate();
    waiting.arg("write").arg(folder.join("other.json")); // for its stdin
    let mut living = start(waiting);

    make_lock(&file, living.id().to_string(), Duration::ZERO);
    assert_respected(&file, &format!("held by process {} for ", living.id()));
    make_lock(&file, (living.id() + 1).to_string(), Duration::ZERO);
    assert_merged(&file); // Windows rounds such an id down to a living process's

    fs::write(&file, "{\"a\":1}\n").unwrap();
    make_lock(&file, living.id().to_string(), Duration::from_secs(3600));
    assert_merged(&file); // the process is younger than the lock

    fs::write(&file, "{\"a\":1}\n").unwrap();
    make_lock(&file, format!("{}\r\n", child.id()), Duration::ZERO);
    assert_merged(&file);

    drop(living.stdin.take());
    living.wait().unwrap();
}

#[test]
fn a_lock_that_names_nobody_is_taken_over_after_two_seconds() {
    let folder = Folder::new();
    let file = state(&folder);
    make_lock(&file, "", Duration::ZERO);
    assert_respected(&file, "names nobody");
    assert_merged(&file);
    fs::write(&file, "{\"a\":1}\n").unwrap();
    make_lock(&file, "garbage", Duration::from_secs(3600));
    assert_merged(&file);
}

#[test]
fn a_folder_or_link_in_the_lock_s_place_is_respected() {
    let folder = Folder::new();
    let file = state(&folder);
    fs::create_dir(lock_of(&file)).unwrap();
    assert_respected(&file, "a folder");
    fs::remove_dir(lock_of(&file)).unwrap();
    let target = folder.file("elsewhere", "7");
    let _ = std::os::windows::fs::symlink_file(&target, lock_of(&file));
    if fs::symlink_metadata(lock_of(&file)).is_err() {
        return println!("no links here: wine, or an account that may not make them");
    }
    assert_respected(&file, "a symbolic link");
    assert_eq!(fs::read_to_string(&target).unwrap(), "7");
}

#[test]
fn a_lock_that_another_program_keeps_open_for_itself_is_respected() {
    let folder = Folder::new();
    let file = state(&folder);
    make_lock(&file, "garbage", Duration::from_secs(3600));
    let open = hold_open(&lock_of(&file), SHARE_NOTHING);
    assert_respected(&file, "another program has it open");
    drop(open);
    assert_merged(&file);
}

/// Python's `filelock` locks the first byte of a file of our lock's name; others lock the whole file.
#[test]
fn a_kernel_lock_of_another_tool_on_the_lock_is_respected() {
    for length in [1, u32::MAX] {
        let folder = Folder::new();
        let file = state(&folder);
        make_lock(&file, "garbage", Duration::from_secs(3600));
        let theirs = OpenOptions::new().read(true).write(true).open(lock_of(&file)).unwrap();
        // SAFETY: the handle is open, and the lock is taken before the call returns.
        let locked = unsafe {
            let mut overlapped = std::mem::zeroed();
            LockFileEx(theirs.as_raw_handle(), LOCKFILE_EXCLUSIVE_LOCK, 0, length, 0, &mut overlapped)
        };
        assert_ne!(locked, 0);
        assert_respected(&file, "alive: it has the kernel lock");
        drop(theirs);
        assert_merged(&file);
    }
}

#[test]
fn writers_that_start_together_lose_nothing() {
    const WRITERS: usize = 8;
    const WRITES: usize = 25;
    let folder = Folder::new();
    let file = folder.join("state.json");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let file = &file;
            scope.spawn(move || {
                for number in 0..WRITES {
                    let mut command = pipestate();
                    command.args(["write", "--no-fsync", "--lock-timeout", "120000"]).arg(file);
                    assert_written(&finish(start(command), format!("{{\"w{writer}\":{{\"{number}\":1}}}}")));
                }
            });
        }
    });
    let text = fs::read_to_string(&file).unwrap();
    let state: serde_json::Value = serde_json::from_str(&text).unwrap();
    for writer in 0..WRITERS {
        assert_eq!(state[format!("w{writer}")].as_object().map(|keys| keys.len()), Some(WRITES), "{text}");
    }
    assert_eq!(folder.names(), ["state.json"]);
}

#[test]
fn a_reader_of_the_state_keeps_the_old_document_and_hinders_no_write_for_long() {
    for share in [SHARE_ALL, SHARE_ALL_BUT_DELETE] {
        let folder = Folder::new();
        let file = state(&folder);
        let mut reader = hold_open(&file, share);
        let mut old = String::new();
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| assert_merged(&file));
            eventually("the writer is there", || folder.names().len() > 1 || writing.is_finished());
            std::thread::sleep(Duration::from_millis(300)); // so that it has to ask more than once
            reader.read_to_string(&mut old).unwrap();
            drop(reader);
            writing.join().unwrap();
        });
        assert_eq!(old, "{\"a\":1}\n");
        assert_eq!(folder.names(), ["state.json"]);
    }
}

#[test]
fn a_reader_that_never_lets_go_makes_the_write_fail_and_nothing_else() {
    let folder = Folder::new();
    let file = state(&folder);
    let reader = hold_open(&file, SHARE_ALL_BUT_DELETE);
    let started = Instant::now();
    let ran = write(&file, "{\"b\":2}");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot put the new content in place"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("used by another process") || ran.stderr.contains("haring violation"),
        "{}",
        ran.stderr
    );
    assert!(started.elapsed() > PATIENCE, "{:?}", started.elapsed());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\":1}\n");
    assert_eq!(folder.names(), ["state.json"]);
    drop(reader);
    assert_merged(&file);
}

#[test]
fn a_state_that_another_program_shares_with_nobody_is_waited_for() {
    let folder = Folder::new();
    let file = state(&folder);
    let theirs = hold_open(&file, SHARE_NOTHING);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| assert_merged(&file));
        eventually("the writer is there", || lock_of(&file).exists());
        drop(theirs);
        writing.join().unwrap();
    });
}

#[test]
#[ignore = "wine replaces read-only files; on Windows: --include-ignored"]
fn a_read_only_file_is_refused_and_stays() {
    let folder = Folder::new();
    let file = state(&folder);
    let writable = fs::metadata(&file).unwrap().permissions();
    let mut read_only = writable.clone();
    read_only.set_readonly(true);
    fs::set_permissions(&file, read_only).unwrap();
    let ran = write(&file, "{\"b\":2}");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("denied"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\":1}\n");
    assert_eq!(folder.names(), ["state.json"]);
    fs::set_permissions(&file, writable).unwrap();
}

#[test]
fn another_spelling_of_the_path_finds_the_same_lock() {
    let folder = Folder::new();
    let file = folder.file("a long name.state.json", "{\"a\":1}\n");
    let _holder = Holder::start(&file);
    let mut spellings = vec![folder.join("A LONG NAME.State.JSON"), folder.join("a long name.state.json. .")];
    let wide: Vec<u16> = file.as_os_str().encode_wide().chain([0]).collect();
    let mut short = [0u16; 1024];
    // SAFETY: the path ends in a zero, and the buffer has the length that is told.
    let length = unsafe { GetShortPathNameW(wide.as_ptr(), short.as_mut_ptr(), short.len() as u32) } as usize;
    spellings.push(std::ffi::OsString::from_wide(&short[..length]).into());
    for spelling in spellings {
        let arguments = ["write", "--no-fsync", "--lock-timeout", "0"].map(OsStr::new);
        let ran = run(arguments.into_iter().chain([spelling.as_os_str()]), "{\"b\":2}");
        assert_eq!(ran.code, Some(2), "{spelling:?}: {}", ran.stderr);
    }
    let locks = folder.names().into_iter().filter(|name| !name.starts_with(".pipestate-"));
    assert!(locks.eq(["a long name.state.json", "a long name.state.json.lock"]), "{:?}", folder.names());
}

#[test]
fn temporary_files_of_the_dead_are_swept_and_those_of_the_living_stay() {
    let folder = Folder::new();
    let file = state(&folder);
    folder.file(".pipestate-0123456789abcdef.tmp", "left behind");
    folder.file("other.tmp", "not ours");
    let living = folder.file(".pipestate-fedcba9876543210.tmp", "at work");
    let theirs = OpenOptions::new().read(true).write(true).open(&living).unwrap();
    assert_eq!(pipestate::disk::try_kernel_lock(&theirs).unwrap(), pipestate::disk::KernelLock::Taken);
    assert_merged(&file);
    assert_eq!(folder.names(), [".pipestate-fedcba9876543210.tmp", "other.tmp", "state.json"]);
}

#[test]
fn unlock_removes_a_dead_lock_and_leaves_a_living_one() {
    let folder = Folder::new();
    let file = state(&folder);
    let mut holder = Holder::start(&file);
    let alive = run([OsStr::new("unlock"), file.as_os_str()], "");
    assert_eq!(alive.code, Some(2), "{}", alive.stderr);
    assert!(alive.stderr.contains("alive: it has the kernel lock"), "{}", alive.stderr);
    holder.kill();
    let dead = run([OsStr::new("unlock"), file.as_os_str()], "");
    assert_eq!(dead.code, Some(0), "{}", dead.stderr);
    assert_eq!(folder.names(), ["state.json"]);
}

#[test]
fn a_held_lock_can_be_looked_at_while_it_is_removed() {
    let folder = Folder::new();
    let file = state(&folder);
    make_lock(&file, "4294967295", Duration::from_secs(3600));
    // Somebody who reads it, as Node does, while it is taken over and removed; the name is free at once.
    let mut reader = hold_open(&lock_of(&file), SHARE_ALL);
    assert_merged(&file);
    assert_eq!(folder.names().len(), 1 + usize::from(under_wine()), "{:?}", folder.names());
    reader.read_to_end(&mut Vec::new()).unwrap();
    drop(reader);
    assert_eq!(folder.names(), ["state.json"]);
    let mut writer = OpenOptions::new().write(true).create_new(true).open(lock_of(&file)).unwrap();
    writer.write_all(b"1").unwrap();
}

/// Whether this is wine as the tests know it (8.0), where a removed file keeps a name, though not its own, until it is
/// closed.
fn under_wine() -> bool {
    std::env::var_os("WINEPREFIX").is_some()
}
