//! `pipestate phase`.

use std::path::PathBuf;

use chrono::Utc;
use serde_json::json;

use super::MAX_PHASE;
use super::arguments::{Run, Value, arguments};
use super::edit::{EditOptions, as_caller, kind_of, tell};
use super::output::Output;
use crate::agent;
use crate::error::Error;
use crate::kind::StateKind;
use crate::pipeline::transition::{self, PhaseStatus, Transition};

arguments! {
    /// Record what a phase has come to: status, outputs, error and cursor in one write
    #[examples = "\
Examples:
  pipestate phase pipeline-state.json 2 --status running
  pipestate phase pipeline-state.json 2 --status done --output docs/plan.md --output docs/risks.md
  pipestate phase pipeline-state.json 2 --status failed --error 'the tests do not compile'
  pipestate phase agent-state.json 3 --status running --sub-step green --file src/a.rs --file tests/a.rs"]
    pub struct Phase {
        /// The state file
        file: PathBuf = operand("FILE"),
        /// The phase: its index, or its key where the phases are an object
        phase: String = operand("INDEX"),
        /// pending, running, done (or completed), failed; with a failed phase a pipeline's run has failed, an agent's is paused
        status: PhaseStatus = option("status", "STATUS"),
        /// A file that the phase has put out; added to those that are recorded
        outputs: Vec<String> = option("output", "PATH").alias("file"),
        /// Why the phase failed (of pipelines)
        error: Option<String> = option("error", "TEXT"),
        /// The unit of the phase that is done by this, with these files: a resume skips it (of agents)
        sub_step: Option<String> = option("sub-step", "TOKEN"),
        /// How often the phase has been tried again (of agents)
        retry_count: Option<u64> = option("retry-count", "N"),
        /// Leave out the line in agent-log.md (of agents)
        no_log: bool = flag("no-log"),
        /// The highest phase of this host's phase list (of agents)
        max_phase: u32 = option("max-phase", "N").default(MAX_PHASE),
        edit: EditOptions = group(EditOptions::ARGUMENTS),
        /// Print the result as one JSON object
        json: bool = flag("json"),
    }
}

impl Run for Phase {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        match kind_of(&self.file)? {
            Some(StateKind::Agent) => self.set_agent_phase(program, output),
            _ => self.set_pipeline_phase(program, output),
        }
    }
}

impl Phase {
    fn set_agent_phase(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        if self.error.is_some() {
            return self.not_for("an agent", "--error; `pipestate halt` records why a run stops");
        }
        let number = self.phase.parse().ok().filter(|number| *number <= self.max_phase);
        let Some(number) = number else {
            return Err(Error::Usage(format!(
                "{:?} is no phase: they are 0 to {}",
                self.phase, self.max_phase
            )));
        };
        if self.sub_step.as_deref() == Some("") {
            return Err(Error::Usage("--sub-step is empty, and names no unit".into()));
        }
        let options = self.edit.read()?;
        let transition = agent::transition::Transition {
            phase: number,
            status: self.status,
            files: self.outputs,
            sub_step: self.sub_step,
            retry_count: self.retry_count,
        };
        let written = as_caller(program, "phase", |caller| {
            agent::transition::set_phase(&self.file, &transition, Utc::now(), !self.no_log, &options, caller)
        })?;
        let more = json!({ "phase": number, "status": transition.status.word() });
        tell(output, &self.file, &written, more);
        Ok(0)
    }

    fn not_for(&self, kind: &str, flag: &str) -> Result<u8, Error> {
        Err(Error::Usage(format!("{}: the phases of {kind} know no {flag}", self.file.display())))
    }

    fn set_pipeline_phase(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        if self.sub_step.is_some() || self.retry_count.is_some() {
            return self.not_for("a pipeline", "--sub-step and no --retry-count");
        }
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

impl Value for PhaseStatus {
    fn read(word: &str) -> Result<PhaseStatus, String> {
        PhaseStatus::parse(word).ok_or_else(|| "a phase is pending, running, done or failed".into())
    }
}
