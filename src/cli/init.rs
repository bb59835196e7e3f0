//! `pipestate init`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::arguments::{Run, Value, arguments};
use super::edit::{EditOptions, as_caller, warn, with_write};
use super::output::Output;
use crate::error::Error;
use crate::pipeline::init::{self, Initialised, NewPhase, Request};
use crate::pipeline::names::PATTERNS;
use crate::pipeline::profile::Profile;
use crate::pipeline::tiers::{Layout, Tier};

arguments! {
    /// Make a new run of a pipeline: its folder and its pipeline-state.json, whose path is printed
    #[examples = "\
Examples:
  pipestate init --name docs --pattern 2 --tier tier_1 --phase plan:planner --phase write
  pipestate init --name docs --pattern 1 --tier tier_1d --layout legacy --profile profile.json"]
    pub struct Init {
        /// The pipeline's name: a-z, 0-9 and -, at most 48 of them
        name: String = option("name", "NAME"),
        /// The execution pattern
        pattern: String = option("pattern", "PATTERN").words(&PATTERNS),
        /// The tier that makes and runs it: tier_1, tier_1b, tier_1c, tier_1d, tier_2
        tier: Tier = option("tier", "TIER"),
        /// How the run lies below its scope root: temp/NAME/RUN, or superpipelines/temp/NAME/RUN
        layout: Layout = option("layout", "data|legacy").default("data"),
        /// The scope root [default: below the workspace, .superpipelines (data) or the tier's (legacy)]
        scope_root: Option<PathBuf> = option("scope-root", "DIR"),
        /// A phase and who does it; once for each, in their order
        phases: Vec<String> = option("phase", "NAME[:AGENT]"),
        /// The tier's platform profile, a JSON file, which the run keeps as it is
        profile: Option<PathBuf> = option("profile", "FILE"),
        /// The workspace, with the tier's manifest in it [default: the working folder]
        workspace: Option<PathBuf> = option("workspace", "DIR"),
        /// What the run is called: a random UUID, or name and time
        run_id: init::RunId = option("run-id", "uuid|stamp").default("uuid"),
        edit: EditOptions = group(EditOptions::ARGUMENTS),
        /// Print path, ids and revision as one JSON object
        json: bool = flag("json"),
    }
}

impl Value for init::RunId {
    const WORDS: &'static [&'static str] = &["uuid", "stamp"];

    fn read(word: &str) -> Result<init::RunId, String> {
        Ok(if word == "stamp" { init::RunId::Stamp } else { init::RunId::Uuid })
    }
}

impl Run for Init {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let profile = self.profile.as_deref().map(Profile::read).transpose()?;
        let phases: Vec<NewPhase> = self.phases.iter().map(|phase| NewPhase::parse(phase)).collect();
        let request = Request {
            name: &self.name,
            pattern: &self.pattern,
            tier: self.tier,
            layout: self.layout,
            scope_root: self.scope_root.as_deref(),
            phases: &phases,
            profile: profile.as_ref(),
            workspace: self.workspace.as_deref().unwrap_or(Path::new(".")),
            run_id: self.run_id,
        };
        let options = self.edit.read()?;
        let made = as_caller(program, "init", |caller| init::init(&request, &options, caller))?;
        warn(output, &made.path, &made.written);
        print(output, &made, self.json);
        Ok(0)
    }
}

/// Prints what was made. It is made: that nobody can be told cannot undo it.
fn print(output: &mut Output, made: &Initialised, json: bool) {
    if json {
        let more = json!({
            "path": made.path.to_string_lossy(),
            "runId": made.run_id,
            "pipelineId": made.pipeline_id,
            "scopeRoot": made.scope_root.to_string_lossy(),
        });
        return output.done(with_write(&made.written, more));
    }
    if let Err(error) = output.bytes(&[made.path.as_os_str().as_encoded_bytes(), b"\n"]) {
        output.warning(&error.to_string());
    }
}

impl Value for Tier {
    fn read(id: &str) -> Result<Tier, String> {
        let ids = || Tier::ALL.map(Tier::id).join(", ");
        Tier::parse(id).ok_or_else(|| format!("the tiers are {}", ids()))
    }
}

impl Value for Layout {
    fn read(name: &str) -> Result<Layout, String> {
        Layout::parse(name).ok_or_else(|| "the layouts are data and legacy".into())
    }
}
