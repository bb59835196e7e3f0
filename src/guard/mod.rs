//! The guard of an agent's session: is a tool call about to edit a state file past pipestate? A `PreToolUse` hook event of
//! Claude Code in, nothing or a [`Denial`] out.
//!
//! 1. The event names a tool, its input and the working directory.
//! 2. Tools that edit files name theirs; a shell's command is taken apart ([`shell`]) and asked for what it writes
//!    ([`commands`]).
//! 3. What is written and is a state file is denied, with the command to use instead.
//!
//! A false alarm breaks somebody's work and a miss only leaves things as they would be without a guard. So only what
//! certainly writes onto a state file is denied: reading, searching, comparing and backing up never are, nor is text that
//! names such a command. Not seen are programs in other languages (`python -c …`), names that only the running shell knows
//! (globs, variables set elsewhere), and what a called script does. Removing or moving a state away is no edit.

mod commands;
mod shell;

use std::path::{Path, PathBuf};

use crate::document::{Document, Value};
use crate::error::Error;
use crate::kind::StateKind;
use crate::text::shell_quoted;

/// A tool call that is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The state file, as the call names it.
    pub file: String,
    /// Why, and what to do instead, for the agent that made the call.
    pub reason: String,
}

/// What the call would do to the state file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    /// Put a whole document in its place.
    Whole,
    /// Change a part of it.
    Part,
}

/// The tools that edit the file they name, and how.
const FILE_TOOLS: [(&str, Edit); 4] =
    [("Write", Edit::Whole), ("Edit", Edit::Part), ("MultiEdit", Edit::Part), ("NotebookEdit", Edit::Part)];

/// The hook settings that put the guard in front of those tools and the shell.
pub const SETTINGS: &str = r#"{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash|Write|Edit|MultiEdit|NotebookEdit",
        "hooks": [{ "type": "command", "command": "pipestate guard", "timeout": 5 }]
      }
    ]
  }
}
"#;

/// Judges a hook event: `None` lets the call pass.
///
/// # Errors
/// [`Error::InvalidJson`] and [`Error::NotAnObject`] for what is no event; whoever guards a session lets it pass.
pub fn judge(event: Vec<u8>) -> Result<Option<Denial>, Error> {
    let origin = "the hook event";
    let event = Document::parse(event).map_err(|fault| Error::InvalidJson { origin, fault })?;
    let root = event.root();
    if root.kind() != crate::document::Kind::Object {
        return Err(Error::NotAnObject { origin, found: root.kind().described() });
    }
    if text(root, "hook_event_name").as_deref() != Some("PreToolUse") {
        return Ok(None);
    }
    let (Some(tool), Some(input)) = (text(root, "tool_name"), root.get("tool_input")) else {
        return Ok(None);
    };
    let folder = text(root, "cwd").map(PathBuf::from);
    if tool == "Bash" {
        let command = text(input, "command").unwrap_or_default();
        return Ok(judge_command(&command, folder.as_deref()));
    }
    let Some((_, edit)) = FILE_TOOLS.iter().find(|(name, _)| *name == tool) else { return Ok(None) };
    let file = text(input, "file_path").or_else(|| text(input, "notebook_path")).unwrap_or_default();
    Ok(is_state(&file, folder.as_deref()).then(|| deny(&tool, file, *edit)))
}

/// Judges a command line that is about to be run in `folder`.
fn judge_command(command: &str, folder: Option<&Path>) -> Option<Denial> {
    // Most commands name no state file, and are not looked at any closer.
    if !command.contains("state") {
        return None;
    }
    let writes = commands::writes(&shell::parse(command), folder);
    let write = writes.into_iter().find(|write| is_state(&write.file, folder))?;
    Some(deny(&format!("`{}`", write.by), write.file, write.edit))
}

fn deny(by: &str, file: String, edit: Edit) -> Denial {
    let path = shell_quoted(&file);
    let patch = format!("echo '{{\"key\":\"value\"}}' | pipestate write {path}");
    let whole = format!("pipestate write --replace {path} < NEW.json");
    let (first, second) = match edit {
        Edit::Whole => {
            (format!("Store a whole document with: {whole}"), format!("change values with: {patch}"))
        }
        Edit::Part => {
            (format!("Change values with: {patch}"), format!("store a whole document with: {whole}"))
        }
    };
    let reason = format!(
        "{by} would edit the state file {path} without its lock, so that a concurrent write may be lost or a reader \
         may find half of it. {first} - or {second} - or record a phase with: pipestate phase {path} N --status done. \
         Reading it is always allowed."
    );
    Denial { file, reason }
}

/// Folders whose files are examples of states and nobody's run.
const FIXTURES: [&str; 3] = ["fixtures", "__fixtures__", "testdata"];

/// Whether a path, which may start at `folder`, is a state file's, or a link to one.
fn is_state(path: &str, folder: Option<&Path>) -> bool {
    let path = Path::new(path);
    let is_named_so = |path: &Path| StateKind::by_name(path).is_some();
    let is_fixture = path.components().any(|part| FIXTURES.iter().any(|name| part.as_os_str() == *name));
    if is_fixture || path.as_os_str().is_empty() {
        return false;
    }
    let full = folder.map_or(path.to_owned(), |folder| folder.join(path));
    is_named_so(path)
        || (full.is_absolute() && std::fs::canonicalize(full).is_ok_and(|real| is_named_so(&real)))
}

fn text(object: Value<'_>, field: &str) -> Option<String> {
    object.get(field)?.as_str().map(String::from)
}

#[cfg(test)]
mod tests;
