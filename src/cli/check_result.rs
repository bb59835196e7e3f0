//! `pipestate check-result`.

use serde_json::json;

use super::arguments::{Run, arguments};
use super::{input, output::Output};
use crate::agent::result;
use crate::error::Error;

arguments! {
    /// Check the result of a sub-agent on stdin: {"status", "findings", "files_changed", "blocking"}
    #[examples = "\
Examples:
  pipestate check-result < answer.txt              a line per slip; exit 0: as it should be, 1: not
  pipestate check-result --extract < answer.txt    print the JSON that stands inside prose or a code fence"]
    pub struct CheckResult {
        /// Print the JSON of the result, whatever stands around it; exit 1 only if that JSON is wrong
        extract: bool = flag("extract").excludes("json"),
        /// Print findings and result as one JSON object
        json: bool = flag("json"),
    }
}

impl Run for CheckResult {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let checked = result::check(input::read_stdin()?);
        if self.extract {
            if let Some(text) = &checked.text {
                output.bytes(&[text, b"\n"])?;
            }
            for finding in checked.all_findings() {
                output.warning(&finding.to_string());
            }
            return Ok(u8::from(!checked.is_good_inside()));
        }
        let findings = checked.all_findings();
        if self.json {
            let object = json!({ "ok": checked.is_ok(), "findings": findings, "result": checked.result });
            output.object(&object)?;
        } else {
            for finding in &findings {
                output.line(&finding.to_string())?;
            }
        }
        Ok(u8::from(!checked.is_ok()))
    }
}
