//! Power loss: runs are recorded, and the power is cut after every step of theirs, with whatever was not synced kept,
//! dropped or torn (contract A2, A3, M5, L4). `docs/design.md` says what this assumes of a disk.

mod disk;
mod recording;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::strace::{self, Fault, FaultKind};
use crate::support::{dead_pid, finish, pipestate, start};
use crate::ways::{NEXT_PATCH, OLD, System};
use disk::{Disk, Order, Remains, Step};

/// What was tried.
#[derive(Default)]
struct Cuts {
    /// Moments at which the power was cut.
    moments: usize,
    /// What it left, of all moments together.
    remains: usize,
    /// Writers that were run on what was left, where that was not the same before but for names and numbers.
    recoveries: usize,
}

/// Runs in one folder, one after the other, and the disk below them.
struct Story {
    folder: tempfile::TempDir,
    /// The state file, below the folder.
    file: &'static str,
    /// Its mode, at any time.
    mode: u32,
    /// What the system cannot do.
    system: System,
    /// The disk as it was before all runs, all of it synced.
    before: Disk,
    disk: Disk,
    steps: Vec<Step>,
    /// What the state file may hold, whole: what it was before, and what every run wrote.
    documents: Vec<Option<String>>,
}

impl Story {
    /// Begins without a state file.
    fn without(file: &'static str) -> Story {
        let folder = tempfile::tempdir_in(crate::scratch_root()).unwrap();
        let (before, disk) = (Disk::new(), Disk::new());
        let (steps, documents) = (Vec::new(), vec![None]);
        Story { folder, file, mode: 0o666 & !UMASK, system: System::Whole, before, disk, steps, documents }
    }

    /// Begins with a state file that was synced.
    fn with(file: &'static str, content: &str) -> Story {
        let mut story = Story { mode: MODE, ..Story::without(file) };
        fs::write(story.path(), content).unwrap();
        fs::set_permissions(story.path(), Permissions::from_mode(MODE)).unwrap();
        let node = story.disk.next();
        for step in [
            Step::Create { node, mode: MODE },
            Step::Write { node, offset: None, bytes: content.into() },
            Step::Link { node, folder: story.disk.root(), name: file.into() },
            Step::Sync { node },
            Step::Sync { node: story.disk.root() },
        ] {
            story.disk.make(&step);
        }
        story.before = story.disk.clone();
        story.documents = vec![Some(content.to_owned())];
        story
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.file)
    }

    /// Runs the program to its end, or to a fault's. Returns its exit code.
    fn run(&mut self, options: &[&str], patch: &str, fault: Option<&Fault>) -> Option<i32> {
        let trace = tempfile::NamedTempFile::new().unwrap();
        let inject = fault.map(Fault::options).unwrap_or_default();
        let strace = recording::STRACE_OPTIONS.into_iter().chain(inject.iter().map(String::as_str));
        let mut command = strace::command(trace.path(), strace);
        command.current_dir(self.folder.path()).arg("write").args(options).arg(self.file);
        self.system.confine(&mut command);
        set_umask(&mut command);
        let ran = finish(start(command), patch);
        recording::record(&strace::read(trace.path()), &mut self.disk, &mut self.steps);
        let document = fs::read_to_string(self.path()).ok();
        if ran.code == Some(0) && !options.contains(&"--no-fsync") {
            self.steps.push(Step::Acknowledge { document: self.documents.len() });
        }
        self.documents.push(document);
        self.compare();
        ran.code
    }

    /// A foreign tool makes a lock and dies, and syncs nothing.
    fn leave_foreign_lock(&mut self) {
        let lock = format!("{}.lock", self.file);
        let bytes = dead_pid().to_string();
        fs::write(self.folder.path().join(&lock), &bytes).unwrap();
        let node = self.disk.next();
        for step in [
            Step::Create { node, mode: 0o644 },
            Step::Link { node, folder: self.disk.root(), name: lock.into() },
            Step::Write { node, offset: None, bytes: bytes.into() },
        ] {
            self.disk.make(&step);
            self.steps.push(step);
        }
    }

    /// The model must have become what the real folder has become: else the recording lacks something.
    fn compare(&self) {
        let content = |path: PathBuf| {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
            path.is_file().then(|| (fs::read(&path).unwrap(), mode))
        };
        let real: BTreeMap<PathBuf, _> = crate::sweep::names_below(self.folder.path())
            .into_iter()
            .map(|path| (path.strip_prefix(self.folder.path()).unwrap().to_owned(), content(path)))
            .collect();
        let now = self.disk.now();
        let modelled = |(path, node): (&PathBuf, &usize)| {
            (path.clone(), now.files.get(node).map(|content| (content.bytes.clone(), content.mode)))
        };
        assert_eq!(now.names.iter().map(modelled).collect::<BTreeMap<_, _>>(), real);
    }

    /// Cuts the power before the first step and after every one.
    ///
    /// # Errors
    /// What was left that must not be left, and when.
    fn cut_everywhere(&self, order: Order, recoveries: &mut Recoveries) -> Result<Cuts, String> {
        let mut disk = self.before.clone();
        let mut cuts = Cuts::default();
        // What was acknowledged last, or what a run after it was about to write.
        let mut allowed = &self.documents[..];
        for index in 0..=self.steps.len() {
            if let Some(step) = index.checked_sub(1).map(|index| &self.steps[index]) {
                disk.make(step);
                if let Step::Acknowledge { document } = step {
                    allowed = &self.documents[*document..];
                }
            }
            cuts.moments += 1;
            for remains in disk.remains(order) {
                cuts.remains += 1;
                let target = remains.at(Path::new(self.file));
                let document = target.map(|content| String::from_utf8_lossy(&content.bytes).into_owned());
                let mode = target.map_or(self.mode, |content| content.mode);
                if !allowed.contains(&document) || mode != self.mode {
                    let at = index.checked_sub(1).map(|index| &self.steps[index]);
                    return Err(format!("after {at:?}: {document:?} with mode {mode:o}, not {allowed:?}"));
                }
                cuts.recoveries += usize::from(recoveries.recover(&remains, self.file));
            }
        }
        Ok(cuts)
    }
}

/// Of a state file that was there before; not what a new one gets.
const MODE: u32 = 0o640;

const UMASK: u32 = 0o022;

/// Has the run of `command` make files as the recording expects.
fn set_umask(command: &mut Command) {
    // SAFETY: a system call that cannot fail, between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::umask(UMASK);
            Ok(())
        })
    };
}

/// The next writers, after the power has come back.
#[derive(Default)]
struct Recoveries {
    seen: BTreeSet<String>,
}

impl Recoveries {
    /// Has the real program write where this was left, and checks that it goes on at once and leaves nothing (L4, A5).
    /// Returns whether it was run: what differs in nothing but numbers is tried once.
    fn recover(&mut self, remains: &Remains, file: &str) -> bool {
        let names = remains.names.iter().map(|(path, node)| (path, remains.files.get(node)));
        let seen = names.map(|(path, content)| {
            let text = content.map(|content| String::from_utf8_lossy(&content.bytes).replace(is_number, "#"));
            format!("{}: {text:?}", path.to_string_lossy().replace(is_number, "#"))
        });
        if !self.seen.insert(seen.collect::<Vec<_>>().join("\n")) {
            return false;
        }
        let folder = tempfile::tempdir_in(crate::scratch_root()).unwrap();
        lay_out(remains, folder.path());
        let path = folder.path().join(file);
        let before = fs::read_to_string(&path).ok();
        let mut command = pipestate();
        command.args(["write", "--no-fsync", "--json"]).arg(&path);
        let ran = finish(start(command), NEXT_PATCH);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{remains:?}");
        assert!(crate::sweep::waited(&ran) < Duration::from_secs(1), "{ran:?}: {remains:?}");
        let mut expected: serde_json::Value =
            serde_json::from_str(before.as_deref().unwrap_or("{}")).unwrap();
        expected["c"] = 3.into();
        let written: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(written, expected);
        let left = crate::sweep::names_below(folder.path()).into_iter().filter(|path| path.is_file());
        assert_eq!(left.collect::<Vec<_>>(), [path], "{remains:?}");
        true
    }
}

fn is_number(character: char) -> bool {
    character.is_ascii_hexdigit()
}

/// Puts what was left into a real folder, as the next boot finds it.
fn lay_out(remains: &Remains, folder: &Path) {
    // Before this boot, as what the last one left is.
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let uptime = Duration::from_secs_f64(uptime.split(' ').next().unwrap().parse().unwrap());
    let then = FileTimes::new().set_modified(SystemTime::now() - uptime - Duration::from_secs(60));
    let this_boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let mut made: BTreeMap<usize, PathBuf> = BTreeMap::new();
    for (path, node) in &remains.names {
        let path = folder.join(path);
        match (remains.files.get(node), made.get(node)) {
            (None, _) => fs::create_dir_all(&path).unwrap(),
            (Some(_), Some(first)) => fs::hard_link(first, &path).unwrap(),
            (Some(content), None) => {
                let text = String::from_utf8_lossy(&content.bytes);
                let text = text.replace(this_boot.trim(), "0b5e55ed-0000-4000-8000-000000000000");
                fs::write(&path, &*text).unwrap();
                File::options().write(true).open(&path).unwrap().set_times(then).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(content.mode)).unwrap();
                made.insert(*node, path);
            }
        }
    }
}

/// Asserts that the power may be cut anywhere, and prints how much was tried.
#[track_caller]
fn assert_survives(what: &str, stories: &[Story], order: Order) {
    let mut total = Cuts::default();
    let mut recoveries = Recoveries::default();
    for story in stories {
        let cuts =
            story.cut_everywhere(order, &mut recoveries).unwrap_or_else(|found| panic!("{what}: {found}"));
        total.moments += cuts.moments;
        total.remains += cuts.remains;
        total.recoveries += cuts.recoveries;
    }
    let Cuts { moments, remains, recoveries } = total;
    println!(
        "power: {what}: {} recordings, {moments} cuts, {remains} remains, {recoveries} next writers",
        stories.len()
    );
}

fn with_old() -> Story {
    Story::with("state.json", OLD)
}

fn kill(call: &str, count: usize) -> Fault {
    Fault { call: call.into(), count, kind: FaultKind::Kill }
}

/// One story for each call at which `before` can be killed: `before` comes to its end there, and `after` goes on.
fn killed_everywhere(
    begin: impl Fn() -> Story,
    (options, patch): (&[&str], &str),
    after: impl Fn(&mut Story),
) -> Vec<Story> {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let mut command = strace::command(trace.path(), []);
    let whole = begin();
    command.current_dir(whole.folder.path()).arg("write").args(options).arg(whole.file);
    assert_eq!(finish(start(command), patch).code, Some(0));
    let calls = strace::read(trace.path());
    let work = &calls[strace::start_of_work(&calls)..];
    // Between two calls that change something, a kill is a kill.
    let changing = ["mkdir", "fsync", "linkat", "rename", "unlink", "write", "fchmod", "ftruncate"];
    let points = work.iter().filter(|call| changing.iter().any(|word| call.name.contains(word)));
    points
        .map(|call| {
            let mut story = begin();
            assert_eq!(story.run(options, patch, Some(&kill(&call.name, call.count))), None);
            after(&mut story);
            story
        })
        .collect()
}

#[test]
fn a_durable_write_outlives_a_power_cut_at_any_step() {
    if !strace::available() {
        return;
    }
    let mut new = Story::without("new/run/state.json");
    assert_eq!(new.run(&[], "{\"a\":1}", None), Some(0));
    assert_eq!(new.run(&[], "{\"b\":[1,2,3]}", None), Some(0));
    assert_eq!(new.run(&["--replace"], "{}", None), Some(0));
    let mut old = Story::with("state.json", OLD);
    assert_eq!(old.run(&[], "{\"b\":2}", None), Some(0));
    assert_eq!(old.run(&[], "{\"b\":2}", None), Some(0));
    assert_eq!(old.run(&[], "{\"a\":null}", None), Some(0));
    let mut foreign = Story::with("state.json", OLD);
    foreign.leave_foreign_lock();
    assert_eq!(foreign.run(&[], "{\"b\":2}", None), Some(0));
    let mut named = Story { system: System::NoUnnamedFiles, ..Story::with("state.json", OLD) };
    assert_eq!(named.run(&[], "{\"b\":2}", None), Some(0));
    let mut exclusive = Story { system: System::NoLinks, ..Story::with("state.json", OLD) };
    assert_eq!(exclusive.run(&[], "{\"b\":2}", None), Some(0));
    assert_survives("durable writes", &[new, old, foreign, named, exclusive], Order::None);
}

#[test]
fn a_durable_write_after_a_killed_one_outlives_a_power_cut_at_any_step() {
    if !strace::available() {
        return;
    }
    let create = || Story::without("new/run/state.json");
    let creating = killed_everywhere(create, (&[], "{\"a\":1}"), |story| {
        assert_eq!(story.run(&[], "{\"b\":2}", None), Some(0));
    });
    assert_survives("a durable write after a killed creation", &creating, Order::None);
    let merging = killed_everywhere(with_old, (&[], "{\"b\":2}"), |story| {
        assert_eq!(story.run(&[], "{\"d\":4}", None), Some(0));
    });
    assert_survives("a durable write after a killed one", &merging, Order::None);
    if crate::sample().is_none() {
        let twice: Vec<Story> = (0..creating.len())
            .flat_map(|first| {
                let killed = || killed_everywhere(create, (&[], "{\"a\":1}"), |_| ()).swap_remove(first);
                killed_everywhere(killed, (&[], "{\"b\":2}"), |story| {
                    assert_eq!(story.run(&[], "{\"d\":4}", None), Some(0));
                })
            })
            .collect();
        assert_survives("a durable write after two killed creations", &twice, Order::None);
    }
}

/// A write that is done again after it was killed, or after it said "not known to be durable", often finds that nothing
/// is left to change. It said 0 for what the first one had renamed and nobody had synced.
#[test]
fn a_durable_write_that_changes_nothing_makes_durable_what_is_there() {
    if !strace::available() {
        return;
    }
    let again = killed_everywhere(with_old, (&[], "{\"b\":2}"), |story| {
        assert_eq!(story.run(&[], "{\"b\":2}", None), Some(0))
    });
    assert_survives("a killed write done again", &again, Order::None);
    let fast = killed_everywhere(with_old, (&["--no-fsync"], "{\"b\":2}"), |story| {
        assert_eq!(story.run(&[], "{\"b\":2}", None), Some(0))
    });
    assert_survives("a killed write without syncs done again with them", &fast, Order::Journal);
    let mut refused = Story::with("state.json", OLD);
    let eio = Fault { call: "fsync".into(), count: 2, kind: FaultKind::Error("EIO") };
    assert_eq!(refused.run(&[], "{\"b\":2}", Some(&eio)), Some(3));
    assert_eq!(refused.run(&[], "{\"b\":2}", None), Some(0));
    assert_survives("a write whose folder could not be synced, done again", &[refused], Order::None);
}

#[test]
fn a_write_without_syncs_keeps_the_state_whole_on_a_journal_that_writes_data_before_renames() {
    if !strace::available() {
        return;
    }
    let mut story = Story::with("state.json", OLD);
    assert_eq!(story.run(&["--no-fsync"], "{\"b\":2}", None), Some(0));
    assert_eq!(story.run(&["--no-fsync"], "{\"d\":4}", None), Some(0));
    assert_survives("writes without syncs", &[story], Order::Journal);

    // What was created without syncs may be empty after a cut: there was nothing that the rename replaced. A durable
    // write mends that, with the folders too, since any sync brings all names up to date there.
    let mut mended = Story::without("new/run/state.json");
    assert_eq!(mended.run(&["--no-fsync"], "{\"b\":2}", None), Some(0));
    assert_eq!(mended.run(&[], "{\"d\":4}", None), Some(0));
    mended.before = mended.disk.clone();
    mended.steps.clear();
    mended.documents.drain(..2);
    assert_survives("a creation without syncs and then a durable write", &[mended], Order::Journal);
}

#[test]
fn the_check_notices_every_sync_that_is_left_out() {
    if !strace::available() {
        return;
    }
    let mut recoveries = Recoveries::default();
    let mut without_syncs = Story::with("state.json", OLD);
    assert_eq!(without_syncs.run(&["--no-fsync"], "{\"b\":2}", None), Some(0));
    let found = without_syncs.cut_everywhere(Order::None, &mut recoveries).map(|cuts| cuts.remains);
    assert!(found.is_err(), "{found:?}");

    let mut merging = Story::with("state.json", OLD);
    assert_eq!(merging.run(&[], "{\"b\":2}", None), Some(0));
    let mut creating = Story::without("new/state.json");
    assert_eq!(creating.run(&[], "{\"a\":1}", None), Some(0));
    for story in [merging, creating] {
        let syncs = |(index, step): (usize, &Step)| matches!(step, Step::Sync { .. }).then_some(index);
        let syncs: Vec<usize> = story.steps.iter().enumerate().filter_map(syncs).collect();
        println!("power: {} syncs in {}", syncs.len(), story.file);
        for index in syncs {
            let mut steps = story.steps.clone();
            let left_out = steps.remove(index);
            let folder = tempfile::tempdir().unwrap();
            let (before, disk) = (story.before.clone(), story.disk.clone());
            let (file, mode, system) = (story.file, story.mode, story.system);
            let documents = story.documents.clone();
            let story = Story { folder, file, mode, system, before, disk, steps, documents };
            let found = story.cut_everywhere(Order::None, &mut recoveries).map(|cuts| cuts.remains);
            assert!(found.is_err(), "{left_out:?} left out: {found:?}");
        }
    }
}
