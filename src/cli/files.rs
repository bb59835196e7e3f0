//! `pipestate files`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::output::Output;
use crate::agent::files::{self, File};
use crate::error::Error;

/// List the files that one phase has put out, relative to the worktree
#[derive(Args)]
#[command(help_template = super::HELP)]
#[command(before_help = "\
Examples:
  pipestate files agent-state.json --phase 4 --missing
  pipestate files agent-state.json --phase 4 -z |
      git --literal-pathspecs checkout BASE --pathspec-from-file=- --pathspec-file-nul      take phase 4 back, no other")]
pub struct Files {
    /// The state file
    file: PathBuf,
    /// The phase
    #[arg(long, value_name = "N")]
    phase: u32,
    /// Only files that are not there
    #[arg(long, conflicts_with = "existing")]
    missing: bool,
    /// Only files that are there
    #[arg(long)]
    existing: bool,
    /// End each with a NUL byte instead of a line feed, and quote none
    #[arg(short = 'z', conflicts_with = "json")]
    nul: bool,
    /// Print them as one JSON object
    #[arg(long)]
    pub json: bool,
}

impl Files {
    pub fn run(self, output: &mut Output) -> Result<u8, Error> {
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
