//! Unix: a folder is a descriptor, and every call names a file relative to it.

mod reading;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::{Errno, retry_on_intr};

use super::{Access, Facts, FileId, FileKind, KernelLock};

pub use reading::{read_at_start, read_at_start_until};

/// A folder that is held open.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    /// Whether there was no link in the path.
    has_no_links: bool,
}

impl Folder {
    /// Opens the folder at `path`, following links.
    pub fn open_path(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Some(fd) = open_without_links(path, flags) {
            return Ok(Folder { fd, path: path.to_owned(), has_no_links: true });
        }
        let fd = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
        Ok(Folder { fd, path: path.to_owned(), has_no_links: false })
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which folder it is.
    pub fn id(&self) -> io::Result<FileId> {
        Ok(to_facts(rustix::fs::fstat(&self.fd)?).id)
    }

    /// The name under which the folder keeps what `name` stands for. A name has one spelling here; where case does not
    /// matter, it does not matter for the lock either.
    pub fn stored_name(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(name.to_owned())
    }

    /// Opens `name`, never through a link, never waiting for the other end of a pipe.
    pub fn open(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let access = match access {
            Access::Read => OFlags::RDONLY,
            Access::ReadWrite => OFlags::RDWR,
        };
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(File::from(retry_on_intr(|| rustix::fs::openat(&self.fd, name, flags, Mode::empty()))?))
    }

    /// Creates `name`, which must not exist, with `mode` less the umask.
    pub fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(retry_on_intr(|| rustix::fs::openat(&self.fd, name, flags, to_mode(mode)))?))
    }

    /// Opens `name` for reading and for appending, never through a link; makes it, with mode 0666 less the umask, if it
    /// is missing, and says whether it was.
    pub fn open_to_append(&self, name: &OsStr) -> io::Result<(File, bool)> {
        let flags = OFlags::RDWR
            | OFlags::APPEND
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let open = |flags| retry_on_intr(|| rustix::fs::openat(&self.fd, name, flags, to_mode(0o666)));
        loop {
            match open(flags) {
                Err(Errno::NOENT) => {}
                opened => return Ok((File::from(opened?), false)),
            }
            match open(flags | OFlags::CREATE | OFlags::EXCL) {
                Err(Errno::EXIST) => {} // made by another since: open that one
                made => return Ok((File::from(made?), true)),
            }
        }
    }

    /// Creates a file without a name, which vanishes with its last descriptor; `None` where there is no such thing.
    #[cfg(target_os = "linux")]
    pub fn create_unnamed(&self, mode: u32) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        match retry_on_intr(|| rustix::fs::openat(&self.fd, ".", flags, to_mode(mode))) {
            Ok(fd) => Ok(Some(File::from(fd))),
            // How file systems and kernels say that they know no O_TMPFILE.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::NOSYS) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Creates a file without a name; there is no such thing here.
    #[cfg(not(target_os = "linux"))]
    pub fn create_unnamed(&self, _mode: u32) -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Gives a file made by [`Folder::create_unnamed`] the name `name`, which must not exist.
    #[cfg(target_os = "linux")]
    pub fn link_unnamed(&self, file: &File, name: &OsStr) -> io::Result<()> {
        /// Before Linux 6.10 to link what a descriptor stands for takes a capability; the way through /proc takes /proc,
        /// and half as long again.
        static ONLY_BY_PROC: AtomicBool = AtomicBool::new(false);
        if !ONLY_BY_PROC.load(Ordering::Relaxed) {
            match retry_on_intr(|| rustix::fs::linkat(file, "", &self.fd, name, AtFlags::EMPTY_PATH)) {
                Err(Errno::NOENT) => {}
                linked => return Ok(linked?),
            }
        }
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        retry_on_intr(|| {
            rustix::fs::linkat(rustix::fs::CWD, &path, &self.fd, name, AtFlags::SYMLINK_FOLLOW)
        })?;
        ONLY_BY_PROC.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Never called, as there are no such files here.
    #[cfg(not(target_os = "linux"))]
    pub fn link_unnamed(&self, _file: &File, _name: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives the file `from` the second name `to`, which must not exist.
    pub fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::linkat(&self.fd, from, &self.fd, to, AtFlags::empty()))?)
    }

    /// Renames `from` to `to`, in one step replacing what `to` was.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::renameat(&self.fd, from, &self.fd, to))?)
    }

    /// Removes the name `name`, which is no folder.
    pub fn unlink(&self, name: &OsStr) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()))?)
    }

    /// What `name` stands for, not following a link.
    pub fn facts(&self, name: &OsStr) -> io::Result<Facts> {
        Ok(to_facts(retry_on_intr(|| rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW))?))
    }

    /// Where the link `name` leads; `None` when it is not a link, or not there.
    pub fn read_link(&self, name: &OsStr) -> io::Result<Option<PathBuf>> {
        match rustix::fs::readlinkat(&self.fd, name, Vec::new()) {
            Ok(target) => Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes())))),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Every name in the folder.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Makes the folder's names durable. A file system that cannot sync a folder at all says EINVAL, which is no
    /// failure (A2).
    pub fn sync(&self) -> io::Result<()> {
        match retry_on_intr(|| rustix::fs::fsync(&self.fd)) {
            Err(Errno::INVAL) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Makes the content of the file `name` durable.
    pub fn sync_file(&self, name: &OsStr) -> io::Result<()> {
        sync_file(&self.open(name, Access::Read)?)
    }

    /// Makes the name of the folder itself durable, in the folder that it lies in. That that one may not be read or
    /// cannot be synced is no failure: then it is not for us to see to.
    pub fn sync_own_name(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = match retry_on_intr(|| rustix::fs::openat(&self.fd, "..", flags, Mode::empty())) {
            Err(Errno::ACCESS | Errno::PERM) => return Ok(()),
            parent => parent?,
        };
        match retry_on_intr(|| rustix::fs::fsync(&parent)) {
            Err(Errno::INVAL | Errno::ROFS) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Whether the kernel locks of this file system may be unknown to other hosts that write here: then a free one
    /// proves nothing about a holder on another host (L5).
    #[cfg(target_os = "linux")]
    #[allow(clippy::unnecessary_cast)] // the width differs between architectures
    pub fn is_shared_between_hosts(&self) -> bool {
        // NFS, SMB 1, CIFS, SMB 2, 9p, FUSE, AFS, Ceph, Coda, Lustre, GPFS, OCFS2, GFS2 by their magic numbers.
        const SHARED: [i64; 13] = [
            0x6969,
            0x517b,
            0xff53_4d42,
            0xfe53_4d42,
            0x0102_1997,
            0x6573_5546,
            0x5346_414f,
            0x00c3_6400,
            0x7375_7245,
            0x0bd0_0bd0,
            0x4750_4653,
            0x7461_636f,
            0x0116_1970,
        ];
        // When even that is unknown, assume the worse.
        rustix::fs::fstatfs(&self.fd).map_or(true, |facts| SHARED.contains(&(facts.f_type as i64)))
    }

    /// Whether other hosts may write here; not known on this platform, so assumed.
    #[cfg(not(target_os = "linux"))]
    pub fn is_shared_between_hosts(&self) -> bool {
        true
    }

    /// Its absolute path without links.
    pub fn real_path(&self) -> PathBuf {
        if self.has_no_links
            && self.path.is_absolute()
            && self.path.components().all(|component| component != Component::ParentDir)
        {
            return self.path.components().collect();
        }
        #[cfg(target_os = "linux")]
        if let Ok(path) = std::fs::read_link(format!("/proc/self/fd/{}", self.fd.as_raw_fd())) {
            return path;
        }
        // A folder that has been removed since has none; then the path that led to it is told.
        std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    /// The path of `name` for calls that take no folder descriptor.
    #[cfg(target_os = "linux")]
    pub(crate) fn indirect_path(&self, name: &OsStr) -> PathBuf {
        Path::new("/proc/self/fd").join(self.fd.as_raw_fd().to_string()).join(name)
    }
}

/// Opens the folder at `path` if no link is in it: then its path is known, and /proc, which takes longer than the open, is not
/// asked for it. `None` is no verdict: kernels before 5.6 and some containers know no such call.
#[cfg(target_os = "linux")]
fn open_without_links(path: &Path, flags: OFlags) -> Option<OwnedFd> {
    use rustix::fs::{CWD, ResolveFlags, openat2};
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(_path: &Path, _flags: OFlags) -> Option<OwnedFd> {
    None
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Creates the folder `path`, whose parent exists; that it exists already is no failure.
pub fn make_folder(path: &Path) -> io::Result<()> {
    match retry_on_intr(|| rustix::fs::mkdir(path, to_mode(0o777))) {
        Err(Errno::EXIST) => Ok(()),
        result => Ok(result?),
    }
}

/// Whose the file at `path` and its folder are, in words; `None` when not even that can be seen.
pub fn owners(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;

    let owner = |path: &Path| std::fs::metadata(path).ok().map(|facts| facts.uid());
    let here = Path::new(".");
    let folders = path.ancestors().skip(1).map(|path| if path.as_os_str().is_empty() { here } else { path });
    let folder = folders.into_iter().find_map(owner)?;
    Some(match owner(path) {
        Some(file) => format!("the file belongs to user {file} and its folder to user {folder}"),
        None => format!("the folder belongs to user {folder}"),
    })
}

/// Where something is mounted in the folder at `path`, which has no links in it, as far as /proc tells.
pub fn mounted_in(path: &Path) -> Vec<PathBuf> {
    let Ok(mounts) = std::fs::read("/proc/self/mountinfo") else { return Vec::new() };
    let lines = mounts.split(|&byte| byte == b'\n');
    let points = lines.filter_map(|line| line.split(|&byte| byte == b' ').nth(4)).map(unescape);
    points.filter(|point| point.starts_with(path)).collect()
}

/// A path as /proc has it: blanks and the like as three octal digits behind a backslash.
fn unescape(text: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, more)) = rest.split_first() {
        let digits =
            more.get(..3).filter(|_| byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        path.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &more[3..] } else { more };
    }
    OsString::from_vec(path).into()
}

/// Who runs this program, for messages.
pub fn own_user() -> String {
    format!("user {}", rustix::process::getuid().as_raw())
}

/// What the file system says of an open file.
pub fn facts(file: &File) -> io::Result<Facts> {
    Ok(to_facts(retry_on_intr(|| rustix::fs::fstat(file))?))
}

/// Sets the permission bits, whatever the umask.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(retry_on_intr(|| rustix::fs::fchmod(file, to_mode(mode)))?)
}

/// Gives `file` the owner and group of `like`. That we may not is no failure (A4).
pub fn set_owner(file: &File, like: &Facts) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(like.uid), Gid::from_raw(like.gid));
    match retry_on_intr(|| rustix::fs::fchown(file, Some(uid), Some(gid))) {
        // Not root: the group alone can still be one of ours.
        Err(Errno::PERM) => match retry_on_intr(|| rustix::fs::fchown(file, None, Some(gid))) {
            Err(Errno::PERM) => Ok(()),
            result => Ok(result?),
        },
        // A file system without owners.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
        result => Ok(result?),
    }
}

/// Whose file it is, for messages.
pub fn describe_owner(facts: &Facts) -> String {
    format!("user {}", facts.uid)
}

/// Makes the content of `file` durable.
pub fn sync_file(file: &File) -> io::Result<()> {
    Ok(retry_on_intr(|| rustix::fs::fsync(file))?)
}

/// Cuts `file` to `size` bytes.
pub fn truncate(file: &File, size: u64) -> io::Result<()> {
    Ok(retry_on_intr(|| rustix::fs::ftruncate(file, size))?)
}

/// Writes all of `slices` into the empty `file`, in order, going on after short writes.
pub fn write_all(file: &File, slices: &[&[u8]]) -> io::Result<()> {
    refuse_beyond_limit(slices.iter().map(|slice| slice.len() as u64).sum())?;
    let mut vector: Vec<IoSlice> = slices.iter().map(|slice| IoSlice::new(slice)).collect();
    let mut rest = &mut vector[..];
    IoSlice::advance_slices(&mut rest, 0); // drops empty slices at the start
    while !rest.is_empty() {
        let batch = &rest[..rest.len().min(MOST_SLICES)];
        match retry_on_intr(|| rustix::io::writev(file, batch))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => IoSlice::advance_slices(&mut rest, written),
        }
    }
    Ok(())
}

/// `IOV_MAX` on Linux and macOS.
const MOST_SLICES: usize = 1024;

/// Writes `bytes` at the start of `file` in one call. A short write is a failure: nobody may see half of it.
pub fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    refuse_beyond_limit(bytes.len() as u64)?;
    match retry_on_intr(|| rustix::io::pwrite(file, bytes, 0))? {
        written if written == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Appends `bytes` to `file`, which is open for appending, in one write. Cut short, by a full disk, it is undone, unless
/// another has appended since.
pub fn append_whole(file: &File, bytes: &[u8]) -> io::Result<()> {
    refuse_beyond_limit(facts(file)?.size + bytes.len() as u64)?;
    let written = retry_on_intr(|| rustix::io::write(file, bytes))?;
    if written == bytes.len() {
        return Ok(());
    }
    // An appending write leaves the position behind itself.
    let end = rustix::fs::tell(file)?;
    if facts(file)?.size == end {
        truncate(file, end - written as u64)?;
    }
    Err(io::ErrorKind::StorageFull.into())
}

/// The last byte of `file`, which has `size` bytes, at least one.
pub fn last_byte(file: &File, size: u64) -> io::Result<u8> {
    let mut byte = [0];
    match retry_on_intr(|| rustix::io::pread(file, &mut byte, size - 1))? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()), // cut since
        _ => Ok(byte[0]),
    }
}

/// Fails where a file of `size` bytes is larger than this process may write (`ulimit -f`). The kernel would send SIGXFSZ,
/// which ends the process, in Node the host's, with a lock and a temporary file left behind.
fn refuse_beyond_limit(size: u64) -> io::Result<()> {
    match rustix::process::getrlimit(rustix::process::Resource::Fsize).current {
        Some(limit) if size > limit => Err(Errno::FBIG.into()),
        _ => Ok(()),
    }
}

/// Asks for the exclusive kernel lock of `file` (flock), without waiting.
pub fn try_kernel_lock(file: &File) -> io::Result<KernelLock> {
    loop {
        // Not the method call: `file.try_lock()` would silently be std's.
        match fs4::FileExt::try_lock(file) {
            Ok(()) => return Ok(KernelLock::Taken),
            Err(fs4::TryLockError::WouldBlock) => return Ok(KernelLock::Busy),
            Err(fs4::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(fs4::TryLockError::Error(error)) if has_no_kernel_locks(&error) => {
                return Ok(KernelLock::Unsupported);
            }
            Err(fs4::TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Gives the kernel lock back and keeps the descriptor.
pub fn kernel_unlock(file: &File) -> io::Result<()> {
    fs4::FileExt::unlock(file)
}

/// Whether the error says that this file system has no kernel locks at all.
fn has_no_kernel_locks(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP))
}

/// Whether the error says that this file system has no second names.
pub fn has_no_links(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP | Errno::MLINK))
}

/// Whether the error says that somebody has the file open and shares it with nobody: an open file stands in nobody's
/// way here.
pub fn is_in_use(_error: &io::Error) -> bool {
    false
}

/// What is said of links that lead nowhere but to each other.
pub fn too_many_links() -> io::Error {
    Errno::LOOP.into()
}

fn to_mode(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as rustix::fs::RawMode)
}

#[allow(clippy::unnecessary_cast)] // the widths differ between platforms
fn to_facts(stat: rustix::fs::Stat) -> Facts {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Special,
    };
    let nanoseconds = Duration::from_nanos(stat.st_mtime_nsec as u64);
    let modified = match u64::try_from(stat.st_mtime) {
        Ok(seconds) => SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + nanoseconds,
        Err(_) => SystemTime::UNIX_EPOCH, // before 1970: as old as can be
    };
    Facts {
        id: FileId { device: stat.st_dev as u64, inode: stat.st_ino as u64 },
        kind,
        size: stat.st_size as u64,
        modified,
        links: stat.st_nlink as u64,
        mode: stat.st_mode as u32 & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
    }
}
