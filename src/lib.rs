//! pipestate.
pub mod document;
pub mod error;
pub mod layout;
pub mod merge;
