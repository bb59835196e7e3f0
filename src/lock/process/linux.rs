//! Linux: /proc.

use std::fs::{self, File};
use std::io::Read;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use rustix::time::{ClockId, clock_gettime};

use super::{Own, State};

pub fn own() -> Own {
    Own {
        start: read_small("/proc/self/stat").and_then(|stat| Stat::parse(&stat)).map(|stat| stat.start),
        boot: read_line("/proc/sys/kernel/random/boot_id"),
        host: String::from_utf8_lossy(rustix::system::uname().nodename().to_bytes()).into_owned(),
        // The id itself is not for other eyes, says machine-id(5).
        machine: read_line("/etc/machine-id")
            .map(|id| format!("{:016x}", xxhash_rust::xxh3::xxh3_64(id.as_bytes()))),
        pid_namespace: fs::read_link("/proc/self/ns/pid")
            .ok()
            .and_then(|link| link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()),
    }
}

pub fn state(pid: u32) -> State {
    let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return State::Gone };
    if test_kill_process(id) == Err(Errno::SRCH) {
        return State::Gone;
    }
    let Some(stat) = fs::read(format!("/proc/{pid}/stat")).ok().and_then(|stat| Stat::parse(&stat)) else {
        // Gone since, or hidden from us (hidepid), or no /proc at all.
        return match test_kill_process(id) {
            Err(Errno::SRCH) => State::Gone,
            _ => State::Running { age: None, start: None },
        };
    };
    if fs::read(format!("/proc/{pid}/status"))
        .ok()
        .and_then(|status| group_leader(&status))
        .is_some_and(|id| id != pid)
    {
        return State::Thread;
    }
    // A leader that has ended while threads of it run on is a living process.
    if matches!(stat.state, b'Z' | b'X') && stat.threads <= 1 {
        return State::Zombie;
    }
    State::Running { age: Some(age(stat.start)), start: Some(stat.start) }
}

/// The fields of `/proc/<pid>/stat` that matter here.
struct Stat {
    state: u8,
    threads: u64,
    start: u64,
}

impl Stat {
    fn parse(stat: &[u8]) -> Option<Stat> {
        // The second field is the program's name in parentheses, and the name may hold both blanks and parentheses.
        let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let fields: Vec<&str> =
            std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace().collect();
        Some(Stat {
            state: *fields.first()?.as_bytes().first()?,
            threads: fields.get(17)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        })
    }
}

/// The id of the process that the task belongs to.
fn group_leader(status: &[u8]) -> Option<u32> {
    let status = String::from_utf8_lossy(status);
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// How long ago `start` was, on the clock that the kernel stamps it with.
fn age(start: u64) -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    let started = Duration::from_millis(start * 1000 / rustix::param::clock_ticks_per_second());
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32).saturating_sub(started)
}

fn read_line(path: &str) -> Option<String> {
    let text = String::from_utf8(read_small(path)?).ok()?;
    Some(text.trim().to_owned()).filter(|line| !line.is_empty())
}

/// What stands in a file of a kilobyte at most. `fs::read` asks such a file, which knows no length, eight times.
fn read_small(path: &str) -> Option<Vec<u8>> {
    const MOST: usize = 1 << 10;
    let mut text = vec![0; MOST];
    let mut file = File::open(path).ok()?;
    let length = loop {
        match file.read(&mut text) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => break read.ok()?,
        }
    };
    text.truncate(length);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_and_parentheses_do_not_move_the_fields() {
        let stat = b"7 (a) Z (b) 1 2) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 98765 1 2 3";
        let stat = Stat::parse(stat).unwrap();
        assert_eq!((stat.state, stat.threads, stat.start), (b'S', 3, 98765));
    }

    #[test]
    fn this_process_runs_and_started_before_now() {
        let State::Running { age: Some(age), start } = state(std::process::id()) else { panic!() };
        assert!(age < Duration::from_secs(3600), "{age:?}");
        assert_eq!(start, super::super::own().start);
    }

    #[test]
    fn a_thread_id_is_told_from_a_process_id() {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let (send, receive) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            send.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = wait.recv();
        });
        assert_eq!(state(receive.recv().unwrap()), State::Thread);
        drop(done);
        thread.join().unwrap();
    }

    #[test]
    fn an_unreaped_child_is_a_zombie_and_then_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        while state(pid) != State::Zombie {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(state(pid), State::Gone);
    }
}
