//! `pipestate validate`, and `validate-state.mjs`.

use std::path::PathBuf;

use serde_json::json;

use super::MAX_PHASE;
use super::arguments::{Run, Value, arguments};
use super::output::Output;
use crate::error::Error;
use crate::kind::StateKind;
use crate::validate::{self, Options, Report};

arguments! {
    /// Say whether a state file is safe to resume, and everything that is wrong or odd about it
    #[examples = "\
Examples:
  pipestate validate agent-state.json                  a line per finding; exit 0: safe, 1: unsafe, 3: no document
  pipestate validate --strict logs/*/agent-state.json  warnings fail too; several files: the worst code
  pipestate validate --max-phase 11 state.json         a host with phases 0 to 11"]
    pub struct Validate {
        /// Check it as `agent` or as `pipeline` [default: `auto`: by file name, else by its fields]
        kind: Kind = option("kind", "KIND").default("auto").told(),
        /// The highest phase of this host's phase list
        max_phase: u32 = option("max-phase", "N").default(MAX_PHASE),
        /// Let warnings fail too
        strict: bool = flag("strict"),
        /// Print the report as one JSON object
        json: bool = flag("json"),
        /// The state files
        files: Vec<PathBuf> = operand("FILE").required(),
    }
}

/// Which document it is to be; found out if none is named.
struct Kind(Option<StateKind>);

impl Value for Kind {
    const WORDS: &'static [&'static str] = &["auto", "agent", "pipeline"];

    fn read(word: &str) -> Result<Kind, String> {
        Ok(Kind(match word {
            "agent" => Some(StateKind::Agent),
            "pipeline" => Some(StateKind::Pipeline),
            _ => None,
        }))
    }
}

impl Run for Validate {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let options = Options { kind: self.kind.0, max_phase: self.max_phase, strict: self.strict };
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
