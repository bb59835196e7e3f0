//! The one way in which a state file changes: parse the patch (before, [`Patch::parse`]) → lock → read → merge →
//! check → replace → unlock.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::atomic::{self, Durability, Replaced};
use crate::disk::{self, Access, Facts, FileKind};
use crate::document::{Document, Kind};
use crate::error::Error;
use crate::lock::{self, Acquiring, Attempt, Lock};
use crate::merge::{self, Nulls, Patch, Refusal};
use crate::place::{self, Missing, Place};

/// What is done with the document that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is merged into the state (M1 to M3).
    Merge(Nulls),
    /// It becomes the state (M4), also where the old one does not parse.
    Replace,
}

/// How a write is to be done.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Merge or replace.
    pub mode: Mode,
    /// Write only when the file has this revision (M7).
    pub if_match: Option<String>,
    /// Whether an acknowledged write outlives a power cut (A2).
    pub durability: Durability,
    /// How long to wait for the lock (L8); zero tries once.
    pub lock_timeout: Duration,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            mode: Mode::Merge(Nulls::Store),
            if_match: None,
            durability: Durability::Durable,
            lock_timeout: lock::DEFAULT_TIMEOUT,
        }
    }
}

/// Who writes, and how they can be stopped.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// The program, as others read it in the lock.
    pub program: &'a str,
    /// Asked while waiting and just before the commit; an error ends the write with nothing written.
    pub interrupted: &'a dyn Fn() -> Option<Error>,
}

/// What a write did.
#[derive(Clone, Debug)]
pub struct Written {
    /// Revision of the file now (M7).
    pub rev: String,
    /// Whether a byte of the file changed (A6).
    pub changed: bool,
    /// Whether the file is new.
    pub created: bool,
    /// Where the file is.
    pub place: Arc<Place>,
    /// How long the lock was waited for.
    pub waited: Duration,
    /// What went wrong after the commit without making it a failure.
    pub warnings: Vec<String>,
}

/// Revision of a file that does not exist (M7).
pub const NO_REVISION: &str = "none";

/// A state file as it was read.
#[derive(Debug)]
pub struct Snapshot {
    /// Its bytes; none when there is no file.
    pub text: Vec<u8>,
    /// Its revision.
    pub rev: String,
    /// What the file system says of it; `None` when there is no file.
    pub facts: Option<Facts>,
}

impl Snapshot {
    /// The document in it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when it does not parse or is no object (R5).
    pub fn document(self, path: &Path) -> Result<Document, Error> {
        let corrupt = |reason| Error::Corrupt { path: path.to_owned(), reason };
        let document = Document::parse(self.text).map_err(|fault| corrupt(fault.to_string()))?;
        match document.root().kind() {
            Kind::Object => Ok(document),
            other => Err(corrupt(format!("it is {}, and a state document is an object", other.described()))),
        }
    }
}

/// Revision of a file with this content: the 128-bit XXH3 of its bytes, in hexadecimal.
pub fn revision(content: &[&[u8]]) -> String {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    content.iter().for_each(|part| hash.update(part));
    format!("{:032x}", hash.digest128())
}

/// Reads the state file at `path`. Takes no lock: the rename makes any read see one whole document (A3).
///
/// # Errors
/// [`Error::Io`] when it cannot be read. That it does not exist is no error: its revision is `none`.
pub fn read(path: &Path) -> Result<Snapshot, Error> {
    match Place::find(path, Missing::Fail) {
        Ok(place) => read_at(&place),
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Snapshot::missing())
        }
        Err(error) => Err(error),
    }
}

/// Reads the state file at `place`; the caller may have its lock.
pub fn read_at(place: &Place) -> Result<Snapshot, Error> {
    let failed = |syscall| place.failed("read the state file", syscall);
    let file = match disk::patiently(|| place.folder.open(&place.name, Access::Read)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Snapshot::missing()),
        Err(error) => return Err(failed("open")(error)),
    };
    let facts = disk::facts(&file).map_err(failed("fstat"))?;
    if facts.kind != FileKind::Regular {
        let what = std::io::Error::other(format!("it is {}", facts.kind.described()));
        return Err(failed("read")(what));
    }
    let text = disk::read_all(&file, facts.size).map_err(failed("read"))?;
    let rev = revision(&[&text]);
    Ok(Snapshot { text, rev, facts: Some(facts) })
}

impl Snapshot {
    fn missing() -> Snapshot {
        Snapshot { text: Vec::new(), rev: NO_REVISION.to_owned(), facts: None }
    }
}

/// Writes `patch` into the state file at `path`, waiting for its lock.
///
/// When it returns `Ok` the new state is in place, and with [`Durability::Durable`] it outlives a power cut. When the
/// process dies on the way, the file has the old content or the new one, whole, and the next writer goes on at once.
///
/// # Errors
/// Every variant of [`Error`] but those of `get` and `unlock`; nothing was written, but for [`Error::NotDurable`].
pub fn write(path: &Path, patch: &Patch, options: &WriteOptions, caller: Caller) -> Result<Written, Error> {
    let place = prepare(path, options.durability)?;
    let mut write = Write::new(place.clone(), caller.program, Instant::now());
    lock::wait_for(&place, options.lock_timeout, caller.interrupted, || write.attempt(patch, options, caller))
}

/// A write in attempts, none of which waits for the lock.
#[derive(Debug)]
pub struct Write {
    place: Arc<Place>,
    acquiring: Acquiring,
    since: Instant,
}

impl Write {
    /// Is to write the state file at `place`. `since` is when the wait began.
    pub fn new(place: Arc<Place>, program: &str, since: Instant) -> Write {
        Write { acquiring: Acquiring::new(place.clone(), program), place, since }
    }

    /// Where the state file is.
    pub fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// Tries once to take the lock and, holding it, writes. The arguments are those of [`write()`], every time.
    pub fn attempt(
        &mut self,
        patch: &Patch,
        options: &WriteOptions,
        caller: Caller,
    ) -> Result<Attempt<Written>, Error> {
        loop {
            let lock = match self.acquiring.attempt()? {
                Attempt::Done(lock) => lock,
                Attempt::Busy(busy) => return Ok(Attempt::Busy(busy)),
            };
            let waited = self.since.elapsed();
            if let Some(mut written) = write_locked(&lock, patch, options, caller)? {
                written.waited = waited;
                if let Err(error) = lock.release() {
                    written.warnings.push(format!("the lock could not be removed: {error}"));
                }
                return Ok(Attempt::Done(written));
            }
            // Our lock was unlinked under us, and nothing was written: from the start, within the same window (L11).
            if self.since.elapsed() >= options.lock_timeout {
                return Err(Error::LockLost { path: self.place.path.clone() });
            }
            self.acquiring = Acquiring::new(self.place.clone(), caller.program);
        }
    }
}

/// Finds where a state file that is to be written lies; makes the folders that are missing (M5).
///
/// # Errors
/// [`Error::PluginRoot`] before anything is made, [`Error::Io`].
pub fn prepare(path: &Path, durability: Durability) -> Result<Arc<Place>, Error> {
    place::refuse_plugin_root(path)?;
    let durable = durability == Durability::Durable;
    Ok(Arc::new(Place::find(path, Missing::Make { durable })?))
}

/// Writes under a lock that is held: read → merge → check → replace. `None` when the lock was lost before the commit.
pub fn write_locked(
    lock: &Lock,
    patch: &Patch,
    options: &WriteOptions,
    caller: Caller,
) -> Result<Option<Written>, Error> {
    let place = lock.place();
    sweep_if_needed(lock);
    let snapshot = read_at(place)?;
    if let Some(expected) = options.if_match.as_ref().filter(|expected| **expected != snapshot.rev) {
        let (expected, actual) = (expected.clone(), snapshot.rev);
        return Err(Error::Conflict { path: place.path.clone(), expected, actual });
    }
    let facts = snapshot.facts;
    let unchanged = Written {
        rev: snapshot.rev.clone(),
        changed: false,
        created: false,
        place: place.clone(),
        waited: Duration::ZERO,
        warnings: Vec::new(),
    };
    let commit = |content: &[&[u8]]| -> Result<Option<Written>, Error> {
        let may_commit = || match (caller.interrupted)() {
            Some(error) => Err(error),
            None => lock.is_ours().map_err(place.failed("look at the lock", "stat")),
        };
        match atomic::replace(place, facts.as_ref(), content, options.durability, &may_commit)? {
            Replaced::LockLost => Ok(None),
            Replaced::Committed => Ok(Some(Written {
                rev: revision(content),
                changed: true,
                created: facts.is_none(),
                ..unchanged.clone()
            })),
        }
    };
    let refused = |Refusal { pointer, reason }| Error::Refused { path: place.path.clone(), pointer, reason };
    match options.mode {
        Mode::Replace => {
            let text = merge::replace(patch);
            if facts.is_some() && text == snapshot.text { Ok(Some(unchanged)) } else { commit(&[&text]) }
        }
        Mode::Merge(nulls) if facts.is_none() => commit(&[&merge::create(patch, nulls)]),
        Mode::Merge(nulls) => {
            let document = snapshot.document(&place.path)?;
            let edits = merge::merge(&document, patch, nulls).map_err(refused)?;
            if edits.is_empty() { Ok(Some(unchanged)) } else { commit(&edits.slices(document.text())) }
        }
    }
}

/// Removes what dead writers left (A5): after taking over a dead holder's lock, and once in every folder for what a
/// foreign tool hid by removing such a lock. Not every time: a folder may have very many files.
fn sweep_if_needed(lock: &Lock) {
    use std::collections::HashSet;
    use std::sync::{LazyLock, Mutex, PoisonError};
    static SWEPT: LazyLock<Mutex<HashSet<disk::FileId>>> = LazyLock::new(Mutex::default);

    let folder = &lock.place().folder;
    let Ok(id) = folder.id() else { return };
    let new = SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    if new || lock.was_taken_over() {
        let _ = disk::sweep(folder, lock.id()); // what cannot be swept now stays for the next
    }
}
