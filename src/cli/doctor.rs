//! `pipestate doctor`.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{Run, arguments};
use super::output::Output;
use crate::doctor::{self, Diagnosis, Symptom, is_trouble};
use crate::error::Error;
use crate::runs;
use crate::text::{one_line, shell_quoted};

arguments! {
    /// Explain what is wrong with a state file and where, and propose a repaired copy
    #[examples = "\
Examples:
  pipestate doctor agent-state.json           what is wrong, with line, column and byte
  pipestate doctor .                          the state in this folder, or all below it
  pipestate doctor --propose agent-state.json write agent-state.json.proposed-1 beside it; the file stays as it is"]
    pub struct Doctor {
        /// Write a repaired copy beside the file (at most 5), and say what was changed
        propose: bool = flag("propose"),
        /// Print the diagnoses as one JSON object
        json: bool = flag("json"),
        /// The state file, the folder that has one, or a folder with runs or tasks below it
        path: PathBuf = operand("FILE|DIR"),
    }
}

impl Run for Doctor {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let files = runs::state_files(&self.path)?;
        let mut diagnoses: Vec<Diagnosis> = files.iter().map(|file| doctor::examine(file)).collect();
        let mut code = doctor::worst_exit_code(&diagnoses);
        if self.propose {
            // One that cannot be written keeps no other from being told.
            for error in diagnoses.iter_mut().filter_map(|diagnosis| doctor::propose(diagnosis).err()) {
                output.alert(&format!("pipestate: {error}"));
                code = code.max(error.exit_code());
            }
        }
        let lines: Vec<String> =
            diagnoses.iter().flat_map(|diagnosis| lines(diagnosis, self.propose)).collect();
        let lines: String = lines.iter().map(|line| one_line(line) + "\n").collect();
        output.results(code == 0, json!({ "files": diagnoses }), &lines)?;
        Ok(code)
    }
}

/// The file and its state, and below it what was found and what can be done.
fn lines(diagnosis: &Diagnosis, propose: bool) -> Vec<String> {
    let path = diagnosis.path.display();
    let state = match diagnosis.exit_code {
        3 if diagnosis.rev.as_deref() == Some(crate::update::NO_REVISION) => "missing",
        3 if diagnosis.rev.is_none() => "unreadable",
        3 => "corrupt: never resume from it",
        1 => "unsafe to resume",
        _ if diagnosis.findings.iter().any(|symptom| is_trouble(&symptom.finding)) => {
            "safe to resume, with warnings"
        }
        _ => "healthy",
    };
    let mut lines = vec![format!("{path}: {state}")];
    lines.extend(diagnosis.findings.iter().map(|symptom| format!("  {}", told(symptom))));
    let Some(repair) = &diagnosis.repair else {
        if propose {
            lines.push("  repair: there is nothing to repair".into());
        }
        return lines;
    };
    for change in &repair.changes {
        let at = change.at.map_or(String::new(), |at| {
            format!("line {}, column {} (byte {}): ", at.line, at.column, at.offset)
        });
        lines.push(format!("  repair: {at}{}", change.what));
    }
    lines.extend(repair.findings.iter().map(|finding| format!("  repaired it would have: {finding}")));
    match (&repair.proposal, &diagnosis.rev) {
        (Some(proposal), Some(rev)) => {
            let [file, shown] = [&diagnosis.path, proposal].map(|path| shell_quoted(&path.to_string_lossy()));
            lines.push(format!("  proposed: {shown}"));
            lines.push(format!(
                "  when you have looked at it: pipestate write --replace --if-match {rev} {file} < {shown}"
            ));
        }
        _ if !repair.possible => {
            lines.push(
                "  repair: the rest cannot be mended without knowing the run; edit a copy by hand".into(),
            );
        }
        _ => lines.push("  repair: --propose writes a copy with these changes beside the file".into()),
    }
    lines
}

/// A finding with where it stands, unless it says so itself.
fn told(symptom: &Symptom) -> String {
    let text = symptom.finding.to_string();
    match symptom.at {
        Some(at) if !symptom.finding.pointer.is_empty() => {
            let (message, code) = text.rsplit_once(" [").unwrap_or((&text, ""));
            format!("{message} (line {}, column {}, byte {}) [{code}", at.line, at.column, at.offset)
        }
        _ => text,
    }
}
