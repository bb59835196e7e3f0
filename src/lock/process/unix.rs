//! Unix without /proc: only whether a process of that id exists. Not knowing its start, nobody is taken for dead
//! whose id has been given to another process.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::{Own, State};

pub fn own() -> Own {
    let host = String::from_utf8_lossy(rustix::system::uname().nodename().to_bytes()).into_owned();
    Own { start: None, boot: None, host, machine: None, pid_namespace: None }
}

pub fn state(pid: u32) -> State {
    let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return State::Gone };
    match test_kill_process(id) {
        Err(Errno::SRCH) => State::Gone,
        _ => State::Running { age: None, start: None },
    }
}
