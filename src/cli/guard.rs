//! `pipestate guard`.

use serde_json::json;

use super::arguments::{Run, arguments};
use super::input::read_stdin;
use super::output::Output;
use crate::error::Error;
use crate::guard;

arguments! {
    /// Keep an agent's session from editing state files past pipestate: a PreToolUse hook of Claude Code
    #[examples = "\
Examples:
  pipestate guard --print-config            the settings to merge into .claude/settings.json
  pipestate guard < event.json              a decision on stdout denies the call; nothing lets it pass"]
    pub struct Guard {
        /// Print the settings that install it, and read nothing
        print_config: bool = flag("print-config"),
    }
}
/// What its help ends with.
pub fn notes() -> String {
    "\
Denied are Write, Edit, MultiEdit and NotebookEdit of an agent-state.json or pipeline-state.json, and shell commands
that write onto one (>, >>, tee, mv, cp, sed -i, …). Reading one is always allowed. The exit code is 0 either way: a
guard that cannot read its event says so on stderr and lets the call pass."
    .into()
}

impl Run for Guard {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        if self.print_config {
            output.bytes(&[guard::SETTINGS.as_bytes()])?;
            return Ok(0);
        }
        // Wrong usage is told to whoever sets it up; a session is never broken.
        let event = match read_stdin() {
            Err(Error::Usage(_)) => {
                return Err(Error::Usage(
                    "stdin is a terminal, and a hook event is read from it; `pipestate guard --print-config` prints how \
                     to install the guard"
                        .into(),
                ));
            }
            event => event,
        };
        match event.and_then(guard::judge) {
            Ok(None) => {}
            Ok(Some(denial)) => output.object(&json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": denial.reason,
            } }))?,
            Err(error) => output.warning(&format!("the guard lets this call pass: {error}")),
        }
        Ok(0)
    }
}
