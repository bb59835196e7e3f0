//! Sleeping until a state file changes, for those that look on.
//!
//! What is watched is the folder, because every write puts a new file in the old one's place (A2), which the old file's
//! watch would never tell. A wake-up is a hint: whoever wakes reads the file again, and may find it as it was.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "other.rs")]
mod platform;

pub use platform::FileWatch;

/// What ended a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The file may have changed, appeared or gone.
    Changed,
    /// The folder has gone, or goes by another name: it has to be found again.
    FolderGone,
    /// The time is over.
    TimeOut,
}
