//! The one way in which a state file changes: parse the patch (before, [`Patch::parse`]) → lock → read → merge →
//! check → replace → unlock.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::atomic::{self, Durability, Replaced};
use crate::disk::{self, Access, Facts, FileKind, Outgoing};
use crate::document::{Document, Kind, Value};
use crate::error::Error;
use crate::lock::{self, Acquiring, Attempt, Lock};
use crate::merge::{self, Edits, Nulls, Patch, Refusal};
use crate::pipeline::rules::{self, Change, Verdict};
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
    /// Write also what P2 and P3 refuse; each refusal becomes a warning.
    pub force: bool,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            mode: Mode::Merge(Nulls::Store),
            if_match: None,
            durability: Durability::Durable,
            lock_timeout: lock::DEFAULT_TIMEOUT,
            force: false,
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
    /// What went wrong without making it a failure, and what was forced.
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
        document(self.text, path)
    }

    /// The same for whoever needs a file.
    ///
    /// # Errors
    /// [`Error::Io`] also when there is none.
    pub fn existing_document(self, path: &Path) -> Result<Document, Error> {
        match self.facts {
            Some(_) => self.document(path),
            None => Err(no_such_file(path)),
        }
    }
}

fn no_such_file(path: &Path) -> Error {
    /// ENOENT, and ERROR_FILE_NOT_FOUND on Windows.
    const NO_SUCH_FILE: i32 = 2;
    Error::io(path, "read the state file", "open", std::io::Error::from_raw_os_error(NO_SUCH_FILE))
}

fn document(text: Vec<u8>, path: &Path) -> Result<Document, Error> {
    let corrupt = |reason| Error::Corrupt { path: path.to_owned(), reason };
    let document = Document::parse(text).map_err(|fault| corrupt(fault.to_string()))?;
    match document.root().kind() {
        Kind::Object => Ok(document),
        other => Err(corrupt(format!("it is {}, and a state document is an object", other.described()))),
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
    Ok(match open_and_read(place)? {
        Some((_, facts, text)) => Snapshot { rev: revision(&[&text]), text, facts: Some(facts) },
        None => Snapshot::missing(),
    })
}

/// The state file at `place`, open, what the file system says of it, and its bytes; `None` when there is none.
fn open_and_read(place: &Place) -> Result<Option<(File, Facts, Vec<u8>)>, Error> {
    let failed = |syscall| place.failed("read the state file", syscall);
    let file = match disk::patiently(|| place.folder.open(&place.name, Access::Read)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("open")(error)),
    };
    let facts = disk::facts(&file).map_err(failed("fstat"))?;
    if facts.kind != FileKind::Regular {
        let what = std::io::Error::other(format!("it is {}", facts.kind.described()));
        return Err(failed("read")(what));
    }
    let text = disk::read_all(&file, facts.size).map_err(failed("read"))?;
    Ok(Some((file, facts, text)))
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
        let write =
            |lock: &Lock| Ok(write_locked(lock, patch, options, caller)?.map(|written| ((), written)));
        Ok(self.attempt_to(options, caller, write)?.map(|((), written)| written))
    }

    /// Tries once to take the lock and, holding it, decides and writes. The arguments are those of [`edit()`], every time.
    pub fn attempt_edit<T>(
        &mut self,
        options: &WriteOptions,
        caller: Caller,
        decide: Decide<T>,
    ) -> Result<Attempt<(T, Written)>, Error> {
        self.attempt_to(options, caller, |lock| edit_locked(lock, options, caller, decide))
    }

    /// Tries once to take the lock and, holding it, does `locked`, whose `None` says that the lock was lost on the way.
    fn attempt_to<T>(
        &mut self,
        options: &WriteOptions,
        caller: Caller,
        mut locked: impl FnMut(&Lock) -> Result<Option<(T, Written)>, Error>,
    ) -> Result<Attempt<(T, Written)>, Error> {
        loop {
            let lock = match self.acquiring.attempt()? {
                Attempt::Done(lock) => lock,
                Attempt::Busy(busy) => return Ok(Attempt::Busy(busy)),
            };
            let waited = self.since.elapsed();
            if let Some((told, mut written)) = locked(&lock)? {
                written.waited = waited;
                if let Err(error) = lock.release() {
                    written.warnings.push(format!("the lock could not be removed: {error}"));
                }
                return Ok(Attempt::Done((told, written)));
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
    let (facts, old) = read_locked(lock, options)?.unzip();
    let commit = Commit { lock, facts, options, caller };
    match (options.mode, old) {
        (Mode::Replace, old) => commit.replacement(old, patch),
        (Mode::Merge(nulls), None) => {
            let checked = commit.check(None, &[(patch, nulls)])?;
            commit.replace(&[&merge::create(patch, nulls)], checked.warnings)
        }
        (Mode::Merge(nulls), Some(old)) => commit.merge(document(old, commit.path())?, &[(patch, nulls)]),
    }
}

/// A state file as a decision sees it, while its lock is held.
#[derive(Debug)]
pub struct Current {
    /// The document.
    pub document: Document,
    /// Its revision.
    pub rev: String,
    /// What the file system says of the file.
    pub facts: Facts,
    /// Where the file is.
    pub place: Arc<Place>,
}

/// What a decision wants written: patches that are merged one after another (M1 to M3), in one write; none for nothing.
pub type Steps = Vec<Patch>;

/// Decides what to write, and what to tell of it.
pub type Decide<'a, T> = &'a mut dyn FnMut(&Current) -> Result<(T, Steps), Error>;

/// Decides from the state file at `path`, under its lock, what to write into it, and writes that.
///
/// `decide` sees the state that is written over, whoever else writes: nobody gets between its decision and the write.
/// It runs again when another tool removed the lock meanwhile (L11), so it has no effects. Its error ends the edit with
/// nothing written. The mode in the options is not used.
///
/// # Errors
/// Those of [`write()`], those of `decide`, and [`Error::Io`] when there is no such file: an edit makes none.
pub fn edit<T>(
    path: &Path,
    options: &WriteOptions,
    caller: Caller,
    decide: Decide<T>,
) -> Result<(T, Written), Error> {
    let mut edit = Write::new(prepare_edit(path)?, caller.program, Instant::now());
    let place = edit.place.clone();
    lock::wait_for(&place, options.lock_timeout, caller.interrupted, || {
        edit.attempt_edit(options, caller, decide)
    })
}

/// Finds where a state file lies that is to be edited: its folder must be there.
///
/// # Errors
/// [`Error::PluginRoot`], [`Error::Io`].
pub fn prepare_edit(path: &Path) -> Result<Arc<Place>, Error> {
    place::refuse_plugin_root(path)?;
    Ok(Arc::new(Place::find(path, Missing::Fail)?))
}

fn edit_locked<T>(
    lock: &Lock,
    options: &WriteOptions,
    caller: Caller,
    decide: Decide<T>,
) -> Result<Option<(T, Written)>, Error> {
    let place = lock.place();
    let (facts, text) = read_locked(lock, options)?.ok_or_else(|| no_such_file(&place.path))?;
    let rev = revision(&[&text]);
    let current = Current { document: document(text, &place.path)?, rev, facts, place: place.clone() };
    let (told, steps) = decide(&current)?;
    let steps: Vec<_> = steps.iter().map(|patch| (patch, Nulls::Store)).collect();
    let commit = Commit { lock, facts: Some(facts), options, caller };
    Ok(commit.merge(current.document, &steps)?.map(|written| (told, written)))
}

/// Reads the state whose lock is held, after cleaning up behind the dead, and makes sure of its revision (M7), which is
/// not made out where nobody asks for it. What the file system says of the file, and its bytes; `None` when there is none.
fn read_locked(lock: &Lock, options: &WriteOptions) -> Result<Option<(Facts, Vec<u8>)>, Error> {
    let place = lock.place();
    sweep_if_needed(lock);
    let old = open_and_read(place)?.map(|(file, facts, text)| {
        lock.keep(Outgoing::keep(file, facts.size, &place.folder));
        (facts, text)
    });
    if let Some(expected) = &options.if_match {
        let actual = old.as_ref().map_or_else(|| NO_REVISION.to_owned(), |(_, text)| revision(&[text]));
        if *expected != actual {
            return Err(Error::Conflict { path: place.path.clone(), expected: expected.clone(), actual });
        }
    }
    Ok(old)
}

/// The second half of a write: merge → check → replace.
struct Commit<'a> {
    lock: &'a Lock,
    /// What is there now; `None` when there is no file.
    facts: Option<Facts>,
    options: &'a WriteOptions,
    caller: Caller<'a>,
}

/// What the check came to where it did not refuse.
#[derive(Default)]
struct Checked {
    warnings: Vec<String>,
    /// To be merged after everything else, if that changes anything (P3).
    migration: Option<Patch>,
}

impl Commit<'_> {
    /// Puts the patch in the place of whatever is there (M4).
    fn replacement(&self, old: Option<Vec<u8>>, patch: &Patch) -> Result<Option<Written>, Error> {
        let text = merge::replace(patch);
        if old.as_ref() == Some(&text) {
            return self.keep(&text);
        }
        let mut warnings = Vec::new();
        if !rules::are_for_others(self.path()) {
            // What does not parse has no fields to keep.
            let old = old.and_then(|old| Document::parse(old).ok());
            let old = old.as_ref().map(Document::root).filter(|root| root.kind() == Kind::Object);
            warnings = self.judge(old, Change::Replace(patch))?.warnings;
        }
        self.replace(&[&text], warnings)
    }

    /// Merges the steps into the document, one after another.
    fn merge(&self, document: Document, steps: &[(&Patch, Nulls)]) -> Result<Option<Written>, Error> {
        let checked = self.check(Some(document.root()), steps)?;
        let mut merged = (document, Edits::default());
        let mut changed = false;
        for (patch, nulls) in steps {
            merged = self.step(merged, patch, *nulls)?;
            changed |= !merged.1.is_empty();
        }
        if !changed {
            return self.keep(merged.0.text());
        }
        if let Some(migration) = &checked.migration {
            merged = self.step(merged, migration, Nulls::Delete)?;
        }
        let (document, edits) = merged;
        self.replace(&edits.slices(document.text()), checked.warnings)
    }

    /// A document with its edits made, and the edits of one patch more.
    fn step(
        &self,
        (document, edits): (Document, Edits),
        patch: &Patch,
        nulls: Nulls,
    ) -> Result<(Document, Edits), Error> {
        let document = if edits.is_empty() {
            document
        } else {
            Document::parse(edits.apply(document.text()))
                .map_err(|fault| Error::Bug(format!("a merge made no JSON: {fault}")))?
        };
        let edits = merge::merge(&document, patch, nulls).map_err(|refusal| refusal.of(self.path()))?;
        Ok((document, edits))
    }

    /// Makes sure that the steps keep what a pipeline document keeps (P2, P3).
    fn check(&self, old: Option<Value<'_>>, steps: &[(&Patch, Nulls)]) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        if rules::are_for_others(self.path()) {
            return Ok(checked);
        }
        for &(patch, nulls) in steps {
            let step = self.judge(old, Change::Merge(patch, nulls))?;
            checked.warnings.extend(step.warnings);
            checked.migration = step.migration;
        }
        Ok(checked)
    }

    fn judge(&self, old: Option<Value<'_>>, change: Change<'_>) -> Result<Checked, Error> {
        let Verdict { mut refusals, migration } = rules::judge(self.path(), old, change)?;
        if refusals.is_empty() {
            return Ok(Checked { warnings: Vec::new(), migration });
        }
        if !self.options.force {
            let mut refusal = refusals.swap_remove(0);
            refusal.reason.push_str("; leave it out, or force the write");
            return Err(refusal.of(self.path()));
        }
        let forced = |Refusal { pointer, reason }| format!("forced: {pointer}: {reason}");
        Ok(Checked { warnings: refusals.into_iter().map(forced).collect(), migration: None })
    }

    /// The state file as its caller named it.
    fn path(&self) -> &Path {
        &self.lock.place().path
    }

    /// Changes nothing (A6), and makes sure that it is as durable as was asked for.
    fn keep(&self, text: &[u8]) -> Result<Option<Written>, Error> {
        atomic::keep(self.lock.place(), self.options.durability)?;
        Ok(Some(self.written(&[text], false, Vec::new())))
    }

    /// Puts the content in place, if the lock is still ours.
    fn replace(&self, content: &[&[u8]], warnings: Vec<String>) -> Result<Option<Written>, Error> {
        let place = self.lock.place();
        let may_commit = || match (self.caller.interrupted)() {
            Some(error) => Err(error),
            None => self.lock.is_ours().map_err(place.failed("look at the lock", "stat")),
        };
        match atomic::replace(place, self.facts.as_ref(), content, self.options.durability, &may_commit)? {
            Replaced::LockLost => Ok(None),
            Replaced::Committed => Ok(Some(self.written(content, true, warnings))),
        }
    }

    fn written(&self, content: &[&[u8]], changed: bool, warnings: Vec<String>) -> Written {
        Written {
            rev: revision(content),
            changed,
            created: self.facts.is_none(),
            place: self.lock.place().clone(),
            waited: Duration::ZERO,
            warnings,
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
