//! What an agent state says that cannot all be true (V3). A resume goes on by the cursor all the same, so these are
//! warnings; each names the field to look at.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::agent::Agent;
use super::fields::{Fields, Shape};
use super::finding::Finding;
use crate::document::{Kind as JsonKind, Value};
use crate::phases::is_done as is_finished;
use crate::text::quoted;
use crate::time::{Moment, TIME_FIELDS, Zone};

/// Adds every contradiction in a state; `exists` is asked about the files that it lists.
pub(super) fn check(agent: &Agent<'_>, exists: &dyn Fn(&Path) -> bool, findings: &mut Vec<Finding>) {
    cursor_against_phases(agent, findings);
    status_against_phases(agent, findings);
    status_against_halt(agent, findings);
    times(agent, findings);
    files(agent, exists, findings);
}

/// A phase behind which nothing is left to do.
fn is_done(status: &str) -> bool {
    is_finished(status) || status == "skipped"
}

fn is_running(status: &str) -> bool {
    matches!(status, "running" | "in_progress" | "in-progress")
}

/// Phases before the cursor are done and those behind it are not. A phase without a record says nothing, and one that is
/// skipped may have been so from the start.
fn cursor_against_phases(agent: &Agent<'_>, findings: &mut Vec<Finding>) {
    let Some(cursor) = agent.cursor else { return };
    for (&number, phase) in &agent.phases {
        let status = phase.status.as_deref();
        if number < cursor && !status.is_some_and(is_done) {
            let status = status.map_or("without a status".to_owned(), quoted);
            let message = format!("phase {number} is {status}, not done, and the current phase is {cursor}");
            findings.push(Finding::warning("earlier-phase-not-done", phase.status_pointer(), message));
        }
        if number > cursor && status.is_some_and(is_finished) {
            let message = format!("phase {number} is done, and the current phase is still {cursor}");
            findings.push(Finding::warning("later-phase-done", phase.status_pointer(), message));
        }
    }
}

/// A finished run has no running phase.
fn status_against_phases(agent: &Agent<'_>, findings: &mut Vec<Finding>) {
    let Some(run) = agent.status().filter(|status| is_finished(status)) else { return };
    for (number, phase) in &agent.phases {
        if phase.status.as_deref().is_some_and(is_running) {
            let message = format!("phase {number} is running, and the run is {run}");
            findings.push(Finding::warning("phase-running-in-finished-run", phase.status_pointer(), message));
        }
    }
}

/// A running run has no reason to have halted: resuming clears it (S3), by whatever means.
fn status_against_halt(agent: &Agent<'_>, findings: &mut Vec<Finding>) {
    let Some(reason) = agent.root.get("haltReason") else { return };
    let is_cleared = reason.is_null() || reason.as_str().is_some_and(|reason| reason.is_empty());
    if !is_cleared && agent.status().is_some_and(|status| is_running(&status)) {
        let message =
            "the run is running and has a haltReason: either it halted, or a resume did not clear it";
        findings.push(Finding::warning("halt-reason-while-running", "/haltReason", message));
    }
}

/// The times of R7, at the top, in `metadata` and in the phases, have a zone.
fn times(agent: &Agent<'_>, findings: &mut Vec<Finding>) {
    times_of(&agent.root, "", findings);
    if let Some(metadata) = agent.root.get("metadata") {
        times_of(&Fields::of(metadata, &Shape::Flat), "/metadata", findings);
    }
    for phase in agent.phases.values() {
        times_of(&phase.fields, &phase.pointer, findings);
    }
}

fn times_of(fields: &Fields<'_>, pointer: &str, findings: &mut Vec<Finding>) {
    for field in TIME_FIELDS {
        let Some(text) = fields.get(field).and_then(Value::as_str) else { continue };
        let zone = Moment::parse(&text).map(|moment| moment.zone);
        let text = quoted(&text);
        let (code, message) = match zone {
            Some(Zone::Given) => continue,
            Some(Zone::Missing) => {
                ("time-without-zone", format!("{field} is {text}, without a zone: taken for UTC"))
            }
            None => ("time-unreadable", format!("{field} is {text}, which is no time of ISO 8601")),
        };
        findings.push(Finding::warning(code, format!("{pointer}/{field}"), message));
    }
}

/// The files that phases list exist in the worktree (S2), with several repositories in one of theirs. Without a
/// recorded worktree only absolute paths can be looked for, and it is said that the others were not.
fn files(agent: &Agent<'_>, exists: &dyn Fn(&Path) -> bool, findings: &mut Vec<Finding>) {
    let worktrees = worktrees(&agent.root);
    let mut unchecked = 0_usize;
    for phase in agent.phases.values() {
        let pointer = format!("{}/files", phase.pointer);
        let Some(files) = phase.fields.get("files").filter(|files| !files.is_null()) else { continue };
        if files.kind() != JsonKind::Array {
            let message = format!("files is {} instead of a list of paths", files.kind().described());
            findings.push(Finding::warning("files-not-a-list", pointer, message));
            continue;
        }
        for (place, file) in files.elements().enumerate() {
            match find(file, &worktrees, exists) {
                Lookup::Found => {}
                Lookup::Nowhere => unchecked += 1,
                Lookup::Missing(file) => {
                    let message = format!("the listed file {} does not exist", quoted(&file));
                    findings.push(Finding::warning("file-missing", format!("{pointer}/{place}"), message));
                }
                Lookup::NoPath => {
                    let message = "the listed file is not named by a path";
                    findings.push(Finding::warning("file-not-a-path", format!("{pointer}/{place}"), message));
                }
            }
        }
    }
    if unchecked > 0 {
        let message = format!(
            "no absolute worktree is recorded to look for the listed files in: {unchecked} unchecked"
        );
        findings.push(Finding::info("files-unchecked", "/worktreePath", message));
    }
}

/// What looking for a listed file brought.
enum Lookup<'a> {
    Found,
    Missing(Cow<'a, str>),
    /// It is relative, and there is no worktree to look in.
    Nowhere,
    /// What is listed is no path.
    NoPath,
}

fn find<'a>(file: Value<'a>, worktrees: &[PathBuf], exists: &dyn Fn(&Path) -> bool) -> Lookup<'a> {
    let Some(name) = file.as_str().filter(|name| !name.is_empty()) else { return Lookup::NoPath };
    let path = Path::new(&*name);
    let is_there = match (path.is_absolute(), worktrees.is_empty()) {
        (true, _) => exists(path),
        (false, true) => return Lookup::Nowhere,
        (false, false) => worktrees.iter().any(|worktree| exists(&worktree.join(path))),
    };
    if is_there { Lookup::Found } else { Lookup::Missing(name) }
}

/// The worktrees that a state records, its own or those of its projects. A relative one lies in its repository; when
/// that is not recorded either, nobody knows where it is.
fn worktrees(root: &Fields<'_>) -> Vec<PathBuf> {
    let of = |fields: &Fields<'_>| {
        let path = |key: &str| {
            Some(PathBuf::from(&*fields.get(key)?.as_str()?)).filter(|path| path != Path::new(""))
        };
        let worktree = path("worktreePath")?;
        let worktree = path("repoPath").map_or(worktree.clone(), |repository| repository.join(&worktree));
        worktree.is_absolute().then_some(worktree)
    };
    let projects = root.get("projects").into_iter().flat_map(Value::elements);
    of(root)
        .into_iter()
        .chain(projects.filter_map(|project| of(&Fields::of(project, &Shape::Flat))))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::validate::tests::{lines, report};
    use crate::validate::{Options, Report};

    fn with_phases(head: &str, phases: &str) -> Vec<String> {
        lines(&format!(r#"{{{head},"phases":{phases}}}"#))
    }

    #[test]
    fn v3_an_earlier_phase_that_is_not_done_is_named() {
        for phases in [
            r#"{"0":"done","1":{"status":"completed"},"2":"skipped","4":"running","5":"pending","6":"skipped"}"#,
            // A phase without a record says nothing.
            r#"{"4":"running"}"#,
            // The cursor is set when a phase starts and when it ends (S1).
            r#"{"4":"done"}"#,
            r#"{"4":"done","5":"running"}"#,
        ] {
            assert_eq!(with_phases(r#""currentPhase":4"#, phases), [""; 0], "{phases}");
        }
        assert_eq!(
            with_phases(
                r#""currentPhase":4"#,
                r#"{"0":{"status":"pending"},"1":"failed","2":{},"3":{"status":1}}"#
            ),
            [
                "warning /phases/3/status: the status is a number instead of a word [status-unknown]",
                r#"warning /phases/0/status: phase 0 is "pending", not done, and the current phase is 4 [earlier-phase-not-done]"#,
                r#"warning /phases/1: phase 1 is "failed", not done, and the current phase is 4 [earlier-phase-not-done]"#,
                "warning /phases/2: phase 2 is without a status, not done, and the current phase is 4 [earlier-phase-not-done]",
                "warning /phases/3/status: phase 3 is without a status, not done, and the current phase is 4 [earlier-phase-not-done]",
            ]
        );
    }

    #[test]
    fn v3_a_later_phase_that_is_done_is_named() {
        assert_eq!(
            with_phases(
                r#""currentPhase":"2""#,
                r#"["done","done","running","completed",{"status":"done"},"skipped"]"#
            ),
            [
                r#"warning /currentPhase: currentPhase is the string "2", to which JavaScript adds 1 as a digit [current-phase-spelling]"#,
                "warning /phases/3: phase 3 is done, and the current phase is still 2 [later-phase-done]",
                "warning /phases/4/status: phase 4 is done, and the current phase is still 2 [later-phase-done]",
            ]
        );
    }

    #[test]
    fn v3_a_finished_run_with_a_running_phase_is_named() {
        let phases = r#"{"5":"in-progress","6":{"status":"in_progress"},"7":{"status":"running"}}"#;
        for run in ["done", "completed"] {
            assert_eq!(
                with_phases(&format!(r#""currentPhase":5,"status":"{run}""#), phases),
                [
                    format!(
                        "warning /phases/5: phase 5 is running, and the run is {run} [phase-running-in-finished-run]"
                    ),
                    format!(
                        "warning /phases/6/status: phase 6 is running, and the run is {run} [phase-running-in-finished-run]"
                    ),
                    format!(
                        "warning /phases/7/status: phase 7 is running, and the run is {run} [phase-running-in-finished-run]"
                    ),
                ]
            );
        }
        assert_eq!(with_phases(r#""currentPhase":5,"status":"failed""#, phases), [""; 0]);
    }

    #[test]
    fn v3_running_with_a_halt_reason_is_named() {
        let finding = "warning /haltReason: the run is running and has a haltReason: either it halted, or a resume did \
                       not clear it [halt-reason-while-running]";
        // By R6 a state without a status is running.
        for head in [r#""status":"running""#, r#""status":"in_progress""#, r#""branch":"b""#] {
            assert_eq!(
                with_phases(&format!(r#""currentPhase":5,{head},"haltReason":"5:lock""#), "{}"),
                [finding]
            );
        }
        for head in [
            r#""status":"paused","haltReason":"5:lock""#,
            r#""status":"running","haltReason":null"#,
            r#""status":"running","haltReason":"""#,
        ] {
            assert_eq!(with_phases(&format!(r#""currentPhase":5,{head}"#), "{}"), [""; 0], "{head}");
        }
    }

    #[test]
    fn v3_times_without_a_zone_are_named_where_r7_looks() {
        assert_eq!(
            lines(
                r#"{"currentPhase":4,"started_at":"2026-07-31T13:40:00","updatedAt":"2026-07-31","completed_at":null,
                    "resumedAt":1714000000000,"last_updated":"2026-07-31T13:40:00.000Z",
                    "metadata":{"resumed_at":"2026-07-31 13:40","at":"2026-07-31","x":{"started_at":"2026-07-31"}},
                    "phases":{"3":"done","4":{"startedAt":"2026-07-31T13:40:00","completed_at":"<iso8601>"}}}"#
            ),
            [
                r#"warning /started_at: started_at is "2026-07-31T13:40:00", without a zone: taken for UTC [time-without-zone]"#,
                r#"warning /updatedAt: updatedAt is "2026-07-31", without a zone: taken for UTC [time-without-zone]"#,
                r#"warning /metadata/resumed_at: resumed_at is "2026-07-31 13:40", without a zone: taken for UTC [time-without-zone]"#,
                r#"warning /phases/4/completed_at: completed_at is "<iso8601>", which is no time of ISO 8601 [time-unreadable]"#,
                r#"warning /phases/4/startedAt: startedAt is "2026-07-31T13:40:00", without a zone: taken for UTC [time-without-zone]"#,
            ]
        );
    }

    /// Validates a state on a disk that has these files, and tells what was looked for.
    #[cfg_attr(not(unix), allow(dead_code))] // the paths of its tests are of Unix
    fn on_disk(text: &str, files: &[&str]) -> (Vec<String>, Vec<String>) {
        let asked = RefCell::new(Vec::new());
        let exists = |path: &Path| {
            asked.borrow_mut().push(path.to_str().unwrap().to_owned());
            files.iter().any(|file| Path::new(file) == path)
        };
        let Report { findings, .. } = report(text, &Options::default(), &exists);
        (findings.iter().map(Finding::to_string).collect(), asked.into_inner())
    }

    #[test]
    #[cfg(unix)]
    fn v3_listed_files_that_do_not_exist_in_the_worktree_are_named() {
        assert_eq!(
            on_disk(
                r#"{"currentPhase":4,"repoPath":"/r","worktreePath":"/w","phases":{"3":"done",
                    "4":{"files":["a.rs","src/b.rs","/etc/c","d\nd.rs"]},"5":{"files":[]},"6":{"files":null}}}"#,
                &["/w/a.rs", "/etc/c"]
            ),
            (
                vec![
                    r#"warning /phases/4/files/1: the listed file "src/b.rs" does not exist [file-missing]"#
                        .to_owned(),
                    r#"warning /phases/4/files/3: the listed file "d\nd.rs" does not exist [file-missing]"#
                        .to_owned(),
                ],
                ["/w/a.rs", "/w/src/b.rs", "/etc/c", "/w/d\nd.rs"].map(String::from).into()
            )
        );
        // A relative worktree lies in its repository; with several projects one of theirs has the file.
        assert_eq!(
            on_disk(
                r#"{"currentPhase":4,"projects":[{"worktreePath":"/one"},{"repoPath":"/r","worktreePath":".worktrees/P-1"},
                    {"worktreePath":"lost"},{},1],"phases":{"4":{"files":["a.rs","b.rs"]}}}"#,
                &["/r/.worktrees/P-1/a.rs"]
            ),
            (
                vec![
                    r#"warning /phases/4/files/1: the listed file "b.rs" does not exist [file-missing]"#
                        .to_owned()
                ],
                ["/one/a.rs", "/r/.worktrees/P-1/a.rs", "/one/b.rs", "/r/.worktrees/P-1/b.rs"]
                    .map(String::from)
                    .into()
            )
        );
    }

    #[test]
    #[cfg(unix)]
    fn v3_files_that_cannot_be_looked_for_are_told_of_once_and_fail_nothing() {
        let text = r#"{"currentPhase":4,"phases":{"3":{"status":"done","files":["a","b"]},"4":{"files":["c","/d"]}}}"#;
        assert_eq!(
            on_disk(text, &["/d"]),
            (
                vec![
                    "info /worktreePath: no absolute worktree is recorded to look for the listed files in: 3 unchecked [files-unchecked]".to_owned()
                ],
                vec!["/d".to_owned()]
            )
        );
        let strict = Options { strict: true, ..Options::default() };
        assert_eq!(report(text, &strict, &|_| true).exit_code(), 0);
    }

    #[test]
    fn files_that_are_no_list_of_paths_are_named() {
        assert_eq!(
            lines(r#"{"currentPhase":4,"phases":{"4":{"files":["a",1,""]},"5":{"files":{"a":1}}}}"#),
            [
                "warning /phases/4/files/1: the listed file is not named by a path [file-not-a-path]",
                "warning /phases/4/files/2: the listed file is not named by a path [file-not-a-path]",
                "warning /phases/5/files: files is an object instead of a list of paths [files-not-a-list]",
                "info /worktreePath: no absolute worktree is recorded to look for the listed files in: 1 unchecked [files-unchecked]",
            ]
        );
    }

    #[test]
    fn without_a_cursor_only_what_does_not_need_it_is_compared() {
        assert_eq!(
            with_phases(
                r#""currentPhase":null,"status":"done""#,
                r#"{"1":"pending","4":"running","7":"done"}"#
            ),
            [
                "error /currentPhase: currentPhase is null, so where to resume would be a guess [current-phase-null]",
                "warning /phases/4: phase 4 is running, and the run is done [phase-running-in-finished-run]",
            ]
        );
    }
}
