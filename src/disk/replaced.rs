//! Files that are closed when nobody waits for it.
//!
//! With the last descriptor of a file that has lost its name the system frees what was in it: 10 MB in milliseconds, and on an ext4 without
//! a journal that discards what it frees (`discard`) even 4 kB in a tenth of one. A rename that replaces an open file leaves that to
//! whoever closes it. So a writer keeps what it has read open until its lock is given back; and in a process that goes on, as Node's
//! does, a thread closes it, where that has been seen to take long.

use std::fs::File;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// A file that is being replaced, open.
#[derive(Debug)]
pub struct Replaced(Option<File>);

/// What takes longer is worth the two wake-ups that another thread costs.
const LONG: Duration = Duration::from_micros(40);
/// How long it took last, in nanoseconds: in one process mostly the same kind of file is written.
static LAST_TOOK: AtomicU64 = AtomicU64::new(0);
static APART: AtomicBool = AtomicBool::new(false);

/// From now on, closing what takes long is left to a thread. For processes that go on when a write has been done.
pub fn close_replaced_apart() {
    APART.store(true, Ordering::Relaxed);
}

impl Replaced {
    /// Keeps `file` open until it is dropped. On Windows it is closed now: an open file can be in the way of its replacement.
    pub fn new(file: File) -> Replaced {
        Replaced(cfg!(unix).then_some(file))
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        let Some(file) = self.0.take() else { return };
        let is_long = LAST_TOOK.load(Ordering::Relaxed) > LONG.as_nanos() as u64;
        let rest = if is_long && APART.load(Ordering::Relaxed) { hand_over(file) } else { Some(file) };
        if let Some(file) = rest {
            close(file);
        }
    }
}

fn close(file: File) {
    let since = Instant::now();
    drop(file);
    LAST_TOOK.store(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
}

/// Has the thread close it; gives it back where there is none, or where it is busy: what waits would take up space.
fn hand_over(file: File) -> Option<File> {
    static CLOSER: LazyLock<Option<SyncSender<File>>> = LazyLock::new(|| {
        let (sender, files) = sync_channel(1);
        let closer = std::thread::Builder::new().name("pipestate-close".into());
        closer.spawn(move || files.into_iter().for_each(close)).ok().map(|_| sender)
    });
    match &*CLOSER {
        Some(closer) => closer.try_send(file).err().map(|refused| match refused {
            std::sync::mpsc::TrySendError::Full(file) | std::sync::mpsc::TrySendError::Disconnected(file) => {
                file
            }
        }),
        None => Some(file),
    }
}
