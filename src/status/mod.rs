//! A run as people look at it: name, status, age, decision, and its phases, from documents of every shape.
//!
//! [`View::of`] picks what is shown out of a state file that was read; [`lines()`] lays it out. Both are pure. What a
//! document lacks or has in another form is left out, never guessed.

mod render;

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};

pub use render::{COLUMNS, Line, Style, lines, summary};

use crate::document::{Kind, Value};
use crate::kind::StateKind;
use crate::phases::{self, Phase};
use crate::recovery::{Action, Clock};
use crate::runs::{Assessment, Content, StateFile};
use crate::sort::sort_by;
use crate::time::{self, Moment};

/// What is shown of a run. Serialises to the object that `--json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// What the run is called: its pipeline, ticket or project; `None` when nothing says.
    pub name: Option<String>,
    /// Which run of that name: a run id, a task id.
    pub run: Option<String>,
    /// The file and the decision about it.
    #[serde(flatten)]
    pub assessment: Assessment,
    /// The phases; numbered ones by number.
    pub phases: Vec<PhaseView>,
}

/// What is shown of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseView {
    /// Its place in the array, or its key.
    pub key: String,
    /// Its name, where it has one beside the key.
    pub name: Option<String>,
    /// Its status as it stands there.
    pub status: Option<String>,
    /// What that status means, as far as it is known.
    pub mark: Mark,
    /// Whether the document's cursor is on it.
    pub is_current: bool,
    /// Who works on it.
    pub agent: Option<String>,
    /// How long it took, or has been running until now.
    #[serde(rename = "durationMs", serialize_with = "to_milliseconds")]
    pub duration: Option<Duration>,
    /// The unit of work that was recorded last in it (S2).
    pub sub_step: Option<String>,
    /// What went wrong in it.
    pub error: Option<String>,
    /// The files that it made.
    pub outputs: Vec<String>,
}

/// What the status of a phase means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Finished.
    Done,
    /// Being worked on.
    Running,
    /// Not begun, or of no status.
    Pending,
    /// Ended badly.
    Failed,
    /// Left out.
    Skipped,
    /// A word of another program.
    Unknown,
}

impl View {
    /// What is to be seen of a state file, by this clock.
    pub fn of(file: &StateFile, clock: &Clock) -> View {
        let assessment = file.assess(clock);
        let Content::Document { document, .. } = &file.content else {
            return View { name: None, run: None, assessment, phases: Vec::new() };
        };
        let root = document.root();
        // A phase that is still running in a run that has ended took nobody knows how long.
        let until = matches!(assessment.decision.action, Action::Refuse).then_some(clock.now);
        let cursor = cursor(root, file.kind);
        let mut phases = phases::phases(root);
        sort_by_number(&mut phases);
        let view = |phase: &Phase<'_>| PhaseView::of(phase, cursor.as_deref() == Some(&phase.key), until);
        View { name: name(root), run: run(root), phases: phases.iter().map(view).collect(), assessment }
    }
}

/// The fields that a run is called by, the most telling first.
const NAMES: [&str; 6] = ["pipeline_name", "ticket", "name", "project_name", "feature_name", "project"];

fn name(root: Value<'_>) -> Option<String> {
    NAMES.iter().find_map(|field| text(root, field))
}

fn run(root: Value<'_>) -> Option<String> {
    text(root, "run_id")
        .map(|id| format!("run {id}"))
        .or_else(|| Some(format!("task {}", text(root, "taskId")?)))
}

/// The key of the phase that the cursor names; digit strings and names occur (V2).
fn cursor(root: Value<'_>, kind: Option<StateKind>) -> Option<String> {
    let field = if kind == Some(StateKind::Agent) { "currentPhase" } else { "current_phase" };
    text(root, field)
}

/// Puts phases in the order of their keys when all of those are numbers: writers append what they come to.
fn sort_by_number(phases: &mut Vec<Phase<'_>>) {
    let number = |phase: &Phase<'_>| phase.key.parse::<f64>().ok().filter(|number| number.is_finite());
    if phases.iter().all(|phase| number(phase).is_some()) {
        sort_by(phases, |a, b| number(a).partial_cmp(&number(b)).expect("finite numbers"));
    }
}

impl PhaseView {
    fn of(phase: &Phase<'_>, is_current: bool, until: Option<DateTime<Utc>>) -> PhaseView {
        let value = phase.value;
        let status = phase.status().map(String::from);
        let mark = Mark::of(status.as_deref());
        PhaseView {
            key: phase.key.clone(),
            name: text(value, "name"),
            is_current,
            agent: text(value, "agent"),
            duration: duration(value, if mark == Mark::Running { until } else { None }),
            sub_step: text(value, "subStep").filter(|_| mark != Mark::Done),
            error: text(value, "error"),
            outputs: OUTPUTS.iter().flat_map(|field| texts(value, field)).collect(),
            status,
            mark,
        }
    }
}

/// The fields in which phases list what they made.
const OUTPUTS: [&str; 4] = ["outputs", "output", "files", "artifacts"];

impl Mark {
    /// What a status word means: of the documents, and those with plainly the same meaning that occur in the wild.
    fn of(status: Option<&str>) -> Mark {
        match status {
            Some("done" | "completed") => Mark::Done,
            Some("running" | "in_progress" | "in-progress") => Mark::Running,
            None | Some("pending" | "not_started" | "not-started" | "idle") => Mark::Pending,
            Some("failed") => Mark::Failed,
            Some("skipped") => Mark::Skipped,
            Some(_) => Mark::Unknown,
        }
    }

    /// Its sign, one column wide.
    pub fn sign(self) -> &'static str {
        match self {
            Mark::Done => "✓",
            Mark::Running => "▸",
            Mark::Pending => ".",
            Mark::Failed => "✗",
            Mark::Skipped => "-",
            Mark::Unknown => "?",
        }
    }
}

/// From start to end, or until now for what is still running.
fn duration(phase: Value<'_>, until: Option<DateTime<Utc>>) -> Option<Duration> {
    let moment = |fields: [&str; 2]| {
        let text = fields.iter().find_map(|field| text(phase, field))?;
        Some(Moment::parse(&text)?.at)
    };
    let started = moment(["started_at", "startedAt"])?;
    let ended = moment(["completed_at", "completedAt"]).or(until)?;
    (started <= ended).then(|| time::between(started, ended))
}

/// A field that is a string or a number, as text; empty strings say nothing.
fn text(object: Value<'_>, field: &str) -> Option<String> {
    let value = object.get(field)?;
    match value.kind() {
        Kind::String => value.as_str().map(String::from).filter(|text| !text.is_empty()),
        Kind::Number => value.as_number_text().map(str::to_owned),
        _ => None,
    }
}

/// A field that is a string or a list of them, or of objects with a `path`.
fn texts(object: Value<'_>, field: &str) -> Vec<String> {
    let Some(value) = object.get(field) else { return Vec::new() };
    let one = |value: Value<'_>| match value.kind() {
        Kind::Object => text(value, "path"),
        _ => value.as_str().map(String::from),
    };
    match value.kind() {
        Kind::Array => value.elements().filter_map(one).collect(),
        _ => one(value).into_iter().collect(),
    }
}

fn to_milliseconds<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

#[cfg(test)]
mod tests;
