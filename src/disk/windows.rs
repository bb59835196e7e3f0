//! Windows: a folder is a handle, and every call names a file relative to it.
//!
//! What differs from Unix, and how it is met:
//! - A file that somebody has open can stand in the way of a rename, a removal or an open: those are tried again for
//!   [`PATIENCE`](super::PATIENCE) and then fail. Nothing is ever removed to make room for a rename.
//! - NTFS since Windows 10 1809 removes and replaces names at once, as Unix does, also of files that are open with
//!   FILE_SHARE_DELETE. Where a file system does not know that request, a removed file first gets a private name,
//!   because its own would stay, and stand in the way, until its last handle is closed.
//! - Kernel locks are mandatory. Ours lies on one byte far beyond the end, so that everybody can read the file.
//! - Nothing has modes and owners; a new file has the access list that its folder hands down.
//! - A folder cannot be synced.

mod native;

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use native::{Naming, Opening, Range, Status};
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_NON_DIRECTORY_FILE, FILE_OPEN, FILE_OPEN_REPARSE_POINT, IO_REPARSE_TAG_LX_BLK,
    IO_REPARSE_TAG_LX_CHR, IO_REPARSE_TAG_LX_FIFO,
};
use windows_sys::Win32::Foundation::{
    ERROR_CALL_NOT_IMPLEMENTED, ERROR_CANT_RESOLVE_FILENAME, ERROR_INVALID_FUNCTION, ERROR_INVALID_NAME,
    ERROR_INVALID_PARAMETER, ERROR_LOCK_VIOLATION, ERROR_NOT_SUPPORTED, ERROR_SHARING_VIOLATION,
    ERROR_TOO_MANY_LINKS, ERROR_USER_MAPPED_FILE, FILETIME, STATUS_ACCESS_DENIED, STATUS_DELETE_PENDING,
    STATUS_OBJECT_NAME_COLLISION, STATUS_OBJECT_NAME_NOT_FOUND,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, DELETE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_READONLY,
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_FLAG_BACKUP_SEMANTICS, FILE_GENERIC_READ, FILE_GENERIC_WRITE,
    FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES, FILE_TRAVERSE, FILE_WRITE_ATTRIBUTES, SYNCHRONIZE,
};
use windows_sys::Win32::Storage::InstallableFileSystems::WNNC_NET_SMB;
use windows_sys::Win32::System::SystemServices::IO_REPARSE_TAG_AF_UNIX;

use super::{Access, Facts, FileId, FileKind, KernelLock, is_private_name, patiently, private_name};

/// A folder that is held open.
#[derive(Debug)]
pub struct Folder {
    handle: File,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder at `path`, following links.
    pub fn open_path(path: &Path) -> io::Result<Folder> {
        let handle = OpenOptions::new()
            .access_mode(FILE_LIST_DIRECTORY | FILE_TRAVERSE | FILE_READ_ATTRIBUTES | SYNCHRONIZE)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
            .open(path)?;
        match facts(&handle)?.kind {
            FileKind::Folder => Ok(Folder { handle, path: path.to_owned() }),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which folder it is.
    pub fn id(&self) -> io::Result<FileId> {
        Ok(facts(&self.handle)?.id)
    }

    /// The name under which the folder keeps what `name` stands for: Windows also finds it by its 8.3 name, in other
    /// case and with dots and blanks at the end, and all of them are to share one lock (L1).
    pub fn stored_name(&self, name: &OsStr) -> io::Result<OsString> {
        let plain = std::path::absolute(self.path.join(name))?;
        let plain = plain.file_name().ok_or(io::Error::from_raw_os_error(ERROR_INVALID_NAME as i32))?;
        let kept = self.look(plain).ok().and_then(|file| native::final_path(&file));
        Ok(kept.as_deref().and_then(Path::file_name).unwrap_or(plain).to_owned())
    }

    /// Opens `name`, never through a link.
    pub fn open(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let (access, options) = match access {
            Access::Read => (FILE_GENERIC_READ, 0),
            Access::ReadWrite => (FILE_GENERIC_READ | FILE_GENERIC_WRITE, FILE_NON_DIRECTORY_FILE),
        };
        let file = self.open_existing(name, access, options | FILE_OPEN_REPARSE_POINT)?;
        let Kind { kind, is_indirect } = Kind::of(&file, &native::information(&file)?)?;
        if kind == FileKind::Link {
            return Err(too_many_links());
        }
        if !is_indirect {
            return Ok(file);
        }
        // Deduplicated, compressed or kept in a cloud: its content is reached only through the reparse point.
        let content = self.open_existing(name, access, options)?;
        if facts(&content)?.id != facts(&file)?.id {
            return Err(too_many_links()); // a link by now
        }
        Ok(content)
    }

    /// Creates `name`, which must not exist. There are no modes.
    pub fn create(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
        let opening = Opening {
            folder: &self.handle,
            name,
            access: FILE_GENERIC_READ | FILE_GENERIC_WRITE,
            disposition: FILE_CREATE,
            options: FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT,
        };
        native::open(&opening).map_err(|status| there_while_pending(status).into())
    }

    /// Opens `name` for reading and for appending, never through a link; makes it, if it is missing, and says whether it
    /// was.
    pub fn open_to_append(&self, name: &OsStr) -> io::Result<(File, bool)> {
        loop {
            match patiently(|| self.open(name, Access::ReadWrite)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => return Ok((opened?, false)),
            }
            match self.create(name, 0) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {} // made by another since
                made => return Ok((made?, true)),
            }
        }
    }

    /// Creates a file without a name; there is no such thing here.
    pub fn create_unnamed(&self, _mode: u32) -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Gives an open file the further name `name`, which must not exist.
    pub fn link_unnamed(&self, file: &File, name: &OsStr) -> io::Result<()> {
        native::give_name(file, &self.handle, name, Naming::Link)
            .map_err(|status| there_while_pending(status).into())
    }

    /// Gives the file `from` the second name `to`, which must not exist.
    pub fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let file = self.open_existing(from, FILE_WRITE_ATTRIBUTES, FILE_OPEN_REPARSE_POINT)?;
        self.link_unnamed(&file, to)
    }

    /// Renames `from` to `to`, in one step replacing what `to` was. Somebody who has that open in a way that forbids
    /// it is waited for.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        patiently(|| {
            let file = self.open_existing(from, DELETE, FILE_OPEN_REPARSE_POINT)?;
            let give_name = |naming| native::give_name(&file, &self.handle, to, naming);
            let replaced = match give_name(Naming::ReplaceOpen) {
                Err(status) if status.is_unknown_request() => give_name(Naming::Replace),
                result => result,
            };
            match replaced {
                // What it says of a file that is open, but also of one that is read-only, which no waiting mends.
                Err(Status(STATUS_ACCESS_DENIED)) if self.may_be_replaced(to)? => {
                    Err(io::Error::from_raw_os_error(ERROR_SHARING_VIOLATION as i32))
                }
                result => Ok(result?),
            }
        })
    }

    fn may_be_replaced(&self, name: &OsStr) -> io::Result<bool> {
        let never = FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_DIRECTORY;
        Ok(native::information(&self.look(name)?)?.dwFileAttributes & never == 0)
    }

    /// Removes the name `name`, which is no folder. Somebody who has it open in a way that forbids it is waited for.
    pub fn unlink(&self, name: &OsStr) -> io::Result<()> {
        patiently(|| {
            let file = self.open_existing(name, DELETE, FILE_OPEN_REPARSE_POINT | FILE_NON_DIRECTORY_FILE)?;
            match native::remove_name(&file) {
                Err(status) if status.is_unknown_request() => {
                    if !is_private_name(name) {
                        native::give_name(&file, &self.handle, &private_name(), Naming::Rename)?;
                    }
                    Ok(native::remove_name_when_closed(&file)?)
                }
                result => Ok(result?),
            }
        })
    }

    /// What `name` stands for, not following a link.
    pub fn facts(&self, name: &OsStr) -> io::Result<Facts> {
        facts(&self.look(name)?)
    }

    /// Where the link or junction `name` leads; `None` when it is neither, or not there.
    pub fn read_link(&self, name: &OsStr) -> io::Result<Option<PathBuf>> {
        match self.facts(name) {
            Ok(facts) if facts.kind == FileKind::Link => {
                std::fs::read_link(self.real_path().join(name)).map(Some)
            }
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Every name in the folder.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(self.real_path())?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Nothing can be done here to make the folder's names durable, which is no failure (A2).
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Makes the content of the file `name` durable. Only who may write a file can do so; that we may not is no failure.
    pub fn sync_file(&self, name: &OsStr) -> io::Result<()> {
        match patiently(|| self.open(name, Access::ReadWrite)) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            file => sync_file(&file?),
        }
    }

    /// Nothing can be done here to make the name of the folder itself durable, which is no failure.
    pub fn sync_own_name(&self) -> io::Result<()> {
        Ok(())
    }

    /// Whether the kernel locks of this file system may be unknown to other hosts that write here: then a free one
    /// proves nothing about a holder on another host (L5). An SMB server keeps the locks of all hosts.
    pub fn is_shared_between_hosts(&self) -> bool {
        match native::is_remote(&self.handle) {
            Ok(false) => false,
            _ => !native::remote_protocol(&self.handle).is_ok_and(|protocol| protocol == WNNC_NET_SMB),
        }
    }

    /// Its absolute path without links.
    pub fn real_path(&self) -> PathBuf {
        let absolute = || std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        native::final_path(&self.handle).unwrap_or_else(absolute)
    }

    /// Opens what `name` stands for to look at it, which nobody can forbid by having it open.
    fn look(&self, name: &OsStr) -> io::Result<File> {
        self.open_existing(name, FILE_READ_ATTRIBUTES, FILE_OPEN_REPARSE_POINT)
    }

    fn open_existing(&self, name: &OsStr, access: u32, options: u32) -> io::Result<File> {
        let opening = Opening { folder: &self.handle, name, access, disposition: FILE_OPEN, options };
        native::open(&opening).map_err(|status| gone_while_pending(status).into())
    }
}

/// A file that goes with its last handle is gone for whoever would open it.
fn gone_while_pending(status: Status) -> Status {
    if status.0 == STATUS_DELETE_PENDING { Status(STATUS_OBJECT_NAME_NOT_FOUND) } else { status }
}

/// A file that goes with its last handle is there for whoever wants its name.
fn there_while_pending(status: Status) -> Status {
    if status.0 == STATUS_DELETE_PENDING { Status(STATUS_OBJECT_NAME_COLLISION) } else { status }
}

/// Creates the folder `path`, whose parent exists; that it exists already is no failure.
#[allow(clippy::disallowed_methods)] // this is where folders are made
pub fn make_folder(path: &Path) -> io::Result<()> {
    match std::fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Whose the file at `path` and its folder are, in words; access lists have no short ones.
pub fn owners(_path: &Path) -> Option<String> {
    None
}

/// Where something is mounted in the folder at `path`: a mount point is a reparse point here, which is not followed.
pub fn mounted_in(_path: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// Who runs this program, for messages.
pub fn own_user() -> String {
    std::env::var("USERNAME").map_or("an unknown user".into(), |name| format!("user {name}"))
}

/// What the file system says of an open file.
pub fn facts(file: &File) -> io::Result<Facts> {
    let information = native::information(file)?;
    let links = if native::is_delete_pending(file)? { 0 } else { information.nNumberOfLinks.into() };
    Ok(Facts {
        id: file_id(file, &information),
        kind: Kind::of(file, &information)?.kind,
        size: wide(information.nFileSizeHigh, information.nFileSizeLow),
        modified: to_time(information.ftLastWriteTime),
        links,
        mode: 0,
        uid: 0,
        gid: 0,
    })
}

struct Kind {
    kind: FileKind,
    /// A reparse point that is no link.
    is_indirect: bool,
}

impl Kind {
    fn of(file: &File, information: &BY_HANDLE_FILE_INFORMATION) -> io::Result<Kind> {
        let has = |attribute| information.dwFileAttributes & attribute != 0;
        let is_indirect = has(FILE_ATTRIBUTE_REPARSE_POINT);
        let tag = if is_indirect { native::reparse_tag(file)? } else { 0 };
        const SPECIAL: [u32; 4] = [
            IO_REPARSE_TAG_AF_UNIX,
            IO_REPARSE_TAG_LX_FIFO as u32,
            IO_REPARSE_TAG_LX_CHR as u32,
            IO_REPARSE_TAG_LX_BLK as u32,
        ];
        let kind = if tag & NAME_SURROGATE != 0 {
            FileKind::Link
        } else if SPECIAL.contains(&tag) || !native::is_on_disk(file) {
            FileKind::Special
        } else if has(FILE_ATTRIBUTE_DIRECTORY) {
            FileKind::Folder
        } else {
            FileKind::Regular
        };
        Ok(Kind { kind, is_indirect })
    }
}

/// The bit of a reparse tag that says that the file stands for another one: a symbolic link or a junction.
const NAME_SURROGATE: u32 = 0x2000_0000;

fn file_id(file: &File, information: &BY_HANDLE_FILE_INFORMATION) -> FileId {
    let narrow = wide(information.nFileIndexHigh, information.nFileIndexLow);
    // ReFS needs all 128 bits; on NTFS the upper half is zero, and FAT has no such number.
    let number = native::wide_id(file).unwrap_or(narrow.into());
    FileId {
        device: u64::from(information.dwVolumeSerialNumber) ^ (number >> 64) as u64,
        inode: number as u64,
    }
}

fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Windows counts in units of 100 ns from 1601; what lies before 1970 is as old as can be.
fn to_time(time: FILETIME) -> SystemTime {
    const UNIX_EPOCH: u64 = 116_444_736_000_000_000;
    let since = wide(time.dwHighDateTime, time.dwLowDateTime).saturating_sub(UNIX_EPOCH);
    SystemTime::UNIX_EPOCH + Duration::from_micros(since / 10) + Duration::from_nanos(since % 10 * 100)
}

/// Nothing has permission bits.
pub fn set_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Nothing has a numbered owner and group.
pub fn set_owner(_file: &File, _like: &Facts) -> io::Result<()> {
    Ok(())
}

/// Whose file it is, for messages.
pub fn describe_owner(_facts: &Facts) -> String {
    "another user".into()
}

/// Makes the content of `file` durable.
pub fn sync_file(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Cuts `file` to `size` bytes.
pub fn truncate(file: &File, size: u64) -> io::Result<()> {
    file.set_len(size)
}

/// Writes all of `slices` into the empty `file`, in order, going on after short writes.
pub fn write_all(mut file: &File, slices: &[&[u8]]) -> io::Result<()> {
    slices.iter().try_for_each(|slice| file.write_all(slice))
}

/// Writes `bytes` at the start of `file` in one call. A short write is a failure: nobody may see half of it.
pub fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    match file.seek_write(bytes, 0)? {
        written if written == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Appends `bytes` to `file` in one write. Cut short, by a full disk, it is undone, unless another has appended since.
pub fn append_whole(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    const END_OF_FILE: u64 = u64::MAX; // wherever that is by then
    let written = file.seek_write(bytes, END_OF_FILE)?;
    if written == bytes.len() {
        return Ok(());
    }
    let end = file.stream_position()?;
    if facts(file)?.size == end {
        truncate(file, end - written as u64)?;
    }
    Err(io::ErrorKind::StorageFull.into())
}

/// The last byte of `file`, which has `size` bytes, at least one.
pub fn last_byte(file: &File, size: u64) -> io::Result<u8> {
    let mut byte = [0];
    match file.seek_read(&mut byte, size - 1)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()), // cut since
        _ => Ok(byte[0]),
    }
}

/// Reads up to `most` bytes from the start of `file`.
pub fn read_at_start(file: &File, most: usize) -> io::Result<Vec<u8>> {
    read_at_start_until(file, most, most)
}

/// The same, but a read that ends short of `most` at `enough` bytes or behind them is taken for the end of the file.
pub fn read_at_start_until(file: &File, most: usize, enough: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut length = 0;
    loop {
        match file.seek_read(&mut bytes[length..], length as u64)? {
            0 => break,
            read => length += read,
        }
        if length >= enough {
            break;
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// Far beyond the end of any file, so that nobody is kept from reading or writing one.
const LOCKED_BYTE: Range = Range { start: 1 << 62, length: 1 };
/// Where other tools lock: all of the file, or the first byte.
const EVERY_OTHER_BYTE: Range = Range { start: 0, length: LOCKED_BYTE.start };

/// Asks for the exclusive kernel lock of `file` (LockFileEx), without waiting. A lock that another tool has anywhere
/// on it counts as well (L7).
pub fn try_kernel_lock(file: &File) -> io::Result<KernelLock> {
    let locked = native::lock(file, LOCKED_BYTE, true).and_then(|()| {
        // Shared, so that others can read the file at this instant too; whoever has locked part of it is in the way.
        native::lock(file, EVERY_OTHER_BYTE, false)
            .and_then(|()| native::unlock(file, EVERY_OTHER_BYTE))
            .or_else(|error| native::unlock(file, LOCKED_BYTE).and(Err(error)))
    });
    match locked {
        Ok(()) => Ok(KernelLock::Taken),
        Err(error) if is(&error, &[ERROR_LOCK_VIOLATION]) => Ok(KernelLock::Busy),
        Err(error) if is(&error, &UNKNOWN_REQUEST) => Ok(KernelLock::Unsupported),
        Err(error) => Err(error),
    }
}

/// Gives the kernel lock back and keeps the handle.
pub fn kernel_unlock(file: &File) -> io::Result<()> {
    native::unlock(file, LOCKED_BYTE)
}

/// How file systems say that they have no such thing.
const UNKNOWN_REQUEST: [u32; 4] =
    [ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED, ERROR_CALL_NOT_IMPLEMENTED, ERROR_INVALID_PARAMETER];

/// Whether the error says that this file system has no second names.
pub fn has_no_links(error: &io::Error) -> bool {
    is(error, &UNKNOWN_REQUEST) || is(error, &[ERROR_TOO_MANY_LINKS])
}

/// Whether the error says that somebody has the file open, or part of it locked, and shares it with nobody.
pub fn is_in_use(error: &io::Error) -> bool {
    is(error, &[ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION, ERROR_USER_MAPPED_FILE])
}

/// What is said of links that lead nowhere but to each other.
pub fn too_many_links() -> io::Error {
    io::Error::from_raw_os_error(ERROR_CANT_RESOLVE_FILENAME as i32)
}

fn is(error: &io::Error, codes: &[u32]) -> bool {
    error.raw_os_error().is_some_and(|code| codes.contains(&(code as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let made = tempfile::tempdir().unwrap();
        let folder = Folder::open_path(made.path()).unwrap();
        (made, folder)
    }

    #[test]
    fn kernel_lock_belongs_to_a_handle_and_its_copies() {
        let (_made, folder) = folder();
        let [first, second] =
            [folder.create("a".as_ref(), 0).unwrap(), folder.open("a".as_ref(), Access::Read).unwrap()];
        assert_eq!(try_kernel_lock(&first).unwrap(), KernelLock::Taken);
        assert_eq!(try_kernel_lock(&second).unwrap(), KernelLock::Busy);
        let copy = first.try_clone().unwrap();
        drop(first);
        assert_eq!(try_kernel_lock(&second).unwrap(), KernelLock::Busy);
        drop(copy);
        assert_eq!(try_kernel_lock(&second).unwrap(), KernelLock::Taken);
        kernel_unlock(&second).unwrap();
        assert_eq!(try_kernel_lock(&second).unwrap(), KernelLock::Taken);
    }

    #[test]
    fn two_names_of_a_file_have_one_id() {
        let (_made, folder) = folder();
        let [file, other] = ["a", "b"].map(|name| folder.create(name.as_ref(), 0).unwrap());
        folder.link("a".as_ref(), "c".as_ref()).unwrap();
        let id = facts(&file).unwrap().id;
        assert_eq!(folder.facts("c".as_ref()).unwrap().id, id);
        assert_ne!(facts(&other).unwrap().id, id);
        assert_eq!(facts(&file).unwrap().links, 2);
        let error = folder.link("a".as_ref(), "b".as_ref()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(folder.create("b".as_ref(), 0).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_name_that_is_removed_or_replaced_is_free_at_once() {
        let (_made, folder) = folder();
        let file = folder.create("a".as_ref(), 0).unwrap();
        write_all(&file, &[b"old", b"", b" text"]).unwrap();
        folder.unlink("a".as_ref()).unwrap();
        assert_eq!(folder.facts("a".as_ref()).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(folder.unlink("a".as_ref()).unwrap_err().kind(), io::ErrorKind::NotFound);
        write_all(&folder.create("a".as_ref(), 0).unwrap(), &[b"new"]).unwrap();
        assert_eq!(read_at_start(&file, 100).unwrap(), b"old text");
        drop(folder.create("b".as_ref(), 0).unwrap());
        folder.rename("a".as_ref(), "b".as_ref()).unwrap();
        let renamed = folder.open("b".as_ref(), Access::Read).unwrap();
        assert_eq!(read_at_start(&renamed, 100).unwrap(), b"new");
    }

    #[test]
    fn a_file_is_read_and_written_while_it_is_locked() {
        let (made, folder) = folder();
        let file = folder.create("a".as_ref(), 0).unwrap();
        assert_eq!(try_kernel_lock(&file).unwrap(), KernelLock::Taken);
        let other = folder.open("a".as_ref(), Access::ReadWrite).unwrap();
        write_at_start(&other, b"12345").unwrap();
        truncate(&other, 3).unwrap();
        assert_eq!(std::fs::read(made.path().join("a")).unwrap(), b"123");
    }

    #[test]
    fn appending_goes_behind_what_others_have_appended() {
        let (_made, folder) = folder();
        let [(file, true), (other, false)] = [(); 2].map(|()| folder.open_to_append("a".as_ref()).unwrap())
        else {
            panic!("the first one makes it")
        };
        append_whole(&file, b"one\n").unwrap();
        append_whole(&other, b"two\n").unwrap();
        append_whole(&file, b"three").unwrap();
        assert_eq!(read_at_start(&other, 100).unwrap(), b"one\ntwo\nthree");
        assert_eq!(last_byte(&other, 13).unwrap(), b'e');
    }

    #[test]
    fn modified_is_told_by_the_clock_of_this_machine() {
        let (_made, folder) = folder();
        let before = SystemTime::now() - Duration::from_secs(2);
        let modified = facts(&folder.create("a".as_ref(), 0).unwrap()).unwrap().modified;
        assert!(modified >= before && modified <= SystemTime::now() + Duration::from_secs(2), "{modified:?}");
    }
}
