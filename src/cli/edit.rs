//! What the commands that write have in common: how to write, who writes, and how it is told.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::arguments::arguments;
use super::output::Output;
use super::signals;
use crate::atomic::Durability;
use crate::error::Error;
use crate::kind::StateKind;
use crate::lock;
use crate::update::{self, Caller, WriteOptions, Written};

arguments! {
    /// How a state file is written.
    pub struct EditOptions {
        /// Do not wait for the disk: faster, but a power cut may take the write back
        no_fsync: bool = flag("no-fsync"),
        /// Milliseconds to wait for the lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]
        lock_timeout: Option<u64> = option("lock-timeout", "MS"),
    }
}

impl EditOptions {
    /// As the core has them.
    pub fn read(&self) -> Result<WriteOptions, Error> {
        Ok(WriteOptions {
            durability: if self.no_fsync { Durability::Fast } else { Durability::Durable },
            lock_timeout: lock::window(self.lock_timeout.map(Duration::from_millis))?,
            ..WriteOptions::default()
        })
    }
}

/// Does `work` for the command `name`, so that a signal ends it before anything is committed or after it (L10).
pub fn as_caller<T>(
    program: &str,
    name: &str,
    work: impl FnOnce(Caller) -> Result<T, Error>,
) -> Result<T, Error> {
    signals::protect();
    let interrupted = || signals::pending().map(|signal| Error::Interrupted { signal });
    let full = format!("{program} {name}");
    let program = if program == "pipestate" { &full } else { program };
    work(Caller { program, interrupted: &interrupted })
}

/// Tells of a write that is done: its warnings on stderr, `more` and what every write has as one object.
pub fn tell(output: &mut Output, file: &Path, written: &Written, more: Value) {
    warn(output, file, written);
    output.done(with_write(written, more));
}

/// The warnings of a write.
pub fn warn(output: &mut Output, file: &Path, written: &Written) {
    for warning in &written.warnings {
        output.warning(&format!("{}: {warning}", file.display()));
    }
}

/// `more` behind what every write has.
pub fn with_write(written: &Written, more: Value) -> Value {
    let write = json!({
        "path": written.place.real_path().to_string_lossy(),
        "rev": written.rev,
        "changed": written.changed,
        "created": written.created,
        "waitedMs": written.waited.as_millis() as u64,
    });
    let members = [write, more].into_iter().filter_map(|value| match value {
        Value::Object(members) => Some(members),
        _ => None,
    });
    Value::Object(members.flatten().collect::<Map<_, _>>())
}

/// Which document is in the file, so that each kind's command gets its own. A name that tells is not opened.
pub fn kind_of(file: &Path) -> Result<Option<StateKind>, Error> {
    if let Some(kind) = StateKind::by_name(file) {
        return Ok(Some(kind));
    }
    let document = update::read(file)?.existing_document(file)?;
    Ok(StateKind::by_fields(document.root()))
}
