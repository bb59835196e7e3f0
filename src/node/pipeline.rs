//! Pipelines' runs, as JavaScript starts them and takes them further.

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use serde_json::{Value as Json, json};

use super::Opened;
use super::convert::{self, File, RecoverOptions, Value};
use super::session::Outcome;
use crate::cli;
use crate::engine::{EditJob, Once};
use crate::error::Error;
use crate::pipeline::init::{self, NewPhase, RunId};
use crate::pipeline::profile::Profile;
use crate::pipeline::resume;
use crate::pipeline::tiers::{Layout, Tier};
use crate::pipeline::transition::{self, PhaseStatus, Transition};
use crate::update::{Caller, WriteOptions};

/// A phase of a new run.
#[napi(object, object_to_js = false)]
pub struct NewPipelinePhase {
    /// Its name: a-z, 0-9 and -, at most 48 of them.
    pub name: String,
    /// The agent that does it.
    pub agent: Option<String>,
}

/// What `initPipeline` makes a run of.
#[napi(object, object_to_js = false)]
pub struct InitOptions {
    /// The pipeline's name: a-z, 0-9 and -, at most 48 of them.
    pub name: String,
    /// The execution pattern.
    #[napi(ts_type = "'1' | '2' | '2b' | '3' | '4' | '5'")]
    pub pattern: String,
    /// The tier that makes and runs it.
    #[napi(ts_type = "PipelineTier")]
    pub tier: String,
    /// How it lies below its scope root: `temp/{name}/{run}`, or `superpipelines/temp/{name}/{run}` for `'legacy'`.
    ///
    /// @default 'data'
    #[napi(ts_type = "'data' | 'legacy'")]
    pub layout: Option<String>,
    /// The scope root.
    ///
    /// @default below the workspace, `.superpipelines` (`'data'`) or the tier's root (`'legacy'`)
    #[napi(ts_type = "StateFile")]
    pub scope_root: Option<File>,
    /// The phases in their order; a string is `name` or `name:agent`.
    ///
    /// @default []
    #[napi(ts_type = "(string | NewPipelinePhase)[]")]
    pub phases: Option<Vec<Either<String, NewPipelinePhase>>>,
    /// The file with the tier's platform profile, which the run keeps as it is.
    #[napi(ts_type = "StateFile")]
    pub profile: Option<File>,
    /// The workspace, with the tier's manifest in it.
    ///
    /// @default the working directory
    #[napi(ts_type = "StateFile")]
    pub workspace: Option<File>,
    /// What the run is called: a random UUID, or `{name}-{YYYYMMDD-HHMMSS}`.
    ///
    /// @default 'uuid'
    #[napi(ts_type = "'uuid' | 'stamp'")]
    pub run_id: Option<String>,
    /// `'durable'` syncs file and folders, `'fast'` does not.
    ///
    /// @default 'durable'
    #[napi(ts_type = "'durable' | 'fast'")]
    pub durability: Option<String>,
}

/// How a run is edited.
#[napi(object, object_to_js = false)]
pub struct EditSyncOptions {
    /// `'durable'` syncs the file and its folder, `'fast'` does not.
    ///
    /// @default 'durable'
    #[napi(ts_type = "'durable' | 'fast'")]
    pub durability: Option<String>,
    /// How long to wait for the lock, in milliseconds. 0 tries once, `Infinity` waits without end.
    ///
    /// @default the environment variable `PIPESTATE_LOCK_TIMEOUT_MS`, else 10000
    pub lock_timeout_ms: Option<f64>,
}

/// How a run is taken up.
#[napi(object, object_to_js = false)]
pub struct ResumeSyncOptions {
    /// The tier that the run goes on under.
    #[napi(ts_type = "PipelineTier")]
    pub tier: String,
    /// The file with the platform profile of that tier, which is kept when it is another tier than before.
    #[napi(ts_type = "StateFile")]
    pub profile: Option<File>,
    /// A human has said yes: needed for a crashed run, and for one that has failed, been escalated or paused.
    ///
    /// @default false
    pub confirm: Option<bool>,
    /// How long a running run may be silent before it counts as crashed, in milliseconds.
    ///
    /// @default 3600000
    pub stale_after_ms: Option<f64>,
    /// The time that counts as now; a string is ISO 8601, and without a zone it is UTC.
    ///
    /// @default the system's clock
    #[napi(ts_type = "Date | string")]
    pub now: Option<String>,
    /// `'durable'` syncs the file and its folder, `'fast'` does not.
    ///
    /// @default 'durable'
    #[napi(ts_type = "'durable' | 'fast'")]
    pub durability: Option<String>,
    /// How long to wait for the lock, in milliseconds. 0 tries once, `Infinity` waits without end.
    ///
    /// @default the environment variable `PIPESTATE_LOCK_TIMEOUT_MS`, else 10000
    pub lock_timeout_ms: Option<f64>,
}

/// What a phase has come to.
#[napi(object, object_to_js = false)]
pub struct PhaseTransition {
    /// Its status; with `'failed'` the run has failed too. `'completed'` is written as `'done'`.
    #[napi(ts_type = "'pending' | 'running' | 'done' | 'completed' | 'failed'")]
    pub status: String,
    /// Files that it has put out; added to those that are recorded.
    ///
    /// @default []
    pub outputs: Option<Vec<String>>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Makes a run.
#[napi(skip_typescript)]
pub fn init_pipeline(session: &Opened, now: bool, options: InitOptions) -> Outcome {
    session.run(now, || {
        let program = session.program.clone();
        let options = options.parse()?;
        Ok(Once::new(move |interrupted| {
            let made = options.init(Caller { program: &program, interrupted })?;
            let told = json!({
                "path": made.path.to_string_lossy(),
                "runId": made.run_id,
                "pipelineId": made.pipeline_id,
                "scopeRoot": made.scope_root.to_string_lossy(),
            });
            Ok((told, made.written))
        }))
    })
}

/// Takes up a run.
#[napi(skip_typescript)]
pub fn resume_pipeline(session: &Opened, now: bool, file: File, options: ResumeSyncOptions) -> Outcome {
    session.run(now, || {
        let path = convert::path(file)?;
        let write = edit_options(options.durability, options.lock_timeout_ms)?;
        let tier = tier(&options.tier)?;
        let profile = options.profile.map(convert::path).transpose()?;
        let confirmed = options.confirm == Some(true);
        let recover = RecoverOptions { home: None, stale_after_ms: options.stale_after_ms, now: options.now };
        let (_, clock) = recover.parse()?;
        let since = clock().now;
        let program = session.program.clone();
        Ok(EditJob::new(path, write, program.clone(), move |current| {
            let profile = profile.as_deref().map(Profile::read).transpose()?;
            let profile = profile.as_ref();
            let request = resume::Request { tier, profile, confirmed, since, clock: &clock };
            let (claim, steps) = resume::decide(current, &request, &program)?;
            let mut told = claim.told(&request);
            told["warnings"] = claim.warnings.into();
            Ok((told, steps))
        }))
    })
}

/// Records what a phase has come to.
#[napi(skip_typescript)]
pub fn set_phase(
    session: &Opened,
    now: bool,
    file: File,
    phase: String,
    transition: PhaseTransition,
    options: EditSyncOptions,
) -> Outcome {
    session.run(now, || {
        let path = convert::path(file)?;
        let write = edit_options(options.durability, options.lock_timeout_ms)?;
        let status = PhaseStatus::parse(&transition.status);
        let status = one_of(status, "transition.status", "'pending', 'running', 'done' or 'failed'")?;
        let outputs = transition.outputs.unwrap_or_default();
        let transition = Transition { phase, status, outputs, error: transition.error };
        Ok(EditJob::new(path, write, session.program.clone(), move |current| {
            let told = json!({ "phase": transition.phase, "status": transition.status.word() });
            Ok((told, transition::set_phase(current, &transition)?))
        }))
    })
}

/// Marks a run completed.
#[napi(skip_typescript)]
pub fn finalize(session: &Opened, now: bool, file: File, options: EditSyncOptions) -> Outcome {
    session.run(now, || {
        let path = convert::path(file)?;
        let write = edit_options(options.durability, options.lock_timeout_ms)?;
        Ok(EditJob::new(path, write, session.program.clone(), |current| {
            Ok((json!({ "status": "completed" }), transition::finalize(current)?))
        }))
    })
}

/// [`InitOptions`], as the core has them.
struct Init {
    name: String,
    pattern: String,
    tier: Tier,
    layout: Layout,
    scope_root: Option<std::path::PathBuf>,
    phases: Vec<NewPhase>,
    profile: Option<std::path::PathBuf>,
    workspace: std::path::PathBuf,
    run_id: RunId,
    write: WriteOptions,
}

impl InitOptions {
    fn parse(self) -> Result<Init, Error> {
        let layout = self.layout.as_deref().map_or(Some(Layout::default()), Layout::parse);
        let run_id = match self.run_id.as_deref() {
            None | Some("uuid") => Some(RunId::Uuid),
            Some("stamp") => Some(RunId::Stamp),
            Some(_) => None,
        };
        let phase = |phase: Either<String, NewPipelinePhase>| match phase {
            Either::A(text) => NewPhase::parse(&text),
            Either::B(NewPipelinePhase { name, agent }) => NewPhase { name, agent },
        };
        Ok(Init {
            name: self.name,
            pattern: self.pattern,
            tier: tier(&self.tier)?,
            layout: one_of(layout, "options.layout", "'data' or 'legacy'")?,
            scope_root: self.scope_root.map(convert::path).transpose()?,
            phases: self.phases.unwrap_or_default().into_iter().map(phase).collect(),
            profile: self.profile.map(convert::path).transpose()?,
            workspace: self.workspace.map(convert::path).transpose()?.unwrap_or_else(|| ".".into()),
            run_id: one_of(run_id, "options.runId", "'uuid' or 'stamp'")?,
            write: edit_options(self.durability, None)?,
        })
    }
}

impl Init {
    fn init(&self, caller: Caller) -> Result<init::Initialised, Error> {
        let profile = self.profile.as_deref().map(Profile::read).transpose()?;
        let request = init::Request {
            name: &self.name,
            pattern: &self.pattern,
            tier: self.tier,
            layout: self.layout,
            scope_root: self.scope_root.as_deref(),
            phases: &self.phases,
            profile: profile.as_ref(),
            workspace: &self.workspace,
            run_id: self.run_id,
        };
        init::init(&request, &self.write, caller)
    }
}

fn edit_options(durability: Option<String>, lock_timeout_ms: Option<f64>) -> Result<WriteOptions, Error> {
    let durability = convert::durability(durability.as_deref())?;
    Ok(WriteOptions {
        durability,
        lock_timeout: convert::window(lock_timeout_ms)?,
        ..WriteOptions::default()
    })
}

fn tier(id: &str) -> Result<Tier, Error> {
    one_of(Tier::parse(id), "options.tier", "'tier_1', 'tier_1b', 'tier_1c', 'tier_1d' or 'tier_2'")
}

fn one_of<T>(value: Option<T>, name: &str, words: &str) -> Result<T, Error> {
    value.ok_or_else(|| Error::Usage(format!("{name} must be {words}")))
}

impl super::session::IntoValue for (Json, crate::update::Written) {
    /// What was told of an edit behind what was written; warnings of both, when there are any.
    fn into_value(self, _: &super::session::Session) -> Value {
        let (mut told, written) = self;
        let mut warnings: Vec<Json> = written.warnings.iter().cloned().map(Json::from).collect();
        if let Some(Json::Array(more)) = told.as_object_mut().and_then(|told| told.remove("warnings")) {
            warnings.extend(more);
        }
        let mut value = cli::with_write(&written, told);
        if !warnings.is_empty() {
            value["warnings"] = warnings.into();
        }
        Value::Json(value)
    }
}
