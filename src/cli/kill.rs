//! `pipestate kill`.

use super::arguments::{Run, arguments};
use super::confirm::Confirming;
use super::output::Output;
use crate::destroy::request::{Command, Request};
use crate::error::Error;

arguments! {
    /// Remove a task's worktree and branch, its logs stay: shows what would go, and a token that lets it go
    #[examples = "\
Examples:
  pipestate kill '#2'                                  what would be removed, and what would be lost
  pipestate kill '#2' --confirm kill-…                 remove exactly that, once, within 10 minutes"]
    pub struct Kill {
        /// Only among the tasks of this project
        project: Option<String> = option("project", "NAME"),
        /// Delete the branch on its remote as well
        remote: bool = flag("remote"),
        confirming: Confirming = group(Confirming::ARGUMENTS),
        /// #2, 2 or PROJ-67890
        task: String = operand("TASK"),
    }
}

impl Run for Kill {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let request = Request {
            command: Command::Kill,
            task: Some(self.task),
            project: self.project,
            remote: self.remote,
            include_active: false,
        };
        self.confirming.carry_out(&request, program, output)
    }
}
