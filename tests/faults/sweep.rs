//! Every fault at every call of every way to write, one at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pipestate::lock;
use pipestate::place::{Missing, Place};

use crate::manual::{errors_of, is_refused_by_failed_disk};
use crate::strace::{self, Call, Fault, FaultKind};
use crate::support::{Ran, finish, lock_of, pipestate, start};
use crate::ways::{Before, Foreign, LockBefore, NEXT_PATCH, NOBODY, PATCH, Way};

/// How much was tried.
#[derive(Clone, Copy, Default)]
pub struct Tried {
    pub errors: usize,
    /// Disks that fail and stay so.
    pub failures: usize,
    pub kills: usize,
    pub terminations: usize,
    /// Faults whose call did not come: a wait is never the same twice.
    pub missed: usize,
}

impl Tried {
    pub fn runs(&self) -> usize {
        self.errors + self.failures + self.kills + self.terminations + self.missed
    }
}

impl std::ops::AddAssign for Tried {
    fn add_assign(&mut self, other: Tried) {
        self.errors += other.errors;
        self.failures += other.failures;
        self.kills += other.kills;
        self.terminations += other.terminations;
        self.missed += other.missed;
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tried { errors, failures, kills, terminations, .. } = self;
        write!(f, "{errors} errors, {failures} failed disks, {kills} kills, {terminations} terminations")?;
        if self.missed > 0 { write!(f, ", {} not reached", self.missed) } else { Ok(()) }
    }
}

/// One run of a way, its folder and what came of it.
struct Run {
    folder: tempfile::TempDir,
    /// The state file itself.
    file: PathBuf,
    /// What lay in the folder before.
    before: BTreeSet<PathBuf>,
    calls: Vec<Call>,
    ran: Ran,
    /// What killed it.
    signal: Option<i32>,
    /// Whether SIGTERM has reached it.
    terminated: bool,
}

impl Way {
    /// Tries faults in folders below `parent`: all of them, or `sample` of them chosen by `random`.
    ///
    /// # Panics
    /// When a rule is broken; the message names the fault.
    pub fn try_faults(&self, parent: &Path, sample: Option<usize>, random: &mut fastrand::Rng) -> Tried {
        let dead_lock = dead_lock(parent);
        let whole = self.run(parent, &dead_lock, None);
        self.check(&whole, None);
        let mut faults: Vec<Fault> = faults_of(&whole.calls).collect();
        if let Some(sample) = sample {
            random.shuffle(&mut faults);
            faults.truncate(sample);
        }
        let mut tried = Tried::default();
        for fault in faults {
            let run = self.run(parent, &dead_lock, Some(&fault));
            let (count, hit) = match fault.kind {
                FaultKind::Error(_) => (&mut tried.errors, run.calls.iter().any(|call| call.injected)),
                FaultKind::Failing { .. } => {
                    (&mut tried.failures, run.calls.iter().any(|call| call.injected))
                }
                FaultKind::Kill => (&mut tried.kills, run.signal.is_some()),
                FaultKind::Terminate => (&mut tried.terminations, run.terminated),
            };
            *if hit { count } else { &mut tried.missed } += 1;
            self.check(&run, hit.then_some(&fault));
        }
        let may_miss = matches!(self.lock, LockBefore::LivingPipestate | LockBefore::LivingForeign);
        assert!(tried.missed == 0 || may_miss, "{}: {} calls did not come again", self.name, tried.missed);
        tried
    }

    fn run(&self, parent: &Path, dead_lock: &[u8], fault: Option<&Fault>) -> Run {
        let folder = tempfile::tempdir_in(parent).unwrap();
        let file = self.prepare(folder.path(), dead_lock);
        let before = names_below(folder.path());
        let trace = tempfile::NamedTempFile::new().unwrap();
        let user: &[&str] = if self.lock == LockBefore::OfAnotherUser { &["-u", "nobody"] } else { &[] };
        let inject = fault.map(Fault::options).unwrap_or_default();
        let options = ["-y"].iter().chain(user).copied().chain(inject.iter().map(String::as_str));
        let mut command = strace::command(trace.path(), options);
        command.arg("write").args(self.options).arg(folder.path().join(self.file));
        self.system.confine(&mut command);
        let ended = AtomicBool::new(false);
        let output = std::thread::scope(|scope| {
            let holder = self.hold(&file);
            let mut child = start(command);
            let is_time = || ended.load(Ordering::SeqCst) || is_asleep(trace.path());
            scope.spawn(move || holder.release_when(is_time));
            drop(std::io::Write::write_all(&mut child.stdin.take().unwrap(), PATCH.as_bytes()));
            let output = child.wait_with_output().unwrap();
            ended.store(true, Ordering::SeqCst);
            output
        });
        let (calls, signal) = (strace::read(trace.path()), output.status.signal());
        let terminated = fs::read_to_string(trace.path()).unwrap().contains("--- SIGTERM");
        Run { folder, file, before, calls, ran: output.into(), signal, terminated }
    }

    fn hold(&self, file: &Path) -> Holder {
        match self.lock {
            LockBefore::LivingPipestate => {
                let place = Arc::new(Place::find(file, Missing::Fail).unwrap());
                Holder::Pipestate(lock::acquire(&place, "a test", Duration::ZERO, &|| None).unwrap())
            }
            LockBefore::LivingForeign => Holder::Foreign(Foreign::hold(lock_of(file))),
            _ => Holder::Nobody,
        }
    }

    /// What must be so after any fault.
    fn check(&self, run: &Run, fault: Option<&Fault>) {
        let at = run.calls.iter().find(|call| call.injected).or(run.calls.last());
        let at = at.map_or(String::new(), Call::to_string);
        let fault_told = fault.map_or("no fault".to_owned(), Fault::to_string);
        let about = format!("{}: {fault_told}: {:?}\n  {at}\n ", self.name, run.ran);
        let committed = run.calls.iter().any(|call| self.is_commit(call, &run.file));
        check_exit(run, fault, &about);
        check_stderr(run, committed, &about);
        self.check_stdout(run, committed, &about);
        self.check_target(run, committed, &about);
        check_leftovers(run, fault, &about);
        self.check_next(run, committed, &about);
    }

    /// X2: stdout has results only.
    fn check_stdout(&self, run: &Run, committed: bool, about: &str) {
        let stdout = &run.ran.stdout;
        let asked = self.options.contains(&"--json");
        if stdout.is_empty() {
            // A signal that comes while stdin is read ends the program at once.
            let silenced = run.calls.iter().any(|call| call.injected && call.name == "write");
            return assert!(!asked || silenced || matches!(run.ran.code, None | Some(143)), "{about}");
        }
        let object: serde_json::Value = serde_json::from_str(stdout).expect("one object");
        let ok = match run.ran.code {
            Some(143) | None => committed,
            code => code == Some(0),
        };
        assert!(asked && stdout.lines().count() == 1 && object["ok"] == ok, "{about}");
    }

    /// A3, A5: the old document or the new one, whole, and the trace says which; what reported 0 is there.
    fn check_target(&self, run: &Run, committed: bool, about: &str) {
        let content = fs::read_to_string(&run.file).ok();
        let expected = if committed { Some(self.patched()) } else { self.old() };
        assert_eq!(content.as_deref(), expected, "{about}");
        assert!(run.ran.code != Some(0) || content.as_deref() == Some(self.patched()), "{about}");
        if content.is_some() && self.before != Before::Missing {
            let mode = fs::metadata(&run.file).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode, 0o640, "{about}");
        }
    }

    /// L4: the next writer goes on at once, builds on what is there and leaves nothing.
    fn check_next(&self, run: &Run, committed: bool, about: &str) {
        let mut next = pipestate();
        next.args(["write", "--json"]).arg(run.folder.path().join(self.file));
        if self.lock == LockBefore::OfAnotherUser {
            next.uid(NOBODY).gid(NOBODY);
        }
        let ran = finish(start(next), NEXT_PATCH);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{about}the next writer");
        assert!(waited(&ran) < self.next_within(), "{about}the next writer: {ran:?}");
        let content = fs::read_to_string(&run.file).unwrap();
        assert_eq!(content, self.next(committed), "{about}the next writer");
        let files = names_below(run.folder.path()).into_iter().filter(|path| path.is_file());
        let own = |path: &PathBuf| *path == run.file || *path == run.folder.path().join(self.file);
        let left: Vec<_> = files.filter(|path| !own(path)).collect();
        assert!(left.is_empty(), "{about}the next writer left {left:?}");
    }

    /// Whether this call put the new document in place.
    fn is_commit(&self, call: &Call, file: &Path) -> bool {
        let name = file.file_name().and_then(|name| name.to_str());
        call.name.starts_with("rename") && call.succeeded() && call.text(3) == name
    }
}

/// X1: a crash is never 0 to 4, and an error is what the table says. L10: a signal is 128 + n, or comes too late.
fn check_exit(run: &Run, fault: Option<&Fault>, about: &str) {
    let (expected, signal): (&[Option<i32>], _) = match fault.map(|fault| &fault.kind) {
        None | Some(FaultKind::Error("EINTR")) => (&[Some(0)], None),
        Some(FaultKind::Error(_) | FaultKind::Failing { .. }) => (&[Some(0), Some(3)], None),
        Some(FaultKind::Kill) => (&[None], Some(9)),
        Some(FaultKind::Terminate) => (&[Some(0), Some(143)], None),
    };
    assert!(expected.contains(&run.ran.code) && run.signal == signal, "{about}signal {:?}", run.signal);
}

/// X2: one error, one line. A5: after the rename it says that the write stands.
fn check_stderr(run: &Run, committed: bool, about: &str) {
    let lines: Vec<&str> = run.ran.stderr.lines().collect();
    let is_warning = |line: &&str| line.starts_with("pipestate: warning: ");
    let as_it_should = match run.ran.code {
        None => lines.is_empty(),
        Some(0) => lines.iter().all(is_warning),
        Some(3) => lines.len() == 1 && !is_warning(&lines[0]),
        Some(_) => lines.len() <= 1 && !lines.iter().any(is_warning),
    };
    assert!(as_it_should, "{about}");
    for line in lines {
        let subjects = [run.folder.path().to_str().unwrap(), "stdin", "stdout", "interrupted by signal 15"];
        let named = subjects.iter().any(|subject| line.contains(subject));
        assert!(line.starts_with("pipestate: ") && named, "{about}");
    }
    let says_written = run.ran.stderr.contains("written, not known to be durable");
    assert_eq!(says_written, committed && run.ran.code == Some(3), "{about}");
}

/// A5: no temporary file and no lock, but where it was the removal that failed.
fn check_leftovers(run: &Run, fault: Option<&Fault>, about: &str) {
    let may_leave = fault.is_some_and(|fault| {
        matches!(fault.kind, FaultKind::Kill | FaultKind::Failing { .. }) || fault.call == "unlinkat"
    });
    let names = names_below(run.folder.path());
    let new = names.difference(&run.before).filter(|path| path.is_file() && **path != run.file);
    let left: Vec<_> = new.collect();
    let told = run.ran.stderr.contains("the lock could not be removed");
    assert!(may_leave || told || left.is_empty(), "{about}left {left:?}");
}

/// How long a write that was to print an object has waited for the lock.
pub fn waited(ran: &Ran) -> Duration {
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one object");
    Duration::from_millis(object["waitedMs"].as_u64().expect("a number of milliseconds"))
}

/// Everything that can happen to the program's own calls among these, one at a time.
fn faults_of(calls: &[Call]) -> impl Iterator<Item = Fault> {
    (strace::start_of_work(calls)..calls.len()).flat_map(|index| {
        let call = &calls[index];
        let errors = errors_of(call).iter().map(|error| FaultKind::Error(error));
        let failures = ["EIO", "EROFS"].into_iter().filter(|error| is_refused_by_failed_disk(call, error));
        let failures =
            failures.map(|error| FaultKind::Failing { error, from: refused_from(calls, index, error) });
        // At its very end nothing is delivered any more.
        let last = call.name == "exit_group";
        let signals = [FaultKind::Kill, FaultKind::Terminate].into_iter().take(if last { 1 } else { 2 });
        let fault = |kind| Fault { call: call.name.clone(), count: call.count, kind };
        errors.chain(failures).chain(signals).map(fault).collect::<Vec<_>>()
    })
}

/// The names of the calls that a disk refuses which fails at call `index`, and which of each is the first one.
fn refused_from(calls: &[Call], index: usize, error: &str) -> Vec<(String, usize)> {
    let mut from = BTreeMap::new();
    for call in &calls[index..] {
        if is_refused_by_failed_disk(call, error) {
            from.entry(call.name.clone()).or_insert(call.count);
        }
    }
    // What it calls only when something fails.
    for name in ["unlinkat", "openat"] {
        let before = calls[..index].iter().filter(|call| call.name == name).count();
        if !(name == "openat" && error == "EROFS") {
            from.entry(name.to_owned()).or_insert(before + 1);
        }
    }
    from.into_iter().collect()
}

/// Who holds the lock while the write waits.
enum Holder {
    Nobody,
    Pipestate(lock::Lock),
    Foreign(Foreign),
}

impl Holder {
    fn release_when(self, is_time: impl Fn() -> bool) {
        if matches!(self, Holder::Nobody) {
            return;
        }
        while !is_time() {
            std::thread::sleep(Duration::from_millis(1));
        }
        match self {
            Holder::Nobody => {}
            Holder::Pipestate(lock) => lock.release().unwrap(),
            Holder::Foreign(foreign) => foreign.release(),
        }
    }
}

/// Whether the traced program has stopped napping and sleeps until something happens.
fn is_asleep(trace: &Path) -> bool {
    fs::read_to_string(trace).is_ok_and(|trace| trace.contains("ppoll("))
}

/// The content of the lock of a pipestate that was killed at its rename.
fn dead_lock(parent: &Path) -> Vec<u8> {
    let folder = tempfile::tempdir_in(parent).unwrap();
    let file = folder.path().join("state.json");
    let trace = tempfile::NamedTempFile::new().unwrap();
    let fault = Fault { call: "renameat".into(), count: 1, kind: FaultKind::Kill };
    let options = fault.options();
    let mut command = strace::command(trace.path(), options.iter().map(String::as_str));
    command.arg("write").arg(&file);
    assert_eq!(finish(start(command), PATCH).code, None);
    fs::read(lock_of(&file)).unwrap()
}

/// Every path below `folder`.
pub fn names_below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            names.extend(names_below(&path));
        }
        names.insert(path);
    }
    names
}
