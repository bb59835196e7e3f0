//! How the plan of an agent's run is printed: a line for each thing that it says.

use serde_json::{Value, json};

use super::edit::with_write;
use super::output::Output;
use crate::agent::handoff::Latest;
use crate::agent::plan::{Judged, Plan, UNSAFE};
use crate::agent::state::Identity;
use crate::agent::worktree::Worktree;
use crate::error::Error;
use crate::text::one_line;
use crate::update::Written;
use crate::validate::Report;

/// Prints a plan that is only read. Exit 1 when a worktree has to be healed first.
pub fn print(output: &mut Output, plan: &Plan) -> Result<u8, Error> {
    let ok = plan.worktrees.iter().all(Worktree::is_ready);
    output.results(ok, to_value(plan), &(lines(plan, "resume").join("\n") + "\n"))?;
    Ok(u8::from(!ok))
}

/// Prints a plan that has been taken. That nobody can be told cannot undo it.
pub fn print_started(output: &mut Output, plan: &Plan, written: &Written) {
    let mut object = to_value(plan);
    if let (Value::Object(object), Value::Object(write)) = (&mut object, with_write(written, json!({}))) {
        object.extend(write);
    }
    output.results_of_done(object, &lines(plan, "resumed"));
}

/// Prints why a state is unsafe to resume: its findings, and the line that ends it.
pub fn print_unsafe(output: &mut Output, report: &Report) -> Result<u8, Error> {
    let lines: String = report
        .findings
        .iter()
        .map(|finding| format!("{}: {finding}\n", one_line(&report.path.to_string_lossy())))
        .collect();
    output.alert(UNSAFE);
    let code = report.exit_code();
    let error = json!({
        "code": if code == 1 { "ERR_PIPESTATE_REFUSED" } else { "ERR_PIPESTATE_CORRUPT" },
        "exitCode": code,
        "message": UNSAFE,
        "path": report.path.to_string_lossy(),
    });
    output.results(
        false,
        json!({ "error": error, "rev": report.rev, "findings": report.findings }),
        &lines,
    )?;
    Ok(code)
}

fn to_value(plan: &Plan) -> Value {
    serde_json::to_value(plan).expect("a plan is JSON")
}

fn lines(plan: &Plan, verb: &str) -> Vec<String> {
    let name = Identity { id: plan.task_id.clone(), ticket: plan.ticket.clone() }.name();
    let sub_step = plan.sub_step.as_ref().map_or(String::new(), |token| format!(", latest sub-step {token}"));
    let phases: Vec<String> = plan.phases.iter().map(u32::to_string).collect();
    let mut lines = vec![
        format!("{verb} {name} at phase {}{sub_step}", plan.phase),
        format!("phases {}: the last always runs", phases.join(", ")),
    ];
    lines.extend(plan.reasons.iter().map(|reason| format!("reason {reason}")));
    let unit = |verb: &str, unit: &Judged| format!("{verb} {}: {}", unit.sub_step, unit.why);
    lines.extend(plan.skip.iter().map(|judged| unit("skip", judged)));
    lines.extend(plan.redo.iter().map(|judged| unit("redo", judged)));
    lines.extend(plan.worktrees.iter().flat_map(worktree_lines));
    lines.extend(plan.handoff.iter().map(handoff_line));
    lines.extend(plan.findings.iter().map(ToString::to_string));
    lines.extend(
        plan.decision
            .reasons
            .iter()
            .map(|reason| format!("{} {:?} {reason}", plan.decision.action.word(), plan.decision.rule)),
    );
    lines.iter().map(|line| one_line(line)).collect()
}

fn worktree_lines(worktree: &Worktree) -> Vec<String> {
    let branch = worktree.branch.as_ref().map_or(String::new(), |branch| format!(" on {branch}"));
    if worktree.notes.is_empty() {
        return vec![format!("worktree {}: clean{branch}", worktree.path)];
    }
    let line = |note: &crate::agent::worktree::Note| {
        let heal =
            if note.heal.is_empty() { String::new() } else { format!("; heal: {}", note.heal.join(" && ")) };
        format!("worktree {}: {}{heal} [{}]", worktree.path, note.message, note.code)
    };
    worktree.notes.iter().map(line).collect()
}

fn handoff_line(latest: &Latest) -> String {
    match latest {
        Latest::Handoff { phase, name, at, next, .. } => {
            let phase = phase.map_or(String::new(), |phase| format!(" of phase {phase}"));
            let name = name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
            let at = at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
            let next = next.as_deref().unwrap_or("not told");
            format!("handoff{phase}{name}{at}, next: {next}")
        }
        Latest::Section { heading, line, .. } => {
            let heading = heading.as_ref().map_or(String::new(), |heading| format!(" {heading:?}"));
            format!("no handoff in the log, its last section{heading} begins at line {line}")
        }
    }
}
