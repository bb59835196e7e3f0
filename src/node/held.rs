//! A lock that JavaScript holds (`StateLock`).

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::Line;
use crate::error::Error;
use crate::lock::Lock;
use crate::merge::Patch;
use crate::update::{self, Caller, Snapshot, WriteOptions, Written};

/// A lock until it is released. Dropping it, as the garbage collector does, releases it.
pub struct Held {
    id: u64,
    lock: Mutex<Option<Lock>>,
}

impl Held {
    /// Holds `lock`.
    pub fn new(lock: Lock) -> Held {
        static HELD: AtomicU64 = AtomicU64::new(0);
        Held { id: HELD.fetch_add(1, Ordering::Relaxed), lock: Mutex::new(Some(lock)) }
    }

    /// The line of those who use it: its writes and its release go in the order in which they were asked for.
    pub fn line(&self) -> Line {
        Line::Held(self.id)
    }

    /// Reads the state file under the lock; with its path, for messages.
    pub fn read(&self) -> Result<(Snapshot, PathBuf), Error> {
        self.with(|lock| Ok((update::read_at(lock.place())?, lock.place().path.clone())))
    }

    /// Writes under the lock.
    ///
    /// # Errors
    /// [`Error::LockLost`] when another tool has removed it; nothing was written.
    pub fn write(&self, patch: &Patch, options: &WriteOptions, caller: Caller) -> Result<Written, Error> {
        self.with(|lock| {
            let written = update::write_locked(lock, patch, options, caller)?;
            written.ok_or_else(|| Error::LockLost { path: lock.place().path.clone() })
        })
    }

    /// Releases the lock, if that has not been done.
    pub fn release(&self) -> Result<(), Error> {
        let Some(lock) = self.lock().take() else { return Ok(()) };
        let place = lock.place().clone();
        lock.release().map_err(place.failed("remove the lock", "unlink"))
    }

    fn with<T>(&self, work: impl FnOnce(&Lock) -> Result<T, Error>) -> Result<T, Error> {
        match &*self.lock() {
            Some(lock) => work(lock),
            None => Err(Error::Usage("the lock has been released: take it again with lockState".into())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Lock>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
