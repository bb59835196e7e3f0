//! `pipestate finalize`.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{Run, arguments};
use super::edit::{EditOptions, as_caller, tell};
use super::output::Output;
use crate::error::Error;
use crate::pipeline::transition;

arguments! {
    /// Mark a pipeline's run completed: it is running, and all its phases are done
    #[examples = "\
Examples:
  pipestate finalize pipeline-state.json     exit 0: completed, now or before; 1: not all phases are done, or it stopped"]
    pub struct Finalize {
        edit: EditOptions = group(EditOptions::ARGUMENTS),
        /// Print the result as one JSON object
        json: bool = flag("json"),
        /// The state file
        file: PathBuf = operand("FILE"),
    }
}

impl Run for Finalize {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let options = self.edit.read()?;
        let written = as_caller(program, "finalize", |caller| {
            transition::write_completed(&self.file, &options, caller)
        })?;
        tell(output, &self.file, &written, json!({ "status": "completed" }));
        Ok(0)
    }
}
