//! Linux: inotify on the lock's inode. Unlinking it is an IN_ATTRIB, the end of a holder that could not unlink it an
//! IN_CLOSE_WRITE, and both serve foreign holders too.

use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify;

use crate::disk::Folder;

/// One inotify instance, which can watch any number of locks, and a bell that other threads can ring.
pub struct Watch {
    /// `None` when the system has none left (`fs.inotify.max_user_instances`).
    inotify: Option<OwnedFd>,
    /// `None` when the process has no descriptor left.
    bell: Option<OwnedFd>,
}

/// One watched lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WatchId(i32);

impl Default for Watch {
    /// A watch on nothing yet.
    fn default() -> Watch {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        Watch {
            inotify: inotify::init(flags).ok(),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok(),
        }
    }
}

impl Watch {
    /// Watches the file that `name` stands for now, until it is gone or [`Watch::remove`] is called. An error
    /// when it cannot be watched, `NotFound` when there is none.
    pub fn add(&self, folder: &Folder, name: &OsStr) -> io::Result<WatchId> {
        let events = inotify::WatchFlags::ATTRIB
            | inotify::WatchFlags::CLOSE_WRITE
            | inotify::WatchFlags::MOVE_SELF
            | inotify::WatchFlags::DELETE_SELF
            | inotify::WatchFlags::DONT_FOLLOW;
        let inotify = self.inotify.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        Ok(WatchId(inotify::add_watch(inotify, folder.indirect_path(name), events)?))
    }

    /// Stops watching one file.
    pub fn remove(&self, id: WatchId) {
        if let Some(inotify) = &self.inotify {
            let _ = inotify::remove_watch(inotify, id.0); // it has gone by itself with its file
        }
    }

    /// Sleeps until a watched file changes, the bell is rung, a signal comes or `limit` has passed. Returns what
    /// changed.
    pub fn sleep(&self, limit: Duration) -> Vec<WatchId> {
        let sources = self.inotify.iter().chain(&self.bell);
        let mut descriptors: Vec<PollFd> = sources.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        let _ = poll(&mut descriptors, Some(&limit)); // a signal ends the sleep, as it should
        if let Some(bell) = &self.bell {
            let _ = rustix::io::read(bell, &mut [0u8; 8]); // nothing to read: it has not been rung
        }
        self.changed()
    }

    /// Whether [`Watch::ring`] is heard.
    pub fn has_bell(&self) -> bool {
        self.bell.is_some()
    }

    /// Ends the sleep of another thread, or its next one.
    pub fn ring(&self) {
        if let Some(bell) = &self.bell {
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes()); // full: it is ringing already
        }
    }

    fn changed(&self) -> Vec<WatchId> {
        let mut changed = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 1024];
        if let Some(inotify) = &self.inotify {
            let mut reader = inotify::Reader::new(inotify, &mut buffer);
            while let Ok(event) = reader.next() {
                changed.push(WatchId(event.wd()));
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A waiter whose lock came free just before it was to be watched took that for a system without watches, and slept for a
    /// tenth of a second beside a free lock.
    #[test]
    fn a_lock_that_has_come_free_is_told_from_one_that_cannot_be_watched() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::open_path(temporary.path()).unwrap();
        let watch = Watch::default();
        let add = || watch.add(&folder, OsStr::new("state.json.lock"));
        assert_eq!(add().unwrap_err().kind(), io::ErrorKind::NotFound);
        folder.create(OsStr::new("state.json.lock"), 0o644).unwrap();
        assert!(add().is_ok());
    }
}
