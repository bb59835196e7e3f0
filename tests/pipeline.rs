//! Pipeline runs through the real program: init, what no write may do, resume, phases, finalize (contract P, R4, S2).

#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::collections::HashSet;
use std::fs::{self, File, FileTimes};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use support::*;

/// Tier, its root in a workspace, its root in a home folder, its manifest (P4).
const TIERS: [(&str, &str, &str, &str); 5] = [
    ("tier_1", ".claude", ".claude", ".claude-plugin/plugin.json"),
    ("tier_1b", ".opencode", ".opencode", "opencode-plugin.json"),
    ("tier_1c", ".agents/antigravity", ".antigravity", "gemini-extension.json"),
    ("tier_1d", ".agents/codex", ".codex", ".codex-plugin/plugin.json"),
    ("tier_2", ".superpipelines", ".superpipelines", ".cursor-plugin/plugin.json"),
];

/// A workspace beside a home folder; nothing may ever be written into the latter.
struct Workspace {
    folder: Folder,
}

impl Workspace {
    /// With the manifests of all tiers.
    fn new() -> Workspace {
        let workspace = Workspace { folder: Folder::new() };
        fs::create_dir_all(workspace.home()).unwrap();
        for (index, (.., manifest)) in TIERS.iter().enumerate() {
            workspace.file(manifest, &format!(r#"{{"name":"superpipelines","version":"1.2.{index}"}}"#));
        }
        workspace
    }

    fn path(&self) -> PathBuf {
        self.folder.join("work")
    }

    fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = pipestate();
        command.current_dir(self.path()).env("HOME", self.home()).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str], stdin: &str) -> Ran {
        finish(start(self.command(arguments)), stdin)
    }

    /// Makes a run of pipeline `docs` and returns the path of its document.
    fn init(&self, arguments: &[&str]) -> PathBuf {
        let ran = self.run(&[&["init", "--name", "docs", "--pattern", "2"], arguments].concat(), "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        PathBuf::from(ran.stdout.strip_suffix('\n').unwrap())
    }

    /// A document of a run, not made by pipestate.
    fn state(&self, content: &str) -> PathBuf {
        self.file(".claude/superpipelines/temp/docs/run-1/pipeline-state.json", content)
    }

    fn home_is_untouched(&self) -> bool {
        fs::read_dir(self.home()).unwrap().next().is_none()
    }
}

/// The document; serde_json cannot hold a lone surrogate, so one becomes a question mark.
fn read(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap().replace("\\ud83d", "?")).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Lets the file look as if nobody had touched it for two hours.
fn age(file: &Path) {
    let before = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    File::options().write(true).open(file).unwrap().set_times(FileTimes::new().set_modified(before)).unwrap();
}

fn refused(file: &Path, pointer: &str, reason: &str) -> Ran {
    let stderr = format!("pipestate: {}: {pointer}: {reason}; nothing was written\n", file.display());
    Ran { code: Some(1), stdout: String::new(), stderr }
}

const OK: (Option<i32>, &str) = (Some(0), "");

#[track_caller]
fn assert_ok(ran: &Ran) {
    assert_eq!((ran.code, ran.stderr.as_str()), OK);
}

// --- init (P1, P4) ---

#[test]
fn a_new_run_has_every_field_of_the_source_schema() {
    let workspace = Workspace::new();
    let profile = r#"{"id":"codex","n":12345678901234567890123,"f":1.0,"s":"\ud83d","scope_root":{"workspace":".agents/codex"},
        "degradation_warnings":["no hooks","no worktrees"],"model_tiers_version":"2026-07-01"}"#;
    let profile = workspace.file("profile.json", profile);
    let file = workspace.init(&[
        "--tier",
        "tier_1d",
        "--phase",
        "plan:planner",
        "--phase",
        "write:plugin:writer",
        "--phase",
        "check",
        "--profile",
        text(&profile),
    ]);
    let state = read(&file);
    let run_id = state["run_id"].as_str().unwrap();
    let expected =
        workspace.path().join(".superpipelines/temp/docs").join(run_id).join("pipeline-state.json");
    assert_eq!(file, expected);
    for id in ["run_id", "pipeline_id"] {
        let id = state[id].as_str().unwrap();
        assert!(id.len() == 36 && id.as_bytes()[14] == b'4' && b"89ab".contains(&id.as_bytes()[19]), "{id}");
    }
    let phase = |index, name, agent: Option<&str>| json!({"index":index,"name":name,"status":"pending","agent":agent,"outputs":[],"error":null});
    let mut rest = state.clone();
    for random in ["run_id", "pipeline_id", "started_at"] {
        assert!(rest.as_object_mut().unwrap().remove(random).is_some());
    }
    let platform_profile = rest["metadata"].as_object_mut().unwrap().remove("platform_profile").unwrap();
    assert_eq!(platform_profile["id"], "codex");
    assert_eq!(
        rest,
        json!({
            "pipeline_name": "docs",
            "plugin_version": "1.2.3",
            "scope_root_dir": ".superpipelines",
            "pattern": "2",
            "status": "running",
            "current_phase": 0,
            "phases": [phase(0, "plan", Some("planner")), phase(1, "write", Some("plugin:writer")), phase(2, "check", None)],
            "metadata": {
                "source_tier": "tier_1d",
                "runtime_tier": "tier_1d",
                "tier_changes": [],
                "source_scope_root": ".agents/codex",
                "isolation_warning": "no hooks; no worktrees",
                "resolved_models": {},
                "preference_files_consulted": {
                    "user_path": null, "user_hash": null, "workspace_path": null, "workspace_hash": null,
                },
                "model_tiers_version_at_run": "2026-07-01",
            },
        })
    );
    // The profile is no retyped copy: its tokens are the file's, also those that no number or string can hold.
    let content = fs::read_to_string(&file).unwrap();
    for token in [r#""n": 12345678901234567890123"#, r#""f": 1.0"#, r#""s": "\ud83d""#] {
        assert!(content.contains(token), "{token}");
    }
    assert!(content.starts_with("{\n  \"pipeline_id\": \"") && content.ends_with("}\n"));
    assert!(workspace.home_is_untouched());
}

#[test]
fn runs_of_every_tier_and_layout_lie_where_the_table_says_and_survive_a_move() {
    let workspace = Workspace::new();
    for (index, (tier, root, user_root, _)) in TIERS.iter().enumerate() {
        for layout in ["data", "legacy"] {
            let (name, user_name, infix) = match layout {
                "data" => (".superpipelines", ".superpipelines", "temp"),
                _ => (*root, *user_root, "superpipelines/temp"),
            };
            let in_home = workspace.home().join(user_name);
            for (scope_root, name) in [(None, name), (Some(&in_home), user_name)] {
                let mut arguments = vec!["--tier", tier, "--layout", layout, "--phase", "plan"];
                arguments.extend(scope_root.iter().flat_map(|root| ["--scope-root", text(root)]));
                let file = workspace.init(&arguments);
                let base = if scope_root.is_some() { workspace.home() } else { workspace.path() };
                assert!(file.starts_with(base.join(name).join(infix).join("docs")), "{file:?}");
                let state = read(&file);
                assert_eq!(state["scope_root_dir"], *name, "{tier} {layout}");
                assert_eq!(state["metadata"]["source_scope_root"], *root);
                assert_eq!(state["plugin_version"], format!("1.2.{index}"));
            }
        }
    }
    // The whole is moved, as to another machine; every run still knows its scope root and resumes without a word.
    let moved = workspace.folder.join("elsewhere");
    fs::create_dir(&moved).unwrap();
    let mut runs = Vec::new();
    for part in ["work", "home"] {
        fs::rename(workspace.folder.join(part), moved.join(part)).unwrap();
        find(&moved.join(part), &mut runs);
    }
    assert_eq!(runs.len(), 20);
    for file in runs {
        age(&file);
        let tier = read(&file)["metadata"]["runtime_tier"].as_str().unwrap().to_owned();
        let later = "2999-01-01T00:00:00Z";
        assert_ok(&run(["resume", "--tier", &tier, "--confirm", "--now", later, text(&file)], ""));
    }
}

fn find(folder: &Path, runs: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, runs);
        } else if path.ends_with("pipeline-state.json") {
            runs.push(path);
        }
    }
}

#[test]
fn of_many_that_start_a_run_in_one_second_each_gets_a_folder_of_its_own() {
    let workspace = Workspace::new();
    let start_one = |_| {
        start(workspace.command(&[
            "init",
            "--name",
            "docs",
            "--pattern",
            "1",
            "--tier",
            "tier_1",
            "--run-id",
            "stamp",
            "--no-fsync",
        ]))
    };
    let started: Vec<_> = (0..30).map(start_one).collect();
    let mut paths = HashSet::new();
    for child in started {
        let ran = finish(child, "");
        assert_eq!((ran.code, ran.stderr.as_str()), OK);
        let path = PathBuf::from(ran.stdout.trim_end());
        let state = read(&path);
        let run_id = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        assert_eq!(state["run_id"], run_id);
        let stamp = run_id.strip_prefix("docs-").unwrap();
        assert!(stamp.len() >= 15 && stamp.as_bytes()[8] == b'-', "{run_id}");
        assert!(paths.insert(path));
    }
    assert_eq!(paths.len(), 30);
    assert!(paths.iter().any(|path| path.to_str().unwrap().contains("-2/")), "some came second");
}

#[test]
fn a_profile_wins_over_the_table() {
    let workspace = Workspace::new();
    workspace.file("my/manifest.json", r#"{"version":"9.9.9"}"#);
    let profile = workspace.file(
        "profile.json",
        r#"{"scope_root":{"workspace":".mine/deep"},"extensions":{"version_manifest_path":"my/manifest.json"}}"#,
    );
    let file = workspace.init(&["--tier", "tier_1", "--layout", "legacy", "--profile", text(&profile)]);
    assert!(file.starts_with(workspace.path().join(".mine/deep/superpipelines/temp/docs")));
    let state = read(&file);
    assert_eq!((&state["scope_root_dir"], &state["plugin_version"]), (&json!(".mine/deep"), &json!("9.9.9")));
    assert_eq!(state["metadata"]["source_scope_root"], ".mine/deep");
    assert_eq!(state["metadata"]["isolation_warning"], Value::Null);
}

#[test]
fn a_missing_manifest_leaves_the_version_open_to_be_filled_once() {
    let workspace = Workspace::new();
    fs::remove_dir_all(workspace.path().join(".claude-plugin")).unwrap();
    let ran = workspace.run(&["init", "--name", "docs", "--pattern", "1", "--tier", "tier_1"], "");
    let file = PathBuf::from(ran.stdout.trim_end());
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stderr,
        format!(
            "pipestate: warning: {}: plugin_version is null: the manifest ./.claude-plugin/plugin.json tells no version: \
             there is no such file\n",
            file.display()
        )
    );
    assert_eq!(read(&file)["plugin_version"], Value::Null);
    assert_written(&write(&file, r#"{"plugin_version":"1.0.0"}"#));
    assert_eq!(write(&file, r#"{"plugin_version":"1.0.1"}"#).code, Some(1));
}

#[test]
fn what_no_document_could_be_valid_with_is_wrong_usage_and_makes_nothing() {
    let workspace = Workspace::new();
    let long = "x".repeat(49);
    let valid = ["--name", "docs", "--pattern", "1", "--tier", "tier_1"];
    for (option, value) in [
        ("--name", "Docs"),
        ("--name", "a/b"),
        ("--name", ".."),
        ("--name", ""),
        ("--name", &long),
        ("--pattern", "6"),
        ("--tier", "tier_9"),
        ("--layout", "other"),
        ("--run-id", "x"),
        ("--phase", "Plan It"),
        ("--phase", ":agent"),
        ("--phase", "plan:"),
    ] {
        let mut arguments = vec!["init"];
        let others = valid.chunks(2).filter(|pair| pair[0] != option);
        arguments.extend(others.flatten());
        arguments.extend([option, value]);
        let ran = workspace.run(&arguments, "");
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.lines().count()),
            (Some(64), "", 1),
            "{option} {value}"
        );
    }
    let edit = ["init", "--name", "edit-docs", "--pattern", "1", "--tier", "tier_1", "--run-id", "stamp"];
    assert_eq!(workspace.run(&edit, "").code, Some(64), "no scan would find it");
    let profile = workspace.file("p.json", "[]");
    let arguments =
        ["init", "--name", "docs", "--pattern", "1", "--tier", "tier_1", "--profile", text(&profile)];
    assert_eq!(workspace.run(&arguments, "").code, Some(1));
    assert!(!workspace.path().join(".superpipelines").exists());
}

#[test]
fn a_run_that_cannot_be_written_leaves_no_folder_behind() {
    let workspace = Workspace::new();
    let plugin = workspace.path().join("plugin");
    fs::create_dir(&plugin).unwrap();
    let mut command = workspace.command(&["init", "--name", "docs", "--pattern", "1", "--tier", "tier_1"]);
    command.env("CLAUDE_PLUGIN_ROOT", workspace.path());
    let ran = finish(start(command), "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""));
    assert!(!workspace.path().join(".superpipelines").exists());
}

#[test]
fn paths_are_printed_as_they_are() {
    let workspace = Workspace::new();
    let root = workspace.path().join(std::ffi::OsStr::from_bytes(b"a\xffb\n/.superpipelines"));
    let mut command =
        workspace.command(&["init", "--name", "docs", "--pattern", "1", "--tier", "tier_1", "--scope-root"]);
    let output = command.arg(&root).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let printed = output.stdout.strip_suffix(b"\n").unwrap();
    assert!(printed.starts_with(root.as_os_str().as_bytes()));
    assert!(Path::new(std::ffi::OsStr::from_bytes(printed)).is_file());
}

// --- what no write may do (P2, P3) ---

#[test]
fn fixed_fields_are_refused_by_name_at_every_door_and_can_be_forced() {
    let workspace = Workspace::new();
    let file = workspace.init(&["--tier", "tier_1"]);
    let before = fs::read(&file).unwrap();
    let run_id = read(&file)["run_id"].as_str().unwrap().to_owned();
    let reason =
        format!("it is \"{run_id}\" and never changes after init, and this write would make it \"x\"");
    let refusal = format!("{reason}; leave it out, or force the write");
    assert_eq!(write(&file, r#"{"status":"failed","run_id":"x"}"#), refused(&file, "/run_id", &refusal));

    let mut document = read(&file);
    document["run_id"] = "x".into();
    let replace = workspace.run(&["write", "--replace", text(&file)], &document.to_string());
    assert_eq!(replace, refused(&file, "/run_id", &refusal));
    document.as_object_mut().unwrap().remove("run_id");
    let replace = workspace.run(&["write", "--replace", text(&file)], &document.to_string());
    assert!(replace.stderr.contains("/run_id: it is ") && replace.stderr.contains("would delete it"));
    let delete =
        workspace.run(&["write", "--merge-patch", text(&file)], r#"{"metadata":{"source_tier":null}}"#);
    assert!(delete.stderr.contains(": /metadata/source_tier: "));
    let json = workspace.run(&["write", "--json", text(&file)], r#"{"run_id":"x"}"#);
    let error = &serde_json::from_str::<Value>(&json.stdout).unwrap()["error"];
    assert_eq!((&error["code"], &error["pointer"]), (&json!("ERR_PIPESTATE_REFUSED"), &json!("/run_id")));
    assert_eq!(fs::read(&file).unwrap(), before);

    let forced = workspace.run(&["write", "--force", text(&file)], r#"{"run_id":"x"}"#);
    let warning = format!("pipestate: warning: {}: forced: /run_id: {reason}\n", file.display());
    assert_eq!(forced, Ran { code: Some(0), stdout: String::new(), stderr: warning });
    assert_eq!(read(&file)["run_id"], "x");
}

#[test]
fn the_rules_follow_the_name_and_then_the_fields() {
    let folder = Folder::new();
    let content = r#"{"pipeline_id":"a","run_id":"r","current_phase":0}"#;
    for (name, code) in [("pipeline-state.json", 1), ("state.json", 1), ("agent-state.json", 0)] {
        let file = folder.file(name, content);
        assert_eq!(write(&file, r#"{"run_id":"x"}"#).code, Some(code), "{name}");
        let replace = run(["write", "--replace", text(&file)], r#"{"other":1}"#);
        assert_eq!(replace.code, Some(code), "{name}");
    }
    let other = folder.file("other.json", r#"{"run_id":"r","metadata":{"tier":"x"}}"#);
    assert_written(&write(&other, r#"{"run_id":"x","metadata":{"tier":"y"}}"#));
    // Through a link it is the same document.
    let real = folder.file("pipeline-state.json", content);
    std::os::unix::fs::symlink(&real, folder.join("link.json")).unwrap();
    assert_eq!(write(&folder.join("link.json"), r#"{"run_id":"x"}"#).code, Some(1));
}

#[test]
fn what_does_not_parse_can_be_replaced_and_has_no_fields_to_keep() {
    let folder = Folder::new();
    let file = folder.file("pipeline-state.json", r#"{"run_id":"r","#);
    assert_written(&run(["write", "--replace", text(&file)], r#"{"run_id":"x"}"#));
}

#[test]
fn the_first_changing_write_moves_the_tier_of_an_old_document_and_nothing_else() {
    let folder = Folder::new();
    let old = "{\n  \"run_id\": \"r\",\n  \"metadata\": {\n    \"tier\": \"tier_1\",\n    \"x\": 1.0\n  },\n  \"status\": \"running\"\n}";
    let file = folder.file("pipeline-state.json", old);
    assert_written(&write(&file, r#"{"status":"running"}"#));
    assert_eq!(fs::read_to_string(&file).unwrap(), old, "a write that changes nothing moves nothing");
    assert_written(&write(&file, r#"{"status":"failed"}"#));
    let new = "{\n  \"run_id\": \"r\",\n  \"metadata\": {\n    \"x\": 1.0,\n    \"source_tier\": \"tier_1\"\n  },\n  \"status\": \"failed\"\n}";
    assert_eq!(fs::read_to_string(&file).unwrap(), new);
    let ran = write(&file, r#"{"metadata":{"tier":"tier_1"}}"#);
    assert!(ran.code == Some(1) && ran.stderr.contains(": /metadata/tier: "));
}

// --- resume (P6, R4) ---

const CRASHED: &str = r#"{
  "pipeline_id": "0b1c2d3e-0000-4000-8000-0123456789ab",
  "run_id": "run-1",
  "scope_root_dir": ".claude",
  "status": "running",
  "current_phase": 1,
  "phases": [{ "index": 0, "status": "done" }, { "index": 1, "status": "running" }],
  "metadata": {
    "source_tier": "tier_1",
    "runtime_tier": "tier_1",
    "platform_profile": { "id": "claude", "old": [1] },
    "tier_changes": [],
    "isolation_warning": "old",
    "big": 12345678901234567890123
  }
}
"#;

#[test]
fn a_resume_is_a_claim_and_on_the_same_tier_nothing_else() {
    let workspace = Workspace::new();
    let file = workspace.state(CRASHED);
    age(&file);
    let arguments = ["resume", "--tier", "tier_1", "--confirm", "--json", text(&file)];
    let ran = workspace.run(&arguments, "");
    assert_ok(&ran);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(told["tierChanged"], false);
    let (at, by) = (told["resumedAt"].as_str().unwrap(), told["resumedBy"].as_str().unwrap());
    assert!(by.starts_with("pipestate resume, process "));
    let claim = format!(
        ",\n    \"resumed_at\": \"{at}\",\n    \"resumed_by\": \"{by}\",\n    \"resume_confirmed\": true\n  }}\n}}\n"
    );
    let expected = CRASHED.strip_suffix("\n  }\n}\n").unwrap().to_owned() + &claim;
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);

    let ran = workspace.run(&arguments, "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(": active 0s ago by "), "{}", ran.stderr);
}

#[test]
fn a_resume_on_another_tier_says_so_in_the_same_write() {
    let workspace = Workspace::new();
    let file = workspace.state(CRASHED);
    let profile =
        workspace.file("cursor.json", r#"{"id":"cursor","degradation_warnings":["a","b"],"n":1.0}"#);
    for (tier, from) in [("tier_2", "tier_1"), ("tier_1b", "tier_2")] {
        age(&file);
        let later = if tier == "tier_2" { "2998-01-01T00:00:00Z" } else { "2999-01-01T00:00:00Z" };
        let arguments =
            ["resume", "--tier", tier, "--profile", text(&profile), "--confirm", "--now", later, text(&file)];
        let ran = workspace.run(&arguments, "");
        assert_ok(&ran);
        assert_eq!(
            ran.stdout,
            format!("resumed {}: under {tier} (before: {from}), current_phase 1\n", file.display())
        );
    }
    let metadata = &read(&file)["metadata"];
    assert_eq!(metadata["platform_profile"], json!({"id":"cursor","degradation_warnings":["a","b"],"n":1.0}));
    assert_eq!(metadata["isolation_warning"], "a; b");
    assert_eq!((&metadata["source_tier"], &metadata["runtime_tier"]), (&json!("tier_1"), &json!("tier_1b")));
    assert_eq!(
        metadata["tier_changes"],
        json!([
            {"from":"tier_1","to":"tier_2","at":"2998-01-01T00:00:00.000Z"},
            {"from":"tier_2","to":"tier_1b","at":"2999-01-01T00:00:00.000Z"},
        ])
    );
    assert!(fs::read_to_string(&file).unwrap().contains("\"big\": 12345678901234567890123"));
}

#[test]
fn an_old_document_is_resumed_from_its_only_tier() {
    for (tier, changes) in [("tier_1", 0), ("tier_1d", 1)] {
        let workspace = Workspace::new();
        let file = workspace.state(r#"{"pipeline_id":"a","scope_root_dir":".claude","status":"running","metadata":{"tier":"tier_1"}}"#);
        age(&file);
        let ran = workspace.run(&["resume", "--tier", tier, "--confirm", text(&file)], "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let metadata = &read(&file)["metadata"];
        assert_eq!((&metadata["source_tier"], &metadata["runtime_tier"]), (&json!("tier_1"), &json!(tier)));
        assert_eq!(metadata.get("tier"), None);
        let log = metadata["tier_changes"].as_array().map_or(0, Vec::len);
        assert_eq!(log, changes);
        if changes == 1 {
            assert_eq!(metadata["tier_changes"][0]["from"], "tier_1");
        }
    }
}

#[test]
fn a_resume_asks_for_what_the_recovery_rules_ask_for() {
    let workspace = Workspace::new();
    let state = |status: &str| {
        CRASHED.replace(
            "\"status\": \"running\",\n  \"current_phase\"",
            &format!("{status}\n  \"current_phase\""),
        )
    };
    for (status, without, with) in [
        ("\"status\": \"running\",", Some(1), Some(0)),
        ("\"status\": \"failed\",", Some(1), Some(0)),
        ("\"status\": \"escalated\",", Some(1), Some(0)),
        ("\"status\": \"paused\",", Some(1), Some(0)),
        ("\"status\": \"completed\",", Some(1), Some(1)),
        ("\"status\": \"idle\",", Some(1), Some(1)),
        ("\"status\": null,", Some(1), Some(1)),
        ("", Some(1), Some(1)),
    ] {
        let file = workspace.state(&state(status));
        age(&file);
        let before = fs::read(&file).unwrap();
        assert_eq!(workspace.run(&["resume", "--tier", "tier_1", text(&file)], "").code, without, "{status}");
        assert_eq!(fs::read(&file).unwrap(), before, "{status}");
        let ran = workspace.run(&["resume", "--tier", "tier_1", "--confirm", text(&file)], "");
        assert_eq!(ran.code, with, "{status}: {}", ran.stderr);
        if with == Some(0) {
            assert_eq!(read(&file)["status"], "running", "{status}");
            assert_eq!(read(&file)["metadata"]["resume_confirmed"], true);
        } else {
            assert_eq!(fs::read(&file).unwrap(), before, "{status}");
        }
    }
    let torn = workspace.state(&CRASHED[..100]);
    assert_eq!(workspace.run(&["resume", "--tier", "tier_1", "--confirm", text(&torn)], "").code, Some(3));
    let missing = workspace.path().join("no/pipeline-state.json");
    assert_eq!(workspace.run(&["resume", "--tier", "tier_1", "--confirm", text(&missing)], "").code, Some(3));
    assert!(!missing.parent().unwrap().exists());
    assert_eq!(workspace.run(&["resume", "--confirm", text(&torn)], "").code, Some(64));
}

#[test]
fn of_two_that_resume_one_run_exactly_one_gets_it() {
    let workspace = Workspace::new();
    let file = workspace.state(CRASHED);
    for round in 0..200 {
        fs::write(&file, CRASHED).unwrap();
        age(&file);
        let tiers = if round % 2 == 0 { ["tier_1", "tier_1"] } else { ["tier_1d", "tier_2"] };
        let resumers = tiers.map(|tier| {
            start(workspace.command(&["resume", "--no-fsync", "--confirm", "--tier", tier, text(&file)]))
        });
        let ran = resumers.map(|resumer| finish(resumer, ""));
        let mut codes = ran.iter().map(|ran| ran.code).collect::<Vec<_>>();
        codes.sort();
        assert_eq!(codes, [Some(0), Some(1)], "round {round}: {ran:?}");
        let winner = tiers[ran.iter().position(|ran| ran.code == Some(0)).unwrap()];
        let metadata = &read(&file)["metadata"];
        assert_eq!(metadata["runtime_tier"], winner);
        assert_eq!(metadata["tier_changes"].as_array().unwrap().len(), round % 2);
    }
}

#[test]
fn a_claim_counts_also_where_silence_counts_for_nothing() {
    let workspace = Workspace::new();
    let file = workspace.state(CRASHED);
    age(&file);
    let now = ["--stale-after", "0s", "--now", "2999-01-01T00:00:00Z"];
    let resume =
        || workspace.run(&[&["resume", "--tier", "tier_1", "--confirm", text(&file)][..], &now].concat(), "");
    assert_ok(&resume());
    assert_eq!(resume(), refused(&file, "/metadata/resumed_at", "somebody else has just resumed it"));
}

#[test]
fn a_run_that_lies_elsewhere_than_it_says_is_resumed_with_a_warning() {
    let workspace = Workspace::new();
    let file = workspace.file(".codex/superpipelines/temp/docs/run-1/pipeline-state.json", CRASHED);
    age(&file);
    let ran = workspace.run(&["resume", "--tier", "tier_1", "--confirm", text(&file)], "");
    assert_eq!(ran.code, Some(0));
    let expected = format!(
        "pipestate: warning: {}: scope_root_dir is \".claude\", but the run lies below {:?}: it has been moved out of \
         its scope root\n",
        file.display(),
        workspace.path().join(".codex")
    );
    assert_eq!(ran.stderr, expected);
}

// --- validate (V4, P5) ---

#[test]
fn a_new_run_is_valid_until_its_surroundings_change() {
    let workspace = Workspace::new();
    let prefs = workspace.file("prefs.json", "user");
    let file = workspace.init(&["--tier", "tier_1d", "--layout", "legacy", "--phase", "plan"]);
    // sha256 of `user`
    let hash = "sha256:04f8996da763b7a969b1028ee3007569eaf3a635486ddab211d512c85b9df8fb";
    let consulted = json!({"metadata": {"preference_files_consulted": {"workspace_path": text(&prefs), "workspace_hash": hash}}});
    assert_written(&write(&file, &consulted.to_string()));
    let validate = |file: &Path| {
        let ran = workspace.run(&["validate", text(file)], "");
        assert_eq!((ran.code, ran.stderr.as_str()), OK, "{}", ran.stdout);
        ran.stdout.replace(&format!("{}: ", file.display()), "")
    };
    assert_eq!(validate(&file), "");

    workspace.file(".codex-plugin/plugin.json", r#"{"version":"2.0.0"}"#);
    fs::write(&prefs, "other").unwrap();
    let expected = format!(
        "advice /plugin_version: plugin_version is \"1.2.3\", and the plugin is \"2.0.0\" now: another major version may \
         read the run differently [plugin-version-differs]\n\
         advice /metadata/preference_files_consulted/workspace_hash: the workspace preferences in {:?} have changed since \
         the models were resolved [preferences-drifted]\n",
        text(&prefs)
    );
    assert_eq!(validate(&file), expected);
    // Moved out of its root it says so; into another workspace it may go.
    let elsewhere = workspace.path().join(".codex/superpipelines");
    fs::create_dir_all(workspace.path().join(".codex")).unwrap();
    fs::rename(workspace.path().join(".agents/codex/superpipelines"), &elsewhere).unwrap();
    let moved =
        elsewhere.join(file.strip_prefix(workspace.path().join(".agents/codex/superpipelines")).unwrap());
    let told = validate(&moved);
    assert!(
        told.contains(
            "warning /scope_root_dir: scope_root_dir is \".agents/codex\", but the run lies below "
        ),
        "{told}"
    );
}

#[test]
fn states_in_the_wild_are_reported_and_never_guessed() {
    let folder = Folder::new();
    for (content, code) in [
        (r#"{"current_phase":"testing","phases":{"testing":{"status":"in-progress"}}}"#, 1),
        (r#"{"current_phase":16,"status":"completed","phases":{"0":{"status":"done"}}}"#, 1),
        (r#"{"metadata":{"source_tier":"tier_1"}}"#, 1),
        (r#"{"metadata":7,"phases":"x","current_phase":{}}"#, 1),
        ("{}", 1),
        ("[]", 3),
        (r#"{"current_phase":"#, 3),
    ] {
        let file = folder.file("pipeline-state.json", content);
        let ran = run(["validate", text(&file)], "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{content}");
        assert!(ran.stdout.lines().all(|line| line.starts_with(text(&file))), "{}", ran.stdout);
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    }
}

// --- phases and finalize (S2, P7) ---

#[test]
fn a_transition_is_one_write_of_status_outputs_error_and_cursor() {
    let workspace = Workspace::new();
    let file = workspace.init(&["--tier", "tier_1", "--phase", "plan", "--phase", "write"]);
    let phase = |index: &str, more: &[&str]| {
        let ran = workspace.run(&[&["phase", text(&file), index], more].concat(), "");
        assert_eq!(ran, Ran { code: Some(0), stdout: String::new(), stderr: String::new() });
        let state = read(&file);
        (state["status"].clone(), state["current_phase"].clone(), state["phases"].clone())
    };
    let record = |index, name, status, outputs: &[&str], error: Option<&str>| json!({"index":index,"name":name,"status":status,"agent":null,"outputs":outputs,"error":error});
    let plan = |status, outputs: &[&str]| record(0, "plan", status, outputs, None);
    let (first, second) = (plan("running", &[]), record(1, "write", "pending", &[], None));
    assert_eq!(phase("0", &["--status", "running"]), (json!("running"), json!(0), json!([first, second])));
    phase("0", &["--status", "completed", "--output", "a.md", "--output", "b.md", "--output", "a.md"]);
    let failed = record(1, "write", "failed", &["c.md"], Some("it broke"));
    let done = plan("done", &["a.md", "b.md"]);
    assert_eq!(
        phase("1", &["--status", "failed", "--error", "it broke", "--output", "c.md"]),
        (json!("failed"), json!(1), json!([done, failed]))
    );
    // In a run that has failed nothing starts; what is at work there may still say how it ended.
    let ran = workspace.run(&["phase", text(&file), "1", "--status", "running"], "");
    assert_eq!(
        ran,
        refused(
            &file,
            "/status",
            "the run is failed, and a phase starts in a running one: see `pipestate recover`"
        )
    );
    let (status, cursor, phases) = phase("0", &["--status", "done", "--output", "b.md", "--output", "d.md"]);
    assert_eq!((status, cursor), (json!("failed"), json!(0)));
    assert_eq!(phases[0], plan("done", &["a.md", "b.md", "d.md"]));
    assert_eq!(workspace.run(&["resume", "--tier", "tier_1", "--confirm", text(&file)], "").code, Some(0));
    let (status, cursor, phases) = phase("1", &["--status", "running"]);
    assert_eq!((status, cursor, &phases[1]["error"]), (json!("running"), json!(1), &Value::Null));
}

#[test]
fn the_shape_in_which_phases_and_cursor_are_kept_is_never_written_away() {
    let folder = Folder::new();
    for (before, phase, after) in [
        (
            r#"{"current_phase":"3","phases":{"3":{"status":"running"},"3.5":{"status":"pending"}}}"#,
            "3.5",
            r#"{"current_phase":"3.5","phases":{"3":{"status":"running"},"3.5":{"status":"done"}}}"#,
        ),
        (
            r#"{"current_phase":3,"phases":{"3":{"status":"running"},"10":{}}}"#,
            "10",
            r#"{"current_phase":10,"phases":{"3":{"status":"running"},"10":{"status":"done"}}}"#,
        ),
        (
            r#"{"current_phase":"plan","phases":{"plan":{"status":"completed"},"a/b":{"status":"x"}}}"#,
            "a/b",
            r#"{"current_phase":"a/b","phases":{"plan":{"status":"completed"},"a/b":{"status":"done"}}}"#,
        ),
        (
            r#"{"current_phase":"0","phases":[{"status":"running"},{"status":"pending"}]}"#,
            "1",
            r#"{"current_phase":"1","phases":[{"status":"running"},{"status":"done"}]}"#,
        ),
    ] {
        let file = folder.file("pipeline-state.json", before);
        assert_written(&run(["phase", text(&file), phase, "--status", "done"], ""));
        assert_eq!(fs::read_to_string(&file).unwrap(), after);
    }
}

#[test]
fn a_phase_that_is_not_there_is_never_guessed() {
    let folder = Folder::new();
    let array = r#"{"phases":[{"status":"done"},"running"]}"#;
    let object = r#"{"phases":{"plan":{}}}"#;
    for (content, phase, pointer, reason) in [
        (array, "2", "/phases/2", "there is no such phase, but these: 0, 1"),
        (array, "-1", "/phases/-1", "there is no such phase, but these: 0, 1"),
        (array, "00", "/phases/00", "there is no such phase, but these: 0, 1"),
        (array, "1", "/phases/1", "it is a string, and a phase is recorded in an object"),
        (object, "0", "/phases/0", "there is no such phase, but these: plan"),
        ("{}", "0", "/phases", "there are no phases here"),
        (r#"{"phases":null}"#, "0", "/phases", "there are no phases here"),
        (
            r#"{"phases":[{"outputs":"a"}]}"#,
            "0",
            "/phases/0/outputs",
            "it is a string, and outputs are added to an array",
        ),
    ] {
        let file = folder.file("pipeline-state.json", content);
        let arguments = ["phase", "--status=done", "--output=x", text(&file), "--", phase];
        assert_eq!(run(arguments, ""), refused(&file, pointer, reason), "{content} {phase}");
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    }
}

#[test]
fn phases_of_many_agents_are_all_recorded() {
    let workspace = Workspace::new();
    let phases: Vec<String> = (0..20).map(|index| format!("phase-{index}")).collect();
    let mut arguments = vec!["--tier", "tier_1"];
    arguments.extend(phases.iter().flat_map(|name| ["--phase", name]));
    let file = workspace.init(&arguments);
    thread::scope(|scope| {
        for index in 0..20 {
            let (workspace, file) = (&workspace, &file);
            scope.spawn(move || {
                let index = index.to_string();
                for status in ["running", "done"] {
                    let output = format!("{index}-{status}");
                    let arguments =
                        ["phase", text(file), &index, "--status", status, "--output", &output, "--no-fsync"];
                    assert_ok(&workspace.run(&arguments, ""));
                }
            });
        }
    });
    let state = read(&file);
    for (index, phase) in state["phases"].as_array().unwrap().iter().enumerate() {
        assert_eq!(phase["status"], "done");
        assert_eq!(phase["outputs"], json!([format!("{index}-running"), format!("{index}-done")]));
    }
    assert_ok(&workspace.run(&["finalize", text(&file)], ""));
    assert_eq!(read(&file)["status"], "completed");
}

#[test]
fn only_a_running_run_whose_phases_are_all_done_is_finalized() {
    let folder = Folder::new();
    let done = r#""phases":[{"status":"done"},{"status":"completed"}]"#;
    let open = r#""phases":{"a":{"status":"done"},"b":{"status":"running"},"c":{}}"#;
    for (status, phases, expected) in [
        ("running", done, Ok(true)),
        ("completed", open, Ok(false)),
        ("running", open, Err(("/phases/b", "not all phases are done; open are b, c"))),
        ("running", r#""phases":[]"#, Err(("/phases", "there are none, so nothing has been done"))),
        ("running", r#""x":1"#, Err(("/phases", "there are none, so nothing has been done"))),
        ("failed", done, Err(("/status", "it is \"failed\", and only a running run is finalized"))),
        ("escalated", done, Err(("/status", "it is \"escalated\", and only a running run is finalized"))),
        ("paused", done, Err(("/status", "it is \"paused\", and only a running run is finalized"))),
        ("idle", done, Err(("/status", "it is \"idle\", and only a running run is finalized"))),
    ] {
        let content = format!(r#"{{"status":"{status}",{phases}}}"#);
        let file = folder.file("pipeline-state.json", &content);
        let ran = run(["finalize", text(&file)], "");
        match expected {
            Ok(changed) => {
                assert_written(&ran);
                assert_eq!(fs::read_to_string(&file).unwrap() != content, changed);
                assert_eq!(read(&file)["status"], "completed");
            }
            Err((pointer, reason)) => {
                assert_eq!(ran, refused(&file, pointer, reason));
                assert_eq!(fs::read_to_string(&file).unwrap(), content);
            }
        }
    }
}

#[test]
fn an_agents_state_is_not_finalized() {
    let folder = Folder::new();
    let content = r#"{"currentPhase":1,"phases":{"1":{"status":"done"}},"status":"running"}"#;
    for name in ["agent-state.json", "state.json"] {
        let file = folder.file(name, content);
        let ran = run(["finalize", text(&file)], "");
        assert_eq!(ran, refused(&file, "the document", "this is no pipeline's document"));
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
    }
}
