//! Every fault at every call of every way to write, one at a time.

use std::collections::BTreeSet;
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

use crate::manual::errors_of;
use crate::strace::{self, Call, Fault, FaultKind};
use crate::support::{Ran, finish, lock_of, pipestate, start};
use crate::ways::{Before, Foreign, LockBefore, NEXT_PATCH, NOBODY, PATCH, Way};

/// How much was tried.
#[derive(Clone, Copy, Default)]
pub struct Tried {
    pub errors: usize,
    pub kills: usize,
    /// Faults whose call did not come: a wait is never the same twice.
    pub missed: usize,
}

impl Tried {
    pub fn runs(&self) -> usize {
        self.errors + self.kills + self.missed
    }
}

impl std::ops::AddAssign for Tried {
    fn add_assign(&mut self, other: Tried) {
        self.errors += other.errors;
        self.kills += other.kills;
        self.missed += other.missed;
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} errors, {} kills", self.errors, self.kills)?;
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
    signal: Option<i32>,
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
        let work = strace::start_of_work(&whole.calls);
        let mut faults: Vec<Fault> = whole.calls[work..].iter().flat_map(faults_of).collect();
        if let Some(sample) = sample {
            random.shuffle(&mut faults);
            faults.truncate(sample);
        }
        let mut tried = Tried::default();
        for fault in faults {
            let run = self.run(parent, &dead_lock, Some(&fault));
            let hit = match fault.kind {
                FaultKind::Error(_) => run.calls.iter().any(|call| call.injected),
                FaultKind::Kill => run.signal.is_some(),
            };
            match fault.kind {
                _ if !hit => tried.missed += 1,
                FaultKind::Error(_) => tried.errors += 1,
                FaultKind::Kill => tried.kills += 1,
            }
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
        let inject = fault.map(Fault::option);
        let options = ["-y"].iter().chain(user).copied().chain(inject.as_deref());
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
        Run { folder, file, before, calls, ran: output.into(), signal }
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
        let about = match fault {
            Some(fault) => format!("{}: {fault}: ", self.name),
            None => format!("{}: no fault: ", self.name),
        };
        let told = || {
            let at = run.calls.iter().find(|call| call.injected).or(run.calls.last());
            format!("{:?}\n  {}", run.ran, at.map_or(String::new(), Call::to_string))
        };
        let killed = fault.is_some_and(|fault| fault.kind == FaultKind::Kill);
        let retried = fault.is_none_or(|fault| fault.kind == FaultKind::Error("EINTR"));

        // X1: a crash is never 0 to 4, and an error is what the table says.
        match run.ran.code {
            None => assert!(killed && run.signal == Some(9), "{about}signal {:?} {}", run.signal, told()),
            Some(0) => assert!(!killed, "{about}{}", told()),
            Some(3) => assert!(!killed && !retried, "{about}{}", told()),
            Some(_) => panic!("{about}{}", told()),
        }
        let written = run.ran.code == Some(0);

        // X2: one error, one line; stdout has results only.
        let lines: Vec<&str> = run.ran.stderr.lines().collect();
        let is_warning = |line: &&str| line.starts_with("pipestate: warning: ");
        match run.ran.code {
            Some(0) => assert!(lines.iter().all(is_warning), "{about}{}", told()),
            Some(_) => assert!(lines.len() == 1 && !is_warning(&lines[0]), "{about}{}", told()),
            None => assert!(lines.is_empty(), "{about}{}", told()),
        }
        for line in &lines {
            let named = line.contains(run.folder.path().to_str().unwrap()) || line.contains("stdin");
            assert!(line.starts_with("pipestate: ") && (named || line.contains("stdout")), "{about}{line}");
        }
        self.check_stdout(&about, run);

        // A3, A5: the old document or the new one, whole, and the trace says which.
        let committed = run.calls.iter().any(|call| self.is_commit(call, &run.file));
        let content = fs::read_to_string(&run.file).ok();
        let expected = if committed { Some(self.patched()) } else { self.old() };
        assert_eq!(content.as_deref(), expected, "{about}{}", told());
        if content.is_some() && self.before != Before::Missing {
            let mode = fs::metadata(&run.file).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode, 0o640, "{about}{}", told());
        }
        assert!(!written || content.as_deref() == Some(self.patched()), "{about}{}", told());
        let says_written = run.ran.stderr.contains("written, not known to be durable");
        assert!(says_written == (committed && run.ran.code == Some(3)), "{about}{}", told());

        // A5: no temporary file and no lock, but where it was the removal that failed.
        let may_leave = killed
            || run.ran.stderr.contains("the lock could not be removed")
            || fault.is_some_and(|fault| fault.call == "unlinkat");
        let left: Vec<_> = names_below(run.folder.path())
            .difference(&run.before)
            .filter(|path| path.is_file() && **path != run.file)
            .cloned()
            .collect();
        assert!(may_leave || left.is_empty(), "{about}left {left:?} {}", told());

        // L4: the next writer goes on at once, builds on what is there and leaves nothing.
        let mut next = pipestate();
        next.args(["write", "--json"]).arg(run.folder.path().join(self.file));
        if self.lock == LockBefore::OfAnotherUser {
            next.uid(NOBODY).gid(NOBODY);
        }
        let ran = finish(start(next), NEXT_PATCH);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{about}the next writer; {}", told());
        assert!(waited(&ran) < self.next_within(), "{about}the next writer: {ran:?}");
        let content = fs::read_to_string(&run.file).unwrap();
        assert_eq!(content, self.next(committed), "{about}the next writer; {}", told());
        let files = names_below(run.folder.path()).into_iter().filter(|path| path.is_file());
        let own = |path: &PathBuf| *path == run.file || *path == run.folder.path().join(self.file);
        let left: Vec<_> = files.filter(|path| !own(path)).collect();
        assert!(left.is_empty(), "{about}the next writer left {left:?} {}", told());
    }

    fn check_stdout(&self, about: &str, run: &Run) {
        let stdout = &run.ran.stdout;
        if !self.options.contains(&"--json") || stdout.is_empty() {
            let silenced = run.calls.iter().any(|call| call.injected && call.name == "write");
            let may_be_empty = !self.options.contains(&"--json") || silenced || run.ran.code.is_none();
            return assert!(stdout.is_empty() && may_be_empty, "{about}{:?}", run.ran);
        }
        let object: serde_json::Value = serde_json::from_str(stdout).expect("one object");
        let ok = run.ran.code.is_none_or(|code| code == 0);
        assert!(stdout.lines().count() == 1 && object["ok"] == ok, "{about}{:?}", run.ran);
    }

    /// Whether this call put the new document in place.
    fn is_commit(&self, call: &Call, file: &Path) -> bool {
        let name = file.file_name().and_then(|name| name.to_str());
        call.name.starts_with("rename") && call.succeeded() && call.text(3) == name
    }
}

/// How long a write that was to print an object has waited for the lock.
pub fn waited(ran: &Ran) -> Duration {
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one object");
    Duration::from_millis(object["waitedMs"].as_u64().expect("a number of milliseconds"))
}

/// Every fault that the manual knows of for this call, and a kill.
fn faults_of(call: &Call) -> Vec<Fault> {
    let errors = errors_of(call).iter().map(|error| FaultKind::Error(error));
    let fault = |kind| Fault { call: call.name.clone(), count: call.count, kind };
    errors.chain([FaultKind::Kill]).map(fault).collect()
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
    let mut command = strace::command(trace.path(), [fault.option().as_str()]);
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
