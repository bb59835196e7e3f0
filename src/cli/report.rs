//! `pipestate report`.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{Run, arguments};
use super::output::Output;
use super::recover::ClockOptions;
use super::status::exit_code;
use crate::atomic::{self, Durability};
use crate::error::Error;
use crate::kind::StateKind;
use crate::place::{Missing, Place};
use crate::report;
use crate::runs;

arguments! {
    /// Make one self-contained page of a run: phases in time, retries, halts, handoffs, outputs, findings
    #[examples = "\
Examples:
  pipestate report pipeline-state.json -o run.html
  pipestate report . > run.html             of the run in this folder"]
    pub struct Report {
        /// The file to write; one that is there is replaced [default: stdout]
        output: Option<PathBuf> = option("output", "FILE").short('o'),
        clock: ClockOptions = group(ClockOptions::ARGUMENTS),
        /// Print the result as one JSON object; needs --output
        json: bool = flag("json").requires("output"),
        /// The state file, or the folder that has one
        path: PathBuf = operand("FILE|DIR"),
    }
}

impl Run for Report {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let Some(file) = runs::state_file(&self.path) else {
            return Err(Error::Usage(format!(
                "{}: a report is of one run, and this folder has no state file of its own; `pipestate list` names them",
                self.path.display()
            )));
        };
        let run = report::Run::read(&file, runs::home_folder().as_deref(), &self.clock.read())?;
        let page = report::page(&run);
        let code = exit_code(&run.view);
        let Some(target) = self.output else {
            output.bytes(&[page.as_bytes()])?;
            return Ok(code);
        };
        if StateKind::by_name(&target).is_some() {
            return Err(Error::Usage(format!("{}: that is a state's name, and no page's", target.display())));
        }
        let place = Place::find(&target, Missing::Make { durable: false })?;
        let existing = place.folder.facts(&place.name).ok();
        atomic::replace(&place, existing.as_ref(), &[page.as_bytes()], Durability::Fast, &|| Ok(true))?;
        output.results(code == 0, json!({ "path": target.to_string_lossy(), "bytes": page.len() }), "")?;
        Ok(code)
    }
}
