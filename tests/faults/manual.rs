//! What the manual says can go wrong (man-pages 6.03, section ERRORS of each page).

use crate::strace::Call;

/// The errors of a system call, of those that are tried: `EIO`, `ENOSPC`, `EACCES`, `EINTR`, `EMFILE`, `EROFS`.
///
/// `EIO` is tried on every call that may reach a disk, listed or not: that is what file systems say when it fails.
///
/// # Panics
/// On a call that is not in the table, so that a new one is looked up rather than left out.
pub fn errors_of(call: &Call) -> &'static [&'static str] {
    match call.name.as_str() {
        "open" | "openat" | "openat2" => &["EACCES", "EINTR", "EIO", "EMFILE", "ENOSPC", "EROFS"],
        "read" | "pread64" => &["EINTR", "EIO"],
        "write" | "writev" | "pwrite64" => &["EINTR", "EIO", "ENOSPC"],
        "fstat" | "newfstatat" | "stat" | "lstat" | "statx" => &["EACCES", "EIO"],
        "getdents64" => &["EIO"],
        "readlink" | "readlinkat" => &["EACCES", "EIO"],
        "fstatfs" => &["EACCES", "EINTR", "EIO"],
        "flock" => &["EINTR"],
        "fchmod" | "fchown" => &["EACCES", "EIO", "EROFS"],
        "mkdir" | "mkdirat" | "link" | "linkat" | "rename" | "renameat" | "renameat2" => {
            &["EACCES", "EIO", "ENOSPC", "EROFS"]
        }
        "unlink" | "unlinkat" => &["EACCES", "EIO", "EROFS"],
        "fsync" | "fdatasync" => &["EINTR", "EIO", "ENOSPC", "EROFS"],
        "ftruncate" => &["EACCES", "EINTR", "EIO", "EROFS"],
        "close" => &["EINTR", "EIO", "ENOSPC"],
        "fcntl" if call.arguments[1].starts_with("F_DUPFD") => &["EMFILE"],
        // The marks of those who wait are record locks.
        "fcntl" if call.arguments[1].starts_with("F_OFD") => &["EACCES", "EINTR"],
        "fcntl" => &[],
        "dup" => &["EINTR", "EMFILE"],
        "getrandom" | "poll" | "ppoll" | "nanosleep" | "clock_nanosleep" => &["EINTR"],
        "inotify_init1" | "eventfd2" => &["EMFILE"],
        "inotify_add_watch" => &["EACCES", "ENOSPC"],
        // mmap lists EACCES, but for files; the program maps memory alone.
        "brk" | "madvise" | "mmap" | "munmap" | "mremap" => &[],
        "getpid" | "gettid" | "geteuid" | "uname" | "kill" | "ioctl" | "lseek" | "inotify_rm_watch" => &[],
        "prctl" | "rt_sigaction" | "rt_sigprocmask" | "sigaltstack" | "prlimit64" | "exit_group" => &[],
        _ => panic!("{call}: a new call: add what its manual page lists to tests/faults/manual.rs"),
    }
}

/// Whether the call is refused with `error` once a disk has failed: EIO when it is gone, EROFS when the system has made it
/// read-only. Calls that also reach other things are left out.
pub fn is_refused_by_failed_disk(call: &Call, error: &str) -> bool {
    match (call.name.as_str(), error) {
        ("write", _) | ("open" | "openat" | "openat2", "EROFS") => false,
        ("writev" | "pwrite64", "EROFS") => true,
        _ => errors_of(call).contains(&error),
    }
}
