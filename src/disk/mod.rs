//! The folder that a state file lies in, held open, and the few things that may be done in it.
//!
//! Everything goes through one open folder and plain names in it, so that a folder that is renamed, or a link in the
//! path that is turned, cannot move half of a protocol elsewhere. Names never lead out of the folder and links are
//! never followed. The platforms are siblings with equal signatures.

mod outgoing;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;

pub use outgoing::{Outgoing, close_outgoing_apart, replacing};

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Creates the folder `path`, whose parent exists; that it exists already is an error.
#[allow(clippy::disallowed_methods)] // this is the place for it
pub fn make_new_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

/// Removes a folder that its maker has not filled; one that has anything in it stays.
#[allow(clippy::disallowed_methods)] // this is the place for it
pub fn remove_empty_folder(path: &Path) -> io::Result<()> {
    std::fs::remove_dir(path)
}

/// Removes a folder with all that is in it; links in it are removed and not followed. Only for trash, which is nobody's.
#[allow(clippy::disallowed_methods)] // this is the place for it
pub fn remove_tree(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path)
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An ordinary file.
    Regular,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

impl FileKind {
    /// For messages.
    pub fn described(self) -> &'static str {
        match self {
            FileKind::Regular => "a file",
            FileKind::Folder => "a folder",
            FileKind::Link => "a symbolic link",
            FileKind::Special => "a pipe, socket or device",
        }
    }
}

/// Which file it is, whatever it is called; meaningful while a descriptor of it is open (numbers are reused at once).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// What the file system says of a file.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Which file it is.
    pub id: FileId,
    /// What kind of file.
    pub kind: FileKind,
    /// Length in bytes.
    pub size: u64,
    /// Last change of its content, by the file system's clock.
    pub modified: SystemTime,
    /// How many names it has; 0 once it has been removed.
    pub links: u64,
    /// Permission bits, `0o7777` at most.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Facts {
    /// How long ago `self` was modified, as of `now`; `None` when that lies in the future.
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        now.duration_since(self.modified).ok()
    }
}

/// What asking for the kernel lock of a file brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelLock {
    /// It is ours until the descriptor is closed or the process dies.
    Taken,
    /// Another descriptor has it: in this process or in another that lives.
    Busy,
    /// This file system has none.
    Unsupported,
}

/// A file that nobody else knows of.
#[derive(Debug)]
pub struct Private {
    /// Open for reading and writing, with its kernel lock taken.
    pub file: File,
    /// Its name in the folder.
    pub name: OsString,
    /// What it was at birth.
    pub facts: Facts,
}

const PRIVATE_PREFIX: &str = ".pipestate-";
const PRIVATE_SUFFIX: &str = ".tmp";
const PRIVATE_DIGITS: usize = 16;

/// Makes a file that nobody else knows of and takes its kernel lock, which tells a living writer's file from a dead
/// one's. Its name is short and does not grow with the state file's (A8).
pub fn create_private(folder: &Folder, mode: u32) -> io::Result<Private> {
    loop {
        let name = private_name();
        let file = match folder.create(&name, mode) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        // Between its making and its lock a sweeper may take the file for a dead writer's. It takes the kernel lock
        // before it unlinks, so either we have the lock and the file still has its name, or we make another.
        let taken = try_kernel_lock(&file).and_then(|lock| Ok((lock, facts(&file)?)));
        match taken {
            Ok((KernelLock::Taken | KernelLock::Unsupported, facts)) if facts.links > 0 => {
                return Ok(Private { file, name, facts });
            }
            Ok(_) => {}
            Err(error) => {
                let _ = folder.unlink(&name); // the first error is the one to tell
                return Err(error);
            }
        }
    }
}

/// Removes the private files that dead writers left in `folder` (A5). Those of living ones, which hold a kernel lock
/// on theirs, and files of any other name stay. What cannot be removed stays for the next one.
///
/// `held` is the lock whose kernel lock the caller has: its maker may have been killed between giving it its second
/// name and taking the first away.
pub fn sweep(folder: &Folder, held: FileId) -> io::Result<()> {
    for name in folder.names()? {
        if !is_private_name(&name) {
            continue;
        }
        let Ok(file) = folder.open(&name, Access::ReadWrite) else { continue };
        let is_held = || facts(&file).is_ok_and(|facts| facts.id == held);
        let ours = matches!(try_kernel_lock(&file), Ok(KernelLock::Taken)) || is_held();
        if ours && facts(&file).is_ok_and(|facts| facts.kind == FileKind::Regular && facts.links > 0) {
            let _ = folder.unlink(&name); // gone already, or not ours to remove
        }
    }
    Ok(())
}

/// Whether `name` is a private file of a writer that has died.
pub fn is_abandoned(folder: &Folder, name: &OsStr) -> bool {
    let is_free = |file| matches!(try_kernel_lock(&file), Ok(KernelLock::Taken));
    is_private_name(name) && folder.open(name, Access::Read).is_ok_and(is_free)
}

/// A name that nobody else comes upon.
fn private_name() -> OsString {
    // Created exclusively, so nothing depends on nobody guessing it.
    let random = fastrand::u64(..);
    OsString::from(format!("{PRIVATE_PREFIX}{random:0PRIVATE_DIGITS$x}{PRIVATE_SUFFIX}"))
}

fn is_private_name(name: &OsStr) -> bool {
    let digits = name
        .to_str()
        .and_then(|name| name.strip_prefix(PRIVATE_PREFIX))
        .and_then(|name| name.strip_suffix(PRIVATE_SUFFIX));
    digits.is_some_and(|digits| {
        digits.len() == PRIVATE_DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Reads all of `file`, which is expected to have `size` bytes.
pub fn read_all(file: &File, size: u64) -> io::Result<Vec<u8>> {
    // One byte more than expected: that it is missing is the end, without asking once more.
    let mut most = size as usize + 1;
    loop {
        let bytes = read_at_start_until(file, most, size as usize)?;
        if bytes.len() < most {
            return Ok(bytes);
        }
        most *= 2; // somebody appends to it
    }
}

/// For this long a file that another program has open and does not share is asked for again.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// Makes attempts, up to [`PATIENCE`], while the file is in use by a program that does not share it: a reader, an
/// indexer, a virus scanner. Only Windows knows such files.
pub fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    const LONGEST_NAP: Duration = Duration::from_millis(32);
    let since = Instant::now();
    let mut nap = Duration::from_millis(1);
    loop {
        match attempt() {
            Err(error) if is_in_use(&error) && since.elapsed() < PATIENCE => std::thread::sleep(nap),
            result => return result,
        }
        nap = LONGEST_NAP.min(nap * 2);
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For reading.
    Read,
    /// For reading and writing.
    ReadWrite,
}
