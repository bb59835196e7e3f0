//! Whose turn it is among those who wait for one lock (L9).
//!
//! The lock itself knows no order: whoever links it first has it, and a process that writes in a loop is awake when it
//! comes free, while those who wait are asleep. So
//!
//! - who waits leaves a *mark* that says since when. It is a kernel lock for reading on one byte of the folder, a byte that is
//!   named by the lock's name and the time; no call reads or writes there, nothing is on the disk, and it goes with its process;
//! - the first of those who wait looks often, the others seldom;
//! - who has written for [`LONG_ENOUGH`] without a break sleeps once, for [`PAUSE`], before the next attempt, if anybody waits.
//!
//! So of sixteen that write one file in loops each gets its turn within a few rounds of the others, and a handover takes little
//! of the time that is spent writing; both are measured by `npm run bench`.
//!
//! It is courtesy and nothing else. No mark gives or takes a right: attempts are made all the same, by each in its own time, so
//! one who waits and is stopped keeps nobody from the lock, and a mark that is missing, wrong or somebody else's costs time.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "other.rs")]
mod platform;

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::place::Place;

/// A thread that has had the lock of one file for this long, with no pause to speak of, lets others go first. A handover costs
/// about a tenth of a millisecond in which nobody writes.
const LONG_ENOUGH: Duration = Duration::from_micros(500);
/// For this long, which is enough for the first who waits to have looked.
const PAUSE: Duration = Duration::from_micros(200);
/// After this long between two writes they are no loop.
const BREAK: Duration = Duration::from_millis(1);

/// A place in the order of those who wait, until it is dropped.
#[derive(Debug)]
pub struct Mark<'a>(platform::Mark<'a>);

impl<'a> Mark<'a> {
    /// Says that somebody has been waiting for the lock of `place` since `since`.
    pub fn set(place: &'a Place, since: Instant) -> Mark<'a> {
        Mark(platform::Mark::set(place, since.elapsed()))
    }

    /// Whether nobody has been waiting for longer; `None` where that cannot be seen.
    pub fn is_first(&self) -> Option<bool> {
        self.0.is_first()
    }
}

/// The writes of this thread that follow each other without a break.
struct Run {
    path: PathBuf,
    since: Instant,
    last: Instant,
}

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

/// Lets others go first, if this thread has had the lock of `place` long enough and somebody waits.
pub fn give_way(place: &Place, limit: Duration) {
    let is_long = RUN.with_borrow(|run| {
        run.as_ref().is_some_and(|run| {
            run.last.elapsed() < BREAK && run.since.elapsed() > LONG_ENOUGH && run.path == place.path
        })
    });
    if is_long {
        RUN.set(None);
        if platform::is_anybody_waiting(place) {
            std::thread::sleep(PAUSE.min(limit));
        }
    }
}

/// Notes that this thread had the lock of `place` from `since` until now.
pub fn had(place: &Place, since: Instant) {
    let last = Instant::now();
    RUN.with_borrow_mut(|run| match run {
        Some(run) if since.saturating_duration_since(run.last) < BREAK && run.path == place.path => {
            run.last = last
        }
        _ => *run = Some(Run { path: place.path.clone(), since, last }),
    });
}
