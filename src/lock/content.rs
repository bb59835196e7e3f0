//! What stands in a lock file (L2): the holder's process id in decimal, so that `parseInt(readFileSync(lock))` works
//! for any other tool, and below it, as JSON, what tells the holder from a later process of the same id.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::process;
use crate::disk;

/// Only this much of a lock file is ever read; what pipestate writes is a tenth of it.
const MOST_BYTES: usize = 4096;

/// The second line.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Record {
    /// Version of this format; what marks the lock as a pipestate's.
    pub pipestate: u32,
    /// When the holder's process started, in the ticks of its system.
    pub start: Option<u64>,
    /// The boot of the machine: another id is another boot or another machine.
    pub boot: Option<String>,
    /// Host name.
    pub host: String,
    /// A hash of the machine's id.
    pub machine: Option<String>,
    /// The process-id namespace that the id in the first line belongs to.
    pub pidns: Option<u64>,
    /// When the lock was taken (RFC 3339), for messages.
    pub time: String,
    /// Which program took it, for messages.
    pub program: String,
    /// Counts the locks of one process, so that no two of its locks have the same lines.
    pub sequence: u64,
}

/// What a lock file says about its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A pipestate made it.
    Pipestate {
        /// The holder's process id, in its own namespace.
        pid: u32,
        /// The second line.
        record: Box<Record>,
    },
    /// Another tool made it: a bare process id.
    Foreign {
        /// The holder's process id.
        pid: u32,
    },
    /// Empty, or no positive decimal number in its first line.
    Unreadable,
}

impl Content {
    /// Reads what stands in an open lock file. It names nobody when another tool keeps everybody from reading it, as
    /// kernel locks do on Windows.
    pub fn read(file: &File) -> io::Result<Content> {
        match disk::read_at_start(file, MOST_BYTES) {
            Ok(bytes) => Ok(Content::parse(&bytes)),
            Err(error) if disk::is_in_use(&error) => Ok(Content::Unreadable),
            Err(error) => Err(error),
        }
    }

    /// Reads the first bytes of a lock file.
    pub fn parse(bytes: &[u8]) -> Content {
        let mut lines = bytes.splitn(3, |&byte| byte == b'\n');
        let Some(pid) = lines.next().and_then(parse_pid) else { return Content::Unreadable };
        match lines.next().map(serde_json::from_slice::<Record>) {
            Some(Ok(record)) => Content::Pipestate { pid, record: Box::new(record) },
            _ => Content::Foreign { pid },
        }
    }
}

/// A positive decimal number that can be a process id, perhaps with white space around it.
fn parse_pid(line: &[u8]) -> Option<u32> {
    let digits = line.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let pid: u32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    // 0 and what is negative as a pid_t would signal whole groups of processes.
    (1..=i32::MAX as u32).contains(&pid).then_some(pid)
}

/// The lines of a lock that this process takes now.
pub fn own_lines(program: &str) -> Vec<u8> {
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    let own = process::own();
    let record = Record {
        pipestate: 1,
        start: own.start,
        boot: own.boot.clone(),
        host: own.host.clone(),
        machine: own.machine.clone(),
        pidns: own.pid_namespace,
        time: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        program: program.to_owned(),
        sequence: TAKEN.fetch_add(1, Ordering::Relaxed),
    };
    let mut lines = format!("{}\n", std::process::id()).into_bytes();
    serde_json::to_writer(&mut lines, &record).expect("a record of strings and numbers is JSON");
    lines.push(b'\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_lines_are_read_back() {
        let lines = own_lines("a test");
        let Content::Pipestate { pid, record } = Content::parse(&lines) else {
            panic!("not a pipestate's lock")
        };
        assert_eq!(pid, std::process::id());
        assert_eq!(record.program, "a test");
        assert_ne!(own_lines("a test"), lines, "two locks of one process can be told apart");
    }

    #[test]
    fn only_positive_decimal_numbers_are_holders() {
        for (bytes, expected) in [
            (&b"12"[..], Content::Foreign { pid: 12 }),
            (b"12\n", Content::Foreign { pid: 12 }),
            (b"12\r\n", Content::Foreign { pid: 12 }),
            (b"12\nsomething else", Content::Foreign { pid: 12 }),
            (b"12\n{\"pipestate\":", Content::Foreign { pid: 12 }),
            (b"", Content::Unreadable),
            (b"\n12", Content::Unreadable),
            (b"0", Content::Unreadable),
            (b"-1", Content::Unreadable),
            (b"+1", Content::Unreadable),
            (b"4294967296", Content::Unreadable),
            (b"2147483648", Content::Unreadable),
            (b"12345678901234567890", Content::Unreadable),
            (b"123abc", Content::Unreadable),
            (b"{}", Content::Unreadable),
            (b"\0\0\0\0", Content::Unreadable),
        ] {
            assert_eq!(Content::parse(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(Content::parse(&vec![b'7'; 1 << 20]), Content::Unreadable);
    }
}
