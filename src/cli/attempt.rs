//! `pipestate attempt`.

use std::path::PathBuf;

use chrono::Utc;
use serde_json::json;

use super::arguments::{Run, arguments};
use super::edit::{EditOptions, as_caller, tell, warn, with_write};
use super::halt;
use super::output::Output;
use crate::agent::attempt::{self, Answer, MOST_ATTEMPTS};
use crate::agent::hooks::Hooks;
use crate::error::Error;

arguments! {
    /// Ask for the next of the three attempts of a loop; the fourth halts the run
    #[examples = "\
Examples:
  pipestate attempt agent-state.json --loop build-fix
  pipestate attempt agent-state.json --loop build-fix --reflect 'the import was missing: add it to Package.swift'
  pipestate attempt agent-state.json --loop build-fix --reset                              a human allows three more"]
    pub struct Attempt {
        /// The state file
        file: PathBuf = operand("FILE"),
        /// What is tried again and again
        name: String = option("loop", "NAME"),
        /// What failed, and which change mends it; needed from the second attempt on, and never the same twice
        reflect: Option<String> = option("reflect", "TEXT").excludes("reset"),
        /// Give the loop its attempts back
        reset: bool = flag("reset"),
        edit: EditOptions = group(EditOptions::ARGUMENTS),
        /// Print number and earlier reflections as one JSON object
        json: bool = flag("json"),
    }
}

impl Run for Attempt {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let options = self.edit.read()?;
        if self.reset {
            let written = as_caller(program, "attempt", |caller| {
                attempt::reset(&self.file, &self.name, Utc::now(), &options, caller)
            })?;
            tell(output, &self.file, &written, json!({ "loop": self.name, "attempts": 0 }));
            return Ok(0);
        }
        let answer = as_caller(program, "attempt", |caller| {
            let mut tell = |line: &str| output.alert(line);
            let (now, hooks) = (Utc::now(), Hooks::from_environment());
            let reflection = self.reflect.as_deref();
            attempt::next(&self.file, &self.name, reflection, now, &hooks, &options, caller, &mut tell)
        })?;
        match answer {
            Answer::Exhausted(halted) => {
                let refused = exhausted(&self.file, &self.name);
                Ok(halt::tell(output, &halted, Some(&refused)))
            }
            Answer::Attempt { number, reflections, written } => {
                warn(output, &self.file, &written);
                let mut lines = vec![format!("attempt {number} of {MOST_ATTEMPTS}")];
                let earlier = reflections.iter();
                lines.extend(
                    earlier.map(|earlier| format!("reflection {}: {}", earlier.attempt, earlier.reflection)),
                );
                let more = json!({
                    "loop": self.name,
                    "attempt": number,
                    "of": MOST_ATTEMPTS,
                    "reflections": reflections,
                });
                output.results_of_done(with_write(&written, more), &lines);
                Ok(0)
            }
        }
    }
}

/// Why there is no fourth attempt.
pub fn exhausted(file: &std::path::Path, name: &str) -> Error {
    Error::LoopExhausted { path: file.to_owned(), name: name.to_owned() }
}
