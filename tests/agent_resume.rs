//! Resuming an agent's run (contract S1, R4): plans and what the disk says, real worktrees, one winner, and a whole task
//! that is killed at every step.

#![cfg(unix)]
#![allow(clippy::disallowed_methods)] // a test lays out its own folder

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use support::*;

const UNSAFE: &str = "ERR: agent-state.json is unsafe to resume; inspect it or 'kill #N' and restart.\n";

fn resume(file: &Path, arguments: &[&str]) -> Ran {
    finish(start(resume_command(file, arguments)), "")
}

fn resume_command(file: &Path, arguments: &[&str]) -> Command {
    let mut command = pipestate();
    command.args([OsStr::new("resume"), file.as_os_str()]).args(arguments);
    // Steers git, if anybody lets it.
    command.env("GIT_DIR", "/nowhere").env("GIT_INDEX_FILE", "/nowhere/index").env("HOME", "/nonexistent");
    command
}

fn plan(file: &Path, arguments: &[&str]) -> Value {
    let ran = resume(file, &[&["--json"], arguments].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
}

fn state(folder: &Folder, content: &Value) -> PathBuf {
    fs::create_dir_all(folder.join("7")).unwrap();
    folder.file("7/agent-state.json", content.to_string())
}

fn read(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn a_plan_says_where_to_go_on_and_why_and_changes_nothing() {
    let folder = Folder::new();
    let work = folder.join("w");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("a.rs"), "").unwrap();
    let file = state(
        &folder,
        &json!({
            "taskId": 7, "ticket": "P-1", "repoPath": work, "status": "paused", "haltReason": "3:x", "currentPhase": 3,
            "phases": { "3": {
                "status": "failed", "files": ["a.rs", "b.rs"], "subStep": "green",
                "subSteps": { "red": { "files": ["a.rs"] }, "green": { "files": ["b.rs"] } },
            } },
        }),
    );
    let log =
        "## Handoff - end of Phase 2 (plan) - 2026-01-01T00:00:00Z\n- Next: Phase 3 dev, subStep start\n";
    folder.file("7/agent-log.md", log);
    let before = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
    assert_eq!(
        resume(&file, &[]),
        Ran {
            code: Some(0),
            stdout: "\
resume P-1 at phase 3, latest sub-step green
phases 3, 4, 5, 6, 7: the last always runs
reason /phases/3: the current phase 3 is failed, so it is entered again [phase-unfinished]
skip red: it is recorded, and its files exist
redo green: b.rs is missing
handoff of phase 2 (plan) at 2026-01-01T00:00:00Z, next: Phase 3 dev, subStep start
info /worktreePath: no absolute worktree is recorded to look for the listed files in: 2 unchecked [files-unchecked]
stop R4 /status: is paused: a human decides, and a resume has to be confirmed [paused]
stop R4 /haltReason: is \"3:x\" [halt-reason]
stop R4 /phases/3: failed [phase-failed]
"
            .into(),
            stderr: String::new(),
        }
    );
    let plan = plan(&file, &[]);
    assert_eq!(
        [&plan["ok"], &plan["phase"], &plan["phases"], &plan["subStep"], &plan["taskId"], &plan["ticket"]],
        [&json!(true), &json!(3), &json!([3, 4, 5, 6, 7]), &json!("green"), &json!("7"), &json!("P-1")]
    );
    assert_eq!(plan["skip"][0]["subStep"], "red");
    assert_eq!(plan["obstacles"], json!([]));
    assert_eq!(plan["decision"]["rule"], "R4");
    assert_eq!((fs::read(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap()), before);
    assert_eq!(fs::read_to_string(folder.join("7/agent-log.md")).unwrap(), log);
}

#[test]
fn an_unsafe_state_ends_with_the_documents_line() {
    let folder = Folder::new();
    let file = state(&folder, &json!({ "currentPhase": null, "phases": {} }));
    let path = file.display();
    assert_eq!(
        resume(&file, &[]),
        Ran {
            code: Some(1),
            stdout: format!(
                "{path}: error /currentPhase: currentPhase is null, so where to resume would be a guess [current-phase-null]\n"
            ),
            stderr: UNSAFE.into(),
        }
    );
    for torn in ["{\"currentPhase\":3", ""] {
        fs::write(&file, torn).unwrap();
        for arguments in [&[][..], &["--start"]] {
            let ran = resume(&file, arguments);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), UNSAFE), "{ran:?}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), torn);
    }
    let missing = resume(&folder.join("8/agent-state.json"), &[]);
    assert_eq!((missing.code, missing.stderr.as_str()), (Some(3), UNSAFE));
}

#[test]
fn a_start_takes_the_plan_in_one_write() {
    let folder = Folder::new();
    let content = json!({
        "ticket": "P-1", "status": "paused", "haltReason": "4:x", "currentPhase": 4,
        "phases": { "4": { "status": "running" } },
    });
    let file = state(&folder, &content);
    let ran = resume(&file, &["--start"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.starts_with("resumed P-1 at phase 4\n"));
    let started = read(&file);
    assert_eq!((&started["status"], &started["haltReason"]), (&json!("running"), &Value::Null));
    assert_eq!(started["metadata"]["resumeConfirmed"], true);
    let log = fs::read_to_string(folder.join("7/agent-log.md")).unwrap();
    assert!(log.ends_with("Z Resumed P-1 from Phase 4\n"), "{log}");
    let again = resume(&file, &["--start"]);
    assert_eq!((again.code, again.stderr.contains("a run is at work, start no other")), (Some(1), true));
    for (status, way_in) in [("completed", false), ("blocked", false), ("failed", true), ("escalated", true)]
    {
        fs::write(&file, json!({ "status": status, "currentPhase": 4, "phases": {} }).to_string()).unwrap();
        assert_eq!(resume(&file, &["--start"]).code, Some(u8::from(!way_in).into()), "{status}");
    }
    fs::write(&file, json!({ "currentPhase": 4, "phases": {} }).to_string()).unwrap();
    assert_eq!(resume(&file, &["--start"]).code, Some(1), "at work");
    assert_eq!(resume(&file, &["--start", "--stale-after", "0s"]).code, Some(0), "crashed");
    assert_eq!(resume(&file, &["--start", "--confirm"]).code, Some(64));
}

#[test]
fn of_many_starters_one_wins() {
    let folder = Folder::new();
    let file = state(&folder, &json!({ "status": "paused", "currentPhase": 4, "phases": {} }));
    let starters: Vec<Child> = (0..12)
        .map(|_| start(resume_command(&file, &["--start", "--no-fsync", "--lock-timeout", "60000"])))
        .collect();
    let codes: Vec<Option<i32>> = starters.into_iter().map(|child| finish(child, "").code).collect();
    let count = |code| codes.iter().filter(|&&other| other == Some(code)).count();
    assert_eq!((count(0), count(1)), (1, 11), "{codes:?}");
    let log = fs::read_to_string(folder.join("7/agent-log.md")).unwrap();
    assert_eq!(log.lines().count(), 1);
}

/// A repository with a worktree on the branch `feature`, and the state of a task on it.
struct Repository {
    folder: Folder,
    main: PathBuf,
    worktree: PathBuf,
    file: PathBuf,
}

impl Repository {
    fn new() -> Repository {
        let folder = Folder::new();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (main, worktree) = (root.join("repo"), root.join("repo/.worktrees/P-1"));
        let content = json!({
            "taskId": 7, "ticket": "P-1", "repoPath": main, "worktreePath": ".worktrees/P-1", "branch": "feature",
            "status": "paused", "currentPhase": 3, "phases": { "3": { "files": ["known.txt"] } },
        });
        let file = state(&folder, &content);
        let repository = Repository { folder, main, worktree, file };
        fs::create_dir(&repository.main).unwrap();
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        repository.git(&["worktree", "add", "-q", "-b", "feature", ".worktrees/P-1"]);
        repository
    }

    fn git(&self, arguments: &[&str]) {
        self.git_in(&self.main, arguments);
    }

    fn git_in(&self, folder: &Path, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let output = git.env("HOME", self.folder.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Codes, and with them what heals, of what the plan says of the worktree; and whether the plan is in order.
    fn notes(&self) -> (bool, Vec<(String, Vec<String>)>) {
        let plan = plan(&self.file, &[]);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let notes = plan["worktrees"][0]["notes"].as_array().unwrap();
        let heal = |note: &Value| note["heal"].as_array().unwrap().iter().map(text).collect();
        let notes = notes.iter().map(|note| (text(&note["code"]), heal(note))).collect();
        (plan["ok"].as_bool().unwrap(), notes)
    }

    #[track_caller]
    fn assert_notes(&self, ok: bool, notes: &[(&str, &[String])]) {
        let notes = notes.iter().map(|(code, heal)| ((*code).to_owned(), heal.to_vec())).collect();
        assert_eq!(self.notes(), (ok, notes));
    }

    #[track_caller]
    fn assert_not_started(&self) {
        let before = fs::read(&self.file).unwrap();
        let ran = resume(&self.file, &["--start"]);
        assert_eq!((ran.code, ran.stderr.contains("says what heals it")), (Some(1), true), "{ran:?}");
        assert_eq!(fs::read(&self.file).unwrap(), before);
    }

    fn line(&self, arguments: &str) -> String {
        format!("git -C {} {arguments}", self.main.display())
    }
}

#[test]
fn a_worktree_in_order_is_told_with_its_branch() {
    let repository = Repository::new();
    repository.assert_notes(true, &[]);
    let plan = plan(&repository.file, &[]);
    assert_eq!(plan["worktrees"][0]["branch"], "feature");
    assert_eq!(plan["worktrees"][0]["path"], json!(repository.worktree));
    let ran = resume(&repository.file, &[]);
    assert!(
        ran.stdout.contains(&format!("\nworktree {}: clean on feature\n", repository.worktree.display()))
    );
}

#[test]
fn dirty_detached_and_other_branches_are_told_and_hinder_nobody() {
    let repository = Repository::new();
    fs::write(repository.worktree.join("known.txt"), "").unwrap();
    repository.assert_notes(true, &[("worktree-dirty", &[])]);
    let codes = |plan: &Value| {
        let reasons = plan["reasons"].as_array().unwrap().clone();
        reasons.iter().map(|reason| reason["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&plan(&repository.file, &[])), ["phase-unfinished"]);
    fs::write(repository.worktree.join("other.txt"), "").unwrap();
    assert_eq!(codes(&plan(&repository.file, &[])), ["phase-unfinished", "changes-unknown"]);
    let switch = format!("git -C {} switch feature", repository.worktree.display());
    repository.git_in(&repository.worktree, &["switch", "-q", "--detach"]);
    let heal = [switch];
    repository.assert_notes(true, &[("worktree-dirty", &[]), ("worktree-detached", &heal)]);
    repository.git_in(&repository.worktree, &["switch", "-q", "-c", "else"]);
    repository.assert_notes(true, &[("worktree-dirty", &[]), ("branch-differs", &heal)]);
    assert_eq!(resume(&repository.file, &["--start"]).code, Some(0));
}

#[test]
fn a_missing_worktree_is_told_with_what_makes_it_again() {
    let repository = Repository::new();
    fs::remove_dir_all(&repository.worktree).unwrap();
    let path = repository.worktree.display();
    let heal = [repository.line("worktree prune"), repository.line(&format!("worktree add {path} feature"))];
    repository.assert_notes(false, &[("worktree-missing", &heal)]);
    repository.assert_not_started();
    let ran = resume(&repository.file, &[]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains(&format!("; heal: {} && {} [worktree-missing]\n", heal[0], heal[1])),
        "{ran:?}"
    );
    for line in heal {
        assert!(Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status().unwrap().success());
    }
    repository.assert_notes(true, &[]);
}

#[test]
fn a_locked_worktree_is_told_with_what_unlocks_it() {
    let repository = Repository::new();
    repository.git(&["worktree", "lock", "--reason", "on a stick", ".worktrees/P-1"]);
    let path = repository.worktree.display();
    let unlock = format!("git -C {path} worktree unlock {path}");
    repository.assert_notes(false, &[("worktree-locked", &[unlock])]);
    repository.assert_not_started();
    assert!(resume(&repository.file, &[]).stdout.contains(": it is locked: on a stick; heal: "));
    fs::remove_dir_all(&repository.worktree).unwrap();
    let heal = [
        repository.line(&format!("worktree unlock {path}")),
        repository.line("worktree prune"),
        repository.line(&format!("worktree add {path} feature")),
    ];
    repository.assert_notes(false, &[("worktree-missing", &heal)]);
}

#[test]
fn a_moved_worktree_is_found_by_its_branch() {
    let repository = Repository::new();
    let moved = repository.main.join("elsewhere");
    repository.git(&["worktree", "move", ".worktrees/P-1", "elsewhere"]);
    repository.assert_notes(false, &[("worktree-moved", &[])]);
    let message = format!("checked out at {}", moved.display());
    assert!(resume(&repository.file, &[]).stdout.contains(&message));
    repository.assert_not_started();
}

#[test]
fn a_worktree_whose_repository_moved_is_told_with_what_links_it_again() {
    let repository = Repository::new();
    let outside = repository.main.parent().unwrap().join("outside");
    repository.git(&["worktree", "move", ".worktrees/P-1", outside.to_str().unwrap()]);
    let new = repository.main.with_file_name("renamed");
    fs::rename(&repository.main, &new).unwrap();
    let mut content = read(&repository.file);
    content["repoPath"] = json!(new);
    content["worktreePath"] = json!(outside);
    fs::write(&repository.file, content.to_string()).unwrap();
    let heal = format!("git -C {} worktree repair {}", new.display(), outside.display());
    repository.assert_notes(false, &[("worktree-unlinked", std::slice::from_ref(&heal))]);
    assert!(Command::new("sh").args(["-c", &heal]).stdout(Stdio::null()).status().unwrap().success());
    repository.assert_notes(true, &[]);
}

#[test]
fn a_folder_that_is_no_worktree_is_told() {
    let repository = Repository::new();
    fs::remove_dir_all(&repository.worktree).unwrap();
    fs::create_dir(&repository.worktree).unwrap();
    repository.assert_notes(false, &[("not-a-worktree", &[])]);
    fs::remove_dir(&repository.worktree).unwrap();
    fs::write(&repository.worktree, "").unwrap();
    repository.assert_notes(false, &[("worktree-no-folder", &[])]);
}

#[test]
fn a_stale_index_lock_is_told_and_a_living_one_is_not_called_stale() {
    let repository = Repository::new();
    let lock = repository.main.join(".git/worktrees/P-1/index.lock");
    fs::write(&lock, "").unwrap();
    let remove = [format!("rm {}", lock.display())];
    repository.assert_notes(false, &[("index-lock-stale", &remove)]);
    let told = resume(&repository.file, &[]).stdout;
    assert!(
        told.contains("ago by user ") && told.contains("no process has it open and no git works there"),
        "{told}"
    );
    repository.assert_not_started();
    assert!(lock.exists(), "nothing is healed");
    let mut holder = Command::new("sh")
        .args(["-c", "exec 9< \"$0\"; echo open; exec sleep 1000"])
        .arg(&lock)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(holder.stdout.take().unwrap()), &mut line)
        .unwrap();
    repository.assert_notes(false, &[("index-lock", &[])]);
    let who = format!("(process {}) has it open", holder.id());
    assert!(resume(&repository.file, &[]).stdout.contains(&who));
    holder.kill().unwrap();
    holder.wait().unwrap();
}

/// Plays a task by its plan: phases 0 to 7, units in 3 and 7, a handoff behind 3. `$work` is told when a unit begins and
/// when it is recorded. At the `$kill_at`th command all is killed: before it, or while it runs.
const PLAYER: &str = r#"
set -eu
n=0
step() {
  n=$((n + 1))
  if [ "$n" -eq "$kill_at" ]; then
    if [ "$mode" = before ]; then kill -9 $$; fi
    "$@" >/dev/null 2>&1 &
    sleep "$pause"
    kill -9 $! $$
  fi
  "$@"
}
step "$pipestate" resume --start --stale-after 0s --no-fsync "$state" > "$plan"
phases=$(sed -n 's/^phases \(.*\): .*/\1/p' "$plan" | tr -d ,)
skip=" $(sed -n 's/^skip \([^:]*\):.*/\1/p' "$plan" | tr '\n' ' ') "
for phase in $phases; do
  step "$pipestate" phase "$state" "$phase" --status running --no-fsync
  units=
  if [ "$phase" = 3 ]; then units='red green'; fi
  if [ "$phase" = 7 ]; then units=report; fi
  for unit in $units; do
    case "$skip" in *" $unit "*) continue ;; esac
    echo "begin $unit" >> "$work"
    echo "$unit" > "$repo/$unit.txt"
    step "$pipestate" phase "$state" "$phase" --status running --sub-step "$unit" --file "$unit.txt" --no-fsync
    echo "recorded $unit" >> "$work"
  done
  skip=' '
  if [ "$phase" = 3 ]; then
    step "$pipestate" handoff append "$state" --phase 3 --name dev --done all --next 'Phase 4' --no-fsync
  fi
  step "$pipestate" phase "$state" "$phase" --status done --no-fsync
done
echo "$n"
"#;

/// A task that is played.
struct Game {
    folder: Folder,
    state: PathBuf,
    work: PathBuf,
}

impl Game {
    fn new() -> Game {
        let folder = Folder::new();
        fs::create_dir(folder.join("repo")).unwrap();
        let content = json!({
            "taskId": 7, "ticket": "P-1", "repoPath": folder.join("repo"), "currentPhase": 0,
            "phases": { "0": { "status": "pending" } },
        });
        let state = state(&folder, &content);
        let work = folder.join("work");
        Game { folder, state, work }
    }

    /// Plays on from wherever it is, until the end or the kill; the number of commands, if it came to the end.
    fn play(&self, kill_at: usize, mode: &str) -> Option<usize> {
        let mut player = Command::new("sh");
        player.args(["-c", PLAYER]).env("pipestate", env!("CARGO_BIN_EXE_pipestate"));
        player.env("state", &self.state).env("repo", self.folder.join("repo")).env("work", &self.work);
        player.env("plan", self.folder.join("plan")).env("kill_at", kill_at.to_string()).env("mode", mode);
        player.env("pause", format!("0.0{:02}", fastrand(30))).env("HOME", "/nonexistent");
        let output = player.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.signal() == Some(9) {
            return None;
        }
        assert!(output.status.success(), "kill at {kill_at} {mode}: {stderr}");
        Some(String::from_utf8_lossy(&output.stdout).trim().parse().unwrap())
    }

    /// The units that the state has recorded.
    fn recorded(&self) -> Vec<String> {
        let state = read(&self.state);
        let units = ["3", "7"].iter().filter_map(|phase| state["phases"][phase]["subSteps"].as_object());
        units.flat_map(|units| units.keys().cloned()).collect()
    }

    fn work(&self) -> String {
        fs::read_to_string(&self.work).unwrap_or_default()
    }

    /// The state but for when and by whom it was resumed.
    fn outcome(&self) -> Value {
        let mut state = read(&self.state);
        state.as_object_mut().unwrap().remove("metadata").unwrap();
        state["repoPath"] = Value::Null;
        state
    }
}

fn fastrand(below: u32) -> u32 {
    use std::hash::{BuildHasher, Hasher};
    (std::collections::hash_map::RandomState::new().build_hasher().finish() % u64::from(below)) as u32
}

#[test]
fn a_task_that_is_killed_at_any_step_ends_as_if_it_had_not_been() {
    let whole = Game::new();
    let commands = whole.play(0, "before").unwrap();
    let expected = whole.outcome();
    assert_eq!(whole.recorded(), ["red", "green", "report"]);
    for kill_at in 1..=commands {
        for mode in ["before", "during"] {
            let game = Game::new();
            assert_eq!(game.play(kill_at, mode), None);
            let (mut finished, before) = (game.recorded(), game.work());
            if read(&game.state)["phases"]["7"]["status"] == "done" {
                finished.retain(|unit| unit != "report"); // the last phase always runs, and as a whole
            }
            assert!(game.play(0, mode).is_some());
            let after = game.work().strip_prefix(&before).unwrap().to_owned();
            let at = format!("killed {mode} command {kill_at}");
            assert_eq!(game.outcome(), expected, "{at}");
            for unit in &finished {
                assert!(!after.contains(&format!("begin {unit}\n")), "{at}: {unit} was done twice\n{after}");
            }
            assert_eq!(game.recorded(), ["red", "green", "report"], "{at}");
        }
    }
}
