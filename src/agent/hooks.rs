//! Who else is told of a halt (S3): the commands in the file that `PIPESTATE_HOOKS` names.
//!
//! The file is a JSON list of argument vectors: `[["phase-tracker.sh", "meta", "halt", "{cause}"], ["node",
//! "/opt/usage-report.mjs", "--state", "{state}"]]`. `{state}`, `{phase}`, `{cause}` and `{id}` in an argument stand for
//! those of the halt; there is no shell that could read more into them. A program is named by its absolute path or found
//! by `PATH`.
//!
//! Whoever works in the workspace must not be able to have commands run by somebody else's halt: the file may not lie in
//! it, nor a program that is named by its path.
//!
//! Each hook has [`LIMIT`] and runs after the one before has ended; what it prints is kept apart from what we print.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Serialize;

use crate::child;
use crate::document::{Document, Kind, Value};
use crate::text::quoted;
use crate::update::Caller;

/// The environment variable that names the file.
pub const VARIABLE: &str = "PIPESTATE_HOOKS";

/// How long a hook may take.
pub const LIMIT: Duration = Duration::from_secs(10);

/// The file with the hooks; `None` for no hooks.
#[derive(Clone, Debug, Default)]
pub struct Hooks(Option<OsString>);

impl Hooks {
    /// Those that the environment names.
    pub fn from_environment() -> Hooks {
        Hooks(std::env::var_os(VARIABLE).filter(|file| !file.is_empty()))
    }
}

/// What stands in a hook's arguments for the halt's own.
#[derive(Clone, Debug)]
pub struct Values {
    /// `{state}`: the path of the state file.
    pub state: String,
    /// `{phase}`.
    pub phase: String,
    /// `{cause}`.
    pub cause: String,
    /// `{id}`: the number of the task.
    pub id: String,
}

/// How a hook went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookRun {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its exit code; `None` when it did not end by itself.
    pub exit_code: Option<i32>,
    /// What it printed on stdout.
    pub stdout: String,
    /// What it printed on stderr.
    pub stderr: String,
}

/// Runs the hooks; how each went, and in words what did not work.
pub fn run(
    hooks: &Hooks,
    values: &Values,
    workspace: &[PathBuf],
    caller: Caller,
) -> (Vec<HookRun>, Vec<String>) {
    let Some(file) = &hooks.0 else { return (Vec::new(), Vec::new()) };
    let file = Path::new(file);
    let workspace = with_working_folder(workspace);
    let commands = match read(file, &workspace) {
        Ok(commands) => commands,
        Err(why) => {
            return (Vec::new(), vec![format!("no hooks have run: {VARIABLE} {}: {why}", file.display())]);
        }
    };
    let mut runs = Vec::new();
    let mut complaints = Vec::new();
    for command in commands {
        let command: Vec<String> = command.iter().map(|argument| values.fill(argument)).collect();
        let (run, complaint) = run_one(command, &workspace, caller);
        complaints.extend(complaint);
        runs.push(run);
    }
    (runs, complaints)
}

fn run_one(command: Vec<String>, workspace: &[PathBuf], caller: Caller) -> (HookRun, Option<String>) {
    let name = command[0].clone();
    let mut run = HookRun { command, exit_code: None, stdout: String::new(), stderr: String::new() };
    if let Err(why) = may_run(&name, workspace) {
        return (run, Some(format!("the hook {} has not run: {why}", quoted(&name))));
    }
    let mut process = Command::new(&name);
    process.args(&run.command[1..]);
    let complaint = match child::run(&mut process, LIMIT, &|| (caller.interrupted)().is_some()) {
        Ok(finished) => {
            run.exit_code = finished.status.code();
            run.stdout = String::from_utf8_lossy(&finished.stdout).into_owned();
            run.stderr = String::from_utf8_lossy(&finished.stderr).into_owned();
            (!finished.status.success()).then(|| finished.status.to_string())
        }
        Err(failure) => Some(failure.to_string()),
    };
    let complaint = complaint.map(|what| format!("the hook {} failed: {what}", quoted(&name)));
    (run, complaint)
}

/// A name that `PATH` finds, or an absolute path outside of the workspace.
fn may_run(program: &str, workspace: &[PathBuf]) -> Result<(), &'static str> {
    if !program.contains(std::path::is_separator) {
        return Ok(());
    }
    if !Path::new(program).is_absolute() {
        return Err("its path is relative; name it by its absolute path, or by a name in PATH");
    }
    if lies_in(Path::new(program), workspace) {
        return Err("it lies in the workspace, whose files are not to be trusted with that");
    }
    Ok(())
}

/// The hooks in a file.
#[allow(clippy::disallowed_methods)] // reading
fn read(file: &Path, workspace: &[PathBuf]) -> Result<Vec<Vec<String>>, String> {
    if !file.is_absolute() {
        return Err(
            "a relative path would lead into the workspace; name the file by its absolute path".into()
        );
    }
    if lies_in(file, workspace) {
        return Err("the file lies in the workspace, whose files are not to be trusted with that".into());
    }
    let text = std::fs::read(file).map_err(|error| error.to_string())?;
    let document = Document::parse(text).map_err(|fault| fault.to_string())?;
    commands(document.root())
        .ok_or_else(|| "it is no list of argument vectors, as in [[\"notify\", \"{cause}\"]]".into())
}

fn commands(root: Value<'_>) -> Option<Vec<Vec<String>>> {
    let list = |value: Value<'_>| (value.kind() == Kind::Array).then_some(());
    list(root)?;
    root.elements()
        .map(|vector| {
            list(vector)?;
            let arguments: Option<Vec<String>> =
                vector.elements().map(|argument| argument.as_str().map(String::from)).collect();
            arguments.filter(|arguments| arguments.first().is_some_and(|program| !program.is_empty()))
        })
        .collect()
}

impl Values {
    /// An argument with what it stands for; in one pass, so that nothing in a cause stands for more.
    fn fill(&self, argument: &str) -> String {
        let mut filled = String::new();
        let mut rest = argument;
        while let Some(start) = rest.find('{') {
            let (before, from) = rest.split_at(start);
            filled.push_str(before);
            let names = [
                ("{state}", &self.state),
                ("{phase}", &self.phase),
                ("{cause}", &self.cause),
                ("{id}", &self.id),
            ];
            match names.iter().find(|(name, _)| from.starts_with(name)) {
                Some((name, value)) => {
                    filled.push_str(value);
                    rest = &from[name.len()..];
                }
                None => {
                    filled.push('{');
                    rest = &from[1..];
                }
            }
        }
        filled + rest
    }
}

/// The workspace and the working folder, but for one that the home folder lies in: that is nobody's workspace.
fn with_working_folder(workspace: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = workspace.to_vec();
    if let Ok(folder) = std::env::current_dir() {
        let home = std::env::home_dir();
        let holds_home =
            home.is_some_and(|home| std::fs::canonicalize(&home).unwrap_or(home).starts_with(&folder));
        if !holds_home {
            all.push(folder);
        }
    }
    all
}

fn lies_in(file: &Path, workspace: &[PathBuf]) -> bool {
    let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    workspace.iter().any(|folder| {
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        real.starts_with(&folder) || file.starts_with(&folder)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_filled_once_and_never_read_again() {
        let values =
            Values { state: "/s".into(), phase: "4".into(), cause: "{id} $(rm) {".into(), id: "12".into() };
        assert_eq!(values.fill("a {phase}:{cause} {x} {{id}}"), "a 4:{id} $(rm) { {x} {12}");
        assert_eq!(values.fill("{"), "{");
    }

    #[test]
    fn hooks_are_a_list_of_argument_vectors_and_nothing_else() {
        let read = |text: &str| commands(Document::parse(text.into()).unwrap().root());
        assert_eq!(read("[]"), Some(vec![]));
        assert_eq!(read(r#"[["a","b"],["c"]]"#), Some(vec![vec!["a".into(), "b".into()], vec!["c".into()]]));
        for bad in [r#"["a"]"#, "[[]]", r#"[[""]]"#, r#"[["a",1]]"#, r#"{"0":["a"]}"#, "null"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    #[cfg(unix)] // its absolute paths are of Unix
    fn a_program_is_found_by_path_or_lies_outside_of_the_workspace() {
        let workspace = [PathBuf::from("/w")];
        assert_eq!(may_run("notify", &workspace), Ok(()));
        assert_eq!(may_run("/opt/notify", &workspace), Ok(()));
        assert!(may_run("./notify", &workspace).is_err());
        assert!(may_run("/w/notify", &workspace).is_err());
    }
}
