//! `pipestate list`.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{Run, arguments};
use super::output::Output;
use super::recover::{ClockOptions, HomeOptions};
use super::status::exit_code;
use super::task::LogsOptions;
use crate::error::Error;
use crate::runs::{self, Places};
use crate::status::View;
use crate::task;
use crate::text::{cut_end, one_line, pad};
use crate::time;

arguments! {
    /// List all runs and tasks, newest first: age, what to do about each, status, name and file
    #[examples = "\
Examples:
  pipestate list                            of this workspace, the home folder and the logs of agents
  pipestate list ~/src/* | grep ' ask '     what has crashed in any of them
  pipestate list --json --no-user .         for programs, of this workspace alone"]
    pub struct List {
        home: HomeOptions = group(HomeOptions::ARGUMENTS),
        logs: LogsOptions = group(LogsOptions::ARGUMENTS),
        clock: ClockOptions = group(ClockOptions::ARGUMENTS),
        /// Print the runs as one JSON object, with their phases
        json: bool = flag("json"),
        /// The workspaces whose runs are listed, of all tiers
        workspaces: Vec<PathBuf> = operand("DIR").default("."),
    }
}

impl Run for List {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let home = self.home.folder();
        let logs = task::logs_root_below(self.logs.logs_dir, home.as_deref());
        let places = Places { workspaces: self.workspaces, home };
        let views = runs::newest_first(&places, logs.as_deref(), &self.clock.read())?;
        let code = views.iter().map(exit_code).max().unwrap_or(0);
        let lines: String = views.iter().map(|view| line(view) + "\n").collect();
        output.results(code == 0, json!({ "runs": views }), &lines)?;
        Ok(code)
    }
}

/// Columns that a name may take.
const NAME_COLUMNS: usize = 24;

/// `   12m  ask       running    pipeline  docs    FILE`: the first four without blanks in them.
fn line(view: &View) -> String {
    let decision = &view.assessment.decision;
    let name = match (&view.name, &view.run) {
        (Some(name), Some(run)) if run.starts_with("task ") => format!("{name} ({run})"),
        (Some(name), _) => name.clone(),
        (None, run) => run.clone().unwrap_or_else(|| "(no name)".into()),
    };
    format!(
        "{:>6}  {:<8}  {:<9}  {:<8}  {}  {}",
        decision.age.map_or("-".to_owned(), time::told),
        decision.action.word(),
        decision.status_word(),
        view.assessment.kind.map_or("unknown", |kind| kind.word()),
        pad(&cut_end(&one_line(&name), NAME_COLUMNS), NAME_COLUMNS),
        one_line(&view.assessment.path.to_string_lossy()),
    )
}
