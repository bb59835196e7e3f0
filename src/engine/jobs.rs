//! The kinds of jobs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Interrupted, Job, Line, Window};
use crate::atomic::Durability;
use crate::error::Error;
use crate::lock::{self, Acquiring, Attempt, Lock};
use crate::merge::Patch;
use crate::place::Place;
use crate::update::{self, Caller, Current, Steps, Write, WriteOptions, Written};

/// What a patch that did not come in on stdin is called in messages.
pub const ORIGIN: &str = "the patch";

/// A patch, checked or yet to be checked.
pub enum Input {
    /// Text that is checked before the lock is taken.
    Text(Vec<u8>),
    /// A patch.
    Patch(Patch),
}

impl Input {
    /// Checks the text if it has not been.
    pub fn patch(&mut self) -> Result<&Patch, Error> {
        if let Input::Text(text) = self {
            *self = Input::Patch(Patch::parse(std::mem::take(text), ORIGIN)?);
        }
        match self {
            Input::Patch(patch) => Ok(patch),
            Input::Text(_) => unreachable!("it has just been parsed"),
        }
    }
}

/// A write: [`update::write`] in attempts.
pub struct WriteJob {
    window: Window,
    input: Input,
    options: WriteOptions,
    program: Arc<str>,
    /// The way to the lock, while it is kept open.
    write: Option<Write>,
}

impl WriteJob {
    /// Is to write `input` into the state file at `path`. The wait begins now; `program` is what others read in the lock.
    pub fn new(path: PathBuf, input: Input, options: WriteOptions, program: Arc<str>) -> WriteJob {
        let window = Window { path, since: Instant::now(), timeout: options.lock_timeout };
        WriteJob { window, input, options, program, write: None }
    }
}

impl Job for WriteJob {
    type Output = Written;

    fn attempt(&mut self, interrupted: Interrupted) -> Result<Attempt<Written>, Error> {
        let patch = self.input.patch()?;
        let caller = Caller { program: &self.program, interrupted };
        let write = match &mut self.write {
            Some(write) => write,
            none => {
                let place = update::prepare(&self.window.path, self.options.durability)?;
                none.insert(Write::new(place, &self.program, self.window.since))
            }
        };
        write.attempt(patch, &self.options, caller)
    }

    fn wait(mut self, interrupted: Interrupted) -> Result<Written, Error> {
        let caller = Caller { program: &self.program, interrupted };
        update::write(&self.window.path, self.input.patch()?, &self.options, caller)
    }

    fn line(&self) -> Option<Line> {
        Some(Line::of_file(&self.window.path))
    }

    fn window(&self) -> Option<Window> {
        Some(self.window.clone())
    }

    fn place(&self) -> Option<&Arc<Place>> {
        self.write.as_ref().map(Write::place)
    }

    fn rest(&mut self) {
        self.write = None;
    }
}

/// An edit: [`update::edit`] in attempts.
pub struct EditJob<F> {
    window: Window,
    options: WriteOptions,
    program: Arc<str>,
    decide: F,
    /// The way to the lock, while it is kept open.
    write: Option<Write>,
}

impl<F> EditJob<F> {
    /// Is to write into the state file at `path` what `decide` says under its lock. The wait begins now; `program` is
    /// what others read in the lock.
    pub fn new<T>(path: PathBuf, options: WriteOptions, program: Arc<str>, decide: F) -> EditJob<F>
    where
        F: FnMut(&Current) -> Result<(T, Steps), Error>,
    {
        let window = Window { path, since: Instant::now(), timeout: options.lock_timeout };
        EditJob { window, options, program, decide, write: None }
    }
}

impl<T: Send + 'static, F> Job for EditJob<F>
where
    T: Send,
    F: FnMut(&Current) -> Result<(T, Steps), Error> + Send + 'static,
{
    type Output = (T, Written);

    fn attempt(&mut self, interrupted: Interrupted) -> Result<Attempt<(T, Written)>, Error> {
        let caller = Caller { program: &self.program, interrupted };
        let write = match &mut self.write {
            Some(write) => write,
            none => {
                let place = update::prepare_edit(&self.window.path)?;
                none.insert(Write::new(place, &self.program, self.window.since))
            }
        };
        write.attempt_edit(&self.options, caller, &mut self.decide)
    }

    fn wait(mut self, interrupted: Interrupted) -> Result<(T, Written), Error> {
        let caller = Caller { program: &self.program, interrupted };
        update::edit(&self.window.path, &self.options, caller, &mut self.decide)
    }

    fn line(&self) -> Option<Line> {
        Some(Line::of_file(&self.window.path))
    }

    fn window(&self) -> Option<Window> {
        Some(self.window.clone())
    }

    fn place(&self) -> Option<&Arc<Place>> {
        self.write.as_ref().map(Write::place)
    }

    fn rest(&mut self) {
        self.write = None;
    }
}

/// A lock that was waited for.
pub struct Acquired {
    /// The lock.
    pub lock: Lock,
    /// How long it was waited for.
    pub waited: Duration,
    /// How much of the window is left.
    pub left: Duration,
}

/// Taking a lock to hold it: [`lock::acquire`] in attempts.
pub struct LockJob {
    window: Window,
    program: Arc<str>,
    /// The way to the lock, while it is kept open.
    acquiring: Option<(Arc<Place>, Acquiring)>,
}

impl LockJob {
    /// Is to take the lock of the state file at `path`, making the folders that are missing. The wait begins now;
    /// `program` is what others read in the lock.
    pub fn new(path: PathBuf, timeout: Duration, program: Arc<str>) -> LockJob {
        LockJob { window: Window { path, since: Instant::now(), timeout }, program, acquiring: None }
    }

    fn acquired(&self, lock: Lock) -> Acquired {
        let left = self.window.left().unwrap_or_default();
        Acquired { lock, waited: self.window.since.elapsed(), left }
    }
}

impl Job for LockJob {
    type Output = Acquired;

    fn attempt(&mut self, _: Interrupted) -> Result<Attempt<Acquired>, Error> {
        let (_, acquiring) = match &mut self.acquiring {
            Some(acquiring) => acquiring,
            none => {
                let place = update::prepare(&self.window.path, Durability::Durable)?;
                none.insert((place.clone(), Acquiring::new(place, &self.program)))
            }
        };
        Ok(match acquiring.attempt()? {
            Attempt::Done(lock) => Attempt::Done(self.acquired(lock)),
            Attempt::Busy(busy) => Attempt::Busy(busy),
        })
    }

    fn wait(self, interrupted: Interrupted) -> Result<Acquired, Error> {
        let place = update::prepare(&self.window.path, Durability::Durable)?;
        let lock = lock::acquire(&place, &self.program, self.window.timeout, interrupted)?;
        Ok(self.acquired(lock))
    }

    fn line(&self) -> Option<Line> {
        Some(Line::of_file(&self.window.path))
    }

    fn window(&self) -> Option<Window> {
        Some(self.window.clone())
    }

    fn place(&self) -> Option<&Arc<Place>> {
        self.acquiring.as_ref().map(|(place, _)| place)
    }

    fn rest(&mut self) {
        self.acquiring = None;
    }
}

/// What waits for no lock.
pub struct Once<F> {
    line: Option<Line>,
    work: Option<F>,
}

impl<F> Once<F> {
    /// Is to do `work`, whatever else is going on.
    pub fn new<T>(work: F) -> Once<F>
    where
        F: FnOnce(Interrupted) -> Result<T, Error>,
    {
        Once { line: None, work: Some(work) }
    }

    /// Is to do `work` after what stands in `line` already.
    pub fn in_line<T>(line: Line, work: F) -> Once<F>
    where
        F: FnOnce(Interrupted) -> Result<T, Error>,
    {
        Once { line: Some(line), work: Some(work) }
    }
}

impl<T: Send, F: FnOnce(Interrupted) -> Result<T, Error> + Send + 'static> Job for Once<F> {
    type Output = T;

    fn attempt(&mut self, interrupted: Interrupted) -> Result<Attempt<T>, Error> {
        let work = self.work.take().expect("it was never busy");
        work(interrupted).map(Attempt::Done)
    }

    fn wait(self, interrupted: Interrupted) -> Result<T, Error> {
        self.work.expect("it has not been done")(interrupted)
    }

    fn line(&self) -> Option<Line> {
        self.line.clone()
    }

    fn window(&self) -> Option<Window> {
        None
    }

    fn place(&self) -> Option<&Arc<Place>> {
        None
    }

    fn rest(&mut self) {}
}
