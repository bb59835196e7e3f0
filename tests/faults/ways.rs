//! The ways a write can go: what stands on the disk before, who holds the lock, what the system cannot do.

use std::fs::{self, File, FileTimes, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::support::{Sleeper, dead_pid, lock_of};

/// One way.
#[derive(Clone, Copy)]
pub struct Way {
    pub name: &'static str,
    /// The state file, below the folder of the run.
    pub file: &'static str,
    pub options: &'static [&'static str],
    /// What is on the disk before.
    pub before: Before,
    /// Who has the lock before.
    pub lock: LockBefore,
    /// What the system cannot do.
    pub system: System,
}

/// The state file before the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// There is none.
    Missing,
    /// It is [`OLD`].
    There,
    /// It is [`OLD`], and its name a link to it.
    Linked,
    /// The write would change nothing.
    Same,
}

/// The lock before the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockBefore {
    Free,
    /// A pipestate was killed at its rename.
    DeadPipestate,
    /// Another program's, which has ended.
    DeadForeign,
    /// Empty, and old.
    Unreadable,
    /// Another user's, in a folder of ours: it can be read and removed, not written.
    OfAnotherUser,
    /// A pipestate's that lives and releases it while the write waits.
    LivingPipestate,
    /// Another program's that lives and releases it while the write waits.
    LivingForeign,
}

/// What the system cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Whole,
    NoUnnamedFiles,
    /// A nameless file is linked by way of /proc alone.
    LinksByProc,
    /// Nor is there a /proc.
    NoProc,
    NoLinks,
    NoUnnamedFilesAndNoLinks,
    NoKernelLocks,
}

pub const OLD: &str = "{\"a\":1}\n";
pub const PATCH: &str = "{\"b\":2}";
/// The patch of the writer that comes next.
pub const NEXT_PATCH: &str = "{\"c\":3}";

const MERGE: Way = Way {
    name: "merges",
    file: "state.json",
    options: &[],
    before: Before::There,
    lock: LockBefore::Free,
    system: System::Whole,
};

pub const WAYS: &[Way] = &[
    MERGE,
    Way { name: "creates", before: Before::Missing, ..MERGE },
    Way { name: "creates with folders", before: Before::Missing, file: "new/run/state.json", ..MERGE },
    Way { name: "merges without syncs", options: &["--no-fsync"], ..MERGE },
    Way { name: "creates without syncs", options: &["--no-fsync"], before: Before::Missing, ..MERGE },
    Way { name: "merges and prints an object", options: &["--json"], ..MERGE },
    Way { name: "replaces", options: &["--replace"], ..MERGE },
    Way { name: "merges through a link", before: Before::Linked, ..MERGE },
    Way { name: "changes nothing", before: Before::Same, ..MERGE },
    Way { name: "takes over a dead pipestate's lock", lock: LockBefore::DeadPipestate, ..MERGE },
    Way { name: "takes over a dead foreign lock", lock: LockBefore::DeadForeign, ..MERGE },
    Way {
        name: "takes over a dead foreign lock without syncs",
        lock: LockBefore::DeadForeign,
        options: &["--no-fsync"],
        ..MERGE
    },
    Way { name: "takes over a lock that names nobody", lock: LockBefore::Unreadable, ..MERGE },
    Way { name: "removes a dead lock of another user", lock: LockBefore::OfAnotherUser, ..MERGE },
    Way { name: "waits for a pipestate", lock: LockBefore::LivingPipestate, ..MERGE },
    Way { name: "waits for a foreign holder", lock: LockBefore::LivingForeign, ..MERGE },
    Way { name: "merges without O_TMPFILE", system: System::NoUnnamedFiles, ..MERGE },
    Way { name: "merges on a kernel that links by way of /proc", system: System::LinksByProc, ..MERGE },
    Way { name: "merges without /proc", system: System::NoProc, ..MERGE },
    Way { name: "merges without hard links", system: System::NoLinks, ..MERGE },
    Way {
        name: "merges without O_TMPFILE and hard links",
        system: System::NoUnnamedFilesAndNoLinks,
        ..MERGE
    },
    Way {
        name: "takes over a dead foreign lock without hard links",
        lock: LockBefore::DeadForeign,
        system: System::NoLinks,
        ..MERGE
    },
    Way { name: "merges without kernel locks", system: System::NoKernelLocks, ..MERGE },
];

impl Way {
    /// What the state file holds before.
    pub fn old(&self) -> Option<&'static str> {
        match self.before {
            Before::Missing => None,
            Before::There | Before::Linked => Some(OLD),
            Before::Same => Some(self.patched()),
        }
    }

    /// What it holds after.
    pub fn patched(&self) -> &'static str {
        match self.before {
            _ if self.options.contains(&"--replace") => "{\n  \"b\": 2\n}\n",
            Before::Missing => "{\n  \"b\": 2\n}\n",
            _ => "{\"a\":1,\"b\":2}\n",
        }
    }

    /// What it holds after the next writer, who came after this one had or had not committed.
    pub fn next(&self, committed: bool) -> &'static str {
        match (self.before, committed) {
            (Before::Missing, true) => "{\n  \"b\": 2,\n  \"c\": 3\n}\n",
            (Before::Missing, false) => "{\n  \"c\": 3\n}\n",
            _ if committed && self.options.contains(&"--replace") => "{\n  \"b\": 2,\n  \"c\": 3\n}\n",
            (Before::Same, _) | (_, true) => "{\"a\":1,\"b\":2,\"c\":3}\n",
            (_, false) => "{\"a\":1,\"c\":3}\n",
        }
    }

    /// Only root can be another user, or take /proc away.
    pub fn needs_root(&self) -> bool {
        self.lock == LockBefore::OfAnotherUser || self.system == System::NoProc
    }

    /// How long the next writer may take: a crash between the creation of a lock and its content, which only happens
    /// without hard links, leaves one that names nobody for two seconds (L7).
    pub fn next_within(&self) -> Duration {
        let names_nobody = matches!(self.system, System::NoLinks | System::NoUnnamedFilesAndNoLinks);
        Duration::from_secs(if names_nobody { 3 } else { 1 })
    }

    /// Lays out what stands on the disk before; `dead_lock` is the content of a killed pipestate's lock. Returns
    /// where the state file really is.
    pub fn prepare(&self, folder: &Path, dead_lock: &[u8]) -> PathBuf {
        let name = folder.join(self.file);
        let file = match self.before {
            Before::Linked => folder.join("linked/target.json"),
            _ => name.clone(),
        };
        if self.before == Before::Linked {
            fs::create_dir(folder.join("linked")).unwrap();
            symlink("linked/target.json", &name).unwrap();
        }
        if let Some(old) = self.old() {
            fs::write(&file, old).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        }
        let lock = lock_of(&file);
        match self.lock {
            LockBefore::Free | LockBefore::LivingPipestate | LockBefore::LivingForeign => {}
            LockBefore::DeadPipestate => {
                fs::write(&lock, dead_lock).unwrap();
                fs::write(folder.join(".pipestate-0123456789abcdef.tmp"), "{\"a\":").unwrap();
            }
            LockBefore::DeadForeign => fs::write(&lock, dead_pid().to_string()).unwrap(),
            LockBefore::Unreadable => {
                fs::write(&lock, "").unwrap();
                let old = FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(60));
                File::options().write(true).open(&lock).unwrap().set_times(old).unwrap();
            }
            LockBefore::OfAnotherUser => {
                fs::write(&lock, dead_lock).unwrap();
                fs::set_permissions(&lock, Permissions::from_mode(0o644)).unwrap();
                for path in [folder, &file] {
                    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
                }
            }
        }
        file
    }
}

impl System {
    /// Makes the run of `command` one in which it cannot.
    pub fn confine(self, command: &mut Command) {
        let rules: &[Rule] = match self {
            System::Whole => &[],
            System::NoUnnamedFiles => &[NO_UNNAMED],
            System::LinksByProc => &[NO_LINKS_BY_DESCRIPTOR],
            System::NoLinks => &[NO_LINKS],
            System::NoUnnamedFilesAndNoLinks => &[NO_UNNAMED, NO_LINKS],
            System::NoKernelLocks => &[NO_LOCKS],
            System::NoProc => {
                // SAFETY: system calls only, between fork and exec.
                unsafe { command.pre_exec(cover_proc) };
                &[NO_LINKS_BY_DESCRIPTOR]
            }
        };
        if !rules.is_empty() {
            let filter = filter(rules);
            // SAFETY: as above; the program that is handed over was allocated before.
            unsafe { command.pre_exec(move || install(&filter)) };
        }
    }
}

/// Who nobody is, on every Linux.
pub const NOBODY: u32 = 65534;

/// A living foreign holder of a lock.
pub struct Foreign {
    _process: Sleeper,
    lock: PathBuf,
}

impl Foreign {
    pub fn hold(lock: PathBuf) -> Foreign {
        let process = Sleeper::new();
        fs::write(&lock, process.pid().to_string()).unwrap();
        Foreign { _process: process, lock }
    }

    pub fn release(&self) {
        // Not there any more when an injected error had the waiter take it for a dead one's.
        let _ = fs::remove_file(&self.lock);
    }
}

/// Hides /proc from this process and its children.
fn cover_proc() -> io::Result<()> {
    let result = |code: libc::c_int| if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: constant strings, and no memory that the kernel would write to.
    unsafe {
        result(libc::unshare(libc::CLONE_NEWNS))?;
        let none = std::ptr::null();
        result(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()))?;
        result(libc::mount(c"none".as_ptr(), c"/proc".as_ptr(), c"tmpfs".as_ptr(), 0, none.cast()))
    }
}

/// A call that the kernel is to refuse, by a seccomp filter: the same for every call of the run, which strace's
/// injections, one for each name, could not be beside the fault that is tried.
struct Rule {
    call: libc::c_long,
    /// Only when this argument has one of these bits.
    bits: Option<(u32, u32)>,
    error: libc::c_int,
}

/// `O_TMPFILE` less `O_DIRECTORY`.
const TMPFILE_BIT: u32 = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
const NO_UNNAMED: Rule =
    Rule { call: libc::SYS_openat, bits: Some((2, TMPFILE_BIT)), error: libc::EOPNOTSUPP };
const NO_LINKS_BY_DESCRIPTOR: Rule =
    Rule { call: libc::SYS_linkat, bits: Some((4, libc::AT_EMPTY_PATH as u32)), error: libc::ENOENT };
const NO_LINKS: Rule = Rule { call: libc::SYS_linkat, bits: None, error: libc::EPERM };
const NO_LOCKS: Rule = Rule { call: libc::SYS_flock, bits: None, error: libc::ENOLCK };

fn filter(rules: &[Rule]) -> Vec<libc::sock_filter> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let skip_unless = |code: u32, k: u32, skip: u8| libc::sock_filter { jf: skip, ..statement(code, k) };
    let mut program = Vec::new();
    for rule in rules {
        let refuse = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | rule.error as u32);
        program.push(statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0));
        let is_call = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        match rule.bits {
            None => program.extend([skip_unless(is_call, rule.call as u32, 1), refuse]),
            Some((argument, bits)) => program.extend([
                skip_unless(is_call, rule.call as u32, 3),
                // The low half of the argument, on a little-endian machine.
                statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 16 + 8 * argument),
                skip_unless(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits, 1),
                refuse,
            ]),
        }
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    program
}

fn install(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the filter and writes to nothing.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if installed { Ok(()) } else { Err(io::Error::last_os_error()) }
}
