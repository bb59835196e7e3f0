//! `pipestate validate`, and `validate-state.mjs`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::output::Output;
use crate::error::Error;
use crate::kind::StateKind;
use crate::validate::{self, DEFAULT_MAX_PHASE, Options, Report};

/// Say whether a state file is safe to resume, and everything that is wrong or odd about it
#[derive(Args)]
#[command(help_template = super::HELP)]
#[command(before_help = "\
Examples:
  pipestate validate agent-state.json                  a line per finding; exit 0: safe, 1: unsafe, 3: no document
  pipestate validate --strict logs/*/agent-state.json  warnings fail too; several files: the worst code
  pipestate validate --max-phase 11 state.json         a host with phases 0 to 11")]
pub struct Validate {
    /// Check it as `agent` or as `pipeline` [default: `auto`: by file name, else by its fields]
    #[arg(long, value_enum, default_value_t = Kind::Auto, hide_default_value = true, hide_possible_values = true)]
    kind: Kind,
    /// The highest phase of this host's phase list
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_PHASE)]
    max_phase: u32,
    /// Let warnings fail too
    #[arg(long)]
    strict: bool,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
    /// The state files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Auto,
    Agent,
    Pipeline,
}

impl Validate {
    pub fn run(self, output: &mut Output) -> Result<u8, Error> {
        let kind = match self.kind {
            Kind::Auto => None,
            Kind::Agent => Some(StateKind::Agent),
            Kind::Pipeline => Some(StateKind::Pipeline),
        };
        let options = Options { kind, max_phase: self.max_phase, strict: self.strict };
        let reports: Vec<Report> =
            self.files.iter().map(|file| validate::validate_file(file, &options)).collect();
        if self.json {
            match &reports[..] {
                [report] => output.object(report)?,
                reports => output
                    .object(&json!({ "ok": reports.iter().all(|report| report.ok), "files": reports }))?,
            }
        } else {
            for report in &reports {
                for finding in &report.findings {
                    output.line(&format!("{}: {finding}", report.path.display()))?;
                }
            }
        }
        Ok(validate::worst_exit_code(&reports))
    }
}
