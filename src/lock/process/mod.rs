//! What can be known of processes: this one, and the one whose id stands in a lock.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(all(unix, not(target_os = "linux")), path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod platform;

use std::sync::OnceLock;
use std::time::Duration;

/// What tells this process from any other one that has, had or will have its id.
#[derive(Clone, Debug)]
pub struct Own {
    /// When it started, in the ticks of its system.
    pub start: Option<u64>,
    /// Which boot of the machine this is.
    pub boot: Option<String>,
    /// Host name.
    pub host: String,
    /// A hash of the machine's id.
    pub machine: Option<String>,
    /// The namespace in which its id counts.
    pub pid_namespace: Option<u64>,
}

/// This process.
pub fn own() -> &'static Own {
    static OWN: OnceLock<Own> = OnceLock::new();
    OWN.get_or_init(platform::own)
}

/// What stands behind a process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))] // only there zombies and threads can be told
pub enum State {
    /// No such process.
    Gone,
    /// A process that has ended and whose parent has not asked how.
    Zombie,
    /// A thread of a process of another id.
    Thread,
    /// A process, perhaps one that we may not signal.
    Running {
        /// For how long it has been running.
        age: Option<Duration>,
        /// When it started, in the ticks of its system.
        start: Option<u64>,
    },
}

/// Looks at the process `pid` of our own namespace. Sends no signal.
pub fn state(pid: u32) -> State {
    platform::state(pid)
}
