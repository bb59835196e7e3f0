//! What to do about a run that is found (R): the state, the clock and the file's time in, a [`Decision`] out. Pure.
//!
//! | rule | found | action | choices | exit |
//! |---|---|---|---|---|
//! | R1 | running, active less than an hour ago | refuse | | 1 |
//! | R2 | running, not active for an hour or more: crashed | ask | resume, restart, abort | 1 |
//! | R3 | completed | skip | skip, archive | 0 |
//! | R4 | escalated, failed, paused | stop | | 1 |
//! | R5 | corrupt, or not readable at all | escalate | | 3 |
//! | R6 | no status, or one that is none of these | stop | | 1 |
//!
//! 1. [`Activity`] — the newest time that anything tells of (R7).
//! 2. the status — what the status says, which is guessed for no word of another program (R6).
//! 3. [`decide`] — the rule, and every reason for it that a reader of the state should know.
//!
//! What lies outside the document (where the file lies, files it names) is not looked at here; see [`crate::runs`].

mod activity;

use std::fmt;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};

pub use activity::{Activity, MTIME};
use activity::{and_more, last_activity};

use crate::document::Value;
use crate::kind::StateKind;
use crate::phases::{Phase, is_done, phases};
use crate::text::quoted;
use crate::time;

/// How long a running run may be silent before it counts as crashed (R1, R2).
pub const STALE_AFTER: Duration = Duration::from_secs(60 * 60);

/// Against what the ages are measured (R7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The time that counts as now.
    pub now: DateTime<Utc>,
    /// From which silence on a running run counts as crashed; usually [`STALE_AFTER`].
    pub stale_after: Duration,
}

/// The rule that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Rule {
    /// Running and active.
    R1,
    /// Running and silent.
    R2,
    /// Completed.
    R3,
    /// Ended or halted in a way that a human looks at.
    R4,
    /// Corrupt or unreadable.
    R5,
    /// Of no or an unknown status.
    R6,
}

/// What a caller does about the run (R8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Start no other instance: one is at work.
    Refuse,
    /// Put the choices to the user.
    Ask,
    /// Go on without this run.
    Skip,
    /// Do nothing with this run and surface it: a human decides.
    Stop,
    /// Call a human: the file is damaged.
    Escalate,
}

/// What may be put to the user, where a rule names choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// Mark a run complete whose phases all are (P7).
    Finalize,
    /// Go on where it stopped.
    Resume,
    /// Begin again in a new run.
    Restart,
    /// Give it up.
    Abort,
    /// Leave it where it is.
    Skip,
    /// Move it away.
    Archive,
}

/// One reason for a decision, or one thing that its reader should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// What it is, in kebab case; stable, for programs.
    pub code: &'static str,
    /// The same for people.
    pub message: String,
    /// RFC 6901 pointer of the field it is about; `None` when it is about the run or its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

/// What to do about a run, as data (R8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The rule that decided.
    pub rule: Rule,
    /// The status as the document has it; `None` when it has none or none that is a string.
    pub status: Option<String>,
    /// What to do.
    pub action: Action,
    /// What to put to the user; empty where no rule names choices.
    pub choices: Vec<Choice>,
    /// Whether a program may resume without asking: by no rule.
    pub auto_resume: bool,
    /// How long ago it was active; zero for a time in the future, `None` when the file's time is not known.
    #[serde(rename = "ageMs", serialize_with = "to_milliseconds")]
    pub age: Option<Duration>,
    /// When it was active last; `None` when the file's time is not known.
    pub last_active: Option<Activity>,
    /// Why: the rule's own reason first.
    pub reasons: Vec<Reason>,
}

impl Rule {
    /// What the rule has its reader do.
    pub fn action(self) -> Action {
        match self {
            Rule::R1 => Action::Refuse,
            Rule::R2 => Action::Ask,
            Rule::R3 => Action::Skip,
            Rule::R4 | Rule::R6 => Action::Stop,
            Rule::R5 => Action::Escalate,
        }
    }

    /// What the rule gives to choose from.
    pub fn choices(self) -> &'static [Choice] {
        match self {
            Rule::R2 => &[Choice::Resume, Choice::Restart, Choice::Abort],
            Rule::R3 => &[Choice::Skip, Choice::Archive],
            Rule::R1 | Rule::R4 | Rule::R5 | Rule::R6 => &[],
        }
    }

    /// The process exit code (R8); of several decisions the largest is the worst.
    pub fn exit_code(self) -> u8 {
        match self {
            Rule::R3 => 0,
            Rule::R1 | Rule::R2 | Rule::R4 | Rule::R6 => 1,
            Rule::R5 => 3,
        }
    }
}

impl Action {
    /// Its word in output.
    pub fn word(self) -> &'static str {
        match self {
            Action::Refuse => "refuse",
            Action::Ask => "ask",
            Action::Skip => "skip",
            Action::Stop => "stop",
            Action::Escalate => "escalate",
        }
    }
}

impl Choice {
    /// Its word in output.
    pub fn word(self) -> &'static str {
        match self {
            Choice::Finalize => "finalize",
            Choice::Resume => "resume",
            Choice::Restart => "restart",
            Choice::Abort => "abort",
            Choice::Skip => "skip",
            Choice::Archive => "archive",
        }
    }
}

impl Reason {
    /// A reason about the run or its file.
    pub fn new(code: &'static str, message: impl Into<String>) -> Reason {
        Reason { code, message: message.into(), pointer: None }
    }

    /// A reason about one field.
    pub fn at(code: &'static str, pointer: impl Into<String>, message: impl Into<String>) -> Reason {
        Reason { code, message: message.into(), pointer: Some(pointer.into()) }
    }
}

/// `/status: is "paused", so a human decides [paused]`.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(pointer) = &self.pointer {
            write!(f, "{pointer}: ")?;
        }
        write!(f, "{} [{}]", self.message, self.code)
    }
}

/// Decides about the document `root` of a file that was last modified at `modified`.
///
/// `kind` is what [`StateKind::of`] says; a document of neither kind is decided by its status like any other, and the
/// reasons say so. Reads, and changes nothing.
pub fn decide(root: Value<'_>, kind: Option<StateKind>, modified: SystemTime, clock: &Clock) -> Decision {
    let (activity, odd_times) = last_activity(root, time::instant(modified), clock.now);
    let found = Found::of(root, kind);
    let phases = phases(root);
    let is_active = activity.at > clock.now || activity.age(clock.now) < clock.stale_after;
    let rule = match found {
        Found::Running { .. } if is_active => Rule::R1,
        Found::Running { .. } => Rule::R2,
        Found::Completed(_) => Rule::R3,
        Found::Stopped(_) => Rule::R4,
        Found::Unusable(_) => Rule::R6,
    };
    let is_unfinalised =
        kind == Some(StateKind::Pipeline) && matches!(found, Found::Running { .. }) && is_complete(&phases);

    let mut decision = Decision::by(rule).active(activity, clock);
    decision.status = root.get("status").and_then(Value::as_str).map(String::from);
    if is_unfinalised && rule == Rule::R2 {
        decision.choices.insert(0, Choice::Finalize);
    }
    decision.reasons.push(match &found {
        Found::Running { .. } => silence(&decision, clock),
        Found::Completed(reason) | Found::Stopped(reason) | Found::Unusable(reason) => reason.clone(),
    });
    if let Found::Running { assumed: true } = found {
        decision.reasons.push(Reason::at(
            "status-assumed",
            "/status",
            "is missing: an agent state without it counts as running",
        ));
    }
    if is_unfinalised {
        decision.reasons.push(Reason::at(
            "complete-unfinalised",
            "/phases",
            "are all done: complete, and only to be finalised",
        ));
    }
    if kind.is_none() {
        decision.reasons.push(Reason::new(
            "kind-unknown",
            "is neither an agent's nor a pipeline's state; only its status was read",
        ));
    }
    if rule != Rule::R3 {
        decision.reasons.extend(halt(root));
        decision.reasons.extend(failed_phases(&phases));
    }
    decision.reasons.extend(odd_times);
    decision
}

/// Decides about a file whose content is no state document (R5): `fault` says what it is.
pub fn corrupt(fault: &str, modified: SystemTime, clock: &Clock) -> Decision {
    let activity = Activity { at: time::instant(modified), source: MTIME.to_owned() };
    let mut decision = Decision::by(Rule::R5).active(activity, clock);
    decision.reasons.push(Reason::new("corrupt", format!("{fault}; never resume from it")));
    decision
}

/// Decides about a file that cannot be read, which may hold anything (R5): `code` and `why` say what is in the way.
pub fn unreadable(code: &'static str, why: &str) -> Decision {
    let mut decision = Decision::by(Rule::R5);
    decision.reasons.push(Reason::new(code, why));
    decision
}

/// Whether the phases are complete by P7: at least one, and all of them done.
pub fn is_complete(phases: &[Phase<'_>]) -> bool {
    !phases.is_empty() && phases.iter().all(Phase::is_done)
}

impl Decision {
    /// The status in one word: one of the contract's, `unknown` for any other, `-` for none.
    pub fn status_word(&self) -> &'static str {
        let words = ["running", "completed", "done", "escalated", "failed", "paused"];
        match &self.status {
            None => "-",
            Some(status) => words.into_iter().find(|word| word == status).unwrap_or("unknown"),
        }
    }

    fn by(rule: Rule) -> Decision {
        Decision {
            rule,
            status: None,
            action: rule.action(),
            choices: rule.choices().to_vec(),
            auto_resume: false,
            age: None,
            last_active: None,
            reasons: Vec::new(),
        }
    }

    fn active(mut self, last: Activity, clock: &Clock) -> Decision {
        self.age = Some(last.age(clock.now));
        self.last_active = Some(last);
        self
    }
}

/// What the status of a document says.
enum Found {
    Running {
        /// Nothing says so: an agent state has no status.
        assumed: bool,
    },
    Completed(Reason),
    Stopped(Reason),
    Unusable(Reason),
}

impl Found {
    /// Reads the status. Only the contract's own words count, in their own spelling: what `in_progress` or `idle` mean
    /// to the program that wrote them is not known (R6).
    fn of(root: Value<'_>, kind: Option<StateKind>) -> Found {
        let unusable = |code, message: String| Found::Unusable(Reason::at(code, "/status", message));
        let stopped = |code, why: &str| {
            let message = format!("{why}: a human decides, and a resume has to be confirmed");
            Found::Stopped(Reason::at(code, "/status", message))
        };
        let statuses: Vec<Value> =
            root.members().filter(|member| member.key == *"status").map(|member| member.value).collect();
        let status = match statuses[..] {
            [] if kind == Some(StateKind::Agent) => return Found::Running { assumed: true },
            [] => {
                return unusable("status-missing", "is missing: what became of the run is not known".into());
            }
            [status] => status,
            _ => return unusable("status-twice", "stands there twice: which one counts is not known".into()),
        };
        let Some(word) = status.as_str() else {
            return unusable("status-unknown", format!("is {}, and no status", status.kind().described()));
        };
        match &*word {
            "running" => Found::Running { assumed: false },
            word if is_done(word) => Found::Completed(Reason::at(
                "completed",
                "/status",
                "is completed: skip the run or archive it",
            )),
            "escalated" => stopped("escalated", "is escalated"),
            "failed" => stopped("failed", "is failed"),
            "paused" => stopped("paused", "is paused"),
            word => unusable(
                "status-unknown",
                format!("is {}, and none of running, completed, escalated, failed, paused", quoted(word)),
            ),
        }
    }
}

/// Why a running run is at work or crashed (R1, R2).
fn silence(decision: &Decision, clock: &Clock) -> Reason {
    let source = decision.last_active.as_ref().map_or(MTIME, |activity| &activity.source);
    let age = time::told(decision.age.unwrap_or_default());
    let limit = time::told(clock.stale_after);
    let (code, message) = match decision.rule {
        Rule::R1 => ("active", format!("active {age} ago by {source}: a run is at work, start no other")),
        _ => ("crashed", format!("running, but not active for {age} by {source} ({limit} or more): crashed")),
    };
    Reason::new(code, message)
}

/// What an agent's halt left (S3).
fn halt(root: Value<'_>) -> Option<Reason> {
    let cause = root.get("haltReason")?.as_str()?;
    Some(Reason::at("halt-reason", "/haltReason", format!("is {}", quoted(&cause))))
}

/// The first phase that failed, and how many more did.
fn failed_phases(phases: &[Phase<'_>]) -> Option<Reason> {
    let mut failed = phases.iter().filter(|phase| phase.status().as_deref() == Some("failed"));
    let first = failed.next()?;
    let error = first.value.get("error").and_then(Value::as_str);
    let why = error.map_or(String::new(), |error| format!(": {}", quoted(&error)));
    Some(Reason::at(
        "phase-failed",
        first.pointer.as_str(),
        format!("failed{why}{}", and_more(failed.count())),
    ))
}

fn to_rfc3339<S: Serializer>(at: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&at.to_rfc3339_opts(SecondsFormat::Millis, true))
}

fn to_milliseconds<S: Serializer>(age: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

#[cfg(test)]
mod tests;
