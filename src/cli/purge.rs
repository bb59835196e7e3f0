//! `pipestate purge`.

use super::arguments::{Run, arguments};
use super::confirm::Confirming;
use super::output::Output;
use crate::destroy::request::{Command, Request};
use crate::error::Error;

arguments! {
    /// Remove worktrees, branches, logs and counters: shows what would go, and the first of two tokens
    pub struct Purge {
        /// Only those of this project [default: of all projects]
        project: Option<String> = option("project", "NAME"),
        /// Delete the branches on their remotes as well
        remote: bool = flag("remote"),
        /// Those of runs that are at work, too
        include_active: bool = flag("include-active"),
        confirming: Confirming = group(Confirming::ARGUMENTS),
    }
}

impl Run for Purge {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let request = Request {
            command: Command::Purge,
            task: None,
            project: self.project,
            remote: self.remote,
            include_active: self.include_active,
        };
        self.confirming.carry_out(&request, program, output)
    }
}
