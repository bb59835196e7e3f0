//! `pipestate handoff`.

use std::path::PathBuf;

use chrono::Utc;
use serde_json::json;

use super::arguments::{Command, Run, arguments};
use super::edit::{EditOptions, as_caller};
use super::output::Output;
use crate::agent::handoff::{self, Handoff, Latest};
use crate::error::Error;

/// The commands about handoffs.
pub static COMMAND: Command = Command::group(
    "handoff",
    "Write what one phase hands over to the next into the log, and read the latest of these back",
    "\
Examples:
  pipestate handoff append agent-state.json --phase 3 --name dev --done 'build green' --done '12 tests added' \\
      --remaining review --remaining report --next 'Phase 4 review, subStep start'
  pipestate handoff latest agent-log.md",
    &[&Command::new::<Append>("append"), &Command::new::<LatestArguments>("latest")],
);

arguments! {
    /// Append a block of at most 15 lines, whole or not at all
    struct Append {
        /// The state file, beside which the log lies, or the log itself
        file: PathBuf = operand("FILE"),
        /// The phase that has ended
        phase: u32 = option("phase", "N"),
        /// Its name
        name: String = option("name", "NAME"),
        /// What is done; once for each
        done: Vec<String> = option("done", "TEXT"),
        /// What is left, in its order
        remaining: Vec<String> = option("remaining", "TEXT"),
        /// What later phases depend on
        decisions: Vec<String> = option("decision", "TEXT"),
        /// A finding that is accepted and not resolved
        open_findings: Vec<String> = option("open", "TEXT"),
        /// Where to go on: the next phase, its name and its sub-step
        next: Vec<String> = option("next", "TEXT").required(),
        edit: EditOptions = group(EditOptions::ARGUMENTS),
        /// Print the block as one JSON object
        json: bool = flag("json"),
    }
}

arguments! {
    /// Print the latest block; of an older log without one the last section, named as such; exit 1 when there is neither
    struct LatestArguments {
        /// The log, or the state file that it lies beside
        file: PathBuf = operand("FILE"),
        /// Print it as data, in one JSON object
        json: bool = flag("json"),
    }
}

impl Run for Append {
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

impl Run for LatestArguments {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
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
