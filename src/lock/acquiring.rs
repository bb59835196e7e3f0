//! The steps by which a lock is taken, in the order and with the names of the protocol in [the module](super).

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use super::content::{self, Content};
use super::holder::{self, Holder, UNREADABLE_GRACE, Verdict};
use super::{Lock, process};
use crate::disk::{self, Access, Facts, FileId, FileKind, KernelLock};
use crate::error::Error;
use crate::place::Place;

/// Readable by all, whatever the umask (L2): the first line is for other tools.
const LOCK_MODE: u32 = 0o644;

/// How often the name of the lock may change under one attempt before it counts as busy.
const MOST_ROUNDS: usize = 64;

/// How long somebody who only looks at a lock has its kernel lock, about.
const A_LOOK: Duration = Duration::from_micros(50);

/// Net below the events of a kernel lock's holder: they come by themselves, but may be missed.
const POLL_KERNEL: Duration = Duration::from_millis(100);
/// A foreign holder's death makes no event.
const POLL_FOREIGN: Duration = Duration::from_millis(20);

/// What one attempt brought to do what needs the lock.
#[derive(Debug)]
pub enum Attempt<T> {
    /// It is done.
    Done(T),
    /// Somebody else has the lock.
    Busy(Busy),
}

/// Somebody else's lock, and how to wait for it.
#[derive(Debug)]
pub struct Busy {
    /// Who has it.
    pub holder: Holder,
    /// How long to sleep at most before the next attempt, event or not.
    pub poll: Duration,
}

impl<T> Attempt<T> {
    /// The same with another value of what is done.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Attempt<U> {
        match self {
            Attempt::Done(done) => Attempt::Done(change(done)),
            Attempt::Busy(busy) => Attempt::Busy(busy),
        }
    }

    fn busy(holder: Holder, poll: Duration) -> Attempt<T> {
        // A crowd that sleeps in step would wake in step.
        Attempt::Busy(Busy { holder, poll: poll.mul_f64(0.5 + fastrand::f64() / 2.0) })
    }
}

/// One writer's way to the lock: attempts, none of which waits.
///
/// [`acquire`](super::acquire) sleeps between them; the Node addon does other work.
#[derive(Debug)]
pub struct Acquiring {
    place: Arc<Place>,
    program: String,
    private: Option<Private>,
    suspect: Option<Suspect>,
    clock: Option<Clock>,
}

/// The file that becomes the lock.
#[derive(Debug)]
struct Private {
    file: File,
    id: FileId,
    lines: Vec<u8>,
    /// Its name, on systems where a file must have one.
    name: Option<OsString>,
}

/// A lock without a readable holder that is being watched (L7).
#[derive(Debug)]
struct Suspect {
    /// Kept open, so that its inode number cannot come to name another file.
    _file: File,
    id: FileId,
    size: u64,
    modified: SystemTime,
    since: Instant,
}

/// The clock that the file system stamps locks with, read off our private file: nothing in this process can set it,
/// and on a network it is the server's.
#[derive(Clone, Copy, Debug)]
struct Clock {
    stamped: SystemTime,
    at: Instant,
}

/// What opening the lock brought.
pub(super) enum Opened {
    /// There is none.
    Gone,
    /// Somebody's file, open for reading.
    File(File),
    /// Something that is never opened or removed.
    Immovable(Holder),
}

impl Acquiring {
    /// Prepares to lock the state file at `place`; `program` is what other parties read in messages.
    pub fn new(place: Arc<Place>, program: &str) -> Acquiring {
        Acquiring { place, program: program.to_owned(), private: None, suspect: None, clock: None }
    }

    /// Tries once, without waiting. Errors are those of the disk; somebody else's lock is not one.
    pub fn attempt(&mut self) -> Result<Attempt<Lock>, Error> {
        for _ in 0..MOST_ROUNDS {
            if let Some(lock) = self.link_private()? {
                return Ok(Attempt::Done(lock));
            }
            match open_lock(&self.place)? {
                Opened::Gone => {}
                Opened::Immovable(holder) => return Ok(Attempt::busy(holder, POLL_FOREIGN)),
                Opened::File(file) => {
                    if let Some(attempt) = self.examine(file)? {
                        return Ok(attempt);
                    }
                }
            }
        }
        let holder =
            Holder { alive: true, why: "as it changes hands all the time".into(), ..Holder::default() };
        Ok(Attempt::busy(holder, POLL_FOREIGN))
    }

    /// Steps 1 and 2: `None` when the lock exists.
    fn link_private(&mut self) -> Result<Option<Lock>, Error> {
        let private = match self.private.take() {
            Some(private) => private,
            None => self.create_private(true)?,
        };
        let Place { folder, lock_name, .. } = &*self.place;
        let linked = match &private.name {
            None => folder.link_unnamed(&private.file, lock_name),
            Some(name) => folder.link(name, lock_name),
        };
        match linked {
            Ok(()) => {
                self.forget(private.name.as_ref());
                let Private { file, id, lines, .. } = private;
                let place = self.place.clone();
                Ok(Some(Lock {
                    place,
                    file,
                    _bell: None,
                    id,
                    lines,
                    taken_over: false,
                    released: false,
                    outgoing: Mutex::default(),
                }))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.private = Some(private);
                Ok(None)
            }
            // The ways in which a nameless file gets its name may be closed; a named one may have been swept.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.private = Some(self.create_private(false)?);
                Ok(None)
            }
            Err(error) if disk::has_no_links(&error) => {
                self.forget(private.name.as_ref());
                self.create_exclusive()
            }
            Err(error) => {
                self.forget(private.name.as_ref());
                Err(self.place.failed("create the lock", "link")(error))
            }
        }
    }

    /// Step 1: the file that becomes the lock, with its kernel lock taken and its lines written.
    fn create_private(&mut self, nameless: bool) -> Result<Private, Error> {
        let place = self.place.clone();
        let folder = &place.folder;
        let failed = |syscall| place.failed("prepare the lock", syscall);
        let unnamed = if nameless { folder.create_unnamed(LOCK_MODE).map_err(failed("open"))? } else { None };
        let (file, name) = match unnamed {
            Some(file) => (file, None),
            None => {
                let private = disk::create_private(folder, LOCK_MODE).map_err(failed("open"))?;
                (private.file, Some(private.name))
            }
        };
        let lines = content::own_lines(&self.program);
        let written = match name {
            // Nobody can have it but us. Where there are no kernel locks, the name alone makes the lock.
            None => disk::try_kernel_lock(&file).map(drop),
            Some(_) => Ok(()),
        }
        .and_then(|()| disk::write_at_start(&file, &lines))
        .and_then(|()| disk::facts(&file))
        .and_then(|facts| {
            // An umask may have taken some of it away.
            if facts.mode == LOCK_MODE { Ok(facts) } else { disk::set_mode(&file, LOCK_MODE).map(|()| facts) }
        });
        match written {
            Ok(facts) => {
                self.clock = Some(Clock { stamped: facts.modified, at: Instant::now() });
                Ok(Private { file, id: facts.id, lines, name })
            }
            Err(error) => {
                self.forget(name.as_ref());
                Err(failed("write")(error))
            }
        }
    }

    /// Steps 1 and 2 where files cannot have two names: `None` when the lock exists, or came to be somebody else's.
    fn create_exclusive(&mut self) -> Result<Option<Lock>, Error> {
        let Place { folder, lock_name, .. } = &*self.place;
        let failed = |syscall| self.place.failed("create the lock", syscall);
        let file = match folder.create(lock_name, LOCK_MODE) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(failed("open")(error)),
        };
        match self.own_exclusive(&file) {
            Ok(Some(id)) => self.hold(file, None, id, false).map(Some),
            Ok(None) => Ok(None),
            Err(error) => {
                // Ours: nobody takes over an empty lock in its first two seconds, which everybody would wait for.
                let _ = folder.unlink(lock_name);
                Err(error)
            }
        }
    }

    /// Takes the kernel lock of the lock that was just created. `None` when somebody has taken it over or removed it
    /// as a dead writer's.
    fn own_exclusive(&self, file: &File) -> Result<Option<FileId>, Error> {
        let failed = |syscall| self.place.failed("create the lock", syscall);
        let id = disk::facts(file).map_err(failed("fstat"))?.id;
        for _ in 0..MOST_ROUNDS {
            if disk::try_kernel_lock(file).map_err(failed("flock"))? != KernelLock::Busy {
                return Ok(if same_name(&self.place, id)? { Some(id) } else { None });
            }
            // Somebody who waits looks at our empty file, for an instant. To wait with them would take two seconds.
            std::thread::sleep(A_LOOK);
        }
        Ok(None)
    }

    /// Steps 4 to 6: `None` when the name stands for another file by now.
    fn examine(&mut self, file: File) -> Result<Option<Attempt<Lock>>, Error> {
        let failed = |syscall| self.place.failed("look at the lock", syscall);
        let kernel_lock = disk::try_kernel_lock(&file).map_err(failed("flock"))?;
        let content = Content::read(&file).map_err(failed("read"))?;
        let facts = disk::facts(&file).map_err(failed("fstat"))?;
        let age = facts.age(self.now());
        let busy = |why: String, poll| Ok(Some(Attempt::busy(Holder::new(&content, age, true, why), poll)));
        match kernel_lock {
            KernelLock::Busy => return busy("alive: it has the kernel lock".into(), POLL_KERNEL),
            KernelLock::Unsupported => {
                let why = "on a file system without kernel locks, where nothing is taken over unasked";
                return busy(why.into(), POLL_FOREIGN);
            }
            KernelLock::Taken => {}
        }
        let shared = self.place.folder.is_shared_between_hosts();
        let verdict = holder::judge(&content, process::own(), shared, age, process::state);
        // After the verdict, not before: a foreign holder may unlink and end in between, and be dead in the verdict
        // while its lock's inode has no name and somebody else has linked a new one.
        if !same_name(&self.place, facts.id)? {
            return Ok(None);
        }
        match verdict {
            Verdict::Alive(why) => return busy(why, POLL_FOREIGN),
            Verdict::Unreadable if !self.may_take_unreadable(&file, &facts, age)? => {
                return busy(
                    "which names nobody; taken over once it has stayed so for 2 s".into(),
                    POLL_FOREIGN,
                );
            }
            Verdict::Unreadable | Verdict::Dead(_) => {}
        }
        match self.place.folder.open(&self.place.lock_name, Access::ReadWrite) {
            Ok(writer) => self.take_over(file, writer, facts.id),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.unlink_dead(&content, &facts, age)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None), // a careless tool was here
            Err(error) if disk::is_in_use(&error) => {
                busy("as another program has it open".into(), POLL_FOREIGN)
            }
            Err(error) => Err(self.place.failed("take over the lock of a dead writer", "open")(error)),
        }
    }

    /// Step 7: `writer` was opened by name, and a careless tool may have given the name to another lock since (L11),
    /// whose holder lives. Not a byte is written into that one.
    fn take_over(&self, file: File, writer: File, id: FileId) -> Result<Option<Attempt<Lock>>, Error> {
        let opened = disk::facts(&writer).map_err(self.place.failed("look at the lock", "fstat"))?.id;
        if opened != id {
            return Ok(None);
        }
        self.hold(file, Some(writer), id, true).map(|lock| Some(Attempt::Done(lock)))
    }

    /// Writes our lines into the lock whose name and kernel lock we have; `bell` is another descriptor of it, where
    /// `file` is not open for writing.
    fn hold(&self, file: File, bell: Option<File>, id: FileId, taken_over: bool) -> Result<Lock, Error> {
        let place = self.place.clone();
        let lines = content::own_lines(&self.program);
        let writer = bell.as_ref().unwrap_or(&file);
        // First ours, then the tail off: whoever reads in between sees our two lines and does not read on. The mode
        // of a file that is not ours stays; it can be written, so it can be read by those who matter.
        let written = disk::set_mode(writer, LOCK_MODE)
            .or_else(
                |error| if error.kind() == io::ErrorKind::PermissionDenied { Ok(()) } else { Err(error) },
            )
            .and_then(|()| disk::write_at_start(writer, &lines))
            .and_then(|()| disk::truncate(writer, lines.len() as u64));
        if let Err(source) = written {
            // Ours by name and kernel lock, and of a dead holder: better gone than half ours.
            let _ = place.folder.unlink(&place.lock_name);
            return Err(place.failed("write into the lock", "write")(source));
        }
        Ok(Lock {
            place,
            file,
            _bell: bell,
            id,
            lines,
            taken_over,
            released: false,
            outgoing: Mutex::default(),
        })
    }

    /// L7: whether a lock that names nobody has done so for long enough.
    fn may_take_unreadable(
        &mut self,
        file: &File,
        facts: &Facts,
        age: Option<Duration>,
    ) -> Result<bool, Error> {
        let unchanged = |suspect: &Suspect| {
            suspect.id == facts.id && suspect.size == facts.size && suspect.modified == facts.modified
        };
        if age.is_some_and(|age| age > UNREADABLE_GRACE) {
            return Ok(true);
        }
        if let Some(suspect) = self.suspect.as_ref().filter(|suspect| unchanged(suspect)) {
            return Ok(suspect.since.elapsed() > UNREADABLE_GRACE);
        }
        let failed = |syscall| self.place.failed("watch the lock", syscall);
        // The descriptor that is kept shares the kernel lock with `file`: give it back, or nobody could take over.
        disk::kernel_unlock(file).map_err(failed("flock"))?;
        let kept = file.try_clone().map_err(failed("dup"))?;
        let Facts { id, size, modified, .. } = *facts;
        self.suspect = Some(Suspect { _file: kept, id, size, modified, since: Instant::now() });
        Ok(false)
    }

    /// L12: unlinks a dead holder's lock that we may not write, while its kernel lock is ours.
    fn unlink_dead(
        &self,
        content: &Content,
        facts: &Facts,
        age: Option<Duration>,
    ) -> Result<Option<Attempt<Lock>>, Error> {
        match self.place.folder.unlink(&self.place.lock_name) {
            Ok(()) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let owner = disk::describe_owner(facts);
                let why = format!("dead, but its lock belongs to {owner} and we may not remove it");
                Ok(Some(Attempt::busy(Holder::new(content, age, false, why), POLL_FOREIGN)))
            }
            Err(error) => Err(self.place.failed("remove the lock of a dead writer", "unlink")(error)),
        }
    }

    /// Now, by the clock that stamps the lock.
    fn now(&self) -> SystemTime {
        self.clock.map_or_else(SystemTime::now, |clock| clock.stamped + clock.at.elapsed())
    }

    /// Removes the name of a private file, if it has one. One that stays is swept by a later writer.
    fn forget(&self, name: Option<&OsString>) {
        if let Some(name) = name {
            let _ = self.place.folder.unlink(name);
        }
    }
}

impl Drop for Acquiring {
    fn drop(&mut self) {
        if let Some(private) = self.private.take() {
            self.forget(private.name.as_ref());
        }
    }
}

/// Step 3.
pub(super) fn open_lock(place: &Place) -> Result<Opened, Error> {
    let Place { folder, lock_name, .. } = place;
    let facts = match folder.facts(lock_name) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Opened::Gone),
        Err(error) => return Err(place.failed("look at the lock", "stat")(error)),
    };
    let immovable = |why: String| {
        let age = facts.age(SystemTime::now());
        Ok(Opened::Immovable(Holder { age, alive: true, why, ..Holder::default() }))
    };
    if facts.kind != FileKind::Regular {
        return immovable(format!("as {lock_name:?} is {} and is never removed", facts.kind.described()));
    }
    match folder.open(lock_name, Access::Read) {
        Ok(file) => Ok(Opened::File(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Opened::Gone),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let owner = disk::describe_owner(&facts);
            immovable(format!("as its lock belongs to {owner} and we may not read it"))
        }
        Err(error) if disk::is_in_use(&error) => {
            immovable("as another program has it open and shares it with nobody".into())
        }
        Err(error) => Err(place.failed("open the lock", "open")(error)),
    }
}

/// Step 5.
pub(super) fn same_name(place: &Place, id: FileId) -> Result<bool, Error> {
    match place.folder.facts(&place.lock_name) {
        Ok(facts) => Ok(facts.id == id),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(place.failed("look at the lock", "stat")(error)),
    }
}
