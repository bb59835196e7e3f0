//! Disks that are full, that may not be written, and of every kind (contract A2, A5, L12). Each test has a mount
//! namespace of its own: whatever becomes of it, its mounts go with it.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::strace;
use crate::support::{Folder, Ran, assert_written, dead_pid, eventually, finish, pipestate, start};
use crate::ways::{OLD, PATCH};

/// A mounted file system, below a folder that goes with it.
struct Mounted {
    folder: Folder,
}

impl Mounted {
    /// `None`, and says why, where nothing can be mounted.
    fn new(arguments: &[&str]) -> Option<Mounted> {
        if !crate::is_root() {
            println!("skipped: only root can mount");
            return None;
        }
        // SAFETY: no pointers but constant strings.
        let entered = unsafe {
            let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(none, c"/".as_ptr(), none, private, std::ptr::null()) == 0
        };
        assert!(entered, "a mount namespace: {}", io::Error::last_os_error());
        let mounted = Mounted { folder: Folder::new() };
        fs::create_dir(mounted.root()).unwrap();
        fs::set_permissions(mounted.folder.path(), Permissions::from_mode(0o755)).unwrap();
        mounted.mount(arguments).then_some(mounted)
    }

    fn tmpfs(options: &str) -> Option<Mounted> {
        Mounted::new(&["-t", "tmpfs", "-o", options, "none"])
    }

    /// A file system of this kind and size in a file; `None`, and says why, where its tools or the kernel's part are missing.
    fn image(kind: &str, megabytes: u64) -> Option<Mounted> {
        let folder = Folder::new();
        let image = folder.file("image", "");
        fs::File::options().write(true).open(&image).unwrap().set_len(megabytes << 20).unwrap();
        let quiet = if kind == "ext4" { "-Fq" } else { "-q" };
        let made = Command::new(format!("mkfs.{kind}")).arg(quiet).arg(&image).output();
        if !made.is_ok_and(|output| output.status.success()) {
            println!("skipped: there is no mkfs.{kind}");
            return None;
        }
        // The loop device keeps the image, which has no name any more.
        Mounted::new(&["-t", kind, "-o", "loop", image.to_str().unwrap()])
    }

    /// An overlay whose lower layer, on another file system than the upper one, has these files.
    fn overlay(lower: &[(&str, &str)]) -> Option<Mounted> {
        let disk = Mounted::tmpfs("mode=755")?;
        for name in ["upper", "work"] {
            fs::create_dir(disk.root().join(name)).unwrap();
        }
        let below = disk.folder.join("lower");
        fs::create_dir(&below).unwrap();
        for (name, content) in lower {
            fs::write(below.join(name), content).unwrap();
        }
        let (below, above) = (below.display(), disk.root());
        let above = above.display();
        // Without xino the two file systems may use the same inode number.
        let options = format!("lowerdir={below},upperdir={above}/upper,workdir={above}/work,xino=off");
        disk.mount(&["-t", "overlay", "-o", &options, "none"]).then_some(disk)
    }

    fn root(&self) -> PathBuf {
        self.folder.join("mounted")
    }

    fn mount(&self, arguments: &[&str]) -> bool {
        let output = Command::new("mount").args(arguments).arg(self.root()).output().unwrap();
        if !output.status.success() {
            println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        output.status.success()
    }

    fn state(&self) -> PathBuf {
        let file = self.root().join("state.json");
        fs::write(&file, OLD).unwrap();
        file
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        while Command::new("umount")
            .arg("-l")
            .arg(self.root())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
        {}
    }
}

fn write(file: &Path, patch: &str) -> Ran {
    let mut command = pipestate();
    command.arg("write").arg(file);
    finish(start(command), patch)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Asserts that a write fails with exit 3 and this message, and leaves the file and the folder as they were.
#[track_caller]
fn assert_refused(file: &Path, patch: &str, message: &str) {
    let before = names(file.parent().unwrap());
    let ran = write(file, patch);
    let stderr = format!("pipestate: {}: {message}\n", file.display());
    assert_eq!(ran, Ran { code: Some(3), stdout: String::new(), stderr });
    assert_eq!(fs::read_to_string(file).unwrap(), OLD);
    assert_eq!(names(file.parent().unwrap()), before);
}

fn sixty_kilobytes() -> String {
    format!("{{\"b\":\"{}\"}}", "x".repeat(60_000))
}

const NO_SPACE: &str = "no space left on device; free some space and run it again";

#[test]
fn a_disk_without_room_for_the_document_is_exit_3_and_leaves_nothing() {
    let Some(disk) = Mounted::tmpfs("size=64k") else { return };
    let file = disk.state();
    assert_refused(&file, &sixty_kilobytes(), &format!("cannot write the new content: {NO_SPACE}"));
    assert_written(&write(&file, PATCH));
}

#[test]
fn a_disk_without_room_for_the_lock_is_exit_3_and_leaves_nothing() {
    let Some(disk) = Mounted::tmpfs("size=64k") else { return };
    let file = disk.state();
    fill(&disk.root());
    assert_refused(&file, PATCH, &format!("cannot prepare the lock: {NO_SPACE}"));
}

#[test]
fn a_full_ext4_is_exit_3_and_leaves_nothing() {
    let Some(disk) = Mounted::image("ext4", 4) else { return };
    let file = disk.state();
    fill(&disk.root());
    assert_refused(&file, PATCH, &format!("cannot prepare the lock: {NO_SPACE}"));
}

/// Writes until nothing more goes in.
fn fill(folder: &Path) {
    let mut filler = fs::File::create(folder.join("filler")).unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        while filler.write(&vec![0; size]).is_ok_and(|written| written > 0) {}
    }
}

#[test]
fn a_disk_without_inodes_is_exit_3_and_leaves_nothing() {
    // The folder and the state take one each.
    for (inodes, action) in [(2, "prepare the lock"), (3, "create a temporary file beside it")] {
        let Some(disk) = Mounted::tmpfs(&format!("nr_inodes={inodes}")) else { return };
        let file = disk.state();
        assert_refused(&file, PATCH, &format!("cannot {action}: {NO_SPACE}"));
    }
}

#[test]
fn a_short_write_is_completed() {
    let Some(disk) = Mounted::tmpfs("size=64k") else { return };
    if !strace::available() {
        return;
    }
    let file = disk.state();
    let trace = tempfile::NamedTempFile::new().unwrap();
    // The disk is full in the middle of the write and larger before the writer hears of it.
    let mut command = strace::command(trace.path(), ["--inject=writev:delay_exit=1000000:when=1"]);
    command.arg("write").arg(&file);
    let mut child = start(command);
    child.stdin.take().unwrap().write_all(sixty_kilobytes().as_bytes()).unwrap();
    let written = |name: &String| {
        name.ends_with(".tmp") && fs::metadata(disk.root().join(name)).is_ok_and(|facts| facts.len() > 0)
    };
    eventually("the first part is written", || names(&disk.root()).iter().any(written));
    assert!(disk.mount(&["-o", "remount,size=1m"]));
    assert_written(&child.wait_with_output().unwrap().into());
    let calls = strace::read(trace.path());
    let parts: Vec<i64> =
        calls.iter().filter(|call| call.name == "writev").filter_map(|call| call.value()).collect();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, format!("{{\"a\":1,{}\n", &sixty_kilobytes()[1..]));
    assert!(parts.len() == 2 && parts.iter().sum::<i64>() == text.len() as i64, "{parts:?}");
    assert_eq!(names(&disk.root()), ["state.json"]);
}

#[test]
fn a_read_only_mount_is_exit_3() {
    let Some(disk) = Mounted::tmpfs("mode=755") else { return };
    let file = disk.state();
    assert!(disk.mount(&["-o", "remount,ro"]));
    assert_refused(
        &file,
        PATCH,
        "cannot prepare the lock: read-only file system; the folder is mounted read-only",
    );
    let missing = disk.root().join("new/state.json");
    let ran = write(&missing, PATCH);
    let message =
        "cannot open the folder of the state file: read-only file system; the folder is mounted read-only";
    assert_eq!(ran.code, Some(3));
    assert_eq!(ran.stderr, format!("pipestate: {}: {message}\n", missing.display()));
}

#[test]
fn an_immutable_file_or_folder_is_exit_3_and_leaves_nothing() {
    let Some(disk) = Mounted::image("ext4", 16) else { return };
    let file = disk.state();
    let set = |attribute: &str, path: &Path| {
        let status = Command::new("chattr").arg(attribute).arg(path).status().unwrap();
        assert!(status.success());
    };
    let denied = "operation not permitted; run as the owner, or mend the permissions of file and folder (the file \
                  belongs to user 0 and its folder to user 0)";
    set("+i", &file);
    assert_refused(&file, PATCH, &format!("cannot put the new content in place: {denied}"));
    set("-i", &file);
    set("+i", &disk.root());
    let ran = write(&file, PATCH);
    set("-i", &disk.root());
    assert_eq!(ran.stderr, format!("pipestate: {}: cannot prepare the lock: {denied}\n", file.display()));
    assert_eq!(ran.code, Some(3));
    assert_written(&write(&file, PATCH));
}

#[test]
fn a_single_file_that_is_mounted_is_exit_3_and_leaves_nothing() {
    let Some(disk) = Mounted::tmpfs("mode=755") else { return };
    let file = disk.state();
    let other = disk.folder.file("other.json", OLD);
    let status = Command::new("mount").arg("--bind").args([&other, &file]).status().unwrap();
    assert!(status.success());
    let busy = "cannot put the new content in place: device or resource busy";
    assert_refused(
        &file,
        PATCH,
        &format!("{busy}; if the file is a mount point of its own, mount its folder instead"),
    );
    assert!(Command::new("umount").arg(&file).status().unwrap().success());
}

#[test]
fn few_descriptors_are_exit_3_or_enough() {
    let folder = Folder::new();
    let file = folder.file("state.json", OLD);
    let mut codes = Vec::new();
    // With three the loader cannot open its libraries.
    for descriptors in 4..=9 {
        let mut command = Command::new("bash");
        command.args(["-c", "ulimit -n $1; exec \"$2\" write \"$3\"", "bash", &descriptors.to_string()]);
        let number = format!("{{\"b\":{descriptors}}}");
        command.arg(env!("CARGO_BIN_EXE_pipestate")).arg(&file);
        let ran = finish(start(command), &number);
        let lines = ran.stderr.lines().count();
        assert!(matches!((ran.code, lines), (Some(0), 0) | (Some(3), 1)), "{descriptors}: {ran:?}");
        assert!(lines == 0 || ran.stderr.ends_with(": too many open files\n"), "{ran:?}");
        assert_eq!(folder.names(), ["state.json"], "{descriptors}: {ran:?}");
        let written = fs::read_to_string(&file).unwrap().contains(&number[1..number.len() - 1]);
        assert_eq!(written, ran.code == Some(0), "{descriptors}: {ran:?}");
        codes.push(ran.code.unwrap());
    }
    assert!(codes.is_sorted_by(|a, b| a >= b) && codes[0] == 3 && codes[5] == 0, "{codes:?}");
}

/// What a write does on each kind of disk: everything that it does on any, and a sample of the faults.
fn try_disk(kind: &str, disk: &Mounted) {
    let file = disk.root().join("new/run/state.json");
    assert_written(&write(&file, "{\"a\":1}"));
    assert_written(&write(&file, PATCH));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"a\": 1,\n  \"b\": 2\n}\n");

    let children: Vec<_> = (0..16)
        .map(|number| {
            let mut command = pipestate();
            command.arg("write").arg(&file);
            let mut child = start(command);
            child.stdin.take().unwrap().write_all(format!("{{\"k{number}\":{number}}}").as_bytes()).unwrap();
            child
        })
        .collect();
    for child in children {
        assert_written(&child.wait_with_output().unwrap().into());
    }
    let state: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(state.as_object().unwrap().len(), 18);
    assert_eq!(names(file.parent().unwrap()), ["state.json"]);

    if strace::available() {
        let sample = if crate::sample().is_some() { 1 } else { 20 };
        let total = crate::try_ways(&disk.root(), Some(sample), &mut crate::seeded(kind));
        println!("faults: on {kind} {} runs: {total}", total.runs());
    }
}

#[test]
fn tmpfs_keeps_every_rule() {
    let Some(disk) = Mounted::tmpfs("mode=755") else { return };
    try_disk("tmpfs", &disk);
}

#[test]
fn ext4_keeps_every_rule() {
    let Some(disk) = Mounted::image("ext4", 64) else { return };
    try_disk("ext4", &disk);
}

#[test]
fn xfs_keeps_every_rule() {
    let Some(disk) = Mounted::image("xfs", 320) else { return };
    try_disk("xfs", &disk);
}

#[test]
fn btrfs_keeps_every_rule() {
    let Some(disk) = Mounted::image("btrfs", 160) else { return };
    try_disk("btrfs", &disk);
}

#[test]
fn overlayfs_keeps_every_rule() {
    let Some(disk) = Mounted::overlay(&[]) else { return };
    try_disk("overlayfs", &disk);
}

/// The image of a container may hold a state file, and even the lock of a writer that died while it was built. Both lie in
/// the lower layer, and writing to the lock makes another file of it.
#[test]
fn a_state_and_a_dead_lock_in_the_lower_layer_of_an_overlay_are_taken_over() {
    let pid = dead_pid().to_string();
    let Some(disk) = Mounted::overlay(&[("state.json", OLD), ("state.json.lock", &pid)]) else { return };
    let file = disk.root().join("state.json");
    let started = Instant::now();
    assert_written(&write(&file, PATCH));
    assert!(started.elapsed() < Duration::from_secs(1), "took {:?}", started.elapsed());
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\":1,\"b\":2}\n");
    assert_eq!(names(&disk.root()), ["state.json"]);
}
