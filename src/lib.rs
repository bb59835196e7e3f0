//! pipestate.
pub mod document;
pub mod error;
