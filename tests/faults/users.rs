//! Files, folders and locks of another user: root's, with nobody writing (contract L12, A4, X2).

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pipestate::lock;
use pipestate::place::{Missing, Place};

use crate::support::{Folder, Ran, assert_written, dead_pid, finish, lock_of, pipestate, start};
use crate::ways::{NOBODY, OLD, PATCH};

/// A state file of root's with `file_mode`, in a folder of `owner`'s with `folder_mode`; `None` without root.
fn scene(owner: u32, folder_mode: u32, file_mode: u32) -> Option<(Folder, PathBuf)> {
    if !crate::is_root() {
        println!("skipped: only root can be two users");
        return None;
    }
    let folder = Folder::new();
    let file = folder.file("state.json", OLD);
    fs::set_permissions(&file, Permissions::from_mode(file_mode)).unwrap();
    chown(folder.path(), Some(owner), Some(owner)).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(folder_mode)).unwrap();
    Some((folder, file))
}

/// A lock of root's, readable by all.
fn leave_lock(file: &Path, content: &str) {
    fs::write(lock_of(file), content).unwrap();
    fs::set_permissions(lock_of(file), Permissions::from_mode(0o644)).unwrap();
}

fn write_as_nobody(file: &Path) -> Ran {
    let mut command = pipestate();
    command.args(["write", "--lock-timeout", "300"]).arg(file).uid(NOBODY).gid(NOBODY);
    finish(start(command), PATCH)
}

#[track_caller]
fn assert_untouched(folder: &Folder, file: &Path, ran: &Ran, code: i32, message: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
    let start = format!("pipestate: {}: ", file.display());
    assert!(ran.stderr.starts_with(&start) && ran.stderr.lines().count() == 1, "{ran:?}");
    assert!(ran.stderr.contains(message), "{ran:?}");
    assert_eq!(fs::read_to_string(file).unwrap(), OLD);
    assert!(!folder.names().iter().any(|name| name.ends_with(".tmp")), "{:?}", folder.names());
}

#[test]
fn a_lock_that_another_user_holds_is_respected() {
    let Some((folder, file)) = scene(0, 0o777, 0o644) else { return };
    let place = Arc::new(Place::find(&file, Missing::Fail).unwrap());
    let held = lock::acquire(&place, "a test", Duration::ZERO, &|| None).unwrap();
    let lines = fs::read(lock_of(&file)).unwrap();
    assert_untouched(&folder, &file, &write_as_nobody(&file), 2, "alive: it has the kernel lock");
    assert_eq!(fs::read(lock_of(&file)).unwrap(), lines);
    held.release().unwrap();

    leave_lock(&file, "1");
    assert_untouched(&folder, &file, &write_as_nobody(&file), 2, "held by process 1");
    assert_eq!(fs::read_to_string(lock_of(&file)).unwrap(), "1");
}

#[test]
fn a_dead_lock_of_another_user_is_removed_where_the_folder_allows_it() {
    let Some((folder, file)) = scene(0, 0o777, 0o644) else { return };
    leave_lock(&file, &dead_pid().to_string());
    assert_written(&write_as_nobody(&file));
    assert_eq!(folder.names(), ["state.json"]);
}

#[test]
fn a_dead_lock_of_another_user_in_a_sticky_folder_is_exit_2_and_its_owner_is_named() {
    let Some((folder, file)) = scene(0, 0o1777, 0o644) else { return };
    let pid = dead_pid().to_string();
    leave_lock(&file, &pid);
    let message = "dead, but its lock belongs to user 0 and we may not remove it";
    assert_untouched(&folder, &file, &write_as_nobody(&file), 2, message);
    assert_eq!(fs::read_to_string(lock_of(&file)).unwrap(), pid);
}

#[test]
fn a_lock_that_may_not_be_read_is_exit_2_and_its_owner_is_named() {
    let Some((folder, file)) = scene(0, 0o777, 0o644) else { return };
    leave_lock(&file, &dead_pid().to_string());
    fs::set_permissions(lock_of(&file), Permissions::from_mode(0o600)).unwrap();
    let message = "as its lock belongs to user 0 and we may not read it";
    assert_untouched(&folder, &file, &write_as_nobody(&file), 2, message);
    assert_eq!(folder.names(), ["state.json", "state.json.lock"]);
}

#[test]
fn a_file_made_under_sudo_is_exit_3_and_its_owner_is_named() {
    // It may not be read; the folder may not be written; what another has made in a sticky folder may not be replaced.
    let cases = [
        (NOBODY, 0o755, 0o600, "read the state file: permission denied"),
        (0, 0o755, 0o644, "prepare the lock: permission denied"),
        (0, 0o1777, 0o644, "put the new content in place: operation not permitted"),
    ];
    for (owner, folder_mode, file_mode, what) in cases {
        let Some((folder, file)) = scene(owner, folder_mode, file_mode) else { return };
        let ran = write_as_nobody(&file);
        let owners = format!("(the file belongs to user 0 and its folder to user {owner})");
        let advice = "run as the owner, or mend the permissions of file and folder";
        assert_untouched(&folder, &file, &ran, 3, &format!("cannot {what}; {advice} {owners}\n"));
        assert_eq!(folder.names(), ["state.json"]);
    }
}

#[test]
fn a_file_made_under_sudo_that_may_be_read_and_replaced_becomes_ours_and_keeps_its_mode() {
    let Some((folder, file)) = scene(NOBODY, 0o755, 0o644) else { return };
    assert_written(&write_as_nobody(&file));
    let facts = fs::metadata(&file).unwrap();
    assert_eq!((facts.uid(), facts.mode() & 0o7777), (NOBODY, 0o644));
    assert_eq!(folder.names(), ["state.json"]);
}
