//! The lock against the living, the dead and the strange, with the real program and real processes (contract L).

#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use pipestate::lock;
use pipestate::place::{Missing, Place};
use rustix::process::{Pid, Signal, kill_process};
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

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
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
fn a_living_holder_is_respected_and_named() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let holder = Holder::start(&file);
    assert_respected(&file, &format!("held by process {} (a test) for ", holder.0.id()));
}

#[test]
fn a_stopped_holder_is_alive_however_old_its_lock() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let holder = Holder::start(&file);
    holder.signal(Signal::STOP);
    let long_ago = FileTimes::new().set_modified(SystemTime::now() - LONG_AGO);
    File::options().write(true).open(lock_of(&file)).unwrap().set_times(long_ago).unwrap();
    assert_respected(&file, "alive: it has the kernel lock");
    holder.signal(Signal::CONT);
}

#[test]
fn a_killed_holder_releases_the_lock_to_one_who_waits() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let mut holder = Holder::start(&file);
    let mut command = pipestate();
    command.args(["write", "--no-fsync"]).arg(&file);
    let mut waiting = start(command);
    waiting.stdin.take().unwrap().write_all(b"{\"b\":2}").unwrap();
    // Long enough to be asleep; that it has not given up is seen below.
    std::thread::sleep(Duration::from_millis(200));
    // The parent does not wait for it: a zombie until the end of the test.
    holder.0.kill().unwrap();
    let killed = Instant::now();
    let ran = Ran::from(waiting.wait_with_output().unwrap());
    assert_written(&ran);
    assert!(killed.elapsed() < Duration::from_secs(1), "took {:?}", killed.elapsed());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\":1,\"b\":2}\n");
    assert_eq!(folder.names(), ["state.json"]);
}

#[test]
fn a_dead_foreign_holder_is_taken_over_at_once() {
    let folder = Folder::new();
    for content in [dead_pid().to_string(), format!("{}\r\n", dead_pid()), "2147483647".into()] {
        assert_taken_over(&locked(&folder, content, Duration::ZERO), Duration::from_secs(1));
    }
}

/// A tool that reclaims carelessly replaces a dead holder's lock by its own at every moment of a take-over (L11). Whatever
/// the taker makes of it, it writes nothing into the lock of the living.
#[cfg(target_os = "linux")]
#[test]
fn a_take_over_never_writes_into_the_lock_that_a_careless_tool_has_made_meanwhile() {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: strace is not here");
        return;
    }
    let living = Sleeper::new();
    let lines = living.pid().to_string();
    let mut stops = 0;
    for call in ["openat", "newfstatat", "fstat", "flock", "pread64"] {
        for position in 1.. {
            let folder = Folder::new();
            let file = locked(&folder, dead_pid().to_string(), LONG_AGO);
            let trace = folder.join("trace");
            let mut command = Command::new("strace");
            let inject = format!("inject={call}:signal=SIGSTOP:when={position}");
            command.env_remove("LD_LIBRARY_PATH"); // each folder in it is calls of the loader
            command.args(["-D", "-e", &format!("trace={call}"), "-e", &inject, "-o"]).arg(&trace);
            command.arg(env!("CARGO_BIN_EXE_pipestate")).args([
                "write",
                "--no-fsync",
                "--lock-timeout",
                "100",
            ]);
            let mut child = start({
                command.arg(&file);
                command
            });
            child.stdin.take().unwrap().write_all(b"{\"b\":2}").unwrap();
            let traced = || fs::read_to_string(&trace).unwrap_or_default();
            eventually("the program stops or ends", || {
                traced().contains("stopped by SIGSTOP") || child.try_wait().unwrap().is_some()
            });
            if child.try_wait().unwrap().is_some() {
                break;
            }
            stops += 1;
            let _ = fs::remove_file(lock_of(&file));
            fs::write(lock_of(&file), &lines).unwrap();
            let mut lock = File::open(lock_of(&file)).unwrap();
            kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
            child.wait().unwrap();
            let mut text = String::new();
            lock.read_to_string(&mut text).unwrap();
            assert_eq!(text, lines, "stopped at {call} {position}");
        }
    }
    assert!(stops > 20, "{stops} stops");
}

#[test]
fn a_zombie_is_dead() {
    let folder = Folder::new();
    let mut child = Command::new("true").spawn().unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    eventually("the child is a zombie", || state().contains(") Z "));
    assert_taken_over(&locked(&folder, child.id().to_string(), Duration::ZERO), Duration::from_secs(1));
    child.wait().unwrap();
}

#[test]
fn a_living_foreign_holder_is_respected() {
    let folder = Folder::new();
    let sleeper = Sleeper::new();
    let file = locked(&folder, sleeper.pid().to_string(), Duration::ZERO);
    assert_respected(&file, &format!("held by process {}", sleeper.pid()));
}

#[test]
fn a_process_id_that_was_given_to_another_process_is_no_holder() {
    let folder = Folder::new();
    let sleeper = Sleeper::new();
    assert_taken_over(&locked(&folder, sleeper.pid().to_string(), LONG_AGO), Duration::from_secs(1));
}

#[test]
fn process_1_is_alive_though_we_may_not_be_allowed_to_signal_it() {
    let folder = Folder::new();
    assert_respected(&locked(&folder, "1", Duration::ZERO), "held by process 1");
}

#[test]
fn a_lock_that_names_nobody_is_taken_over_when_it_is_old() {
    let folder = Folder::new();
    let megabyte = "7".repeat(1 << 20);
    for content in ["", "0", "-1", "4294967296", "12345678901234567890", "123abc", "{}", "\0\0\0", &megabyte]
    {
        assert_taken_over(&locked(&folder, content, Duration::from_secs(5)), Duration::from_secs(1));
    }
}

#[test]
fn a_lock_that_names_nobody_is_left_alone_while_it_is_young_and_watched_for_two_seconds() {
    let folder = Folder::new();
    assert_respected(&locked(&folder, "", Duration::ZERO), "which names nobody");
    // A time in the future says nothing; two seconds of watching do.
    let file = folder.file("state.json", "{\"a\":1}\n");
    fs::write(lock_of(&file), "").unwrap();
    let future = FileTimes::new().set_modified(SystemTime::now() + LONG_AGO);
    File::options().write(true).open(lock_of(&file)).unwrap().set_times(future).unwrap();
    let started = Instant::now();
    assert_taken_over(&file, Duration::from_secs(3));
    assert!(started.elapsed() > Duration::from_secs(2));
}

#[test]
fn what_is_no_file_is_a_holder_and_never_touched() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let lock = lock_of(&file);

    fs::create_dir(&lock).unwrap();
    assert_respected(&file, "is a folder and is never removed");
    fs::remove_dir(&lock).unwrap();

    let victim = folder.file("victim", dead_pid().to_string());
    std::os::unix::fs::symlink(&victim, &lock).unwrap();
    assert_respected(&file, "is a symbolic link and is never removed");
    assert!(fs::symlink_metadata(&lock).unwrap().is_symlink());
    fs::remove_file(&lock).unwrap();

    assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success());
    assert_respected(&file, "is a pipe, socket or device and is never removed");
}

#[test]
fn a_shell_that_holds_the_kernel_lock_is_respected() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let mut command = Command::new("flock");
    command.arg(lock_of(&file)).args(["sh", "-c", "echo held; cat"]);
    let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "held\n");
    let old = FileTimes::new().set_modified(SystemTime::now() - LONG_AGO);
    File::options().write(true).open(lock_of(&file)).unwrap().set_times(old).unwrap();
    assert_respected(&file, "alive: it has the kernel lock");
    drop(shell.stdin.take());
    shell.wait().unwrap();
    assert_taken_over(&file, Duration::from_secs(1));
}

#[test]
fn a_waiter_goes_on_within_milliseconds_of_a_release() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let place = Arc::new(Place::find(&file, Missing::Fail).unwrap());
    let mut quickest = Duration::MAX;
    for _ in 0..10 {
        let lock = lock::acquire(&place, "a test", Duration::ZERO, &|| None).unwrap();
        let waiter = std::thread::spawn({
            let place = place.clone();
            move || {
                let lock = lock::acquire(&place, "a waiter", Duration::from_secs(10), &|| None).unwrap();
                let at = Instant::now();
                lock.release().unwrap();
                at
            }
        });
        std::thread::sleep(Duration::from_millis(50));
        lock.release().unwrap();
        let released = Instant::now();
        quickest = quickest.min(waiter.join().unwrap().saturating_duration_since(released));
    }
    assert!(quickest < Duration::from_millis(2), "the quickest of ten took {quickest:?}");
}

#[test]
fn the_lock_is_readable_by_all_and_begins_with_the_process_id() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let holder = Holder::start(&file);
    let lock = lock_of(&file);
    assert_eq!(fs::metadata(&lock).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(fs::read_to_string(lock).unwrap().lines().next().unwrap(), holder.0.id().to_string());
}

#[test]
fn a_lock_of_another_host_is_left_to_force() {
    let folder = Folder::new();
    let record = r#"{"pipestate":1,"start":1,"boot":"b","host":"elsewhere","machine":null,"pidns":1,"time":"2026-01-01T00:00:00.000Z","program":"pipestate write","sequence":0}"#;
    let file = locked(&folder, format!("4711\n{record}\n"), LONG_AGO);
    assert_respected(&file, "on host elsewhere, whose processes cannot be seen from here");
    let unlock = |arguments: &[&str]| {
        run(["unlock"].iter().chain(arguments).map(OsStr::new).chain([file.as_os_str()]), "")
    };
    assert_eq!(unlock(&[]).code, Some(2));
    assert!(lock_of(&file).exists());
    assert_eq!(unlock(&["--force"]).code, Some(0));
    assert_eq!(folder.names(), ["state.json"]);
}

#[test]
fn a_dead_pipestate_of_this_boot_is_taken_over_whatever_its_process_id_names_now() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let holder = Holder::start(&file);
    let lines = fs::read_to_string(lock_of(&file)).unwrap();
    drop(holder);
    let record = lines.lines().nth(1).unwrap();
    make_lock(&file, format!("{}\n{record}\n", std::process::id()), Duration::ZERO);
    assert_taken_over(&file, Duration::from_secs(1));
}

#[test]
fn unlock_says_who_holds_and_removes_only_the_dead() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let unlock = || run([OsStr::new("unlock"), file.as_os_str()], "");
    let shown = file.display();
    let line = |line: String| Ran { code: Some(0), stdout: line + "\n", stderr: String::new() };
    assert_eq!(unlock(), line(format!("{shown}: not locked")));

    let pid = dead_pid();
    make_lock(&file, pid.to_string(), Duration::from_millis(1_040));
    let removed = unlock();
    assert!(removed.stdout.starts_with(&format!("{shown}: held by process {pid} for 1.")), "{removed:?}");
    assert!(removed.stdout.ends_with(&format!(" s, dead: there is no process {pid}; the lock is removed\n")));
    assert!(!lock_of(&file).exists());

    let holder = Holder::start(&file);
    let refused = unlock();
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains(&format!("held by process {} (a test)", holder.0.id())), "{refused:?}");
    assert!(lock_of(&file).exists());
}

#[test]
fn signals_end_a_wait_with_128_and_their_number_and_leave_nothing() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let folder = Folder::new();
        let file = folder.file("state.json", "{\"a\":1}\n");
        let holder = Holder::start(&file);
        let mut command = pipestate();
        command.args(["write", "--no-fsync"]).arg(&file);
        let mut waiting = start(command);
        waiting.stdin.take().unwrap().write_all(b"{\"b\":2}").unwrap();
        std::thread::sleep(Duration::from_millis(100));
        kill_process(Pid::from_child(&waiting), signal).unwrap();
        let sent = Instant::now();
        let ran = Ran::from(waiting.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(sent.elapsed() < Duration::from_millis(500));
        drop(holder);
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\":1}\n");
        assert_written(&write(&file, "{\"b\":2}"));
        assert_eq!(folder.names(), ["state.json"]);
    }
}

#[test]
fn a_silent_stdin_does_not_hold_the_lock_and_ends_by_a_signal() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let mut command = pipestate();
    command.arg("write").arg(&file);
    let silent = start(command);
    assert_written(&write(&file, "{\"b\":2}"));
    assert!(!lock_of(&file).exists());
    kill_process(Pid::from_child(&silent), Signal::TERM).unwrap();
    assert_eq!(Ran::from(silent.wait_with_output().unwrap()).code, Some(143));
}

/// Without nameless files the lock is a private file with a second name. A writer that was killed before it had removed
/// the first left both; its successor had the kernel lock of both, took the private file for a living writer's and
/// left it to somebody later.
#[test]
fn a_dead_holders_lock_that_has_its_private_name_still_is_swept_by_the_one_who_takes_over() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let private = folder.file(".pipestate-0123456789abcdef.tmp", dead_pid().to_string());
    fs::hard_link(&private, lock_of(&file)).unwrap();
    assert_taken_over(&file, Duration::from_secs(1));
    assert_eq!(folder.names(), ["state.json"]);
}

/// The program as another user or elsewhere: a command in front of it, `None` where this is not allowed to us.
fn pipestate_through(prefix: &[&str], program: &Path) -> Option<Command> {
    let through = |program: &Path| {
        let mut command = Command::new(prefix[0]);
        command.args(&prefix[1..]).arg(program);
        command
    };
    let allowed =
        through(Path::new("true")).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !allowed {
        println!("left out: {} is not allowed here", prefix[0]);
    }
    allowed.then(|| through(program))
}

#[test]
fn process_1_of_a_namespace_does_not_wait_for_itself_for_ever() {
    // openclaw #74346: in a container the lock of the last one named 1, and so did everybody.
    let namespace = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let program = Path::new(env!("CARGO_BIN_EXE_pipestate"));
    let folder = Folder::new();
    for (age, code) in [(Duration::ZERO, 2), (LONG_AGO, 0)] {
        let Some(mut command) = pipestate_through(&namespace, program) else { return };
        let file = locked(&folder, "1", age);
        command.args(["write", "--no-fsync", "--lock-timeout", "300"]).arg(&file);
        let started = Instant::now();
        let ran = finish(start(command), "{\"b\":2}");
        assert_eq!(ran.code, Some(code), "a lock made {age:?} ago: {ran:?}");
        assert!(started.elapsed() < Duration::from_secs(1), "took {:?}", started.elapsed());
        // Younger than this process, the lock may be that of another process 1; older, it is that of a past one.
        assert_eq!(lock_of(&file).exists(), code == 2);
    }
}

#[test]
fn the_lock_of_another_user_is_respected_and_taken_away_only_from_the_dead() {
    // uutils/shadow #28: nobody may signal root's process, which does not make it dead.
    let folder = Folder::new();
    let program = folder.join("pipestate");
    fs::copy(env!("CARGO_BIN_EXE_pipestate"), &program).unwrap(); // where nobody may run it
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let state = folder.join("state");
    fs::create_dir(&state).unwrap();
    let write_as_nobody = |file: &Path| {
        let mut command = pipestate_through(&nobody, &program)?;
        command.args(["write", "--no-fsync", "--lock-timeout", "300"]).arg(file);
        Some(finish(start(command), "{\"b\":2}"))
    };
    let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(folder.path(), 0o755);
    let file = state.join("state.json");
    let sleeper = Sleeper::new();
    let dead = dead_pid();
    for (mode, pid, code, why) in [
        (0o777, sleeper.pid(), 2, format!("held by process {}", sleeper.pid())),
        (0o777, dead, 0, String::new()),
        (0o1777, dead, 2, "belongs to user 0 and we may not remove it".to_owned()),
    ] {
        set_mode(&state, mode);
        fs::write(&file, "{\"a\":1}\n").unwrap();
        set_mode(&file, 0o666);
        make_lock(&file, pid.to_string(), Duration::ZERO);
        let Some(ran) = write_as_nobody(&file) else { return };
        // In a sticky folder the file itself could not be replaced either.
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains(&why), "{ran:?}");
        let lines = fs::read_to_string(lock_of(&file)).unwrap_or_default();
        assert_eq!(lines, if code == 0 { String::new() } else { pid.to_string() });
    }
}

#[test]
fn a_window_longer_than_the_holder_succeeds_and_a_shorter_one_ends_in_time() {
    // agi-cli #444: a fixed number of short tries gave up while the holder was still at work.
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let place = Arc::new(Place::find(&file, Missing::Fail).unwrap());
    let lock = lock::acquire(&place, "a test", Duration::ZERO, &|| None).unwrap();
    let started = Instant::now();
    let patient: Vec<Child> = (0..100)
        .map(|number| {
            let mut command = pipestate();
            command.args(["write", "--no-fsync", "--lock-timeout", "60000"]).arg(&file);
            let mut child = start(command);
            child.stdin.take().unwrap().write_all(format!("{{\"w{number}\":1}}").as_bytes()).unwrap();
            child
        })
        .collect();
    let (impatient, took) = write_within(&file, 1000);
    assert_eq!(impatient.code, Some(2), "{impatient:?}");
    assert!(took > Duration::from_secs(1) && took < Duration::from_millis(1300), "took {took:?}");
    std::thread::sleep(Duration::from_secs(3).saturating_sub(started.elapsed()));
    lock.release().unwrap();
    for child in patient {
        assert_written(&child.wait_with_output().unwrap().into());
    }
    let state: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(state.as_object().unwrap().len(), 101);
    assert_eq!(folder.names(), ["state.json"]);
}
