//! What the tests of the program share: a folder of their own and runs of the real program in it.

#![allow(dead_code, clippy::disallowed_methods)] // every test file uses its part; a test lays out its own folder

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder that goes with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    /// The same in memory, where that can be, so that syncs cost nothing.
    pub fn in_memory() -> Folder {
        tempfile::tempdir_in("/dev/shm").map_or_else(|_| Folder::new(), Folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file in it with this content.
    pub fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// The names in it, sorted, for comparing what is left behind.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// The real program.
pub fn pipestate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pipestate"));
    command.env_remove("PIPESTATE_LOCK_TIMEOUT_MS").env_remove("CLAUDE_PLUGIN_ROOT");
    command
}

/// The lock beside a state file.
pub fn lock_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the program with these arguments and this stdin, to its end.
pub fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>, stdin: impl AsRef<[u8]>) -> Ran {
    let mut command = pipestate();
    command.args(arguments);
    finish(start(command), stdin)
}

/// Starts a command with pipes for all three streams.
pub fn start(mut command: Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Hands a started program its stdin and waits for its end.
pub fn finish(mut child: Child, stdin: impl AsRef<[u8]>) -> Ran {
    // A program that has ended without reading closes the pipe, which is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_ref());
    child.wait_with_output().unwrap().into()
}

/// `pipestate write` with a patch.
pub fn write(file: &Path, patch: &str) -> Ran {
    run([OsStr::new("write"), OsStr::new("--no-fsync"), file.as_os_str()], patch)
}

/// Asserts that a write succeeded and said nothing.
#[track_caller]
pub fn assert_written(ran: &Ran) {
    assert_eq!(*ran, Ran { code: Some(0), stdout: String::new(), stderr: String::new() });
}

/// Waits until something is so, for as long as a loaded machine may need.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "not in a minute: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The process id of a process that has ended and been waited for.
pub fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

/// A process that lives until it is dropped.
pub struct Sleeper(pub Child);

impl Sleeper {
    pub fn new() -> Sleeper {
        Sleeper(Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap())
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
