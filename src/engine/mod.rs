//! Jobs that may have to wait for a lock, any number of them, without a thread each: what promises are made of.
//!
//! 1. [`submit`] puts a job at the end of the [`Line`] of its state file. The jobs of a line go one by one in the
//!    order they came, so that the calls of one process neither overtake nor wake each other: the next one starts in
//!    the moment that the one before it is done.
//! 2. A few *workers* attempt the heads of lines. An attempt waits for the disk, never for a lock.
//! 3. A head that finds the lock busy naps for a while, as in [`lock::wait_for`], then has a watch put on the lock, is
//!    attempted once more (what changed before the watch was there tells nobody), and is *parked*.
//! 4. One thread, the *waiter*, sleeps over all parked heads, until a lock changes, a timer runs out or its bell is
//!    rung, and makes those heads ready again.
//! 5. A window that runs out ends the wait: a head's after one last attempt, the others' by the waiter.
//!
//! A job is settled exactly once, by whoever ends it: a worker, the waiter, or the thread that calls [`abort`]; and after
//! its line has moved on, so that two jobs of a line may be settled in another order than they were done. Jobs of
//! an [`Owner`] that ends ([`abandon`]) are dropped unsettled, and what is being attempted is stopped short of its
//! commit and waited for. A panic ends the one job, whose lock goes with its stack.
//!
//! The threads are started with the first job and stay, asleep. Windows and aborts work the same if the system has no
//! watches left; a lock that comes free is then seen by the next poll.

mod jobs;
mod lines;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub use jobs::{Acquired, EditJob, Input, LockJob, Once, WriteJob};
pub use lines::{JobId, Line, Owner, Window};

use crate::error::Error;
use crate::lock::{self, Attempt, Busy, Holder, Watch, WatchId};
use crate::place::Place;
use lines::{Armed, Entry, Lines, Turn};

/// Workers only ever wait for the disk, so a few of them keep it busy.
static MOST_WORKERS: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 4)));

/// How long the waiter sleeps when it waits for nothing.
const IDLE: Duration = Duration::from_secs(3600);
/// The same when nobody can ring it, as there was no descriptor left for a bell.
const DEAF: Duration = Duration::from_millis(5);

/// Asked while waiting and just before a commit; an error ends the job with nothing done.
pub type Interrupted<'a> = &'a dyn Fn() -> Option<Error>;

/// Something to be done in attempts, none of which waits for a lock.
pub trait Job: Send + 'static {
    /// What it comes to.
    type Output: Send;

    /// Tries once.
    fn attempt(&mut self, interrupted: Interrupted) -> Result<Attempt<Self::Output>, Error>;

    /// Does it on this thread, without the engine, which sleeps while a lock is busy.
    fn wait(self, interrupted: Interrupted) -> Result<Self::Output, Error>;

    /// The line that it stands in; `None` when it waits for nobody.
    fn line(&self) -> Option<Line>;

    /// How long it may wait for the lock, if it takes one.
    fn window(&self) -> Option<Window>;

    /// Whose lock the last attempt found busy.
    fn place(&self) -> Option<&Arc<Place>>;

    /// Closes what is kept open between attempts; the next one opens it again.
    fn rest(&mut self);
}

/// A new owner, unlike any other in this process.
pub fn new_owner() -> Owner {
    static OWNERS: AtomicU64 = AtomicU64::new(0);
    Owner(OWNERS.fetch_add(1, Ordering::Relaxed))
}

/// A new job id, unlike any other in this process.
pub fn new_job() -> JobId {
    static JOBS: AtomicU64 = AtomicU64::new(0);
    JobId(JOBS.fetch_add(1, Ordering::Relaxed))
}

/// Has `job` done. `settle` gets its result, on whatever thread, unless its owner is abandoned before that.
pub fn submit<J: Job>(
    owner: Owner,
    id: JobId,
    job: J,
    settle: impl FnOnce(Result<J::Output, Error>) + Send + 'static,
) {
    let line = job.line().unwrap_or(Line::Alone(id));
    let window = job.window();
    let job = Settling { job, result: None, settle: Some(settle) };
    ENGINE.submit(line, Entry::new(id, owner, window, Box::new(job)));
}

/// Ends a job with [`Error::Aborted`], if it waits. One that is being attempted is stopped short of its commit, or
/// settles as if nothing had been said.
pub fn abort(id: JobId) {
    ENGINE.abort(id);
}

/// Drops all jobs of `owner` unsettled and returns when none is being attempted any more.
pub fn abandon(owner: Owner) {
    ENGINE.abandon(owner);
}

/// A job, what it came to, and who waits for that.
struct Settling<J: Job, S> {
    job: J,
    result: Option<Result<J::Output, Error>>,
    settle: Option<S>,
}

/// A job whatever it comes to.
trait Run: Send {
    /// Tries once. `None` when it has come to something.
    fn attempt(&mut self, interrupted: Interrupted) -> Option<Busy>;
    /// Has it come to this.
    fn fail(&mut self, error: Error);
    /// Tells who waits for it what it has come to.
    fn settle(&mut self);
    fn place(&self) -> Option<&Arc<Place>>;
    fn rest(&mut self);
}

impl<J: Job, S: FnOnce(Result<J::Output, Error>) + Send> Run for Settling<J, S> {
    fn attempt(&mut self, interrupted: Interrupted) -> Option<Busy> {
        let result = catch_unwind(AssertUnwindSafe(|| self.job.attempt(interrupted)));
        self.result = match result.unwrap_or_else(|panic| Err(Error::Bug(describe_panic(&*panic)))) {
            Ok(Attempt::Busy(busy)) => return Some(busy),
            Ok(Attempt::Done(output)) => Some(Ok(output)),
            Err(error) => Some(Err(error)),
        };
        None
    }

    fn fail(&mut self, error: Error) {
        self.result = Some(Err(error));
    }

    fn settle(&mut self) {
        if let (Some(settle), Some(result)) = (self.settle.take(), self.result.take()) {
            settle(result);
        }
    }

    fn place(&self) -> Option<&Arc<Place>> {
        self.job.place()
    }

    fn rest(&mut self) {
        self.job.rest();
    }
}

/// What a panic said.
pub fn describe_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".into())
}

static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine {
    state: Mutex::default(),
    work: Condvar::new(),
    finished: Condvar::new(),
    watch: Watch::default(),
    watched: Mutex::default(),
});

struct Engine {
    state: Mutex<State>,
    /// Rung when a head is ready.
    work: Condvar,
    /// Rung when an attempt is over.
    finished: Condvar,
    watch: Watch,
    /// Which lines wait for which lock. Locked after `state` where both are.
    watched: Mutex<HashMap<WatchId, Vec<Arc<Line>>>>,
}

#[derive(Default)]
struct State {
    lines: Lines,
    workers: usize,
    /// Workers without work.
    idle: usize,
    /// Whose jobs are over, but not settled yet.
    settling: Vec<Owner>,
    /// Whether the waiter has been started, and when it will wake by itself.
    waiter: Option<Instant>,
}

/// How an attempt went.
enum Went {
    /// The job has come to something.
    Over,
    /// The job has failed: its window ran out while this holder had the lock.
    RanOut { holder: Holder },
    /// This holder has the lock; to be attempted again after `pause`, or earlier if the lock changes.
    Busy { pause: Duration, holder: Holder },
}

impl Engine {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&'static self, line: Line, entry: Entry) {
        let mut state = self.state();
        if let Err(source) = self.start_threads(&mut state) {
            drop(state);
            return self.end(entry, Some(Error::io("pipestate".as_ref(), "start a thread", "clone", source)));
        }
        state.lines.push(line, entry);
        self.work.notify_one();
        self.start_worker(&mut state);
        self.tell_waiter(&mut state);
    }

    fn abort(&self, id: JobId) {
        let mut state = self.state();
        let removed = state.lines.remove(id);
        self.work.notify_one(); // the next in line may be ready
        drop(state);
        if let Some(entry) = removed {
            self.end(entry, Some(Error::Aborted));
        }
    }

    fn abandon(&self, owner: Owner) {
        let mut state = self.state();
        let removed = state.lines.remove_all(owner);
        self.work.notify_all();
        while state.lines.is_running(owner) || state.settling.contains(&owner) {
            state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        removed.into_iter().for_each(|entry| self.end(entry, None));
    }

    /// Ends a job that was taken out of its line.
    fn end(&self, entry: Entry, error: Option<Error>) {
        self.disarm(entry.waiting.armed);
        if let (Some(mut job), Some(error)) = (entry.job, error) {
            job.fail(error);
            job.settle();
        }
    }

    /// Without a worker and the waiter nothing goes on: the first job starts both.
    fn start_threads(&'static self, state: &mut State) -> io::Result<()> {
        if state.waiter.is_none() {
            thread::Builder::new().name("pipestate-wait".into()).spawn(|| self.wait())?;
            state.waiter = Some(Instant::now());
        }
        if state.workers == 0 {
            thread::Builder::new().name("pipestate".into()).spawn(|| self.work())?;
            state.workers = 1;
        }
        Ok(())
    }

    /// Starts another worker when the idle ones have their hands full; one that cannot be started is not needed.
    fn start_worker(&'static self, state: &mut State) {
        if state.lines.ready() > state.idle && state.workers < *MOST_WORKERS {
            let started = thread::Builder::new().name("pipestate".into()).spawn(|| self.work());
            state.workers += usize::from(started.is_ok());
        }
    }

    /// The life of a worker.
    fn work(&self) {
        let mut state = self.state();
        loop {
            let Some(mut turn) = state.lines.begin() else {
                state.idle += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            let went = self.attempt(&mut turn);
            state = match went {
                Went::Busy { pause, holder } => {
                    state = self.state();
                    state.lines.park(turn, pause, holder);
                    self.tell_waiter(&mut state);
                    state
                }
                Went::Over => self.finish(turn, None),
                Went::RanOut { holder } => self.finish(turn, Some(holder)),
            };
            self.finished.notify_all();
        }
    }

    /// Ends the turn of a job that is over. It is settled when its line has moved on, so that who is told of it finds
    /// the line free.
    fn finish(&self, mut turn: Turn, seen: Option<Holder>) -> MutexGuard<'_, State> {
        self.disarm(turn.waiting.armed.take());
        let mut state = self.state();
        let owner = state.lines.finish(&turn.line, seen).owner;
        state.settling.push(owner);
        drop(state);
        turn.job.settle();
        drop(turn);
        let mut state = self.state();
        let at =
            state.settling.iter().position(|settling| *settling == owner).expect("it has been put there");
        state.settling.swap_remove(at);
        state
    }

    /// Attempts the head of a line.
    fn attempt(&self, turn: &mut Turn) -> Went {
        let stopped = turn.stopped.clone();
        let interrupted = || stopped.load(Ordering::SeqCst).then_some(Error::Aborted);
        loop {
            if let Some(error) = interrupted() {
                turn.job.fail(error);
                return Went::Over;
            }
            let Some(busy) = turn.job.attempt(&interrupted) else { return Went::Over };
            let now = Instant::now();
            let since = *turn.waiting.since.get_or_insert(now);
            if let Some(window) = turn.window.as_ref().filter(|window| window.left().is_none()) {
                turn.job.fail(window.ran_out(busy.holder.clone()));
                return Went::RanOut { holder: busy.holder };
            }
            let nap = lock::nap(now - since, busy.holder.age);
            if nap.is_none() && turn.waiting.armed.is_none() {
                match self.arm(turn) {
                    // The lock may have changed before the watch was there: look again first.
                    Ok(armed) => {
                        turn.waiting.armed = Some(armed);
                        continue;
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(_) => {}
                }
            }
            return Went::Busy { pause: nap.unwrap_or(busy.poll), holder: busy.holder };
        }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<WatchId, Vec<Arc<Line>>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the waiter woken when the lock that `turn` waits for changes.
    fn arm(&self, turn: &Turn) -> io::Result<Armed> {
        let place = turn.job.place().ok_or(io::ErrorKind::Unsupported)?;
        // Held from before the watch is there until it can be found, so that the waiter finds it.
        let mut watched = self.watched();
        let watch = self.watch.add(&place.folder, &place.lock_name)?;
        watched.entry(watch).or_default().push(turn.line.clone());
        Ok(Armed { watch, line: turn.line.clone() })
    }

    fn disarm(&self, armed: Option<Armed>) {
        let Some(Armed { watch, line }) = armed else { return };
        let mut watched = self.watched();
        if let Some(lines) = watched.get_mut(&watch) {
            lines.retain(|other| *other != line);
            if !lines.is_empty() {
                return; // another line waits for the same lock: two spellings of one file
            }
            watched.remove(&watch);
        }
        self.watch.remove(watch);
    }

    /// Wakes the waiter if it would sleep past the next timer.
    fn tell_waiter(&self, state: &mut State) {
        if let Some(next) = state.lines.next_timer()
            && state.waiter.is_none_or(|until| next < until)
        {
            state.waiter = Some(next);
            self.watch.ring();
        }
    }

    /// The life of the waiter.
    fn wait(&'static self) {
        let longest = if self.watch.has_bell() { IDLE } else { DEAF };
        let mut changed = Vec::new();
        loop {
            let lines: Vec<Arc<Line>> = {
                let mut watched = self.watched();
                changed.iter().filter_map(|id| watched.remove(id)).flatten().collect()
            };
            let mut state = self.state();
            let now = Instant::now();
            lines.iter().for_each(|line| state.lines.ring(line, now));
            let ran_out = state.lines.run_timers(now);
            let until = state.lines.next_timer().unwrap_or(now + longest).min(now + longest);
            state.waiter = Some(until);
            (0..state.lines.ready()).take(state.idle).for_each(|_| self.work.notify_one());
            self.start_worker(&mut state);
            drop(state);
            for (entry, error) in ran_out {
                self.end(entry, Some(error));
            }
            changed = self.watch.sleep(until.saturating_duration_since(Instant::now()));
        }
    }
}
