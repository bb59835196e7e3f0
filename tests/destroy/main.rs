//! Kill, clear-logs and purge on real repositories (contract T2, T3): what they show, what they remove, and that nothing else
//! changes, whatever a state says and wherever a run is killed.
//!
//! `PIPESTATE_FAULTS=all` kills at every call instead of a sample.

#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod confirming;
mod crash;
mod ground;
mod hostile;
mod kill;
mod logs;
mod purge;
#[path = "../support/mod.rs"]
mod support;
