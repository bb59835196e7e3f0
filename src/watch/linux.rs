//! Linux: inotify on the folder.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::Woken;
use crate::error::Error;
use crate::place::Place;

/// A watch on one file by way of its folder.
pub struct FileWatch {
    inotify: OwnedFd,
    name: OsString,
}

impl FileWatch {
    /// Watches the file at `place`, whether or not it is there. What changes from now on is told.
    ///
    /// # Errors
    /// [`Error::Io`] when the system has no watches left (`fs.inotify.max_user_instances`).
    pub fn new(place: &Place) -> Result<FileWatch, Error> {
        let failed = |syscall| place.failed("watch the folder", syscall);
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(|errno| failed("inotify_init1")(errno.into()))?;
        let events = WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        inotify::add_watch(&inotify, place.folder.indirect_path(".".as_ref()), events)
            .map_err(|errno| failed("inotify_add_watch")(errno.into()))?;
        Ok(FileWatch { inotify, name: place.name.clone() })
    }

    /// Sleeps until the file changes or `limit`, if any, has passed. Other files of the folder, locks and temporary
    /// files among them, wake nobody.
    pub fn sleep(&self, limit: Option<Duration>) -> io::Result<Woken> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left
                .map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
            match poll(&mut [PollFd::new(&self.inotify, PollFlags::IN)], timeout.as_ref()) {
                Ok(0) => return Ok(Woken::TimeOut),
                Ok(_) => {
                    if let Some(woken) = self.told()? {
                        return Ok(woken);
                    }
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// What the events that have come say about the file, all of them read.
    fn told(&self) -> io::Result<Option<Woken>> {
        let mut woken = None;
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(woken),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            let gone =
                ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
            if event.events().intersects(gone) {
                woken = Some(Woken::FolderGone);
            }
            let is_ours = event.file_name().is_some_and(|name| name.to_bytes() == self.name.as_bytes());
            if is_ours || event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                woken = woken.or(Some(Woken::Changed));
            }
        }
    }
}
