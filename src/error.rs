//! Every way a call can fail, once: the message for people, the `code` for JavaScript, the exit code for shells
//! (contract X). Adding a variant without deciding its two codes does not compile.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk;
use crate::document::Fault;
use crate::lock::Holder;
use crate::text::quoted;

/// What pipestate answers when it does not do what it was asked.
///
/// Each variant is one thing that its reader can do something about; `Display` is one line that says what failed, on
/// what, why, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The patch or document that was handed in is not JSON (D3, D4).
    #[error("{origin} is not valid JSON: {fault}; nothing was written")]
    InvalidJson {
        /// Where the text came from: `stdin`, `the patch`.
        origin: &'static str,
        /// What is wrong with it, and where.
        fault: Fault,
    },

    /// The patch or document that was handed in is JSON, but not an object (M6).
    #[error("{origin} is {found}, and a state document is a JSON object; nothing was written")]
    NotAnObject {
        /// Where the text came from.
        origin: &'static str,
        /// What it is instead, with its article: `an array`.
        found: &'static str,
    },

    /// A rule forbids this edit of this document (D6, M3, P2, P3).
    #[error("{}: {}: {reason}; nothing was written", .path.display(), pointer_or_root(.pointer))]
    Refused {
        /// The state file.
        path: PathBuf,
        /// RFC 6901 pointer of the refused field.
        pointer: String,
        /// Which rule, in words, and the way out.
        reason: String,
    },

    /// `get` was asked for something that is not in the document.
    #[error("{}: there is nothing at {}", .path.display(), pointer_or_root(.pointer))]
    NotThere {
        /// The state file.
        path: PathBuf,
        /// RFC 6901 pointer that leads nowhere.
        pointer: String,
    },

    /// The acquire window ran out (L8).
    #[error(
        "{}: the lock is still held after {}: {holder}; retry once, then halt (`pipestate unlock` says more)",
        .path.display(), seconds(.waited)
    )]
    LockTimeout {
        /// The state file.
        path: PathBuf,
        /// Who holds the lock.
        holder: Box<Holder>,
        /// How long we waited for it.
        waited: Duration,
    },

    /// Somebody removed or replaced our lock while we held it, and there was no time to start over (L11).
    #[error(
        "{}: another tool removed our lock while we held it; nothing was written; retry once, then find the tool \
         that unlinks locks it does not own",
        .path.display()
    )]
    LockLost {
        /// The state file.
        path: PathBuf,
    },

    /// `unlock` found a living holder and was not forced (L6).
    #[error("{}: {holder}; the lock is left alone (`--force` removes it, and may lose that writer's update)", .path.display())]
    LockAlive {
        /// The state file.
        path: PathBuf,
        /// Who holds the lock.
        holder: Box<Holder>,
    },

    /// The system refused something.
    #[error("{}: cannot {action}: {}{}", .path.display(), describe(.source), advice(.source, .owners))]
    Io {
        /// What the call was about, usually the state file.
        path: PathBuf,
        /// What was tried, as a verb phrase: `open the state file`.
        action: &'static str,
        /// The system call, for `syscall` in JavaScript.
        syscall: &'static str,
        /// What the system said.
        source: io::Error,
        /// Whose file and folder are, where the system said that we may not.
        owners: Option<String>,
    },

    /// State is never kept below the plugin's own folder, which updates replace (A7).
    #[error(
        "{}: lies below CLAUDE_PLUGIN_ROOT ({}), which a plugin update replaces; keep state in the workspace or in \
         the home folder; nothing was written",
        .path.display(), .root.display()
    )]
    PluginRoot {
        /// The state file.
        path: PathBuf,
        /// The plugin's folder.
        root: PathBuf,
    },

    /// The new document is in place, but the folder's sync failed: a power cut may bring the old one back (A5).
    #[error("{}: written, not known to be durable: cannot sync the folder: {}", .path.display(), describe(.source))]
    NotDurable {
        /// The state file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The state file does not hold a JSON object (R5, V2). Its bytes are kept as they are.
    #[error("{}: corrupt: {reason}; the file is left as it is: `pipestate doctor` explains it, and `write --replace` stores a whole document", .path.display())]
    Corrupt {
        /// The state file.
        path: PathBuf,
        /// What it is, with line, column and offset where that helps.
        reason: String,
    },

    /// `--if-match` named another revision than the file has (M7).
    #[error("{}: the revision is {actual}, not {expected}; nothing was written: read again and decide again", .path.display())]
    Conflict {
        /// The state file.
        path: PathBuf,
        /// The revision that the caller had read.
        expected: String,
        /// The revision of the file now.
        actual: String,
    },

    /// A loop has no attempts left; the run is halted (S4).
    #[error(
        "{}: loop {name} has no attempts left and the run is halted; a human gives it new ones with \
         `pipestate attempt --loop {name} --reset`",
        .path.display()
    )]
    LoopExhausted {
        /// The state file.
        path: PathBuf,
        /// The loop.
        name: String,
    },

    /// No task is called so (T3).
    #[error("{}: there is no task {}; `pipestate task list` tells which there are", .root.display(), quoted(.name))]
    NoTask {
        /// The logs root that was looked in.
        root: PathBuf,
        /// What was asked for.
        name: String,
    },

    /// Several tasks are called so (T3).
    #[error(
        "{}: {} is the name of several tasks: {}; say which by --project and its number",
        .root.display(), quoted(.name), .candidates.join(", ")
    )]
    AmbiguousTask {
        /// The logs root that was looked in.
        root: PathBuf,
        /// What was asked for.
        name: String,
        /// Project, number and ticket of each.
        candidates: Vec<String>,
    },

    /// A link leads out of the root that everything has to stay in (T3).
    #[error("{}: leads out of {}, and is not followed; nothing was written", .path.display(), .root.display())]
    OutsideRoot {
        /// What leads out.
        path: PathBuf,
        /// The root.
        root: PathBuf,
    },

    /// A removal that must not be, or a token that does not allow it (T2, T3).
    #[error("{}: {reason}; nothing was removed", .path.display())]
    NothingRemoved {
        /// What it is about: a state, a worktree, the logs root.
        path: PathBuf,
        /// Which rule, in words, and the way out.
        reason: String,
    },

    /// A removal that stopped, or that left something out (T2).
    #[error(
        "{}: not all is removed: {} done, {} left: {}; plan it anew to finish it",
        .path.display(), .removed.len(), .left.len(), first_few(.left)
    )]
    NotAllRemoved {
        /// The logs root.
        path: PathBuf,
        /// What is removed.
        removed: Vec<String>,
        /// What is not, and why.
        left: Vec<String>,
    },

    /// The call itself is wrong.
    #[error("{0}")]
    Usage(String),

    /// A signal ended the wait or the write before anything was committed (L10).
    #[error("interrupted by signal {signal}; nothing was written")]
    Interrupted {
        /// The signal's number.
        signal: i32,
    },

    /// The caller's `AbortSignal` ended the wait (X4); JavaScript sees the signal's own reason instead.
    #[error("aborted while waiting for the lock; nothing was written")]
    Aborted,

    /// A defect of pipestate.
    #[error("a defect in pipestate: {0}; please report it")]
    Bug(String),
}

/// One line of the exit-code table (contract X).
pub struct ExitCode {
    /// The process exit code.
    pub code: u8,
    /// What it means, as the README has it.
    pub meaning: &'static str,
    /// The values that `error.code` has in JavaScript.
    pub js: &'static [&'static str],
}

/// The exit-code table: `--help` prints it, the README repeats it, a test compares the two.
pub const EXIT_CODES: &[ExitCode] = &[
    ExitCode { code: 0, meaning: "written, valid, allowed", js: &[] },
    ExitCode {
        code: 1,
        meaning: "invalid JSON on stdin; a patch or document that a rule refuses; the answer is no",
        js: &["ERR_PIPESTATE_INVALID", "ERR_PIPESTATE_REFUSED"],
    },
    ExitCode {
        code: 2,
        meaning: "lock timeout, lock lost for good",
        js: &["ERR_PIPESTATE_LOCK_TIMEOUT", "ERR_PIPESTATE_LOCK_LOST"],
    },
    ExitCode {
        code: 3,
        meaning: "I/O error; a state file that does not parse",
        js: &["ERR_PIPESTATE_IO", "ERR_PIPESTATE_CORRUPT"],
    },
    ExitCode { code: 4, meaning: "`--if-match` failed", js: &["ERR_PIPESTATE_CONFLICT"] },
    ExitCode { code: 64, meaning: "wrong usage", js: &["TypeError"] },
    ExitCode { code: 70, meaning: "a bug, or an addon that cannot be loaded", js: &[] },
];

impl Error {
    /// The value of `error.code` in JavaScript and of `error.code` in `--json` output.
    pub fn code(&self) -> &'static str {
        match self {
            Error::InvalidJson { .. } | Error::NotAnObject { .. } => "ERR_PIPESTATE_INVALID",
            Error::Refused { .. }
            | Error::NotThere { .. }
            | Error::LoopExhausted { .. }
            | Error::NoTask { .. }
            | Error::AmbiguousTask { .. }
            | Error::NothingRemoved { .. }
            | Error::OutsideRoot { .. } => "ERR_PIPESTATE_REFUSED",
            Error::LockTimeout { .. } | Error::LockAlive { .. } => "ERR_PIPESTATE_LOCK_TIMEOUT",
            Error::LockLost { .. } => "ERR_PIPESTATE_LOCK_LOST",
            Error::Io { .. }
            | Error::PluginRoot { .. }
            | Error::NotDurable { .. }
            | Error::NotAllRemoved { .. } => "ERR_PIPESTATE_IO",
            Error::Corrupt { .. } => "ERR_PIPESTATE_CORRUPT",
            Error::Conflict { .. } => "ERR_PIPESTATE_CONFLICT",
            Error::Usage(_) => "ERR_PIPESTATE_USAGE",
            Error::Interrupted { .. } => "ERR_PIPESTATE_INTERRUPTED",
            Error::Aborted => "ERR_PIPESTATE_ABORTED",
            Error::Bug(_) => "ERR_PIPESTATE_BUG",
        }
    }

    /// The process exit code (contract X).
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::InvalidJson { .. }
            | Error::NotAnObject { .. }
            | Error::Refused { .. }
            | Error::NotThere { .. }
            | Error::LoopExhausted { .. }
            | Error::NoTask { .. }
            | Error::AmbiguousTask { .. }
            | Error::NothingRemoved { .. }
            | Error::OutsideRoot { .. } => 1,
            Error::LockTimeout { .. } | Error::LockAlive { .. } | Error::LockLost { .. } | Error::Aborted => {
                2
            }
            Error::Io { .. }
            | Error::PluginRoot { .. }
            | Error::NotDurable { .. }
            | Error::NotAllRemoved { .. }
            | Error::Corrupt { .. } => 3,
            Error::Conflict { .. } => 4,
            Error::Usage(_) => 64,
            Error::Bug(_) => 70,
            Error::Interrupted { signal } => (128 + signal) as u8,
        }
    }

    /// The file that the error is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Error::Refused { path, .. }
            | Error::NotThere { path, .. }
            | Error::LockTimeout { path, .. }
            | Error::LockLost { path }
            | Error::LockAlive { path, .. }
            | Error::Io { path, .. }
            | Error::LoopExhausted { path, .. }
            | Error::NoTask { root: path, .. }
            | Error::AmbiguousTask { root: path, .. }
            | Error::OutsideRoot { path, .. }
            | Error::NothingRemoved { path, .. }
            | Error::NotAllRemoved { path, .. }
            | Error::PluginRoot { path, .. }
            | Error::NotDurable { path, .. }
            | Error::Corrupt { path, .. }
            | Error::Conflict { path, .. } => Some(path),
            Error::InvalidJson { .. }
            | Error::NotAnObject { .. }
            | Error::Usage(_)
            | Error::Interrupted { .. }
            | Error::Aborted
            | Error::Bug(_) => None,
        }
    }

    /// The RFC 6901 pointer of the field that was refused or is missing.
    pub fn pointer(&self) -> Option<&str> {
        match self {
            Error::Refused { pointer, .. } | Error::NotThere { pointer, .. } => Some(pointer),
            _ => None,
        }
    }

    /// Who holds the lock, where that is the trouble.
    pub fn holder(&self) -> Option<&Holder> {
        match self {
            Error::LockTimeout { holder, .. } | Error::LockAlive { holder, .. } => Some(holder),
            _ => None,
        }
    }

    /// The failed system call and its error number, where there was one.
    pub fn system(&self) -> Option<(&'static str, Option<i32>)> {
        match self {
            Error::Io { syscall, source, .. } => Some((syscall, source.raw_os_error())),
            Error::NotDurable { source, .. } => Some(("fsync", source.raw_os_error())),
            _ => None,
        }
    }

    /// An [`Error::Io`] with everything it needs.
    pub fn io(
        path: &Path,
        action: &'static str,
        syscall: &'static str,
        source: impl Into<io::Error>,
    ) -> Error {
        let source = source.into();
        let denied = source.kind() == io::ErrorKind::PermissionDenied;
        let owners = if denied { disk::owners(path) } else { None };
        Error::Io { path: path.to_owned(), action, syscall, source, owners }
    }
}

/// A pointer for a message: the root's pointer is the empty string, which nobody would see.
fn pointer_or_root(pointer: &str) -> &str {
    if pointer.is_empty() { "the document" } else { pointer }
}

/// The beginning of a list, which `--json` has whole.
fn first_few(list: &[String]) -> String {
    const FEW: usize = 3;
    let more = if list.len() > FEW { "; …" } else { "" };
    format!("{}{more}", list[..list.len().min(FEW)].join("; "))
}

fn seconds(duration: &Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// What the system said, without std's `(os error 28)`, which helps nobody; the number is in `--json`.
fn describe(source: &io::Error) -> String {
    let text = source.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].trim_end_matches('.').to_lowercase(),
        None => text,
    }
}

/// What to do about the errors that people meet.
fn advice(source: &io::Error, owners: &Option<String>) -> String {
    if source.kind() == io::ErrorKind::PermissionDenied {
        let owners = owners.as_deref().map_or(String::new(), |owners| format!(" ({owners})"));
        return format!("; run as the owner, or mend the permissions of file and folder{owners}");
    }
    let advice = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space and run it again",
        io::ErrorKind::FileTooLarge => "; raise the limit of file sizes (`ulimit -f`) and run it again",
        io::ErrorKind::ReadOnlyFilesystem => "; the folder is mounted read-only",
        io::ErrorKind::ResourceBusy => "; if the file is a mount point of its own, mount its folder instead",
        _ => "",
    };
    advice.to_owned()
}
