//! `pipestate clear-logs`.

use clap::Args;

use super::confirm::Confirming;
use super::output::Output;
use crate::destroy::request::{Command, Request};
use crate::error::Error;

/// Delete every agent-log.md and agent-state.json, counters stay: shows what would go, and a token
#[derive(Args)]
#[command(help_template = super::HELP)]
pub struct ClearLogs {
    /// Only those of this project [default: of all projects]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Those of runs that are at work, too
    #[arg(long)]
    include_active: bool,
    #[command(flatten)]
    confirming: Confirming,
}

impl ClearLogs {
    pub fn json(&self) -> bool {
        self.confirming.json
    }

    pub fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
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
