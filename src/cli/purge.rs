//! `pipestate purge`.

use clap::Args;

use super::confirm::Confirming;
use super::output::Output;
use crate::destroy::request::{Command, Request};
use crate::error::Error;

/// Remove worktrees, branches, logs and counters: shows what would go, and the first of two tokens
#[derive(Args)]
#[command(help_template = super::HELP)]
pub struct Purge {
    /// Only those of this project [default: of all projects]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Delete the branches on their remotes as well
    #[arg(long)]
    remote: bool,
    /// Those of runs that are at work, too
    #[arg(long)]
    include_active: bool,
    #[command(flatten)]
    confirming: Confirming,
}

impl Purge {
    pub fn json(&self) -> bool {
        self.confirming.json
    }

    pub fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
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
