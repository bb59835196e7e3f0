//! Freeing what a file had in it, after its replacement.
//!
//! The system frees a replaced file's content in the rename: 100 MB take tens of milliseconds, and on an ext4 that
//! discards at once what it frees (`discard` without a journal) even 4 kB take a tenth of one, twice as long as the rest of the
//! write. If the file is open, whoever closes it last waits instead. So where it takes long a writer keeps what it has read open
//! until its lock has been given back; and in a process that goes on, as Node's does, a thread closes it.

use std::fs::File;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use super::Folder;

/// What takes longer is worth the bookkeeping and the wake-ups.
const LONG: Duration = Duration::from_micros(40);
/// To free so many bytes is expected to take long.
const MANY: u64 = 1 << 20;
/// How long it took last in this process, in nanoseconds: mostly it writes the same kind of file.
static LAST_TOOK: AtomicU64 = AtomicU64::new(0);
static APART: AtomicBool = AtomicBool::new(false);

/// A file that is being replaced, open until this is dropped.
#[derive(Debug)]
pub struct Outgoing {
    file: Option<File>,
    is_large: bool,
}

impl Outgoing {
    /// Keeps `file` open, which has `size` bytes and lies in `folder`, if freeing them is to be put off.
    pub fn keep(file: File, size: u64, folder: &Folder) -> Option<Outgoing> {
        // On Windows an open file can be in the way of its replacement, and NFS and FUSE rename it instead of freeing it.
        let may_be_open = || cfg!(unix) && !folder.is_shared_between_hosts();
        let is_large = size > MANY;
        ((is_large || is_long()) && may_be_open()).then_some(Outgoing { file: Some(file), is_large })
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let is_apart = APART.load(Ordering::Relaxed) && (self.is_large || is_long());
        let rest = if is_apart { hand_over(file) } else { Some(file) };
        if let Some(file) = rest {
            close(file);
        }
    }
}

/// From now on, closing what takes long is left to a thread. For processes that go on after a write.
pub fn close_outgoing_apart() {
    APART.store(true, Ordering::Relaxed);
}

/// Does a rename, which frees what it replaces unless that is open, and notes if it takes long.
pub fn replacing<T>(rename: impl FnOnce() -> T) -> T {
    let (done, took) = timed(rename);
    LAST_TOOK.fetch_max(took, Ordering::Relaxed); // a short one tells nothing, if the file was open
    done
}

fn close(file: File) {
    let ((), took) = timed(|| drop(file));
    LAST_TOOK.store(took, Ordering::Relaxed);
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let since = Instant::now();
    let done = work();
    (done, since.elapsed().as_nanos() as u64)
}

fn is_long() -> bool {
    LAST_TOOK.load(Ordering::Relaxed) > LONG.as_nanos() as u64
}

/// Has the thread close `file`; gives it back where there is none, or where it is busy: what waits takes up space.
fn hand_over(file: File) -> Option<File> {
    static CLOSER: OnceLock<Option<SyncSender<File>>> = OnceLock::new();
    let mut file = Some(file);
    let closer = CLOSER.get_or_init(|| {
        let (sender, files) = sync_channel(0);
        // The thread begins with this one: it will not be listening yet when it is asked.
        let first = file.take();
        let closer = std::thread::Builder::new().name("pipestate-close".into());
        closer.spawn(move || first.into_iter().chain(files).for_each(close)).ok().map(|_| sender)
    });
    let file = file?;
    let Some(closer) = closer else { return Some(file) };
    match closer.try_send(file) {
        Ok(()) => None,
        Err(TrySendError::Full(file) | TrySendError::Disconnected(file)) => Some(file),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Read;
    use std::path::Path;

    /// A file, and what tells by its end that the file is closed.
    fn file() -> (File, std::io::PipeReader) {
        let (reader, writer) = std::io::pipe().unwrap();
        (File::from(std::os::fd::OwnedFd::from(writer)), reader)
    }

    fn folder() -> (tempfile::TempDir, Folder) {
        let folder = tempfile::tempdir().unwrap();
        let opened = Folder::open_path(folder.path()).unwrap();
        (folder, opened)
    }

    #[test]
    fn what_is_small_and_quickly_freed_is_not_kept() {
        let (_temporary, folder) = folder();
        assert!(Outgoing::keep(file().0, 4096, &folder).is_none());
        replacing(|| std::thread::sleep(LONG));
        assert!(Outgoing::keep(file().0, 4096, &folder).is_some());
        close(file().0);
        LAST_TOOK.store(0, Ordering::Relaxed);
        replacing(|| ());
        assert!(Outgoing::keep(file().0, 4096, &folder).is_none());
    }

    #[test]
    fn what_is_large_is_kept_until_it_is_dropped() {
        let (_temporary, folder) = folder();
        let (file, mut closed) = file();
        let kept = Outgoing::keep(file, MANY + 1, &folder).unwrap();
        rustix::io::ioctl_fionbio(&closed, true).unwrap();
        assert_eq!(closed.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        drop(kept);
        assert_eq!(closed.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_process_that_goes_on_has_a_thread_close_what_takes_long() {
        let threads = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
        let before = threads();
        close_outgoing_apart();
        // What is large from the first time on.
        for (took, is_large) in [(0, true), (2 * LONG.as_nanos() as u64, false), (0, true)] {
            LAST_TOOK.store(took, Ordering::Relaxed);
            let (file, mut closed) = file();
            drop(Outgoing { file: Some(file), is_large });
            assert_eq!(closed.read(&mut [0]).unwrap(), 0);
            if Path::new("/proc/self/task").exists() {
                assert_eq!(threads(), before + 1);
            }
        }
    }
}
