//! `pipestate unlock`.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{Run, arguments};
use super::output::{Output, holder_object};
use crate::error::Error;
use crate::lock::{self, Unlocked};
use crate::place::{Missing, Place};

arguments! {
    /// Say who holds the lock of the state file and whether they live; remove the lock of a dead one
    #[examples = "\
Examples:
  pipestate unlock agent-state.json            exit 0: no lock, or a dead holder's and now removed; 2: they live
  pipestate unlock --force agent-state.json    remove a living holder's too, which may lose its update"]
    pub struct Unlock {
        /// Remove the lock also of a holder that lives, or of whom nothing is known
        force: bool = flag("force"),
        /// Print the result as one JSON object
        json: bool = flag("json"),
        /// The state file (not the lock)
        file: PathBuf = operand("FILE"),
    }
}

impl Run for Unlock {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let path = self.file.to_string_lossy();
        let unlocked = match Place::find(&self.file, Missing::Fail) {
            Ok(place) => lock::unlock(&place, self.force)?,
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Unlocked::NotLocked
            }
            Err(error) => return Err(error),
        };
        match unlocked {
            Unlocked::NotLocked => {
                output.result(
                    json!({ "path": path, "removed": false, "holder": null }),
                    &format!("{path}: not locked"),
                )?;
            }
            Unlocked::Removed { holder, forced } => {
                let by = if forced { "removed by force" } else { "removed" };
                output.result(
                    json!({ "path": path, "removed": true, "forced": forced, "holder": holder_object(&holder) }),
                    &format!("{path}: {holder}; the lock is {by}"),
                )?;
            }
        }
        Ok(0)
    }
}
