//! The lock of a state file (contract L).
//!
//! The lock is the file `L` = `<state file>.lock`. Two things make it: its *name*, which excludes tools that create
//! it exclusively, and the *kernel lock* (flock) on its inode, which tells the truth about a pipestate holder's life,
//! because the kernel gives it back when the process dies. Whoever has both, in that order of doubt, holds.
//!
//! # Taking it
//!
//! 1. `create_private`: a private file `T`, without a name where the system knows such
//!    files, with its kernel lock taken at birth and the holder's lines in it.
//! 2. `link_private`: `link(T, L)`. It worked: we hold L, which appeared with content and kernel lock in one step.
//!    L exists: go on.
//! 3. `open_lock`: open what L names for reading, never a link, never waiting for a pipe. Gone: 2.
//! 4. `try_kernel_lock` of what was opened. Busy: a pipestate holds it, or a shell by `flock`: wait, 3.
//! 5. `judge` what stands in it. A pipestate of this boot that gave its kernel lock back is dead; so is a bare id
//!    without a process. Nobody named: L7, two seconds.
//! 6. `same_name`: does L still name what was opened? The descriptor stays open meanwhile, because inode numbers are
//!    used again at once. No: 2. It is asked after the verdict: a foreign holder may unlink and end between the two,
//!    and would be found dead behind a name that is another's by now.
//! 7. Dead: `take_over` **in place**, by one write into the file, which is opened by name once more for that, and is
//!    another now if a careless tool was here: 2. Alive: give the kernel lock back, wait, 3. We may
//!    not write into it (L12): `unlink_dead` while its kernel lock is ours, 2.
//!
//! Waiting ([`acquire`]) is a sleep that ends when L's inode changes, with a slow poll below it. A waiter must not
//! change the inode by looking at it, which is why 3 opens it for reading: closing a descriptor for writing is an
//! event, and a crowd of waiters would keep each other awake.
//!
//! In which order they get it is [`turn`]'s: a mark on the folder that the kernel keeps, and sleeps of different length. Nothing
//! in the steps depends on it: what is on disk, and what each may do there, is the same with and without.
//!
//! # Holding and releasing it
//!
//! 8. [`Lock::is_ours`] just before the rename that commits: L names our inode and our lines stand in it.
//! 9. [`Lock::release`]: `is_ours` again, unlink L, and only then close, which gives the kernel lock back. What others need
//!    not wait for comes last: a file that was replaced and takes long to free is closed then ([`Lock::keep`]).
//!
//! # Who may do what, when, and what proves that it is still theirs
//!
//! *Unlink L*: its holder (9), who still has the kernel lock on it; and in step 7, where the holder is dead and its
//! content may not be written, the one that has the kernel lock of what L names. Among pipestates a name is only
//! taken away by the owner of the kernel lock of what it names; so between 6 and 7 it stays.
//! *Write into L*: who has its kernel lock and has passed 6 (7), or made it (1).
//! *Die*: at any step. T without a name goes with its process; T with a name is swept (`disk::sweep`). L with our
//! lines and a free kernel lock is a dead holder's: 4 to 7 take it over at once.
//!
//! Interleavings that shaped the steps (`tests/lock_model` enumerates them all):
//! - *A holder unlinks L and dies; a waiter gets the kernel lock of that nameless inode; a third links a new L.* Both
//!   would hold: step 6.
//! - *Two find the holder dead.* One gets the kernel lock; the other finds it busy. After the first has released,
//!   the second has the kernel lock of a nameless inode: step 6.
//! - *One takes over by unlinking and linking anew; another has opened the old inode.* It never happens: take-over
//!   is in place, and where it cannot be (L12), step 6 of the other fails.
//! - *Release by closing first.* A waiter would take over a lock whose name is about to be unlinked: close comes last.
//! - *One has found the holder dead; a careless foreign tool unlinks that lock and makes its own; the first opens what
//!   the name leads to now, to write into it.* The lines of a living holder would be gone, and everybody would take its
//!   lock for a dead one's: 7 compares inodes before it writes.
//! - *A careless foreign tool has read the id of a holder that has ended since, and unlinks the lock that is ours by
//!   now.* Step 8 sees it and the holder starts over (L11).
//!
//! What stays open to such tools: between 8 and the rename; between the last look and the unlink of 9; and, where a
//! lock may not be written (L12), between 6 and the unlink of 7. Two such tools can also rob each other, and the robbed
//! one, which looks no more, overwrites what we have committed since.
//!
//! Threads and workers of one process have descriptors of their own, and kernel locks belong to descriptors: they
//! exclude each other as processes do. Descriptors are closed on exec, so a child that outlives us holds nothing;
//! between fork and exec it does, for microseconds.
//!
//! # Weaker file systems
//!
//! Without `link` L is created exclusively and its lines are written once its kernel lock is ours; a crash in between
//! leaves an empty L, which takes the two seconds of L7 instead of the one of L4. Without kernel locks nothing proves a death to two waiters at
//! once, so nothing is taken over: `pipestate unlock` removes a dead holder's lock when asked. Where other hosts write
//! too, a holder of another host is left alone (L5).
//!
//! # Not promised
//!
//! Nothing against tools that ignore the lock, and the instants above against tools that unlink what they do not hold.

mod acquiring;
mod content;
mod holder;
mod process;
mod turn;
mod unlock;
mod watch;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use acquiring::{Acquiring, Attempt, Busy};
pub use holder::{Holder, START_MARGIN, UNREADABLE_GRACE};
pub use unlock::{Unlocked, holder_of, unlock};
pub use watch::{Watch, WatchId};

use turn::Mark;

use crate::disk::{self, FileId, Outgoing};
use crate::error::Error;
use crate::place::Place;

/// How long a writer waits for the lock, unless it is told otherwise (L8).
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The environment variable that sets it for all who are not told.
const TIMEOUT_VARIABLE: &str = "PIPESTATE_LOCK_TIMEOUT_MS";

/// The acquire window: what was asked for, else `PIPESTATE_LOCK_TIMEOUT_MS`, else [`DEFAULT_TIMEOUT`] (L8).
///
/// # Errors
/// [`Error::Usage`] when the variable is not a number.
pub fn window(asked: Option<Duration>) -> Result<Duration, Error> {
    if let Some(asked) = asked {
        return Ok(asked);
    }
    match std::env::var(TIMEOUT_VARIABLE) {
        Ok(text) if !text.is_empty() => match text.parse() {
            Ok(milliseconds) => Ok(Duration::from_millis(milliseconds)),
            Err(_) => {
                Err(Error::Usage(format!("{TIMEOUT_VARIABLE} is {text:?}, and not a number of milliseconds")))
            }
        },
        _ => Ok(DEFAULT_TIMEOUT),
    }
}

/// The name of this host, as locks have it.
pub fn host() -> &'static str {
    &process::own().host
}

/// A lock that is held. Dropping it releases it.
#[derive(Debug)]
pub struct Lock {
    place: Arc<Place>,
    /// Has the kernel lock.
    file: File,
    /// Open for writing where `file` is not, so that the end of this process is an event for those who wait.
    _bell: Option<File>,
    id: FileId,
    lines: Vec<u8>,
    taken_over: bool,
    released: bool,
    /// The last field, as it is dropped: when the kernel lock has been given back.
    outgoing: Mutex<Option<Outgoing>>,
}

impl Lock {
    /// The state file that is locked.
    pub fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// Which file it is.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Whether it was a dead holder's, who may have left files behind.
    pub fn was_taken_over(&self) -> bool {
        self.taken_over
    }

    /// Keeps a file that is to be replaced until others can have the lock.
    pub fn keep(&self, outgoing: Option<Outgoing>) {
        *self.outgoing.lock().unwrap_or_else(PoisonError::into_inner) = outgoing;
    }

    /// Whether the lock is still ours by name and by content (L11): asked just before the rename that commits.
    pub fn is_ours(&self) -> io::Result<bool> {
        match self.place.folder.facts(&self.place.lock_name) {
            Ok(facts) if facts.id == self.id => {
                Ok(disk::read_at_start(&self.file, self.lines.len())? == self.lines)
            }
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the lock, if it is still ours, and then gives the kernel lock back (L10).
    ///
    /// A failure leaves a lock whose kernel lock is free, which the next pipestate takes over at once.
    pub fn release(mut self) -> io::Result<()> {
        self.unlink()
    }

    fn unlink(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.released, true) || !self.is_ours()? {
            return Ok(());
        }
        match self.place.folder.unlink(&self.place.lock_name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.unlink(); // on the way out of an error or a panic, which is the one to tell
    }
}

/// Takes the lock of the state file at `place`, waiting up to `timeout` for whoever has it (L8).
///
/// `program` is what other parties read in messages. `interrupted` is asked between the sleeps and ends the wait with
/// the error it gives.
pub fn acquire(
    place: &Arc<Place>,
    program: &str,
    timeout: Duration,
    interrupted: &dyn Fn() -> Option<Error>,
) -> Result<Lock, Error> {
    let mut acquiring = Acquiring::new(place.clone(), program);
    wait_for(place, timeout, interrupted, || acquiring.attempt())
}

/// Makes attempts until one is done, sleeping in between; the arguments are those of [`acquire`].
pub fn wait_for<T>(
    place: &Place,
    timeout: Duration,
    interrupted: &dyn Fn() -> Option<Error>,
    mut attempt: impl FnMut() -> Result<Attempt<T>, Error>,
) -> Result<T, Error> {
    let mut waiting = Waiting { since: Instant::now(), watch: None, armed: None };
    turn::give_way(place, timeout);
    loop {
        let since = Instant::now();
        let busy = match attempt()? {
            Attempt::Done(done) => {
                turn::had(place, since);
                return Ok(done);
            }
            Attempt::Busy(busy) => busy,
        };
        if let Some(error) = interrupted() {
            return Err(error);
        }
        let waited = waiting.since.elapsed();
        let Some(left) = timeout.checked_sub(waited).filter(|left| !left.is_zero()) else {
            return Err(Error::LockTimeout {
                path: place.path.clone(),
                holder: Box::new(busy.holder),
                waited,
            });
        };
        waiting.pause(place, &busy, left);
    }
}

/// A lock that has changed hands within this time is expected to come free any moment, as it does in a crowd of short writes:
/// those who wait nap, because to wake everybody at every release would cost more than the writes themselves.
const CROWD: Duration = Duration::from_millis(10);
/// A nap, in microseconds, where nobody can see whose turn it is; random, so that a crowd does not wake in step.
const NAP: Range<u64> = 100..800;
/// That of the one whose turn it is: the lock is to lie idle for as short as can be.
const SHORT_NAP: Range<u64> = 20..60;
/// That of those behind: they are there in case that the first one sleeps on.
const LONG_NAP: Range<u64> = 400..1200;
/// For this long the first one is waited for, in microseconds, when the lock is seen to be free.
const GRACE: Range<u64> = 200..400;
/// So often those behind attempt it all the same: a dead holder is only found by trying.
const OUT_OF_TURN: Duration = Duration::from_millis(5);

/// How long to nap before the next attempt at a lock that is `age` old, in a wait that has been going on for `waited`; `None`
/// when it is time to watch.
pub fn nap(waited: Duration, age: Option<Duration>) -> Option<Duration> {
    (age.unwrap_or(waited) < CROWD).then(|| random(NAP))
}

fn random(microseconds: Range<u64>) -> Duration {
    Duration::from_micros(fastrand::u64(microseconds))
}

/// How long to let others go first when the lock came free: the longer somebody has waited, the shorter. A release wakes
/// all who wait; without this each would have the same chance every time, and in a crowd of slow writes some would run out of
/// their window (L9).
pub fn courtesy(waited: Duration) -> Duration {
    /// What one who has only just come leaves to the others, at most.
    const LONGEST: f64 = 0.002;
    /// After this long it is half of that, in seconds.
    const HALF: f64 = 0.2;
    Duration::from_secs_f64(fastrand::f64() * LONGEST * HALF / (HALF + waited.as_secs_f64()))
}

/// Whether nobody has the lock of `place`.
fn is_free(place: &Place) -> bool {
    place.folder.facts(&place.lock_name).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Sleeps until whoever has left `mark` is to look at the lock of `place`, `limit` at most.
fn take_turn(mark: &Mark, nap: Duration, place: &Place, limit: Duration) {
    match mark.is_first() {
        None => return std::thread::sleep(nap.min(limit)),
        Some(true) => return std::thread::sleep(random(SHORT_NAP).min(limit)),
        Some(false) => {}
    }
    let since = Instant::now();
    while let Some(left) = limit.min(OUT_OF_TURN).checked_sub(since.elapsed()) {
        std::thread::sleep(random(LONG_NAP).min(left));
        if mark.is_first() == Some(true) {
            return;
        }
        if is_free(place) {
            return std::thread::sleep(random(GRACE).min(left));
        }
    }
}

/// The sleeps between two attempts.
struct Waiting {
    since: Instant,
    watch: Option<Watch>,
    armed: Option<WatchId>,
}

impl Waiting {
    /// Sleeps until the next attempt.
    fn pause(&mut self, place: &Place, busy: &Busy, left: Duration) {
        // Not there while an attempt is made: who then has the lock waits no more.
        let mark = Mark::set(place, self.since);
        let limit = busy.poll.min(left);
        if let Some(nap) = nap(self.since.elapsed(), busy.holder.age) {
            return take_turn(&mark, nap, place, limit);
        }
        let watch = self.watch.get_or_insert_with(Watch::default);
        if self.armed.is_none() {
            match watch.add(&place.folder, &place.lock_name) {
                // The lock may have changed before the watch was there: look again first.
                Ok(id) => return self.armed = Some(id),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return,
                Err(_) => {}
            }
        }
        if !watch.sleep(limit).is_empty() {
            self.armed = None; // the name may stand for another file by now
            if mark.is_first() != Some(true) {
                std::thread::sleep(courtesy(self.since.elapsed()).min(limit));
            }
        }
    }
}
