//! `pipestate handoff`.

use std::path::PathBuf;

use chrono::Utc;
use clap::{Args, Subcommand};
use serde_json::json;

use super::edit::{EditOptions, as_caller};
use super::output::Output;
use crate::agent::handoff::{self, Handoff, Latest};
use crate::error::Error;

/// Write what one phase hands over to the next into the log, and read the latest of these back
#[derive(Args)]
#[command(help_template = super::HELP)]
#[command(before_help = "\
Examples:
  pipestate handoff append agent-state.json --phase 3 --name dev --done 'build green' --done '12 tests added' \\
      --remaining review --remaining report --next 'Phase 4 review, subStep start'
  pipestate handoff latest agent-log.md")]
pub struct HandoffCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Append(Append),
    Latest(LatestArguments),
}

/// Append a block of at most 15 lines, whole or not at all
#[derive(Args)]
#[command(help_template = super::HELP)]
struct Append {
    /// The state file, beside which the log lies, or the log itself
    file: PathBuf,
    /// The phase that has ended
    #[arg(long, value_name = "N")]
    phase: u32,
    /// Its name
    #[arg(long)]
    name: String,
    /// What is done; once for each
    #[arg(long, value_name = "TEXT")]
    done: Vec<String>,
    /// What is left, in its order
    #[arg(long, value_name = "TEXT")]
    remaining: Vec<String>,
    /// What later phases depend on
    #[arg(long = "decision", value_name = "TEXT")]
    decisions: Vec<String>,
    /// A finding that is accepted and not resolved
    #[arg(long = "open", value_name = "TEXT")]
    open_findings: Vec<String>,
    /// Where to go on: the next phase, its name and its sub-step
    #[arg(long, value_name = "TEXT", required = true)]
    next: Vec<String>,
    #[command(flatten)]
    edit: EditOptions,
    /// Print the block as one JSON object
    #[arg(long)]
    json: bool,
}

/// Print the latest block; of an older log without one the last section, named as such; exit 1 when there is neither
#[derive(Args)]
#[command(help_template = super::HELP)]
struct LatestArguments {
    /// The log, or the state file that it lies beside
    file: PathBuf,
    /// Print it as data, in one JSON object
    #[arg(long)]
    json: bool,
}

impl HandoffCommand {
    pub fn json(&self) -> bool {
        match &self.command {
            Command::Append(append) => append.json,
            Command::Latest(latest) => latest.json,
        }
    }

    pub fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        match self.command {
            Command::Append(append) => append.run(program, output),
            Command::Latest(latest) => latest.run(output),
        }
    }
}

impl Append {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let options = self.edit.read()?;
        let log = handoff::log_of(&self.file)?;
        let handoff = Handoff {
            phase: self.phase,
            name: self.name,
            done: self.done,
            remaining: self.remaining,
            decisions: self.decisions,
            open_findings: self.open_findings,
            next: self.next,
        };
        let block = as_caller(program, "handoff", |caller| {
            handoff::append(&log, &handoff, Utc::now(), &options, caller)
        })?;
        output.done(json!({ "path": log.to_string_lossy(), "text": block, "lines": block.lines().count() }));
        Ok(0)
    }
}

impl LatestArguments {
    fn run(self, output: &mut Output) -> Result<u8, Error> {
        let log = handoff::log_of(&self.file)?;
        let Some(latest) = handoff::latest(&log)? else {
            let pointer = String::new();
            let reason = "there is no handoff in it, and no section".to_owned();
            return Err(Error::Refused { path: log, pointer, reason });
        };
        if self.json {
            let mut object = serde_json::to_value(&latest).expect("a handoff is JSON");
            object["path"] = log.to_string_lossy().into();
            output.result(object, "")?;
            return Ok(0);
        }
        match &latest {
            Latest::Handoff { text, .. } => output.bytes(&[text.as_bytes()])?,
            Latest::Section { text, line, .. } => {
                let note = format!("no handoff; the last section, from line {line}:\n");
                output.bytes(&[note.as_bytes(), text.as_bytes()])?;
            }
        }
        Ok(0)
    }
}
