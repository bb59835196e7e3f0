//! Every exit code through the real program, with the whole of what it prints (contract X).

#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use support::*;

#[track_caller]
fn assert_fails(ran: &Ran, code: i32, stderr: &str) {
    assert_eq!(
        *ran,
        Ran { code: Some(code), stdout: String::new(), stderr: format!("pipestate: {stderr}\n") }
    );
}

#[test]
fn the_readme_has_the_table_of_the_code() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    for exit in pipestate::error::EXIT_CODES {
        let js: Vec<String> = exit.js.iter().map(|code| format!("`{code}`")).collect();
        let row = format!("| {} | {} | {} |", exit.code, exit.meaning, js.join(", "));
        assert!(readme.lines().any(|line| line == row), "README.md lacks the row {row}");
    }
}

#[test]
fn broken_json_on_stdin_is_1_and_touches_nothing() {
    let folder = Folder::new();
    let file = folder.join("state.json");
    let ran = write(&file, "{\"a\": 1,\n  \"b\": }");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.starts_with("pipestate: stdin is not valid JSON: ")
            && ran.stderr.contains("line 2, column 8")
    );
    assert_fails(
        &write(&file, "[1]"),
        1,
        "stdin is an array, and a state document is a JSON object; nothing was written",
    );
    assert_fails(
        &write(&file, "null"),
        1,
        "stdin is null, and a state document is a JSON object; nothing was written",
    );
    assert_eq!(write(&file, "").code, Some(1));
    assert_eq!(run([OsStr::new("write"), OsStr::new("--replace"), file.as_os_str()], "").code, Some(1));
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn a_refused_patch_is_1_and_names_the_field() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{\"a\":1,\"a\":2,\"list\":[1]}");
    let ran = write(&file, "{\"a\":3}");
    assert_eq!((ran.code, ran.stderr.contains(": /a: ")), (Some(1), true), "{ran:?}");
    let ran = write(&file, "{\"list\":{\"5\":1}}");
    assert_eq!((ran.code, ran.stderr.contains(": /list/5: ")), (Some(1), true), "{ran:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\":1,\"a\":2,\"list\":[1]}");
}

#[test]
fn a_state_that_does_not_parse_is_3_and_keeps_its_bytes_until_it_is_replaced() {
    let folder = Folder::new();
    for content in ["{\"a\":1", "", "null", "[]", "{\"a\":1}}", "\u{feff}{}", "noise", "{\"a\":1}\0\0\0\0"] {
        let file = folder.file("state.json", content);
        let ran = write(&file, "{\"b\":2}");
        assert_eq!((ran.code, ran.stderr.contains(": corrupt: ")), (Some(3), true), "{content:?} {ran:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
        assert_written(&run([OsStr::new("write"), OsStr::new("--replace"), file.as_os_str()], "{\"b\":2}"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"b\": 2\n}\n");
    }
}

#[test]
fn one_byte_order_mark_on_stdin_is_dropped() {
    let folder = Folder::new();
    let file = folder.join("state.json");
    assert_written(&write(&file, "\u{feff}{\"a\":1}"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"a\": 1\n}\n");
    assert_eq!(write(&file, "\u{feff}\u{feff}{\"a\":1}").code, Some(1));
}

#[test]
fn another_revision_is_4_and_none_creates_and_never_overwrites() {
    let folder = Folder::new();
    let file = folder.join("state.json");
    let rev = || run([OsStr::new("get"), OsStr::new("--rev"), file.as_os_str()], "").stdout.trim().to_owned();
    let write_if = |rev: &str| {
        run(["write", "--if-match", rev, file.to_str().unwrap()], format!("{{\"by\":\"{rev}\"}}"))
    };
    assert_eq!(rev(), "none");
    assert_written(&write_if("none"));
    let first = rev();
    assert_eq!((first.len(), write_if("none").code), (32, Some(4)));
    assert_written(&write_if(&first));
    let shown = file.display();
    let now = rev();
    assert_fails(
        &write_if(&first),
        4,
        &format!(
            "{shown}: the revision is {now}, not {first}; nothing was written: read again and decide again"
        ),
    );
}

#[test]
fn wrong_usage_is_64() {
    for arguments in [
        &["write"][..],
        &["write", "--no-such-option", "f"],
        &["write", "--replace", "--merge-patch", "f"],
        &["write", "--lock-timeout", "soon", "f"],
        &["no-such-command"],
        &["get", "f", "no-pointer"],
        &[],
    ] {
        let folder = Folder::new();
        folder.file("f", "{}");
        let mut command = pipestate();
        command.args(arguments).current_dir(folder.path());
        let ran = finish(start(command), "{}");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(64), ""), "{arguments:?} {ran:?}");
        assert!(arguments.is_empty() || ran.stderr.lines().count() == 1, "{arguments:?} {ran:?}");
    }
    let mut command = pipestate();
    command.args(["write", "f"]).env("PIPESTATE_LOCK_TIMEOUT_MS", "soon");
    assert_eq!(finish(start(command), "{}").code, Some(64));
}

#[test]
fn a_terminal_as_stdin_is_64_and_no_hang() {
    let mut command = Command::new("script");
    command.args(["-qec", &format!("'{}' write never.json", env!("CARGO_BIN_EXE_pipestate")), "/dev/null"]);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(64));
    assert!(ran.stdout.contains("stdin is a terminal"), "{ran:?}");
}

#[test]
fn dev_null_as_stdin_is_1() {
    let folder = Folder::new();
    let mut command = pipestate();
    let status =
        command.arg("write").arg(folder.join("f")).stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(status.status.code(), Some(1));
}

#[test]
fn help_and_version_are_0_and_go_to_stdout() {
    let version = run(["--version"], "");
    assert_eq!(version.stdout, format!("pipestate {}\n", env!("CARGO_PKG_VERSION")));
    for command in [
        &["--help"][..],
        &["write", "--help"],
        &["get", "--help"],
        &["unlock", "--help"],
        &["validate", "--help"],
        &["recover", "--help"],
        &["status", "--help"],
        &["guard", "--help"],
        &["list", "--help"],
        &["doctor", "--help"],
        &["report", "--help"],
        &["completions", "--help"],
    ] {
        let help = run(command, "");
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
        let examples = help.stdout.find("Examples:").expect("there are examples");
        assert!(examples < help.stdout.find("Usage:").unwrap(), "the examples come first");
        assert!(help.stdout.lines().all(|line| line.chars().count() <= 120), "{}", help.stdout);
    }
}

#[test]
fn json_output_is_one_object() {
    let folder = Folder::new();
    let file = folder.join("state.json");
    let written = run(["write", "--json", file.to_str().unwrap()], "{\"a\":12345678901234567890}");
    let object: serde_json::Value = serde_json::from_str(&written.stdout).unwrap();
    let rev = object["rev"].as_str().unwrap();
    let real = fs::canonicalize(&file).unwrap();
    assert_eq!(
        written.stdout,
        format!(
            "{{\"ok\":true,\"path\":\"{}\",\"rev\":\"{rev}\",\"changed\":true,\"created\":true,\"waitedMs\":{}}}\n",
            real.display(),
            object["waitedMs"]
        )
    );
    let got = run(["get", "--json", file.to_str().unwrap(), "/a"], "");
    assert_eq!(
        got.stdout,
        format!(
            "{{\"ok\":true,\"path\":\"{}\",\"rev\":\"{rev}\",\"pointer\":\"/a\",\"value\":12345678901234567890}}\n",
            file.display()
        )
    );
    let failed = run(["get", "--json", file.to_str().unwrap(), "/b"], "");
    let message = format!("{}: there is nothing at /b", file.display());
    assert_eq!(failed.code, Some(1));
    assert_eq!(failed.stderr, format!("pipestate: {message}\n"));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&failed.stdout).unwrap(),
        serde_json::json!({"ok": false, "error": {
            "code": "ERR_PIPESTATE_REFUSED", "exitCode": 1, "message": message,
            "path": file.to_str().unwrap(), "pointer": "/b",
        }})
    );
}

#[test]
fn get_prints_the_bytes_of_a_value() {
    let folder = Folder::new();
    let text = "{\"a\": [1.0, 1e400 ,\"\\ud83d\"],\n\"b/c\":{\"~\":null}}";
    let file = folder.file("state.json", text);
    let get = |pointer: &str| run(["get", file.to_str().unwrap(), pointer], "").stdout;
    assert_eq!(run(["get", file.to_str().unwrap()], "").stdout, text);
    assert_eq!(get("/a"), "[1.0, 1e400 ,\"\\ud83d\"]\n");
    assert_eq!(get("/a/2"), "\"\\ud83d\"\n");
    assert_eq!(get("/b~1c/~0"), "null\n");
    assert_eq!(get(""), format!("{text}\n"));
    assert_eq!(run(["get", file.to_str().unwrap(), "/a/-"], "").code, Some(1));
    assert_eq!(run(["get", folder.join("missing").to_str().unwrap()], "").code, Some(3));
}

#[test]
fn what_may_not_be_read_is_3() {
    let folder = Folder::new();
    let file = folder.file("state.json", "{}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Root may read everything, so somebody else asks.
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(env!("CARGO_BIN_EXE_pipestate")).arg("get").arg(&file);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("cannot read the state file: permission denied; run as the owner"),
        "{ran:?}"
    );
}
