//! pipestate.
pub mod error;
