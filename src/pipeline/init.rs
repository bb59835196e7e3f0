//! A new run: its folder and its first document (P1).
//!
//! 1. Where it will lie: [`Whereabouts`], from tier, layout, profile and what the caller names (P4).
//! 2. Its folder, made exclusively: of several that ask for one id, one gets it.
//! 3. Its document, [`first_document`], written as every document is: locked, whole, durable.
//!
//! A crash between 2 and 3 leaves an empty run folder, which is no run: nothing reads a run from a folder without a
//! document.

use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

use super::names::{EDIT_PREFIX, LONGEST_NAME, PATTERNS, is_name, stamp};
use super::object::Object;
use super::profile::{self, Profile};
use super::tiers::{DATA_ROOT, Layout, STATE_FILE, Tier};
use super::{scope, version};
use crate::disk;
use crate::error::Error;
use crate::merge::Patch;
use crate::place;
use crate::update::{self, Caller, Mode, NO_REVISION, WriteOptions, Written};

/// What a run is made of.
#[derive(Debug)]
pub struct Request<'a> {
    /// The pipeline's name.
    pub name: &'a str,
    /// One of [`PATTERNS`].
    pub pattern: &'a str,
    /// The tier that scaffolds and runs it.
    pub tier: Tier,
    /// How it lies below its scope root.
    pub layout: Layout,
    /// The scope root, where it is not the tier's one below the workspace.
    pub scope_root: Option<&'a Path>,
    /// The phases in their order.
    pub phases: &'a [NewPhase],
    /// The platform profile of the tier.
    pub profile: Option<&'a Profile>,
    /// The workspace: what scope root and manifest are relative to.
    pub workspace: &'a Path,
    /// What the run is called.
    pub run_id: RunId,
}

/// A phase of a new run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPhase {
    /// Its name.
    pub name: String,
    /// The agent that does it.
    pub agent: Option<String>,
}

impl NewPhase {
    /// Reads `NAME` or `NAME:AGENT`; an agent's name may have colons in it.
    pub fn parse(text: &str) -> NewPhase {
        match text.split_once(':') {
            Some((name, agent)) => NewPhase { name: name.into(), agent: Some(agent.into()) },
            None => NewPhase { name: text.into(), agent: None },
        }
    }
}

/// What a run is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunId {
    /// A random UUID.
    #[default]
    Uuid,
    /// Pipeline and time, `{P}-{YYYYMMDD-HHMMSS}`; with a suffix where that is taken.
    Stamp,
}

/// A run that has been made.
#[derive(Debug)]
pub struct Initialised {
    /// Its document, by its absolute path.
    pub path: PathBuf,
    /// What the run is called.
    pub run_id: String,
    /// Its pipeline's id.
    pub pipeline_id: String,
    /// The scope root that it lies below.
    pub scope_root: PathBuf,
    /// The write of the document; its warnings are those of the whole.
    pub written: Written,
}

/// Makes a run: folder and document. Of the options, mode and revision are not used.
///
/// # Errors
/// [`Error::Usage`] for names that are none, before anything is made; [`Error::PluginRoot`]; [`Error::Io`]. What was
/// made is removed again where the document could not be written.
pub fn init(request: &Request, options: &WriteOptions, caller: Caller) -> Result<Initialised, Error> {
    check(request)?;
    let whereabouts = Whereabouts::of(request)?;
    let now = Utc::now();
    let durable = options.durability == crate::atomic::Durability::Durable;
    let (folder, run_id) = make_run_folder(request, &whereabouts.runs_folder(request), now, durable)?;

    let path = folder.join(STATE_FILE);
    let pipeline_id = uuid();
    let manifest =
        request.workspace.join(profile::manifest(request.tier, request.profile.map(Profile::root)));
    let version = version::read(&manifest);
    let first = FirstDocument {
        pipeline_id: &pipeline_id,
        run_id: &run_id,
        scope_root_dir: &whereabouts.name,
        plugin_version: version.as_deref().ok(),
        now,
    };
    let options = WriteOptions { mode: Mode::Replace, if_match: Some(NO_REVISION.into()), ..options.clone() };
    let written = Patch::parse(first.text(request), "the first document")
        .and_then(|document| update::write(&path, &document, &options, caller));
    let mut written = match written {
        Ok(written) => written,
        Err(error) => {
            let _ = disk::remove_empty_folder(&folder); // the first error is the one to tell
            return Err(error);
        }
    };
    let unstamped = version.err().map(|none| format!("plugin_version is null: {none}"));
    let mismatch = scope::of_file(&path, Some(&whereabouts.name)).mismatch.map(|_| {
        format!(
            "scope_root_dir is {:?}, and the scope root has another name: it will be reported",
            whereabouts.name
        )
    });
    written.warnings.extend(unstamped);
    written.warnings.extend(mismatch);
    Ok(Initialised { path, run_id, pipeline_id, scope_root: whereabouts.root, written })
}

/// Refuses what the document could not be valid with (V4).
fn check(request: &Request) -> Result<(), Error> {
    let wrong = |what: &str, text: &str| {
        let message = format!(
            "{what} {text:?} is no name: it has a-z, 0-9 and - only, and at most {LONGEST_NAME} of them"
        );
        Err(Error::Usage(message))
    };
    if !is_name(request.name) {
        return wrong("the pipeline", request.name);
    }
    if let Some(phase) = request.phases.iter().find(|phase| !is_name(&phase.name)) {
        return wrong("the phase", &phase.name);
    }
    if request.phases.iter().any(|phase| phase.agent.as_deref() == Some("")) {
        return Err(Error::Usage("a phase has an agent without a name; leave the colon out".into()));
    }
    if !PATTERNS.contains(&request.pattern) {
        let message = format!("the pattern {:?} is none of {}", request.pattern, PATTERNS.join(", "));
        return Err(Error::Usage(message));
    }
    if request.run_id == RunId::Stamp && request.name.starts_with(EDIT_PREFIX) {
        let message =
            format!("a run folder {EDIT_PREFIX}… is an edit's, and no scan would find this run: take a UUID");
        return Err(Error::Usage(message));
    }
    Ok(())
}

/// Where a run will lie.
struct Whereabouts {
    /// Its scope root, absolute.
    root: PathBuf,
    /// The name that is recorded of it.
    name: String,
}

impl Whereabouts {
    fn of(request: &Request) -> Result<Whereabouts, Error> {
        let tier_root = profile::workspace_root(request.tier, request.profile.map(Profile::root));
        let expected = match request.layout {
            Layout::Data => DATA_ROOT,
            Layout::Legacy => &tier_root,
        };
        if !scope::is_name(expected) {
            let message = format!("the profile's scope_root {expected:?} is no folder below the workspace");
            return Err(Error::Usage(message));
        }
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|source| Error::io(path, "use this folder", "getcwd", source))
        };
        let Some(root) = request.scope_root else {
            return Ok(Whereabouts {
                root: absolute(&request.workspace.join(expected))?,
                name: expected.into(),
            });
        };
        let root = absolute(root)?;
        let name = match request.layout {
            Layout::Data => DATA_ROOT.to_owned(),
            Layout::Legacy => recorded_name(&root, expected, request.tier),
        };
        Ok(Whereabouts { root, name })
    }

    fn runs_folder(&self, request: &Request) -> PathBuf {
        request.layout.runs_folder(&self.root).join(request.name)
    }
}

/// The name to record of a legacy root that the caller named: as much of its end as is the tier's root in a workspace
/// or in a home folder, else its last component.
fn recorded_name(root: &Path, expected: &str, tier: Tier) -> String {
    let known = [expected, tier.user_root()].into_iter().find(|name| root.ends_with(name));
    let last = || root.file_name().map(|name| name.to_string_lossy().into_owned());
    known.map(String::from).or_else(last).unwrap_or_default()
}

/// Makes the folder of a run that nobody else has, and what is missing above it.
fn make_run_folder(
    request: &Request,
    runs: &Path,
    now: DateTime<Utc>,
    durable: bool,
) -> Result<(PathBuf, String), Error> {
    place::refuse_plugin_root(&runs.join(STATE_FILE))?;
    for attempt in 1.. {
        let run_id = match request.run_id {
            RunId::Uuid => uuid(),
            RunId::Stamp => stamp(request.name, now, attempt),
        };
        let folder = runs.join(&run_id);
        let made = place::make_new_folder(&folder, durable);
        if made.map_err(|source| Error::io(&folder, "make the run folder", "mkdir", source))? {
            return Ok((folder, run_id));
        }
    }
    unreachable!("there are more numbers than folders")
}

fn uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// What the first document has that its request does not say.
struct FirstDocument<'a> {
    pipeline_id: &'a str,
    run_id: &'a str,
    scope_root_dir: &'a str,
    plugin_version: Option<&'a str>,
    now: DateTime<Utc>,
}

impl FirstDocument<'_> {
    /// The document, with every field of the source schema in its order.
    fn text(&self, request: &Request) -> Vec<u8> {
        let phase = |(index, phase): (usize, &NewPhase)| {
            json!({
                "index": index,
                "name": phase.name,
                "status": "pending",
                "agent": phase.agent,
                "outputs": [],
                "error": null,
            })
        };
        let phases: Vec<_> = request.phases.iter().enumerate().map(phase).collect();
        let mut document = Object::new();
        document
            .set("pipeline_id", self.pipeline_id)
            .set("pipeline_name", request.name)
            .set("plugin_version", self.plugin_version)
            .set("scope_root_dir", self.scope_root_dir)
            .set("run_id", self.run_id)
            .set("started_at", self.now.to_rfc3339_opts(SecondsFormat::Millis, true))
            .set("pattern", request.pattern)
            .set("status", "running")
            .set("current_phase", 0)
            .set("phases", phases)
            .set_object("metadata", self.metadata(request));
        document.into_text()
    }

    fn metadata(&self, request: &Request) -> Object {
        let profile = request.profile;
        let mut metadata = Object::new();
        metadata
            .set("source_tier", request.tier.id())
            .set("runtime_tier", request.tier.id())
            .set_text("platform_profile", profile.map_or(b"null", |profile| profile.root().raw()))
            .set("tier_changes", json!([]))
            .set("source_scope_root", profile::workspace_root(request.tier, profile.map(Profile::root)))
            .set("isolation_warning", profile.and_then(Profile::isolation_warning))
            .set("resolved_models", json!({}))
            .set(
                "preference_files_consulted",
                json!({ "user_path": null, "user_hash": null, "workspace_path": null, "workspace_hash": null }),
            )
            .set("model_tiers_version_at_run", profile.and_then(Profile::model_tiers_version));
        metadata
    }
}
