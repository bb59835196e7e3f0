//! `pipestate report`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::output::Output;
use super::recover::ClockOptions;
use super::status::exit_code;
use crate::atomic::{self, Durability};
use crate::error::Error;
use crate::kind::StateKind;
use crate::place::{Missing, Place};
use crate::report::{self, Run};
use crate::runs;

/// Make one self-contained page of a run: phases in time, retries, halts, handoffs, outputs, findings
#[derive(Args)]
#[command(help_template = super::HELP)]
#[command(before_help = "\
Examples:
  pipestate report pipeline-state.json -o run.html
  pipestate report . > run.html             of the run in this folder")]
pub struct Report {
    /// The file to write; one that is there is replaced [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    clock: ClockOptions,
    /// Print the result as one JSON object; needs --output
    #[arg(long, requires = "output")]
    pub json: bool,
    /// The state file, or the folder that has one
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,
}

impl Report {
    pub fn run(self, output: &mut Output) -> Result<u8, Error> {
        let Some(file) = runs::state_file(&self.path) else {
            return Err(Error::Usage(format!(
                "{}: a report is of one run, and this folder has no state file of its own; `pipestate list` names them",
                self.path.display()
            )));
        };
        let run = Run::read(&file, runs::home_folder().as_deref(), &self.clock.read())?;
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
