//! Who holds a lock, and whether they live (L5). Pure: the facts come in, a verdict with its reason goes out.

use std::fmt;
use std::time::Duration;

use super::content::{Content, Record};
use super::process::{Own, State};

/// A process that started this much after a lock was made did not make it. Start and lock are stamped by two clocks,
/// of which one can be set; this much they may drift apart between two looks.
pub const START_MARGIN: Duration = Duration::from_secs(2);

/// A lock without a readable holder is left alone for this long: its maker may be between creating and writing (L7).
pub const UNREADABLE_GRACE: Duration = Duration::from_secs(2);

/// Who holds a lock, for messages and for `pipestate unlock`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Process id, as the holder sees it.
    pub pid: Option<u32>,
    /// The program that took the lock, when it said so.
    pub program: Option<String>,
    /// The host it runs on, when it said so.
    pub host: Option<String>,
    /// How old the lock file is.
    pub age: Option<Duration>,
    /// Whether they are taken to be alive.
    pub alive: bool,
    /// Why.
    pub why: String,
}

impl Holder {
    /// The holder that `content` names.
    pub fn new(content: &Content, age: Option<Duration>, alive: bool, why: impl Into<String>) -> Holder {
        let (pid, program, host) = match content {
            Content::Pipestate { pid, record } => {
                (Some(*pid), Some(record.program.clone()), Some(record.host.clone()))
            }
            Content::Foreign { pid } => (Some(*pid), None, None),
            Content::Unreadable => (None, None, None),
        };
        Holder { pid, program, host, age, alive, why: why.into() }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "held by process {pid}")?,
            None => f.write_str("held by somebody unknown")?,
        }
        if let Some(program) = &self.program {
            write!(f, " ({program})")?;
        }
        if let Some(age) = self.age {
            write!(f, " for {:.1} s", age.as_secs_f64())?;
        }
        write!(f, ", {}", self.why)
    }
}

/// What to make of the holder of a lock whose kernel lock we have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The lock is to be taken over.
    Dead(String),
    /// The lock is to be left alone.
    Alive(String),
    /// Nobody is named: L7 decides.
    Unreadable,
}

/// Judges the holder named by `content` of a lock whose kernel lock is free, so that no pipestate of this boot has it.
///
/// `shared` says whether other hosts may write to the file system; `age` is the lock file's age by the file system's
/// clock; `state` looks a process up.
pub fn judge(
    content: &Content,
    own: &Own,
    shared: bool,
    age: Option<Duration>,
    state: impl Fn(u32) -> State,
) -> Verdict {
    match content {
        Content::Unreadable => Verdict::Unreadable,
        Content::Pipestate { record, .. } => judge_pipestate(record, own, shared),
        Content::Foreign { pid } => judge_foreign(*pid, age, state(*pid)),
    }
}

fn judge_pipestate(record: &Record, own: &Own, shared: bool) -> Verdict {
    let same_machine = record.host == own.host && record.machine == own.machine;
    match (&record.boot, &own.boot) {
        // One kernel keeps the locks of both, whatever namespaces and host names they have.
        (Some(theirs), Some(ours)) if theirs == ours => {
            Verdict::Dead("dead: its kernel lock has been given back".into())
        }
        (Some(_), Some(_)) if same_machine => {
            Verdict::Dead("dead: the machine has been started again since".into())
        }
        // One of the two could not read the boot's id. Where no other kernel writes, this one knows all locks.
        (None, _) | (_, None) if same_machine && !shared => {
            Verdict::Dead("dead: its kernel lock has been given back".into())
        }
        _ => Verdict::Alive(format!(
            "on host {}, whose processes cannot be seen from here; `pipestate unlock --force` removes it",
            record.host
        )),
    }
}

fn judge_foreign(pid: u32, age: Option<Duration>, state: State) -> Verdict {
    match state {
        State::Gone => Verdict::Dead(format!("dead: there is no process {pid}")),
        State::Zombie => Verdict::Dead(format!("dead: process {pid} is a zombie")),
        State::Thread => Verdict::Unreadable,
        State::Running { age: Some(running), .. } if age.is_some_and(|age| running + START_MARGIN < age) => {
            Verdict::Dead(format!("dead: process {pid} of today started after the lock was made"))
        }
        State::Running { .. } => Verdict::Alive("alive: a process of that id is running".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: State = State::Running { age: Some(Duration::from_secs(100)), start: Some(5) };

    fn own() -> Own {
        Own {
            start: Some(5),
            boot: Some("boot-1".into()),
            host: "here".into(),
            machine: Some("m1".into()),
            pid_namespace: Some(1),
        }
    }

    fn by_pipestate(boot: Option<&str>, host: &str, machine: Option<&str>) -> Content {
        let record = Record {
            pipestate: 1,
            start: Some(1),
            boot: boot.map(Into::into),
            host: host.into(),
            machine: machine.map(Into::into),
            pidns: Some(9),
            time: String::new(),
            program: "pipestate write".into(),
            sequence: 0,
        };
        Content::Pipestate { pid: 77, record: Box::new(record) }
    }

    fn dead(content: &Content, shared: bool) -> bool {
        let verdict =
            judge(content, &own(), shared, None, |_| panic!("process ids decide only about strangers"));
        matches!(verdict, Verdict::Dead(_))
    }

    #[test]
    fn within_one_boot_the_free_kernel_lock_means_dead() {
        assert!(dead(&by_pipestate(Some("boot-1"), "here", Some("m1")), false));
        assert!(
            dead(&by_pipestate(Some("boot-1"), "container", None), false),
            "a container under the same kernel"
        );
        assert!(dead(&by_pipestate(Some("boot-1"), "here", Some("m1")), true), "NFS, but the same kernel");
    }

    /// A writer without /proc (a chroot) was killed and left a lock without a boot id. Whoever had one took the lock
    /// for another host's and waited for ever.
    #[test]
    fn a_lock_of_an_unknown_boot_of_this_machine_is_dead_where_no_other_host_writes() {
        assert!(dead(&by_pipestate(None, "here", Some("m1")), false));
        let without_proc = Own { boot: None, ..own() };
        let content = by_pipestate(Some("boot-1"), "here", Some("m1"));
        let verdict = |shared| judge(&content, &without_proc, shared, None, |_| State::Gone);
        assert!(matches!(verdict(false), Verdict::Dead(_)), "{:?}", verdict(false));
        assert!(matches!(verdict(true), Verdict::Alive(_)), "{:?}", verdict(true));
    }

    #[test]
    fn another_boot_of_this_machine_is_dead() {
        assert!(dead(&by_pipestate(Some("boot-0"), "here", Some("m1")), false));
    }

    #[test]
    fn another_host_is_a_holder() {
        assert!(!dead(&by_pipestate(Some("boot-0"), "there", Some("m1")), false));
        assert!(
            !dead(&by_pipestate(Some("boot-0"), "here", Some("m2")), false),
            "a second machine of that name"
        );
        assert!(!dead(&by_pipestate(None, "here", Some("m1")), true));
    }

    #[test]
    fn a_bare_id_is_judged_by_its_process() {
        let minute = Some(Duration::from_secs(60));
        for (state, age, expected) in [
            (State::Gone, None, true),
            (State::Zombie, None, true),
            (RUNNING, minute, false),
            (RUNNING, None, false),
            (RUNNING, Some(Duration::from_secs(101)), false),
            (RUNNING, Some(Duration::from_secs(103)), true),
            (State::Running { age: None, start: None }, Some(Duration::from_secs(1 << 30)), false),
        ] {
            let verdict = judge(&Content::Foreign { pid: 77 }, &own(), false, age, |_| state);
            assert_eq!(matches!(verdict, Verdict::Dead(_)), expected, "{state:?} {age:?} {verdict:?}");
        }
        let thread = judge(&Content::Foreign { pid: 77 }, &own(), false, minute, |_| State::Thread);
        assert_eq!(thread, Verdict::Unreadable);
    }
}
