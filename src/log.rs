//! `agent-log.md`, the log of an agent run: only ever appended to, by us and by others (S2, S5).
//!
//! 1. The log's lock, as for any state file ([`crate::lock`]): of pipestates one at a time.
//! 2. The file is opened for appending (`O_APPEND`), made if it is missing.
//! 3. Its last byte is looked at: behind a line that somebody left open ours starts on the next one.
//! 4. One write of at most [`MOST_BYTES`]. The kernel places it behind whatever is there at that instant, so a foreign
//!    `echo … >> agent-log.md`, which knows no lock, neither tears it nor is torn.
//! 5. Cut short (a full disk): the file is cut back to where the write began, if it still ends where the write ended.
//!    A foreign appender that gets between those two keeps its bytes, and ours stay torn.
//! 6. The file is synced, and its folder when the file is new.
//!
//! A crash in 4 can leave a part of the entry, when the power goes before all of it is on the disk; 3 keeps the next entry
//! apart from it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::atomic::Durability;
use crate::disk;
use crate::error::Error;
use crate::lock;
use crate::place::{self, Missing, Place};
use crate::text::one_line;
use crate::update::{Caller, WriteOptions};

/// The log's name beside its state file.
pub const LOG_FILE: &str = "agent-log.md";

/// As long as an entry may be.
pub const MOST_BYTES: usize = 1 << 16;

/// Who does not wait for a state's lock waits for the log's, which nobody holds for longer than an append takes.
const LEAST_WINDOW: Duration = Duration::from_secs(1);

/// Appends a line that tells what happened at `at`; a list item, because consecutive lines are one paragraph of Markdown.
pub fn append_line(
    log: &Path,
    at: DateTime<Utc>,
    line: &str,
    options: &WriteOptions,
    caller: Caller,
) -> Result<(), Error> {
    append(log, &format!("- {} {}\n", to_text(at), one_line(line)), options, caller)
}

/// Appends an entry of whole lines, whole or not at all.
///
/// # Errors
/// [`Error::Refused`] for one that is too long; those of waiting for a lock; [`Error::Io`], and then nothing of the entry
/// is in the log, but for what the module's step 5 says.
pub fn append(log: &Path, entry: &str, options: &WriteOptions, caller: Caller) -> Result<(), Error> {
    if entry.len() > MOST_BYTES {
        let reason = format!("the entry has {} bytes, and an entry has at most {MOST_BYTES}", entry.len());
        return Err(Error::Refused { path: log.to_owned(), pointer: String::new(), reason });
    }
    place::refuse_plugin_root(log)?;
    let place = Arc::new(Place::find(log, Missing::Fail)?);
    let window = options.lock_timeout.max(LEAST_WINDOW);
    let lock = lock::acquire(&place, caller.program, window, caller.interrupted)?;
    append_locked(&place, entry, options.durability)?;
    let _ = lock.release(); // a lock that stays is a dead one's, and hinders nobody
    Ok(())
}

fn append_locked(place: &Arc<Place>, entry: &str, durability: Durability) -> Result<(), Error> {
    let failed = |syscall| place.failed("append to the log", syscall);
    let (file, created) = place.folder.open_to_append(&place.name).map_err(failed("open"))?;
    let before = disk::facts(&file).map_err(failed("fstat"))?;
    if before.kind != disk::FileKind::Regular {
        let what = std::io::Error::other(format!("it is {}", before.kind.described()));
        return Err(failed("open")(what));
    }
    let open_line = before.size > 0 && disk::last_byte(&file, before.size).map_err(failed("read"))? != b'\n';
    let entry = if open_line { format!("\n{entry}") } else { entry.to_owned() };
    disk::append_whole(&file, entry.as_bytes()).map_err(failed("write"))?;
    if durability == Durability::Durable {
        disk::sync_file(&file).map_err(failed("fsync"))?;
        if created {
            place.folder.sync().map_err(|source| Error::NotDurable { path: place.path.clone(), source })?;
        }
    }
    Ok(())
}

/// A time as logs and states have it.
pub fn to_text(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
