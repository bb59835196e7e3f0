//! Where to go on with an agent run and what not to do again (S1): the document and what the disk says in, a [`Plan`]
//! out. [`of_file`] asks the disk; [`Plan::make`] is pure.
//!
//! 1. The phase: `currentPhase` if it has a record that is not finished, else the next, at most the last. Documents set
//!    the cursor both when a phase starts and when it ends, so the record alone tells which it was, and no unfinished
//!    phase is skipped.
//! 2. Within it, the units that are recorded and whose files exist are skipped.
//! 3. Behind it, the phases that are finished already are left out; the last one is always in, because it captures what
//!    was learnt.
//! 4. What keeps anyone from starting ([`Plan::obstacles`]): the rules of recovery, and a worktree that has to be healed
//!    first.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::handoff::{self, Latest};
use super::state::{self, Identity};
use super::worktree::{self, Worktree};
use crate::document::{Document, Value};
use crate::error::Error;
use crate::inside::{Found, look_for};
use crate::kind::StateKind;
use crate::log;
use crate::recovery::{self, Clock, Decision, Reason, Rule};
use crate::update;
use crate::validate::{self, Finding, Report};

/// The line that a document which is unsafe to resume ends with, as 003… has it.
pub const UNSAFE: &str = "ERR: agent-state.json is unsafe to resume; inspect it or 'kill #N' and restart.";

/// How to go on with a run. Serialises to what `--json` prints.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The state file; in JSON with U+FFFD for what is not UTF-8 (A8).
    pub path: String,
    /// The revision that the plan was made of (M7).
    pub rev: String,
    /// The task's number.
    pub task_id: Option<String>,
    /// The task's ticket.
    pub ticket: Option<String>,
    /// The cursor of the document.
    pub current_phase: u32,
    /// The phase to enter.
    pub phase: u32,
    /// The latest unit that is recorded of it.
    pub sub_step: Option<String>,
    /// The phases to run, in their order; the last phase is always among them.
    pub phases: Vec<u32>,
    /// Units of the phase that are not to be done again.
    pub skip: Vec<Judged>,
    /// Units that are recorded and have to be done again all the same.
    pub redo: Vec<Judged>,
    /// Why the plan is as it is.
    pub reasons: Vec<Reason>,
    /// Why it cannot be started as it is; empty when it can.
    pub obstacles: Vec<Reason>,
    /// The recorded worktrees.
    pub worktrees: Vec<Worktree>,
    /// What the latest handoff says (S5).
    pub handoff: Option<Latest>,
    /// What the validation warned of.
    pub findings: Vec<Finding>,
    /// What the rules of recovery say of the run (R8).
    pub decision: Decision,
}

/// A unit and what was decided about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// Its name.
    pub sub_step: String,
    /// What it has put out.
    pub files: Vec<String>,
    /// Why it is skipped or not.
    pub why: String,
}

/// What the disk says beside the document.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The recorded worktrees.
    pub worktrees: Vec<Worktree>,
    /// The latest handoff.
    pub handoff: Option<Latest>,
    /// What the validation warned of.
    pub findings: Vec<Finding>,
}

/// Whether a file can be resumed from.
#[derive(Clone, Debug)]
pub enum Resumable {
    /// This is how.
    Plan(Box<Plan>),
    /// It cannot: [`UNSAFE`], and why.
    Unsafe(Report),
}

/// Plans how to go on with the run of the document at `path`. Only reads, takes no lock, and asks git about the worktrees.
///
/// # Errors
/// [`Error::Refused`] for a document of another kind.
pub fn of_file(path: &Path, clock: &Clock, max_phase: u32) -> Result<Resumable, Error> {
    let options = validate::Options { max_phase, ..validate::Options::default() };
    let report = validate::validate_file(path, &options);
    if !report.ok {
        return Ok(Resumable::Unsafe(report));
    }
    let snapshot = update::read(path)?;
    let Some(facts) = snapshot.facts else {
        // It went between the two.
        return Ok(Resumable::Unsafe(validate::validate_file(path, &options)));
    };
    let rev = snapshot.rev.clone();
    let document = snapshot.document(path)?;
    super::must_be_agent(path, document.root())?;
    let survey = survey(path, &document, report.findings);
    let decision = recovery::decide(document.root(), Some(StateKind::Agent), facts.modified, clock);
    let roots = state::roots(document.root());
    let look = |file: &str| look_for(file, &roots);
    match Plan::make(path, rev, document.root(), survey, decision, max_phase, &look) {
        Some(plan) => Ok(Resumable::Plan(Box::new(plan))),
        // Written over between the two by what does not pass.
        None => Ok(Resumable::Unsafe(validate::validate_file(path, &options))),
    }
}

fn survey(path: &Path, document: &Document, findings: Vec<Finding>) -> Survey {
    let worktrees = state::worktrees(document.root()).iter().map(worktree::look_at).collect();
    Survey { worktrees, handoff: handoff::latest(&log_beside(path)).ok().flatten(), findings }
}

/// The log of the state file at `path`, all links followed.
pub fn log_beside(path: &Path) -> PathBuf {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real.with_file_name(log::LOG_FILE)
}

impl Plan {
    /// Makes the plan of a document that has passed the validation; `None` when its cursor is none.
    pub fn make(
        path: &Path,
        rev: String,
        root: Value<'_>,
        survey: Survey,
        decision: Decision,
        max_phase: u32,
        look: &dyn Fn(&str) -> Found,
    ) -> Option<Plan> {
        let cursor = state::cursor(root).filter(|cursor| *cursor <= max_phase)?;
        let (phase, why) = enter(root, cursor, max_phase);
        let (phases, left_out) = phases_from(root, phase, max_phase);
        let record = state::record(root, phase);
        let (skip, redo) = judge_units(record, phase, look);
        let Identity { id, ticket } = Identity::of(root);
        let mut reasons = vec![why];
        reasons.extend(left_out);
        reasons.extend(unknown_changes(root, &survey.worktrees));
        Some(Plan {
            path: path.to_string_lossy().into_owned(),
            rev,
            task_id: id.or_else(|| state::id_by_folder(path)),
            ticket,
            current_phase: cursor,
            phase,
            sub_step: record.and_then(state::sub_step),
            phases,
            skip,
            redo,
            reasons,
            obstacles: obstacles(&decision, &survey.worktrees),
            worktrees: survey.worktrees,
            handoff: survey.handoff,
            findings: survey.findings,
            decision,
        })
    }
}

/// The phase to enter, and why.
fn enter(root: Value<'_>, cursor: u32, last: u32) -> (u32, Reason) {
    let pointer = format!("/phases/{cursor}");
    let record = state::record(root, cursor);
    let status = record.and_then(state::status);
    let status = status.map_or("has no status".to_owned(), |status| format!("is {status}"));
    match record {
        Some(record) if !state::is_finished(record) => {
            let message = format!("the current phase {cursor} {status}, so it is entered again");
            (cursor, Reason::at("phase-unfinished", pointer, message))
        }
        _ if cursor >= last => {
            let message = format!("the current phase {cursor} {status}, and the last phase always runs");
            (last, Reason::at("last-phase-again", pointer, message))
        }
        Some(_) => {
            let message = format!("the current phase {cursor} {status}, so the next is entered");
            (cursor + 1, Reason::at("phase-finished", pointer, message))
        }
        None => {
            let message = format!("the current phase {cursor} has no record, so the next is entered");
            (cursor + 1, Reason::at("phase-without-record", pointer, message))
        }
    }
}

/// The phases to run from `phase` on, and why others are left out.
fn phases_from(root: Value<'_>, phase: u32, last: u32) -> (Vec<u32>, Vec<Reason>) {
    let mut phases = vec![phase];
    let mut left_out = Vec::new();
    for number in phase + 1..=last {
        let status = state::record(root, number).filter(|record| state::is_finished(*record));
        match status.and_then(state::status) {
            Some(status) if number < last => left_out.push(Reason::at(
                "later-phase-finished",
                format!("/phases/{number}"),
                format!("phase {number} is {status} already, and left out"),
            )),
            _ => phases.push(number),
        }
    }
    (phases, left_out)
}

/// What is skipped of a phase that is entered, and what is not.
fn judge_units(
    record: Option<Value<'_>>,
    phase: u32,
    look: &dyn Fn(&str) -> Found,
) -> (Vec<Judged>, Vec<Judged>) {
    let (mut skip, mut redo) = (Vec::new(), Vec::new());
    // A finished phase that runs again runs as a whole.
    let Some(record) = record.filter(|record| !state::is_finished(*record)) else { return (skip, redo) };
    for unit in state::units(record, phase) {
        let fault = unit.files.iter().find_map(|file| match look(file) {
            Found::There => None,
            Found::Missing => Some(format!("{file} is missing")),
            Found::Outside => Some(format!("{file} leads out of the worktree")),
            Found::Nowhere => Some(format!("no worktree is recorded to look for {file} in")),
        });
        let judged = |why| Judged { sub_step: unit.token.clone(), files: unit.files.clone(), why };
        match fault {
            Some(why) => redo.push(judged(why)),
            None if unit.files.is_empty() => skip.push(judged("it is recorded, and lists no files".into())),
            None => skip.push(judged("it is recorded, and its files exist".into())),
        }
    }
    (skip, redo)
}

/// Changes in the worktrees that no phase lists: somebody else's, or those of a unit that was not recorded yet.
fn unknown_changes(root: Value<'_>, worktrees: &[Worktree]) -> Option<Reason> {
    let known: Vec<String> =
        crate::phases::phases(root).iter().flat_map(|phase| state::files(phase.value)).collect();
    // git tells of a folder that it does not know by its name and a slash.
    let is_known = |changed: &str| {
        known.iter().any(|file| file == changed || changed.ends_with('/') && file.starts_with(changed))
    };
    let changed = worktrees.iter().flat_map(|worktree| &worktree.changed);
    let unknown: Vec<&String> = changed.filter(|changed| !is_known(changed)).collect();
    let first = unknown.first()?;
    let more = if unknown.len() > 1 { format!(" and {} more", unknown.len() - 1) } else { String::new() };
    Some(Reason::new("changes-unknown", format!("changed, and listed by no phase: {first}{more}")))
}

/// What keeps the plan from being started.
fn obstacles(decision: &Decision, worktrees: &[Worktree]) -> Vec<Reason> {
    let rule = match decision.rule {
        // A stopped or a crashed run is what --start is for.
        Rule::R2 | Rule::R4 => None,
        Rule::R1 | Rule::R3 | Rule::R5 | Rule::R6 => decision.reasons.first().cloned(),
    };
    let notes = worktrees.iter().flat_map(|worktree| {
        let blocking = worktree.notes.iter().filter(|note| note.blocks);
        blocking.map(|note| Reason::at(note.code, worktree.pointer.as_str(), note.message.as_str()))
    });
    rule.into_iter().chain(notes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{TimeZone, Utc};
    use std::time::{Duration, UNIX_EPOCH};

    fn plan(text: &str, there: &[&str]) -> Plan {
        let document = Document::parse(text.into()).unwrap();
        let clock =
            Clock { now: Utc.timestamp_opt(1_000_000, 0).unwrap(), stale_after: Duration::from_secs(3600) };
        let decision = recovery::decide(document.root(), Some(StateKind::Agent), UNIX_EPOCH, &clock);
        let survey = Survey { worktrees: Vec::new(), handoff: None, findings: Vec::new() };
        let look = |file: &str| if there.contains(&file) { Found::There } else { Found::Missing };
        Plan::make(
            Path::new("/l/p/3/agent-state.json"),
            "r".into(),
            document.root(),
            survey,
            decision,
            7,
            &look,
        )
        .unwrap()
    }

    #[test]
    fn the_phase_that_is_entered_is_the_first_that_is_not_finished_from_the_cursor_on() {
        for (text, phase, phases, code) in [
            (
                r#"{"currentPhase":0,"phases":{"0":{"status":"pending"}}}"#,
                0,
                &[0, 1, 2, 3, 4, 5, 6, 7][..],
                "phase-unfinished",
            ),
            (
                r#"{"currentPhase":3,"phases":{"3":{"status":"running"}}}"#,
                3,
                &[3, 4, 5, 6, 7],
                "phase-unfinished",
            ),
            (
                r#"{"currentPhase":3,"phases":{"3":{"status":"failed"}}}"#,
                3,
                &[3, 4, 5, 6, 7],
                "phase-unfinished",
            ),
            (r#"{"currentPhase":3,"phases":{"3":{"files":[]}}}"#, 3, &[3, 4, 5, 6, 7], "phase-unfinished"),
            (r#"{"currentPhase":3,"phases":{"3":{"status":"done"}}}"#, 4, &[4, 5, 6, 7], "phase-finished"),
            (
                r#"{"currentPhase":3,"phases":{"3":{"status":"completed"}}}"#,
                4,
                &[4, 5, 6, 7],
                "phase-finished",
            ),
            (r#"{"currentPhase":3,"phases":{"3":{"status":"skipped"}}}"#, 4, &[4, 5, 6, 7], "phase-finished"),
            (r#"{"currentPhase":3,"phases":{}}"#, 4, &[4, 5, 6, 7], "phase-without-record"),
            (r#"{"currentPhase":"3"}"#, 4, &[4, 5, 6, 7], "phase-without-record"),
            (
                r#"{"currentPhase":2,"phases":["done","done","running"]}"#,
                2,
                &[2, 3, 4, 5, 6, 7],
                "phase-unfinished",
            ),
            (
                r#"{"currentPhase":3,"phases":{"3":"done","4":{"status":"running"},"5":"done","7":"done"}}"#,
                4,
                &[4, 6, 7],
                "phase-finished",
            ),
            (
                r#"{"currentPhase":6,"phases":{"6":{"status":"done"},"7":{"status":"done"}}}"#,
                7,
                &[7],
                "phase-finished",
            ),
            (r#"{"currentPhase":7,"phases":{"7":{"status":"done"}}}"#, 7, &[7], "last-phase-again"),
            (r#"{"currentPhase":7,"phases":{"7":{"status":"running"}}}"#, 7, &[7], "phase-unfinished"),
            (r#"{"currentPhase":7,"phases":{}}"#, 7, &[7], "last-phase-again"),
        ] {
            let plan = plan(text, &[]);
            assert_eq!((plan.phase, &plan.phases[..], plan.reasons[0].code), (phase, phases, code), "{text}");
        }
    }

    #[test]
    fn units_whose_files_exist_are_skipped_and_others_are_not() {
        let plan = plan(
            r#"{"currentPhase":3,"phases":{"3":{"status":"running","subStep":"build","subSteps":{
                "red":{"files":["a"]},"green":{"files":["a","b"]},"build":{"files":[]}}}}}"#,
            &["a"],
        );
        let judged = |token: &str, files: &[&str], why: &str| Judged {
            sub_step: token.into(),
            files: files.iter().map(|&file| file.into()).collect(),
            why: why.into(),
        };
        assert_eq!(plan.sub_step.as_deref(), Some("build"));
        assert_eq!(
            plan.skip,
            [
                judged("red", &["a"], "it is recorded, and its files exist"),
                judged("build", &[], "it is recorded, and lists no files")
            ]
        );
        assert_eq!(plan.redo, [judged("green", &["a", "b"], "b is missing")]);
    }

    #[test]
    fn a_phase_that_runs_again_runs_as_a_whole() {
        let plan = plan(
            r#"{"currentPhase":7,"phases":{"7":{"status":"done","subSteps":{"red":{"files":["a"]}}}}}"#,
            &["a"],
        );
        assert_eq!((plan.skip, plan.redo), (Vec::new(), Vec::new()));
    }

    #[test]
    fn only_stopped_and_crashed_runs_can_be_started() {
        let obstacles = |status: &str| {
            let text = format!(r#"{{"status":{status},"currentPhase":1,"phases":{{}}}}"#);
            plan(&text, &[]).obstacles.into_iter().map(|reason| reason.code).collect::<Vec<_>>()
        };
        for ready in ["\"running\"", "\"paused\"", "\"failed\"", "\"escalated\""] {
            assert_eq!(obstacles(ready), [""; 0], "{ready}");
        }
        assert_eq!(obstacles("\"completed\""), ["completed"]);
        assert_eq!(obstacles("\"blocked\""), ["status-unknown"]);
        assert_eq!(obstacles("null"), ["status-unknown"]);
    }
}
