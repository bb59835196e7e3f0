//! The lines that jobs stand in, and what happens to them: bookkeeping without threads, files or clocks of its own.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Run;
use crate::error::Error;
use crate::lock::{self, Holder, WatchId};

/// Names one job for as long as the process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u64);

/// Whoever has jobs that end together: an environment of Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner(pub u64);

/// What a line is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// Those who want the lock of the state file at this absolute path. Another spelling of it is another line, and
    /// the two meet at the lock.
    File(PathBuf),
    /// Those who use one lock that is held.
    Held(u64),
    /// This job alone.
    Alone(JobId),
}

impl Line {
    /// The line for the state file that the caller calls `path`.
    pub fn of_file(path: &Path) -> Line {
        Line::File(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }
}

/// How long a job may wait for the lock.
#[derive(Clone, Debug)]
pub struct Window {
    /// The state file, as the caller called it.
    pub path: PathBuf,
    /// When the wait began.
    pub since: Instant,
    /// How long it may take; what no clock can count to has no end.
    pub timeout: Duration,
}

impl Window {
    fn deadline(&self) -> Option<Instant> {
        self.since.checked_add(self.timeout)
    }

    /// How long is left; `None` when it has run out.
    pub fn left(&self) -> Option<Duration> {
        self.timeout.checked_sub(self.since.elapsed()).filter(|left| !left.is_zero())
    }

    /// The error of a window that has run out while `holder` had the lock.
    pub fn ran_out(&self, holder: Holder) -> Error {
        Error::LockTimeout { path: self.path.clone(), holder: Box::new(holder), waited: self.since.elapsed() }
    }
}

/// A job in its line.
pub(super) struct Entry {
    pub id: JobId,
    pub owner: Owner,
    /// Jobs without one never wait for a lock.
    pub window: Option<Window>,
    /// Set when the job is no longer wanted, for the attempt that is running.
    pub stopped: Arc<AtomicBool>,
    /// Not here while it is being attempted.
    pub job: Option<Box<dyn Run>>,
    pub waiting: Waiting,
    /// Whether it keeps its descriptors while it waits.
    pub keeps: bool,
}

impl Entry {
    pub fn new(id: JobId, owner: Owner, window: Option<Window>, job: Box<dyn Run>) -> Entry {
        let (stopped, waiting) = (Arc::default(), Waiting::default());
        Entry { id, owner, window, stopped, job: Some(job), waiting, keeps: false }
    }
}

/// What is remembered of a head's wait between its attempts.
#[derive(Default)]
pub(super) struct Waiting {
    /// When it first found the lock busy.
    pub since: Option<Instant>,
    /// The watch on the lock, until it has told of something.
    pub armed: Option<Armed>,
}

/// A watch, and the line that it wakes.
pub(super) struct Armed {
    pub watch: WatchId,
    pub line: Arc<Line>,
}

/// A head that is being attempted.
pub(super) struct Turn {
    pub line: Arc<Line>,
    pub job: Box<dyn Run>,
    pub window: Option<Window>,
    pub stopped: Arc<AtomicBool>,
    pub waiting: Waiting,
}

/// Where the head of a line is.
enum Head {
    /// Waiting for a worker.
    Ready,
    /// Being attempted since then. `rung`: the lock changed meanwhile.
    Running { since: Instant, rung: bool },
    /// Waiting for the lock.
    Parked { wake: Instant },
}

/// Never empty: a line that nobody stands in is not kept.
struct Queue {
    entries: VecDeque<Entry>,
    head: Head,
    /// Who had the lock when a head last found it busy, unless the line has moved on since.
    seen: Option<Holder>,
}

/// This many heads that wait keep their descriptors (folder, private file, watched suspect); the others open them again
/// for every attempt. So the number of descriptors does not grow with the number of waiting jobs.
const MOST_KEEPING: usize = 64;

/// This many parked heads look again as often as their holders ask for; of more, each looks less often, so that those
/// who wait do not keep the workers from those who could go on. A lock that comes free wakes them all the same.
const OFTEN: u32 = 8;
/// But so often they look all the same: a foreign holder's death wakes nobody (L4).
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Lines {
    queues: HashMap<Arc<Line>, Queue>,
    lines: HashMap<JobId, Arc<Line>>,
    /// Lines whose head can be attempted, in order.
    ready: VecDeque<Arc<Line>>,
    /// When a parked head is to look again, and when a window of those behind it runs out.
    timers: BTreeSet<(Instant, JobId)>,
    keeping: usize,
    parked: u32,
}

impl Lines {
    /// Puts a job at the end of its line.
    pub fn push(&mut self, line: Line, entry: Entry) {
        let line = Arc::new(line);
        self.lines.insert(entry.id, line.clone());
        match self.queues.get_mut(&line) {
            Some(queue) => {
                self.timers.extend(entry.window.as_ref().and_then(Window::deadline).map(|at| (at, entry.id)));
                queue.entries.push_back(entry);
            }
            None => {
                self.queues.insert(
                    line.clone(),
                    Queue { entries: VecDeque::from([entry]), head: Head::Ready, seen: None },
                );
                self.ready.push_back(line);
            }
        }
    }

    /// How many heads wait for a worker.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// The next head to be attempted.
    pub fn begin(&mut self) -> Option<Turn> {
        let line = self.ready.pop_front()?;
        let queue = self.queues.get_mut(&line).expect("a ready line has a queue");
        queue.head = Head::Running { since: Instant::now(), rung: false };
        let entry = queue.entries.front_mut().expect("no queue is empty");
        Some(Turn {
            line,
            job: entry.job.take().expect("only the running job is elsewhere"),
            window: entry.window.clone(),
            stopped: entry.stopped.clone(),
            waiting: std::mem::take(&mut entry.waiting),
        })
    }

    /// The head that was attempted is done; `seen` has the lock still, if its window ran out.
    pub fn finish(&mut self, line: &Arc<Line>, seen: Option<Holder>) -> Entry {
        self.queues.get_mut(line).expect("a running line has a queue").seen = seen;
        self.shift(line)
    }

    /// The head that was attempted found `holder` with the lock: it is to look again after `pause`, or when it is woken.
    pub fn park(&mut self, turn: Turn, pause: Duration, holder: Holder) {
        let queue = self.queues.get_mut(&turn.line).expect("a running line has a queue");
        let Head::Running { rung, .. } = queue.head else { unreachable!("the head was being attempted") };
        queue.seen = Some(holder);
        let entry = queue.entries.front_mut().expect("no queue is empty");
        let job = entry.job.insert(turn.job);
        entry.waiting = turn.waiting;
        if rung {
            entry.waiting.armed = None;
        }
        if rung || entry.stopped.load(Ordering::SeqCst) {
            queue.head = Head::Ready;
            return self.ready.push_back(turn.line);
        }
        if !entry.keeps && self.keeping < MOST_KEEPING {
            entry.keeps = true;
            self.keeping += 1;
        } else if !entry.keeps {
            job.rest();
        }
        let now = Instant::now();
        let pause = (pause * (1 + self.parked / OFTEN)).min(LONGEST_PAUSE.max(pause));
        let deadline = entry.window.as_ref().and_then(Window::deadline);
        let wake = deadline.map_or(now + pause, |deadline| deadline.min(now + pause));
        self.timers.insert((wake, entry.id));
        self.parked += 1;
        queue.head = Head::Parked { wake };
    }

    /// The lock that the head of `line` waits for has changed: it looks again after a [`lock::courtesy`] to others.
    pub fn ring(&mut self, line: &Arc<Line>, now: Instant) {
        let Some(queue) = self.queues.get_mut(line) else { return };
        let entry = &mut queue.entries[0];
        match &mut queue.head {
            Head::Ready => {}
            Head::Running { rung, .. } => *rung = true,
            Head::Parked { wake } => {
                entry.waiting.armed = None; // the name may stand for another file by now
                let since = entry.window.as_ref().map_or(now, |window| window.since);
                let at = (*wake).min(now + lock::courtesy(now - since));
                self.timers.remove(&(*wake, entry.id));
                self.timers.insert((at, entry.id));
                *wake = at;
            }
        }
    }

    /// When the next timer runs out.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// Wakes the heads that are to look again, and takes out the jobs behind them whose window has run out, with the
    /// error that tells them so.
    pub fn run_timers(&mut self, now: Instant) -> Vec<(Entry, Error)> {
        let mut ran_out = Vec::new();
        while let Some(&(at, id)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            let line = self.lines[&id].clone();
            let queue = &self.queues[&line];
            if queue.entries[0].id == id {
                self.unpark(&line);
                continue;
            }
            let holder = queue.holder();
            let entry = self.remove(id).expect("it is not running");
            let window = entry.window.as_ref().expect("a job with a deadline has a window");
            let error = window.ran_out(holder);
            ran_out.push((entry, error));
        }
        ran_out
    }

    /// Takes a job out. One that is being attempted stays, and is told to stop.
    pub fn remove(&mut self, id: JobId) -> Option<Entry> {
        let line = self.lines.get(&id)?.clone();
        let queue = self.queues.get_mut(&line).expect("a line that a job stands in has a queue");
        let at = queue.entries.iter().position(|entry| entry.id == id).expect("the job stands in its line");
        if at > 0 {
            let entry = queue.entries.remove(at).expect("it is there");
            self.lines.remove(&id);
            if let Some(deadline) = entry.window.as_ref().and_then(Window::deadline) {
                self.timers.remove(&(deadline, id));
            }
            return Some(entry);
        }
        match queue.head {
            Head::Running { .. } => {
                queue.entries[0].stopped.store(true, Ordering::SeqCst);
                return None;
            }
            Head::Ready => self.ready.retain(|ready| *ready != line),
            Head::Parked { .. } => {
                self.unpark(&line);
                self.ready.retain(|ready| *ready != line);
            }
        }
        Some(self.shift(&line))
    }

    /// Takes out all jobs of `owner`, and tells those that are being attempted to stop.
    pub fn remove_all(&mut self, owner: Owner) -> Vec<Entry> {
        let of_owner = |entry: &&Entry| entry.owner == owner;
        let entries = self.queues.values().flat_map(|queue| queue.entries.iter().filter(of_owner));
        let ids: Vec<JobId> = entries.map(|entry| entry.id).collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Whether a job of `owner` is being attempted.
    pub fn is_running(&self, owner: Owner) -> bool {
        let mut queues = self.queues.values();
        queues.any(|queue| matches!(queue.head, Head::Running { .. }) && queue.entries[0].owner == owner)
    }

    /// Whether the head of `line` waits for the lock.
    #[cfg(test)]
    pub fn is_parked(&self, line: &Line) -> bool {
        self.queues.get(line).is_some_and(|queue| matches!(queue.head, Head::Parked { .. }))
    }

    fn unpark(&mut self, line: &Arc<Line>) {
        let queue = self.queues.get_mut(line).expect("a parked line has a queue");
        let Head::Parked { wake } = queue.head else { return };
        self.parked -= 1;
        self.timers.remove(&(wake, queue.entries[0].id));
        queue.head = Head::Ready;
        self.ready.push_back(line.clone());
    }

    /// Takes out the head, which is neither parked nor ready any more; the next one is ready.
    fn shift(&mut self, line: &Arc<Line>) -> Entry {
        let queue = self.queues.get_mut(line).expect("the line has a queue");
        let entry = queue.entries.pop_front().expect("no queue is empty");
        self.keeping -= usize::from(entry.keeps);
        self.lines.remove(&entry.id);
        match queue.entries.front() {
            None => drop(self.queues.remove(line)),
            Some(next) => {
                // A head that is attempted looks at its window itself.
                if let Some(deadline) = next.window.as_ref().and_then(Window::deadline) {
                    self.timers.remove(&(deadline, next.id));
                }
                queue.head = Head::Ready;
                self.ready.push_back(line.clone());
            }
        }
        entry
    }
}

impl Queue {
    /// Who keeps those behind the head waiting.
    fn holder(&self) -> Holder {
        let age = match self.head {
            Head::Running { since, .. } => Some(since.elapsed()),
            Head::Ready | Head::Parked { .. } => None,
        };
        self.seen.clone().unwrap_or_else(|| Holder {
            pid: Some(std::process::id()),
            age,
            alive: true,
            why: "alive: earlier calls of this process come first".into(),
            ..Holder::default()
        })
    }
}
