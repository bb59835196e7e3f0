//! Other programs, git and hooks: given arguments and never a shell line, with nothing on stdin, their output kept apart
//! from ours, and ended when they take too long.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// As much of each stream is kept; the rest is read and dropped, so that nobody blocks on a full pipe.
pub const MOST_OUTPUT: usize = 1 << 20;
/// How long the streams of a program that has ended are waited for: something that it left running may hold them open.
const STREAMS_GRACE: Duration = Duration::from_millis(500);

/// How a program ended by itself.
#[derive(Debug)]
pub struct Finished {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// The beginning of what it printed.
    pub stdout: Vec<u8>,
    /// The beginning of what it complained of.
    pub stderr: Vec<u8>,
}

/// Why a program did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It could not be started, or the system lost it.
    #[error("cannot run it: {0}")]
    System(io::Error),
    /// It was ended because it took too long.
    #[error("not done after {} s, and ended", .0.as_secs())]
    TooLong(Duration),
    /// It was ended because we are to end.
    #[error("ended, because we were told to")]
    Interrupted,
}

/// Runs a program to its end, for at most `limit`; then it is killed with all that it started in its process group.
/// `interrupted` is asked meanwhile and ends it too.
pub fn run(
    command: &mut Command,
    limit: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Finished, Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    in_own_group(command);
    let mut child = command.spawn().map_err(Failure::System)?;
    let stdout = Stream::collect(child.stdout.take());
    let stderr = Stream::collect(child.stderr.take());
    let status = wait(&mut child, limit, interrupted)?;
    let ended = Instant::now();
    Ok(Finished { status, stdout: stdout.finish(ended), stderr: stderr.finish(ended) })
}

fn wait(child: &mut Child, limit: Duration, interrupted: &dyn Fn() -> bool) -> Result<ExitStatus, Failure> {
    let started = Instant::now();
    let mut nap = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait().map_err(Failure::System)? {
            return Ok(status);
        }
        let reason = if interrupted() {
            Some(Failure::Interrupted)
        } else {
            (started.elapsed() >= limit).then_some(Failure::TooLong(limit))
        };
        if let Some(reason) = reason {
            kill_group(child);
            let _ = child.wait(); // it is dead, and must not stay a zombie
            return Err(reason);
        }
        thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(20));
    }
}

#[cfg(unix)]
fn in_own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn in_own_group(_command: &mut Command) {}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // It has not been waited for, so its id is still its own.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL); // gone already
}

#[cfg(not(unix))]
fn kill_group(child: &mut Child) {
    let _ = child.kill(); // gone already
}

/// One stream of a program, as far as it has been read.
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Stream {
    fn collect(stream: Option<impl Read + Send + 'static>) -> Stream {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let Some(mut stream) = stream else { return };
            let mut buffer = [0; 8192];
            loop {
                let read = match stream.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return, // as if it had ended: its exit code tells more
                };
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MOST_OUTPUT - kept.len();
                kept.extend_from_slice(&buffer[..read.min(room)]);
            }
        });
        Stream { bytes, reader }
    }

    fn finish(self, ended: Instant) -> Vec<u8> {
        while !self.reader.is_finished() && ended.elapsed() < STREAMS_GRACE {
            thread::sleep(Duration::from_millis(1));
        }
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Finished, Failure> {
        run(Command::new("sh").args(["-c", script]), limit, &|| false)
    }

    #[test]
    fn streams_are_kept_apart_and_cut_without_blocking_the_program() {
        let finished =
            shell("echo out; echo err >&2; head -c 3000000 /dev/zero; exit 3", Duration::from_secs(60))
                .unwrap();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!((&finished.stdout[..4], finished.stdout.len()), (&b"out\n"[..], MOST_OUTPUT));
        assert_eq!(finished.stderr, b"err\n");
    }

    #[test]
    fn a_program_that_takes_too_long_is_killed_with_its_children() {
        let started = Instant::now();
        let failure = shell("sleep 1000 & sleep 1000", Duration::from_millis(50)).unwrap_err();
        assert_eq!(failure.to_string(), "not done after 0 s, and ended");
        assert!(started.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn what_a_program_leaves_running_holds_nobody_up() {
        let started = Instant::now();
        let finished = shell("echo done; sleep 100 &", Duration::from_secs(60)).unwrap();
        assert_eq!(finished.stdout, b"done\n");
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
