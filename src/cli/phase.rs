//! `pipestate phase`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::edit::{EditOptions, as_caller, kind_of, tell};
use super::output::Output;
use crate::error::Error;
use crate::kind::StateKind;
use crate::pipeline::transition::{self, PhaseStatus, Transition};

/// Record what a phase has come to: status, outputs, error and cursor in one write
#[derive(Args)]
#[command(help_template = super::HELP)]
#[command(before_help = "\
Examples:
  pipestate phase pipeline-state.json 2 --status running
  pipestate phase pipeline-state.json 2 --status done --output docs/plan.md --output docs/risks.md
  pipestate phase pipeline-state.json 2 --status failed --error 'the tests do not compile'")]
pub struct Phase {
    /// The state file
    file: PathBuf,
    /// The phase: its index, or its key where the phases are an object
    #[arg(value_name = "INDEX")]
    phase: String,
    /// pending, running, done (or completed), failed; with a failed phase the run has failed
    #[arg(long, value_parser = status)]
    status: PhaseStatus,
    /// A file that the phase has put out; added to those that are recorded
    #[arg(long = "output", value_name = "PATH")]
    outputs: Vec<String>,
    /// Why the phase failed
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    #[command(flatten)]
    edit: EditOptions,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

impl Phase {
    pub fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        match kind_of(&self.file)? {
            Some(StateKind::Agent) => Err(Error::Usage(format!(
                "{}: is an agent's state, and this command is for pipelines",
                self.file.display()
            ))),
            _ => self.set_pipeline_phase(program, output),
        }
    }

    fn set_pipeline_phase(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let options = self.edit.read()?;
        let transition =
            Transition { phase: self.phase, status: self.status, outputs: self.outputs, error: self.error };
        let written = as_caller(program, "phase", |caller| {
            transition::write_phase(&self.file, &transition, &options, caller)
        })?;
        let more = json!({ "phase": transition.phase, "status": transition.status.word() });
        tell(output, &self.file, &written, more);
        Ok(0)
    }
}

fn status(word: &str) -> Result<PhaseStatus, String> {
    PhaseStatus::parse(word).ok_or_else(|| "a phase is pending, running, done or failed".into())
}
