//! `pipestate halt`.

use std::path::PathBuf;

use chrono::Utc;
use serde_json::json;

use super::arguments::{Run, arguments};
use super::edit::{EditOptions, as_caller, with_write};
use super::output::Output;
use crate::agent::halt::{self, Cause, Halted};
use crate::agent::hooks::Hooks;
use crate::agent::state;
use crate::error::Error;

arguments! {
    /// Pause a run that cannot go on, say so on stderr, and run the hooks
    #[examples = "\
Examples:
  pipestate halt agent-state.json --phase 4 --cause 'no subagent returned'
  PIPESTATE_HOOKS=/etc/hooks.json pipestate halt agent-state.json --phase 4 --cause 'lock irrecoverable'
      where the file holds argument vectors: [[\"phase-tracker.sh\", \"meta\", \"halt\", \"{cause}\"]]"]
    pub struct Halt {
        /// The state file
        file: PathBuf = operand("FILE"),
        /// The phase that cannot go on
        phase: u32 = option("phase", "N"),
        /// Why
        cause: String = option("cause", "TEXT"),
        edit: EditOptions = group(EditOptions::ARGUMENTS),
        /// Print how it went as one JSON object
        json: bool = flag("json"),
    }
}

impl Run for Halt {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let cause = Cause { phase: self.phase, text: self.cause };
        let options = self.edit.read().inspect_err(|_| {
            // Wrong usage must not silence a halt.
            let id = state::id_by_folder(&self.file).unwrap_or_else(|| "?".into());
            output.alert(&halt::line(&cause, &id));
        })?;
        let halted = as_caller(program, "halt", |caller| {
            let mut tell = |line: &str| output.alert(line);
            Ok(halt::halt(
                &self.file,
                &cause,
                Utc::now(),
                &Hooks::from_environment(),
                &options,
                caller,
                &mut tell,
            ))
        })?;
        Ok(tell(output, &halted, None))
    }
}

/// Tells how a halt went, beside the alert that has been told: what did not work on stderr, and with `--json` all of it.
/// Without a failed write the exit code is 0, or `refused`, of what could not go on.
pub fn tell(output: &mut Output, halted: &Halted, refused: Option<&Error>) -> u8 {
    for warning in &halted.warnings {
        output.warning(warning);
    }
    let more = json!({ "line": halted.line, "hooks": halted.hooks });
    match (&halted.written, refused) {
        (Ok(written), None) => {
            output.done(with_write(written, more));
            0
        }
        (Err(error), _) => output.failure_with(error, more),
        (Ok(_), Some(error)) => output.failure_with(error, more),
    }
}
