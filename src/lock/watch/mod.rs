//! Sleeping until a lock file changes.
//!
//! A watch is a hint, never a proof: whoever wakes looks at the lock again, and nobody sleeps without a time limit. So
//! a missed event, a platform without events and a system that has no watches left cost time and nothing else.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "other.rs")]
mod platform;

pub use platform::{Watch, WatchId};
