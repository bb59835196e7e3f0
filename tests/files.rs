//! What a write leaves in the file system: modes, links, names, folders, and nothing beside it (contract A).

#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use support::*;

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o7777
}

/// A write by a shell that has set the umask.
fn write_under_umask(umask: &str, file: &Path) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", "umask $1; exec \"$2\" write --no-fsync \"$3\"", "sh", umask]);
    command.arg(env!("CARGO_BIN_EXE_pipestate")).arg(file);
    finish(start(command), "{\"b\":2}")
}

#[test]
fn mode_of_an_existing_file_survives_any_umask() {
    let folder = Folder::new();
    for (name, before, umask) in
        [("a", 0o664, "077"), ("b", 0o600, "000"), ("c", 0o444, "022"), ("d", 0o2664, "077")]
    {
        let file = folder.file(name, "{\"a\":1}\n");
        fs::set_permissions(&file, Permissions::from_mode(before)).unwrap();
        assert_written(&write_under_umask(umask, &file));
        assert_eq!(mode(&file), before, "{name}");
    }
}

#[test]
fn a_new_file_has_0666_less_the_umask() {
    let folder = Folder::new();
    for (umask, expected) in [("002", 0o664), ("077", 0o600), ("000", 0o666)] {
        let file = folder.join(umask);
        assert_written(&write_under_umask(umask, &file));
        assert_eq!(mode(&file), expected, "umask {umask}");
    }
}

#[test]
fn owner_and_group_of_an_existing_file_are_kept() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    if std::os::unix::fs::chown(&file, Some(65534), Some(65534)).is_err() {
        return println!("only root can give files away");
    }
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    assert_written(&write(&file, "{\"b\":2}"));
    let after = fs::metadata(&file).unwrap();
    assert_eq!((after.uid(), after.gid(), after.mode() & 0o7777), (65534, 65534, 0o640));
}

#[test]
fn a_symbolic_link_stays_one_and_its_target_changes() {
    let folder = Folder::new();
    fs::create_dir(folder.join("real")).unwrap();
    let target = folder.file("real/target.json", "{\"a\":1}\n");
    let link = folder.join("link.json");
    symlink("real/target.json", &link).unwrap();
    let chain = folder.join("chain.json");
    symlink(&link, &chain).unwrap();
    assert_written(&write(&chain, "{\"b\":2}"));
    assert_eq!(fs::read_to_string(&target).unwrap(), "{\"a\":1,\"b\":2}\n");
    assert!(
        fs::symlink_metadata(&link).unwrap().is_symlink()
            && fs::symlink_metadata(&chain).unwrap().is_symlink()
    );
    assert_eq!(folder.names(), ["chain.json", "link.json", "real"]);
    assert_eq!(fs::read_dir(folder.join("real")).unwrap().count(), 1);
}

#[test]
fn a_dangling_link_is_written_through_and_a_loop_is_exit_3() {
    let folder = Folder::new();
    let dangling = folder.join("dangling.json");
    symlink("later/state.json", &dangling).unwrap();
    assert_written(&write(&dangling, "{\"a\":1}"));
    assert_eq!(fs::read_to_string(folder.join("later/state.json")).unwrap(), "{\n  \"a\": 1\n}\n");

    let one = folder.join("one");
    symlink("two", &one).unwrap();
    symlink("one", folder.join("two")).unwrap();
    let ran = write(&one, "{\"a\":1}");
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(3), 1), "{ran:?}");
}

#[test]
fn all_spellings_of_a_file_share_one_lock() {
    let folder = Folder::new();
    fs::create_dir_all(folder.join("a/b")).unwrap();
    symlink("a", folder.join("linked")).unwrap();
    let file = folder.file("a/state.json", "{}\n");
    symlink("a/state.json", folder.join("link.json")).unwrap();
    let spellings = ["a/state.json", "a/b/../state.json", "./linked/state.json", "link.json"];
    let children: Vec<_> = (0..100)
        .map(|number| {
            let mut command = pipestate();
            command.args(["write", "--no-fsync", spellings[number % 4]]).current_dir(folder.path());
            let mut child = start(command);
            use std::io::Write;
            child.stdin.take().unwrap().write_all(format!("{{\"k{number}\":{number}}}").as_bytes()).unwrap();
            child
        })
        .collect();
    for child in children {
        assert_written(&child.wait_with_output().unwrap().into());
    }
    let state: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(state.as_object().unwrap().len(), 100);
}

#[test]
fn difficult_names_work_and_leave_nothing_behind() {
    let long = "ä".repeat(122) + "x.json"; // 250 bytes
    let names: [OsString; 8] = [
        "状態 émoji😀 .json".into(),
        "-leading-dash".into(),
        "with\nnewline".into(),
        "state.json.tmp".into(),
        "state.json.bak".into(),
        ".lock".into(),
        OsString::from_vec(b"byte-\xff.json".to_vec()),
        long.into(),
    ];
    for name in &names {
        let folder = Folder::new();
        let ran = run([OsStr::new("write"), OsStr::new("--"), folder.join(name).as_os_str()], "{\"a\":1}");
        assert_written(&ran);
        assert_written(&run(
            [OsStr::new("write"), OsStr::new("--"), folder.join(name).as_os_str()],
            "{\"b\":2}",
        ));
        let entries: Vec<OsString> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(entries, std::slice::from_ref(name));
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
    }
}

#[test]
fn missing_folders_are_made() {
    let folder = Folder::new();
    let file = folder.join("one/two/three/state.json");
    assert_written(&run([OsStr::new("write"), file.as_os_str()], "{\"a\":1}"));
    assert_eq!(fs::read_to_string(file).unwrap(), "{\n  \"a\": 1\n}\n");
}

#[test]
fn state_is_never_written_below_the_plugin_root() {
    let folder = Folder::new();
    fs::create_dir(folder.join("plugin")).unwrap();
    symlink("plugin", folder.join("disguised")).unwrap();
    let refuse = |file: &str| {
        let mut command = pipestate();
        command.env("CLAUDE_PLUGIN_ROOT", folder.join("plugin")).arg("write").arg(folder.join(file));
        let ran = finish(start(command), "{\"a\":1}");
        (ran.code, ran.stderr.contains("CLAUDE_PLUGIN_ROOT"))
    };
    assert_eq!(refuse("plugin/state.json"), (Some(3), true));
    assert_eq!(refuse("plugin/new/folder/state.json"), (Some(3), true));
    assert_eq!(refuse("disguised/state.json"), (Some(3), true));
    assert_eq!(fs::read_dir(folder.join("plugin")).unwrap().count(), 0);
    assert_eq!(refuse("plugin-of-another-name.json"), (Some(0), false));
}

#[test]
fn a_write_that_changes_nothing_touches_nothing() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\" : [ 1,2 ]}");
    let before = fs::metadata(&file).unwrap();
    assert_written(&write(&file, "{\"a\":[1, 2]}"));
    let after = fs::metadata(&file).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\" : [ 1,2 ]}");
}

#[test]
fn files_of_dead_writers_are_swept_and_those_of_others_stay() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    folder.file(".pipestate-0123456789abcdef.tmp", "half a docu");
    let alive = folder.file(".pipestate-fedcba9876543210.tmp", "of a living writer");
    folder.file("state.json.tmp", "a user's");
    folder.file(".pipestate-0123456789ABCDEF.tmp", "not ours by its name");
    let living = fs::File::open(&alive).unwrap();
    living.lock().unwrap();
    assert_written(&write(&file, "{\"b\":2}"));
    assert_eq!(
        folder.names(),
        [
            ".pipestate-0123456789ABCDEF.tmp",
            ".pipestate-fedcba9876543210.tmp",
            "state.json",
            "state.json.tmp"
        ]
    );
}

#[test]
fn what_is_not_a_file_is_exit_3_and_stays() {
    let folder = Folder::new();
    fs::create_dir(folder.join("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    for name in ["folder", "pipe"] {
        let ran = write(&folder.join(name), "{\"a\":1}");
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(3), 1), "{ran:?}");
    }
    assert_eq!(folder.names(), ["folder", "pipe"]);
}

#[test]
fn a_closed_or_full_stdout_does_not_undo_a_write() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{}");
    for redirection in [">&-", ">/dev/full"] {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            &format!("echo '{{\"a\":\"{redirection}\"}}' | \"$1\" write --json \"$2\" {redirection}"),
            "sh",
        ]);
        command.arg(env!("CARGO_BIN_EXE_pipestate")).arg(&file).stdout(Stdio::null());
        assert_eq!(command.status().unwrap().code(), Some(0), "{redirection}");
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{{\n  \"a\": \"{redirection}\"\n}}"));
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let folder = Folder::new();
    let file = folder.file("state.json", format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20)));
    let mut command = Command::new("bash");
    command.args(["-c", "set -o pipefail; \"$1\" get \"$2\" | true; echo ${PIPESTATUS[0]}", "bash"]);
    let output = command.arg(env!("CARGO_BIN_EXE_pipestate")).arg(&file).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

/// The kernel's SIGXFSZ ended the process in the middle of the write, with lock and temporary file left behind.
#[test]
fn a_file_size_limit_is_exit_3_and_leaves_nothing() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let patch = format!("{{\"b\":\"{}\"}}", "x".repeat(2000));
    let limited = |blocks: u32, patch: &str| {
        let mut command = Command::new("bash");
        command.args(["-c", "ulimit -f $1; exec \"$2\" write \"$3\"", "bash", &blocks.to_string()]);
        command.arg(env!("CARGO_BIN_EXE_pipestate")).arg(&file);
        finish(start(command), patch)
    };
    let shown = file.display();
    let advice = "raise the limit of file sizes (`ulimit -f`) and run it again";
    // 1024 bytes hold the lock, but not the document; nothing holds nothing.
    for (blocks, action) in [(1, "write the new content"), (0, "prepare the lock")] {
        assert_eq!(
            limited(blocks, &patch),
            Ran {
                code: Some(3),
                stdout: String::new(),
                stderr: format!("pipestate: {shown}: cannot {action}: file too large; {advice}\n"),
            }
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\":1}\n");
        assert_eq!(folder.names(), ["state.json"]);
    }
    assert_written(&limited(2, "{\"b\":2}"));
}

#[test]
fn a_stdout_at_its_size_limit_does_not_undo_a_write() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1}\n");
    let full = folder.file("out", "x".repeat(1024));
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -f 1; exec \"$1\" write --json \"$2\" >> \"$3\"", "bash"]);
    command.arg(env!("CARGO_BIN_EXE_pipestate")).arg(&file).arg(&full);
    let ran = finish(start(command), "{\"b\":2}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.starts_with("pipestate: warning: stdout: cannot print the result: "), "{ran:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\":1,\"b\":2}\n");
}

/// From 4 MiB on it is read by two threads.
#[test]
fn a_large_state_is_patched_byte_by_byte_like_a_small_one() {
    let folder = Folder::new();
    let items: Vec<String> = (0..400_000).map(|number| format!("\"item {number}\"")).collect();
    let state = |a: u32| format!("{{\n  \"a\": {a},\n  \"items\": [{}]\n}}\n", items.join(", "));
    let file = folder.file("state.json", state(0));
    for a in 1..4 {
        let ran = run(
            [OsStr::new("write"), "--no-fsync".as_ref(), "--json".as_ref(), file.as_os_str()],
            format!("{{\"a\":{a}}}"),
        );
        assert!(fs::read(&file).unwrap() == state(a).into_bytes(), "{a}");
        let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let rev = run([OsStr::new("get"), "--rev".as_ref(), file.as_os_str()], "").stdout;
        assert_eq!(told["rev"], rev.trim());
    }
    assert_eq!(folder.names(), ["state.json"]);
}
