//! Elsewhere nothing is watched, and waiting is sleeping for a short while.

use std::ffi::OsStr;
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::disk::Folder;

/// A bell that other threads can ring.
#[derive(Default)]
pub struct Watch {
    rung: Mutex<bool>,
    bell: Condvar,
}

/// One watched lock: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchId {}

impl Watch {
    /// Nothing can be watched.
    pub fn add(&self, _folder: &Folder, _name: &OsStr) -> io::Result<WatchId> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Nothing is watched.
    pub fn remove(&self, id: WatchId) {
        match id {}
    }

    /// Sleeps until the bell is rung or `limit` has passed.
    pub fn sleep(&self, limit: Duration) -> Vec<WatchId> {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.bell.wait_timeout_while(rung, limit, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
        Vec::new()
    }

    /// Whether [`Watch::ring`] is heard.
    pub fn has_bell(&self) -> bool {
        true
    }

    /// Ends the sleep of another thread, or its next one.
    pub fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.notify_one();
    }
}
