//! In which order a write asks the disk for what (A2, L10), and what it makes of answers that come from few disks.

use crate::strace::{self, Call, Fault, FaultKind};
use crate::support::{Folder, Ran, finish, start};
use crate::ways::{NOBODY, OLD, PATCH};

/// Runs a write in `folder` with a fault, if one is given.
fn write(folder: &Folder, options: &[&str], file: &str, fault: Option<&Fault>) -> (Ran, Vec<Call>) {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let inject = fault.map(Fault::options).unwrap_or_default();
    let mut command =
        strace::command(trace.path(), ["-y"].into_iter().chain(inject.iter().map(String::as_str)));
    command.arg("write").args(options).arg(folder.join(file));
    let ran = finish(start(command), PATCH);
    (ran, strace::read(trace.path()))
}

/// Everything that changes or syncs something below the folder, a line each, in order: the call, what it is about and
/// what it makes of that. The private files are `T`; the lock, before it has its name, is `nameless`.
fn changes(folder: &Folder, calls: &[Call]) -> Vec<String> {
    let root = folder.path().to_str().unwrap();
    let shown = |path: &str| {
        let name = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
        match name.rsplit('/').next().unwrap() {
            "" => ".".to_owned(),
            name if name.starts_with(".pipestate-") => "T".to_owned(),
            name if name.starts_with('#') => "nameless".to_owned(),
            _ => name.to_owned(),
        }
    };
    let work = &calls[strace::start_of_work(calls)..];
    let below = |call: &Call| call.arguments.iter().any(|argument| argument.contains(root));
    work.iter()
        .filter(|call| call.succeeded() && below(call))
        .filter_map(|call| {
            let descriptor = || shown(call.path(0).unwrap());
            let text = |index| shown(call.text(index).unwrap());
            match call.name.as_str() {
                "openat" if call.arguments[2].contains("O_CREAT") => Some(format!("create {}", text(1))),
                "openat" if call.arguments[2].contains("O_TMPFILE") => Some("create nameless".to_owned()),
                "write" | "writev" | "pwrite64" => Some(format!("write {}", descriptor())),
                "fsync" => Some(format!("sync {}", descriptor())),
                // Whether the lock needs one is for the umask to say.
                "fchmod" => Some(format!("mode {}", descriptor())).filter(|line| line != "mode nameless"),
                "flock" => Some(format!("lock {}", descriptor())),
                "mkdir" => Some(format!("folder {}", text(0))),
                "mkdirat" => Some(format!("folder {}", text(1))),
                "linkat" => Some(format!("link {}", text(3))),
                "renameat" => Some(format!("rename {} to {}", text(1), text(3))),
                "unlinkat" => Some(format!("unlink {}", text(1))),
                "fchown" | "ftruncate" => Some(format!("{} {}", call.name, descriptor())),
                _ => None,
            }
        })
        .collect()
}

const LOCKING: [&str; 4] = ["create nameless", "lock nameless", "write nameless", "link state.json.lock"];

fn lines(parts: &[&[&str]]) -> Vec<String> {
    parts.concat().into_iter().map(str::to_owned).collect()
}

#[test]
fn the_new_content_is_synced_before_the_rename_and_the_folder_before_the_lock_goes() {
    if !strace::available() {
        return;
    }
    let folder = Folder::new();
    folder.file("state.json", OLD);
    let (ran, calls) = write(&folder, &[], "state.json", None);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let writing = ["create T", "lock T", "write T", "mode T", "sync T", "rename T to state.json", "sync ."];
    assert_eq!(changes(&folder, &calls), lines(&[&LOCKING, &writing, &["unlink state.json.lock"]]));
    // Whoever waits for the kernel lock must not get that of a name that is about to go.
    let is_lock = |call: &Call| call.path(0).is_some_and(|path| path.contains("/#"));
    let closed = calls.iter().position(|call| call.name == "close" && is_lock(call)).unwrap();
    let unlinked = calls.iter().position(|call| call.name == "unlinkat").unwrap();
    assert!(unlinked < closed);
}

#[test]
fn without_syncs_a_write_does_the_same_less_its_two_syncs() {
    if !strace::available() {
        return;
    }
    let traced = |options: &[&str]| {
        let folder = Folder::new();
        folder.file("state.json", OLD);
        let (ran, calls) = write(&folder, options, "state.json", None);
        assert_eq!(ran.code, Some(0));
        changes(&folder, &calls)
    };
    let mut durable = traced(&[]);
    durable.retain(|line| !line.starts_with("sync"));
    assert_eq!(traced(&["--no-fsync"]), durable);
}

#[test]
fn new_folders_are_made_durable_before_anything_is_made_in_them() {
    if !strace::available() {
        return;
    }
    let folder = Folder::new();
    let (ran, calls) = write(&folder, &[], "new/run/state.json", None);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let making = ["folder new", "sync .", "folder new/run"];
    // The name of `run` lies in `new`.
    let writing =
        ["sync new", "create T", "lock T", "write T", "sync T", "rename T to state.json", "sync new/run"];
    assert_eq!(changes(&folder, &calls), lines(&[&making, &LOCKING, &writing, &["unlink state.json.lock"]]));
}

#[test]
fn the_folder_that_is_synced_is_the_one_that_the_link_leads_to() {
    if !strace::available() {
        return;
    }
    let folder = Folder::new();
    std::fs::create_dir(folder.join("real")).unwrap();
    folder.file("real/state.json", OLD);
    std::os::unix::fs::symlink("real/state.json", folder.join("link.json")).unwrap();
    let (ran, calls) = write(&folder, &[], "link.json", None);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let writing =
        ["create T", "lock T", "write T", "mode T", "sync T", "rename T to state.json", "sync real"];
    assert_eq!(changes(&folder, &calls), lines(&[&LOCKING, &writing, &["unlink state.json.lock"]]));
}

#[test]
fn owner_and_mode_are_set_before_the_content_is_synced() {
    if !strace::available() || !crate::is_root() {
        return;
    }
    let folder = Folder::new();
    let file = folder.file("state.json", OLD);
    std::os::unix::fs::chown(&file, Some(NOBODY), Some(NOBODY)).unwrap();
    let (ran, calls) = write(&folder, &[], "state.json", None);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let writing =
        ["create T", "lock T", "write T", "fchown T", "mode T", "sync T", "rename T to state.json", "sync ."];
    assert_eq!(changes(&folder, &calls), lines(&[&LOCKING, &writing, &["unlink state.json.lock"]]));
}

#[test]
fn a_write_that_changes_nothing_only_syncs_what_is_there() {
    if !strace::available() {
        return;
    }
    for (options, syncs) in [(&[][..], &["sync state.json", "sync ."][..]), (&["--no-fsync"], &[])] {
        let folder = Folder::new();
        folder.file("state.json", "{\"a\":1,\"b\":2}");
        let (ran, calls) = write(&folder, options, "state.json", None);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert_eq!(changes(&folder, &calls), lines(&[&LOCKING, syncs, &["unlink state.json.lock"]]));
    }
}

/// A write with an error at the `count`th call of this name: its exit code, what it says of the file, what is there.
fn write_with(call: &str, count: usize, error: &'static str) -> (Option<i32>, String, String, Vec<String>) {
    let folder = Folder::new();
    let file = folder.file("state.json", OLD);
    let fault = Fault { call: call.into(), count, kind: FaultKind::Error(error) };
    let (ran, calls) = write(&folder, &[], "state.json", Some(&fault));
    assert!(calls.iter().any(|call| call.injected), "{fault}");
    let said = ran.stderr.replace(file.to_str().unwrap(), "F");
    (ran.code, said, std::fs::read_to_string(file).unwrap(), folder.names())
}

const NEW: &str = "{\"a\":1,\"b\":2}\n";

#[test]
fn a_folder_that_cannot_be_synced_at_all_is_no_failure() {
    if !strace::available() {
        return;
    }
    let expected = (Some(0), String::new(), NEW.to_owned(), vec!["state.json".to_owned()]);
    assert_eq!(write_with("fsync", 2, "EINVAL"), expected);
}

#[test]
fn a_folder_whose_sync_fails_is_exit_3_and_the_write_stands() {
    if !strace::available() {
        return;
    }
    let said = "pipestate: F: written, not known to be durable: cannot sync the folder: input/output error\n"
        .to_owned();
    let expected = (Some(3), said, NEW.to_owned(), vec!["state.json".to_owned()]);
    assert_eq!(write_with("fsync", 2, "EIO"), expected);
}

#[test]
fn a_rename_to_another_file_system_is_exit_3_and_leaves_nothing() {
    if !strace::available() {
        return;
    }
    let said = "pipestate: F: cannot put the new content in place: invalid cross-device link\n".to_owned();
    let expected = (Some(3), said, OLD.to_owned(), vec!["state.json".to_owned()]);
    assert_eq!(write_with("renameat", 1, "EXDEV"), expected);
}

#[test]
fn a_temporary_file_that_somebody_removes_is_made_again() {
    if !strace::available() {
        return;
    }
    let expected = (Some(0), String::new(), NEW.to_owned(), vec!["state.json".to_owned()]);
    assert_eq!(write_with("renameat", 1, "ENOENT"), expected);
}
