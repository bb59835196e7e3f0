//! `pipestate doctor`: what is wrong and where, and proposals that change nothing.

#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::*;

fn doctor(arguments: &[&str], path: &Path) -> Ran {
    run(["doctor"].into_iter().chain(arguments.iter().copied()).chain([path.to_str().unwrap()]), "")
}

fn diagnosis(arguments: &[&str], path: &Path) -> Value {
    let arguments: Vec<&str> = ["--json"].into_iter().chain(arguments.iter().copied()).collect();
    let told: Value = serde_json::from_str(&doctor(&arguments, path).stdout).unwrap();
    told["files"][0].clone()
}

const SAFE: &str =
    "{\"currentPhase\":1,\"phases\":{\"0\":{\"status\":\"done\"},\"1\":{\"status\":\"running\"}}}\n";

#[test]
fn a_healthy_state_is_said_to_be_and_left_alone() {
    let folder = Folder::new();
    let file = folder.file("agent-state.json", SAFE);
    let healthy = |more: &str| Ran {
        code: Some(0),
        stdout: format!("{}: healthy\n{more}", file.display()),
        stderr: String::new(),
    };
    assert_eq!(doctor(&[], &file), healthy(""));
    assert_eq!(doctor(&["--propose"], folder.path()), healthy("  repair: there is nothing to repair\n"));
    assert_eq!(folder.names(), ["agent-state.json"]);
}

#[test]
fn every_accident_is_told_with_line_column_and_byte_and_how_to_mend_it() {
    let folder = Folder::new();
    let text =
        "\u{feff}{\"currentPhase\":1,\n \"phases\":{\"0\":{\"status\":\"done\"}\n \"1\":{\"status\":\"run";
    let file = folder.file("agent-state.json", text);
    let shown = file.display();
    let expected = format!(
        "{shown}: corrupt: never resume from it
  error: a byte order mark at the start (byte 0) [corrupt-byte-order-mark]
  error: a missing comma at line 3, column 2 (byte 56) [corrupt-missing-comma]
  error: unexpected end of the text at line 3, column 20 (byte 74): it is torn [corrupt-torn]
  repair: line 1, column 1 (byte 0): the byte order mark is taken away
  repair: line 3, column 2 (byte 56): a comma is put in
  repair: line 3, column 20 (byte 74): the last 21 bytes, which are no whole value, are left out, and `}}}}` is put in at the end
  repaired it would have: WARNING
  repair: --propose writes a copy with these changes beside the file
"
    );
    let ran = doctor(&[], &file);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""));
    let without = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.contains("repaired it would have")).map(str::to_owned).collect()
    };
    assert_eq!(without(&ran.stdout), without(&expected));
    assert_eq!((fs::read_to_string(&file).unwrap(), folder.names().len()), (text.to_owned(), 1));
}

#[test]
fn a_proposal_is_a_copy_beside_it_that_no_command_takes_for_a_state() {
    let folder = Folder::new();
    let torn = "{\"currentPhase\":1,\"phases\":{\"0\":{\"status\":\"done\"},\"1\":{\"sta";
    let file = folder.file("agent-state.json", torn);
    let told = diagnosis(&["--propose"], &file);
    let proposal = folder.join("agent-state.json.proposed-1");
    assert_eq!(
        told["repair"]["proposal"].as_str().unwrap(),
        fs::canonicalize(&proposal).unwrap().to_str().unwrap()
    );
    assert_eq!(
        fs::read_to_string(&proposal).unwrap(),
        "{\"currentPhase\":1,\"phases\":{\"0\":{\"status\":\"done\"}}}\n"
    );
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), told["exitCode"].as_u64()), (torn, Some(3)));
    // The same once more is the one that is there.
    let again = doctor(&["--propose"], &file);
    assert_eq!(folder.names(), ["agent-state.json", "agent-state.json.proposed-1"]);
    // Nothing that looks for runs finds it.
    assert_eq!(run(["recover", file.to_str().unwrap()], "").code, Some(3));
    assert_eq!(run(["status", folder.path().to_str().unwrap()], "").code, Some(3));
    // What it says to do with it works, and only while the state is the one that was examined.
    let line = again.stdout.lines().last().unwrap();
    let command = line.split_once("pipestate ").unwrap().1;
    let (command, _) = command.split_once(" < ").unwrap();
    let accepted = run(command.split(' '), fs::read(&proposal).unwrap());
    assert_written(&accepted);
    assert_eq!(run(command.split(' '), "{}").code, Some(4));
    assert_eq!(run(["validate", file.to_str().unwrap()], "").code, Some(0));
}

#[test]
fn there_are_never_more_than_five_proposals() {
    let folder = Folder::new();
    let file = folder.join("agent-state.json");
    for number in 1..=5 {
        fs::write(&file, format!("{{\"currentPhase\":{number},")).unwrap();
        assert_eq!(doctor(&["--propose"], &file).code, Some(3));
    }
    assert_eq!(folder.names().len(), 6);
    fs::write(&file, "{\"currentPhase\":6,").unwrap();
    let ran = doctor(&["--propose"], &file);
    assert_eq!(
        (ran.code, ran.stderr.contains("5 proposals lie beside it already")),
        (Some(3), true),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("[corrupt-torn]"), "what is wrong is told all the same");
    assert_eq!(folder.names().len(), 6);
    // One of another tool's is never written over.
    fs::remove_file(folder.join("agent-state.json.proposed-2")).unwrap();
    fs::write(folder.join("agent-state.json.proposed-2"), "mine").unwrap();
    assert_eq!(doctor(&["--propose"], &file).stderr.lines().count(), 1);
    assert_eq!(fs::read_to_string(folder.join("agent-state.json.proposed-2")).unwrap(), "mine");
}

#[test]
fn what_would_be_a_guess_is_not_proposed() {
    let folder = Folder::new();
    let file = folder.file("agent-state.json", "{\"currentPhase\": <N>}");
    let ran = doctor(&["--propose"], &file);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stdout.contains("the rest cannot be mended without knowing the run"), "{}", ran.stdout);
    assert_eq!(folder.names(), ["agent-state.json"]);
}

#[test]
fn findings_of_a_document_say_where_they_stand() {
    let folder = Folder::new();
    let text = "{\n  \"currentPhase\": 9,\n  \"phases\": {\"0\": {\"status\": \"done\", \"status\": \"failed\"}}\n}\n";
    let file = folder.file("agent-state.json", text);
    let ran = doctor(&[], &file);
    assert_eq!(ran.code, Some(1));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines.contains(&"  error /currentPhase: currentPhase is 9, and the phases are 0 to 7 (line 2, column 19, byte 20) [current-phase-out-of-range]"), "{}", ran.stdout);
    assert!(lines.contains(&"  warning /phases/0/status: the key stands twice, first at line 3, column 20: the last one counts, and a patch that sets it is refused (line 3, column 38, byte 60) [key-twice]"), "{}", ran.stdout);
    // Keys that stand twice can be mended; a cursor that is wrong cannot.
    let told = diagnosis(&["--propose"], &file);
    assert_eq!(
        told["repair"]["changes"],
        json!([{ "what": "an earlier value of /phases/0/status is left out: the last one counts", "offset": 42, "line": 3, "column": 20 }])
    );
    let proposal = fs::read_to_string(folder.join("agent-state.json.proposed-1")).unwrap();
    assert_eq!(proposal, text.replace("\"status\": \"done\", ", ""));
}

#[test]
fn what_lies_beside_it_is_told() {
    let folder = Folder::new();
    let file = folder.file("agent-state.json", SAFE);
    fs::write(lock_of(&file), format!("{}\n", dead_pid())).unwrap();
    folder.file(".pipestate-0123456789abcdef.tmp", "");
    folder.file("agent-state.json.1234.tmp", "");
    folder.file("notes.tmp", "");
    let ran = doctor(&[], &file);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let codes: Vec<&str> =
        ran.stdout.lines().filter_map(|line| line.rsplit_once('[')).map(|(_, code)| code).collect();
    assert_eq!(codes, ["stale-lock]", "left-over-temporary]", "foreign-temporary]"], "{}", ran.stdout);
    assert_eq!(folder.names().len(), 5, "it only looks");
    // A living holder is no trouble.
    let sleeper = Sleeper::new();
    fs::write(lock_of(&file), format!("{}\n", sleeper.pid())).unwrap();
    assert!(doctor(&[], &file).stdout.contains("  info: the lock is held by process"));
}

#[test]
fn a_folder_is_all_states_below_it_and_none_is_an_error() {
    let folder = Folder::new();
    for (name, text) in
        [(".superpipelines/temp/p/r1/pipeline-state.json", "{\"status\":"), ("web/1/agent-state.json", SAFE)]
    {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let ran = doctor(&[], folder.path());
    assert_eq!(
        (ran.code, ran.stdout.lines().filter(|line| !line.starts_with(' ')).count()),
        (Some(3), 2),
        "{ran:?}"
    );
    assert_eq!(doctor(&[], &folder.join(".superpipelines")).code, Some(3));
    let missing = doctor(&["--propose"], &folder.join("none.json"));
    assert_eq!((missing.code, missing.stdout.contains(": missing\n")), (Some(3), true), "{missing:?}");
    assert_eq!(run(["doctor"], "").code, Some(64));
}

#[test]
#[cfg(unix)]
fn a_proposal_is_as_private_as_the_state_and_lies_beside_the_real_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let real = folder.file("agent-state.json", "{\"currentPhase\":1,");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(folder.join("links")).unwrap();
    let link = folder.join("links/state.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(doctor(&["--propose"], &link).code, Some(3));
    let proposal = folder.join("agent-state.json.proposed-1");
    assert_eq!(fs::metadata(&proposal).unwrap().permissions().mode() & 0o777, 0o600);
    // A name as long as names may be.
    let long = folder.file("é".repeat(125), "{\"currentPhase\":1,");
    assert!(
        diagnosis(&["--propose"], &long)["repair"]["proposal"].as_str().unwrap().ends_with(".proposed-1")
    );
}
