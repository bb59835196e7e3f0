//! The calls themselves.

use std::ffi::CString;

/// Which calls are made.
#[derive(Clone, Copy)]
pub struct Protocol {
    /// Sync the file before the rename, and the folder after it.
    pub sync: bool,
    /// Only what excludes others.
    pub bare: bool,
}

/// A file by its open folder and its names in it.
pub struct Place {
    folder: i32,
    file: CString,
    lock: CString,
    temporary: CString,
}

/// The lines of a lock are about this long.
const LINES: [u8; 330] = [b'x'; 330];

fn check(result: isize, call: &str) -> isize {
    assert!(result >= 0, "{call}: {}", std::io::Error::last_os_error());
    result
}

macro_rules! call {
    ($name:ident($($argument:expr),*)) => {
        // SAFETY: descriptors are open, names end in NUL, buffers are as long as it is said.
        check(unsafe { libc::$name($($argument),*) } as isize, stringify!($name))
    };
}

/// Reads stdin up to its end.
pub fn read_stdin() {
    let mut buffer = [0u8; 8192];
    while call!(read(0, buffer.as_mut_ptr().cast(), buffer.len())) > 0 {}
}

impl Place {
    pub fn open(path: &str) -> Place {
        let (folder, file) = path.rsplit_once('/').unwrap_or((".", path));
        let name = |text: String| CString::new(text).expect("no NUL");
        let folder = name(folder.into());
        Place {
            folder: call!(open(folder.as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC)) as i32,
            lock: name(format!("{file}.lock")),
            temporary: name(format!(".floor-{file}.tmp")),
            file: name(file.into()),
        }
    }

    /// Writes the file's own content once more.
    pub fn write(&self, protocol: Protocol) {
        let Protocol { sync, bare } = protocol;
        let lock = if bare { self.create(&self.lock) } else { self.link() };
        let (content, mode) = self.read();
        let temporary = self.create(&self.temporary);
        if !bare {
            call!(flock(temporary, libc::LOCK_EX | libc::LOCK_NB)); // tells sweepers that its writer lives
        }
        self.fill(temporary, &content);
        if !bare {
            call!(fchmod(temporary, mode)); // A4
        }
        if sync {
            call!(fsync(temporary));
        }
        if !bare {
            self.fence(lock);
        }
        call!(renameat(self.folder, self.temporary.as_ptr(), self.folder, self.file.as_ptr()));
        if sync {
            call!(fsync(self.folder));
        }
        if !bare {
            self.fence(lock);
        }
        call!(unlinkat(self.folder, self.lock.as_ptr(), 0));
        call!(close(temporary));
        call!(close(lock));
    }

    /// The lock, born with its kernel lock and its content.
    fn link(&self) -> i32 {
        let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
        let lock = call!(openat(self.folder, c".".as_ptr(), flags, 0o644)) as i32;
        call!(flock(lock, libc::LOCK_EX | libc::LOCK_NB));
        self.fill(lock, &LINES);
        let (folder, name) = (self.folder, self.lock.as_ptr());
        // Before Linux 6.10 this takes a capability, and pipestate goes by way of /proc.
        call!(linkat(lock, c"".as_ptr(), folder, name, libc::AT_EMPTY_PATH));
        lock
    }

    /// Whether the lock is still ours, by name and by content.
    fn fence(&self, lock: i32) {
        let mut lines = LINES;
        self.look();
        call!(pread(lock, lines.as_mut_ptr().cast(), lines.len(), 0));
    }

    fn look(&self) {
        // SAFETY: a stat is plain numbers.
        let mut facts: libc::stat = unsafe { std::mem::zeroed() };
        let (folder, name) = (self.folder, self.lock.as_ptr());
        call!(fstatat(folder, name, &mut facts, libc::AT_SYMLINK_NOFOLLOW));
    }

    fn read(&self) -> (Vec<u8>, libc::mode_t) {
        let file = call!(openat(self.folder, self.file.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)) as i32;
        // SAFETY: a stat is plain numbers.
        let mut facts: libc::stat = unsafe { std::mem::zeroed() };
        call!(fstat(file, &mut facts));
        let mut content = vec![0; facts.st_size as usize];
        let read = call!(read(file, content.as_mut_ptr().cast(), content.len()));
        content.truncate(read as usize);
        call!(close(file));
        (content, facts.st_mode & 0o7777)
    }

    fn create(&self, name: &CString) -> i32 {
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
        call!(openat(self.folder, name.as_ptr(), flags, 0o600)) as i32
    }

    fn fill(&self, file: i32, content: &[u8]) {
        let written = call!(write(file, content.as_ptr().cast(), content.len()));
        assert_eq!(written as usize, content.len(), "a short write");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        call!(close(self.folder));
    }
}
