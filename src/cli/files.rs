//! `pipestate files`.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{Run, arguments};
use super::output::Output;
use crate::agent::files::{self, File};
use crate::error::Error;

arguments! {
    /// List the files that one phase has put out, relative to the worktree
    #[examples = "\
Examples:
  pipestate files agent-state.json --phase 4 --missing
  pipestate files agent-state.json --phase 4 -z |
      git --literal-pathspecs checkout BASE --pathspec-from-file=- --pathspec-file-nul      take phase 4 back, no other"]
    pub struct Files {
        /// The state file
        file: PathBuf = operand("FILE"),
        /// The phase
        phase: u32 = option("phase", "N"),
        /// Only files that are not there
        missing: bool = flag("missing").excludes("existing"),
        /// Only files that are there
        existing: bool = flag("existing"),
        /// End each with a NUL byte instead of a line feed, and quote none
        nul: bool = flag("").short('z').excludes("json"),
        /// Print them as one JSON object
        json: bool = flag("json"),
    }
}

impl Run for Files {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let there = match (self.missing, self.existing) {
            (true, _) => Some(false),
            (_, true) => Some(true),
            _ => None,
        };
        let files = files::of_phase(&self.file, self.phase, there)?;
        if self.json {
            output.result(json!({ "phase": self.phase, "files": files }), "")?;
            return Ok(0);
        }
        let print = |file: &File| if self.nul { file.as_pathspec() + "\0" } else { file.as_line() + "\n" };
        let text: String = files.iter().map(print).collect();
        output.bytes(&[text.as_bytes()])?;
        Ok(0)
    }
}
