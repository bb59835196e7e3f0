//! `pipestate resume`.

use std::path::PathBuf;

use super::MAX_PHASE;
use super::arguments::{Run, arguments};
use super::edit::{EditOptions, as_caller, kind_of, warn, with_write};
use super::output::Output;
use super::plan;
use super::recover::ClockOptions;
use crate::agent::{self, plan::Resumable};
use crate::error::Error;
use crate::kind::StateKind;
use crate::pipeline::profile::Profile;
use crate::pipeline::resume::{self, Claim, Request};
use crate::pipeline::tiers::Tier;

arguments! {
    /// Say where an agent's run goes on, and take up a run that has stopped: of several that do, one gets it
    #[examples = "\
Examples:
  pipestate resume --tier tier_1 --confirm pipeline-state.json                         a human has said yes
  pipestate resume --tier tier_2 --profile cursor.json --confirm pipeline-state.json   under another tier
  pipestate resume agent-state.json                                                    only reads: phase, what to skip, why
  pipestate resume --start agent-state.json                                            a human has said yes: take the plan"]
    pub struct Resume {
        /// The tier that the run goes on under
        tier: Option<Tier> = option("tier", "TIER"),
        /// The platform profile of that tier; kept when it is another tier than before
        profile: Option<PathBuf> = option("profile", "FILE"),
        /// A human has said yes: needed for a crashed run, and for one that has failed, been escalated or paused
        confirm: bool = flag("confirm"),
        /// Take the plan: the run is running from now on (of agents; a human has said yes)
        start: bool = flag("start"),
        /// The highest phase of this host's phase list (of agents)
        max_phase: u32 = option("max-phase", "N").default(MAX_PHASE),
        clock: ClockOptions = group(ClockOptions::ARGUMENTS),
        edit: EditOptions = group(EditOptions::ARGUMENTS),
        /// Print what was claimed as one JSON object
        json: bool = flag("json"),
        /// The state file
        file: PathBuf = operand("FILE"),
    }
}

impl Run for Resume {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        match kind_of(&self.file)? {
            Some(StateKind::Agent) if self.tier.is_some() || self.profile.is_some() || self.confirm => {
                Err(Error::Usage(
                    "an agent's run has no tier and no profile, and is taken up with --start".into(),
                ))
            }
            Some(StateKind::Agent) => self.resume_agent(program, output),
            _ if self.start => {
                Err(Error::Usage("a pipeline's run is taken up with --tier and --confirm".into()))
            }
            _ => self.resume_pipeline(program, output),
        }
    }
}

impl Resume {
    fn resume_agent(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let plan = match agent::plan::of_file(&self.file, &self.clock.read(), self.max_phase)? {
            Resumable::Plan(plan) => plan,
            Resumable::Unsafe(report) => return plan::print_unsafe(output, &report),
        };
        if !self.start {
            return plan::print(output, &plan);
        }
        let options = self.edit.read()?;
        let clock = || self.clock.read();
        let (plan, written) = as_caller(program, "resume", |caller| {
            agent::start::start(&self.file, &clock, self.max_phase, &options, caller)
        })?;
        warn(output, &self.file, &written);
        plan::print_started(output, &plan, &written);
        Ok(0)
    }

    fn resume_pipeline(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let tier = self.tier.ok_or_else(|| {
            Error::Usage("a pipeline's run is resumed under a tier: say which with --tier".into())
        })?;
        let profile = self.profile.as_deref().map(Profile::read).transpose()?;
        let options = self.edit.read()?;
        let request = Request {
            tier,
            profile: profile.as_ref(),
            confirmed: self.confirm,
            since: self.clock.read().now,
            clock: &|| self.clock.read(),
        };
        let (claim, written) =
            as_caller(program, "resume", |caller| resume::resume(&self.file, &request, &options, caller))?;
        warn(output, &self.file, &written);
        let more = claim.told(&request);
        let line = format!("resumed {}: {}", self.file.display(), describe(&claim, tier));
        if let Err(error) = output.result(with_write(&written, more), &line) {
            output.warning(&error.to_string()); // the run is claimed all the same
        }
        Ok(0)
    }
}

fn describe(claim: &Claim, tier: Tier) -> String {
    let before = match &claim.from {
        Some(from) if claim.crossed => format!(" (before: {from})"),
        _ => String::new(),
    };
    let cursor = claim.current_phase.as_ref();
    let phase = cursor.map_or(String::new(), |phase| format!(", current_phase {phase}"));
    format!("under {}{before}{phase}", tier.id())
}
