//! The jobs that wait for the lock of a state file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Job;
use crate::atomic::Durability;
use crate::error::Error;
use crate::lock::{Acquiring, Attempt, Lock};
use crate::merge::Patch;
use crate::place::Place;
use crate::update::{self, Caller, Write, WriteOptions, Written};

/// The origin of a patch in messages.
const ORIGIN: &str = "the patch";

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
    /// The state file.
    pub path: PathBuf,
    /// What is written.
    pub input: Input,
    /// How.
    pub options: WriteOptions,
    /// Who writes, as others read it in the lock.
    pub program: Arc<str>,
    /// When the wait began.
    pub since: Instant,
    /// The way to the lock, while it is kept open.
    pub write: Option<Write>,
}

impl Job for WriteJob {
    type Output = Written;

    fn attempt(&mut self, interrupted: &dyn Fn() -> Option<Error>) -> Result<Attempt<Written>, Error> {
        let patch = self.input.patch()?;
        let caller = Caller { program: &self.program, interrupted };
        let write = match &mut self.write {
            Some(write) => write,
            none => none.insert(Write::new(&self.path, &self.options, caller, self.since)?),
        };
        write.attempt(patch, &self.options, caller)
    }

    fn place(&self) -> Option<&Arc<Place>> {
        self.write.as_ref().map(Write::place)
    }

    fn rest(&mut self) {
        self.write = None;
    }
}

/// Taking a lock to hold it.
pub struct LockJob {
    /// The state file.
    pub path: PathBuf,
    /// Who takes it, as others read it in the lock.
    pub program: Arc<str>,
    /// When the wait began.
    pub since: Instant,
    /// The way to the lock, while it is kept open.
    pub acquiring: Option<(Arc<Place>, Acquiring)>,
}

impl Job for LockJob {
    type Output = (Lock, Duration);

    fn attempt(&mut self, _: &dyn Fn() -> Option<Error>) -> Result<Attempt<(Lock, Duration)>, Error> {
        let (_, acquiring) = match &mut self.acquiring {
            Some(acquiring) => acquiring,
            none => {
                let place = update::prepare(&self.path, Durability::Durable)?;
                none.insert((place.clone(), Acquiring::new(place, &self.program)))
            }
        };
        Ok(match acquiring.attempt()? {
            Attempt::Done(lock) => Attempt::Done((lock, self.since.elapsed())),
            Attempt::Busy(busy) => Attempt::Busy(busy),
        })
    }

    fn place(&self) -> Option<&Arc<Place>> {
        self.acquiring.as_ref().map(|(place, _)| place)
    }

    fn rest(&mut self) {
        self.acquiring = None;
    }
}
