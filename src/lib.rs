//! pipestate: crash-safe, locked, lossless edits of the JSON state file of a multi-agent pipeline.
//!
//! The way of a write, each step a module:
//!
//! 1. [`merge::Patch::parse`] — the patch, before the lock is taken, so that bad input never waits.
//! 2. [`place`] — the folder and name that the path finally leads to.
//! 3. [`lock`] — the lock beside it, against pipestates and strangers alike.
//! 4. [`document`] — the state as text with spans, read under the lock.
//! 5. [`merge`] — the patch as splices of that text; no other byte changes.
//! 6. [`atomic`] — the new text in place of the old, in one step.
//!
//! [`update`] is that list as code, and [`cli`] its door for people and shells. [`validate`] only reads: is a state safe
//! to resume? Every failure is one [`error::Error`]. The system is met in [`disk`] alone.

pub mod agent;
pub mod atomic;
pub mod child;
pub mod cli;
pub mod disk;
pub mod document;
pub mod engine;
pub mod error;
pub mod inside;
pub mod kind;
pub mod layout;
pub mod lock;
pub mod log;
pub mod merge;
#[cfg(feature = "node")]
mod node;
pub mod phases;
pub mod pipeline;
pub mod place;
pub mod recovery;
pub mod runs;
pub mod status;
pub mod task;
pub mod text;
pub mod time;
pub mod update;
pub mod validate;
pub mod watch;
