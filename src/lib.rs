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
//! Above that, what the two kinds of runs need: [`pipeline`] and [`agent`], each deciding under the lock what is written, and
//! [`task`], which numbers agents' runs. [`log`] is what is appended to instead of replaced, [`child`] what runs git and
//! hooks, [`inside`] what keeps paths below their root, [`destroy`] what removes tasks, logs and worktrees, asked twice.
//!
//! The way of a decision about a run, each step a module:
//!
//! 1. [`runs`] — the state files below all scope roots ([`pipeline::tiers`]), read, and what lies around them.
//! 2. [`recovery`] — what to do about each, from its status, its times ([`time`]) and its phases ([`phases`]).
//! 3. [`status`] — the same for people, with a line for each phase; [`watch`] wakes them when it changes.
//!
//! [`update`] is the first list as code, and [`cli`] its door for people and shells. [`validate`] only reads: is a state safe
//! to resume? Every failure is one [`error::Error`]. The system is met in [`disk`] alone.

pub mod agent;
pub mod atomic;
pub mod child;
pub mod cli;
pub mod destroy;
pub mod disk;
pub mod doctor;
pub mod document;
pub mod engine;
pub mod error;
pub mod guard;
pub mod inside;
pub mod install;
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
pub mod report;
pub mod runs;
pub mod sort;
pub mod status;
pub mod task;
pub mod text;
pub mod time;
pub mod update;
pub mod validate;
pub mod watch;
