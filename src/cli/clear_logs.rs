//! `pipestate clear-logs`.

use super::arguments::{Run, arguments};
use super::confirm::Confirming;
use super::output::Output;
use crate::destroy::request::{Command, Request};
use crate::error::Error;

arguments! {
    /// Delete every agent-log.md and agent-state.json, counters stay: shows what would go, and a token
    pub struct ClearLogs {
        /// Only those of this project [default: of all projects]
        project: Option<String> = option("project", "NAME"),
        /// Those of runs that are at work, too
        include_active: bool = flag("include-active"),
        confirming: Confirming = group(Confirming::ARGUMENTS),
    }
}

impl Run for ClearLogs {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let request = Request {
            command: Command::ClearLogs,
            task: None,
            project: self.project,
            remote: false,
            include_active: self.include_active,
        };
        self.confirming.carry_out(&request, program, output)
    }
}
