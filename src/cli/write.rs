//! `pipestate write`, and `write-state.mjs`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{input, output::Output, signals};
use crate::atomic::Durability;
use crate::error::Error;
use crate::lock;
use crate::merge::{Nulls, Patch};
use crate::update::{self, Caller, Mode, WriteOptions};

/// Merge the JSON object on stdin into the state file
#[derive(Args)]
#[command(help_template = super::HELP)]
#[command(before_help = "\
Examples:
  echo '{\"currentPhase\":4,\"phases\":{\"4\":{\"status\":\"running\"}}}' | pipestate write agent-state.json
  printf '%s' \"$NEW_STATE\" | pipestate write --replace agent-state.json
  rev=$(pipestate get --rev agent-state.json)
  echo '{\"attempt\":2}' | pipestate write --if-match \"$rev\" agent-state.json")]
pub struct Write {
    /// Store the document as a whole, also over a file that does not parse
    #[arg(long)]
    replace: bool,
    /// Merge by RFC 7396: null deletes a key, arrays are replaced
    #[arg(long, conflicts_with = "replace")]
    merge_patch: bool,
    /// Write only if the file has this revision (`none`: if there is no file); else exit 4
    #[arg(long, value_name = "REV")]
    if_match: Option<String>,
    /// Do not wait for the disk: faster, but a power cut may take the write back
    #[arg(long)]
    no_fsync: bool,
    /// Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]
    #[arg(long, value_name = "MS")]
    lock_timeout: Option<u64>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// The state file; made, with its folders, if it does not exist
    file: PathBuf,
}

impl Write {
    pub fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let options = WriteOptions {
            mode: match (self.replace, self.merge_patch) {
                (true, _) => Mode::Replace,
                (_, true) => Mode::Merge(Nulls::Delete),
                _ => Mode::Merge(Nulls::Store),
            },
            if_match: self.if_match,
            durability: if self.no_fsync { Durability::Fast } else { Durability::Durable },
            lock_timeout: lock::window(self.lock_timeout.map(Duration::from_millis))?,
        };
        let patch = Patch::parse(input::read_stdin()?, "stdin")?;
        signals::protect();
        let interrupted = || signals::pending().map(|signal| Error::Interrupted { signal });
        let program = if program == "pipestate" { "pipestate write" } else { program };
        let written =
            update::write(&self.file, &patch, &options, Caller { program, interrupted: &interrupted })?;
        for warning in &written.warnings {
            output.warning(&format!("{}: {warning}", self.file.display()));
        }
        output.done(json!({
            "path": written.place.real_path().to_string_lossy(),
            "rev": written.rev,
            "changed": written.changed,
            "created": written.created,
            "waitedMs": written.waited.as_millis() as u64,
        }));
        Ok(0)
    }
}
