//! `pipestate unlock`: says who holds a lock and removes it when they are dead, or when forced.

use std::fs::File;
use std::io;
use std::time::SystemTime;

use super::acquiring::{Opened, open_lock, same_name};
use super::content::{Content, Record};
use super::holder::{self, Holder, UNREADABLE_GRACE, Verdict};
use super::process::{self, State};
use crate::disk::{self, KernelLock};
use crate::error::Error;
use crate::place::Place;

/// What became of the lock.
#[derive(Clone, Debug)]
pub enum Unlocked {
    /// There was none.
    NotLocked,
    /// It is gone now.
    Removed {
        /// Whose it was.
        holder: Holder,
        /// Whether they were alive, as far as could be told.
        forced: bool,
    },
}

/// Removes the lock of the state file at `place` if its holder is dead (L4, L5), or in any case if `force` is given.
///
/// # Errors
/// [`Error::LockAlive`] when the holder lives and `force` is not given, or when what stands there is no file, which is
/// never removed. A holder whose lock was removed by force finds out before it commits and starts over (L11).
pub fn unlock(place: &Place, force: bool) -> Result<Unlocked, Error> {
    loop {
        let (holder, file) = match see(place)? {
            None => return Ok(Unlocked::NotLocked),
            Some(Seen { holder, file: None }) => return Err(alive(place, holder)),
            Some(Seen { holder, file: Some(file) }) => (holder, file),
        };
        if holder.alive && !force {
            return Err(alive(place, holder));
        }
        let id = disk::facts(&file).map_err(place.failed("look at the lock", "fstat"))?.id;
        // Forced or not, only the lock that was judged is removed, not one that has come since.
        if !same_name(place, id)? {
            continue;
        }
        match place.folder.unlink(&place.lock_name) {
            Ok(()) => return Ok(Unlocked::Removed { forced: holder.alive, holder }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(place.failed("remove the lock", "unlink")(error)),
        }
    }
}

/// Who holds the lock of the state file at `place`, and whether they live; `None` when nobody does. Only looks.
///
/// # Errors
/// [`Error::Io`] when the lock cannot be looked at.
pub fn holder_of(place: &Place) -> Result<Option<Holder>, Error> {
    Ok(see(place)?.map(|seen| seen.holder))
}

/// A lock that was looked at.
struct Seen {
    holder: Holder,
    /// The lock, with its kernel lock if that was free; `None` for what is no file of ours to open.
    file: Option<File>,
}

fn see(place: &Place) -> Result<Option<Seen>, Error> {
    let file = match open_lock(place)? {
        Opened::Gone => return Ok(None),
        Opened::Immovable(holder) => return Ok(Some(Seen { holder, file: None })),
        Opened::File(file) => file,
    };
    let failed = |syscall| place.failed("look at the lock", syscall);
    let kernel_lock = disk::try_kernel_lock(&file).map_err(failed("flock"))?;
    let content = Content::read(&file).map_err(failed("read"))?;
    let age = disk::facts(&file).map_err(failed("fstat"))?.age(SystemTime::now());
    let shared = place.folder.is_shared_between_hosts();
    let verdict = match (kernel_lock, &content) {
        (KernelLock::Busy, _) => Verdict::Alive("alive: it has the kernel lock".into()),
        (KernelLock::Unsupported, Content::Pipestate { pid, record }) => {
            judge_without_kernel_lock(*pid, record)
        }
        _ => holder::judge(&content, process::own(), shared, age, process::state),
    };
    let (is_alive, why) = match verdict {
        Verdict::Dead(why) => (false, why),
        Verdict::Alive(why) => (true, why),
        Verdict::Unreadable if age.is_some_and(|age| age > UNREADABLE_GRACE) => {
            (false, "which names nobody and has done so for more than 2 s".into())
        }
        Verdict::Unreadable => {
            (true, "which names nobody yet; its maker may be about to write into it".into())
        }
    };
    Ok(Some(Seen { holder: Holder::new(&content, age, is_alive, why), file: Some(file) }))
}

fn alive(place: &Place, holder: Holder) -> Error {
    Error::LockAlive { path: place.path.clone(), holder: Box::new(holder) }
}

/// Where the kernel keeps no locks, the process and its start decide; of other namespaces and hosts nothing is known.
fn judge_without_kernel_lock(pid: u32, record: &Record) -> Verdict {
    let own = process::own();
    // Where boots have no id, host and machine tell whose process ids these are.
    let another_machine = own.boot.is_none() && (&record.host, &record.machine) != (&own.host, &own.machine);
    if record.boot != own.boot || record.pidns != own.pid_namespace || another_machine {
        return Verdict::Alive("where it cannot be seen from here".into());
    }
    match process::state(pid) {
        State::Running { start, .. } if start == record.start => {
            Verdict::Alive("alive: its process is running".into())
        }
        _ => Verdict::Dead(format!("dead: process {pid} has ended")),
    }
}
