//! What a phase has put out (S6), for taking back one phase and no other.

use std::path::Path;

use serde::Serialize;

use super::{must_be_agent, refusal, state};
use crate::error::Error;
use crate::inside::{self, Found, look_for};
use crate::update;

/// A file that a phase lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// Relative to the worktree.
    pub path: String,
    /// Whether it is there; `None` when no worktree is recorded to look in.
    pub exists: Option<bool>,
}

/// The files of a phase of the document at `path`, each once, in their order: all, those that are there (`Some(true)`) or
/// those that are not (`Some(false)`).
///
/// # Errors
/// [`Error::Refused`] when the phase has no record, when no worktree is recorded in which files could be there or not, when a file does not lie in the worktree (a list with one left out
/// would not be what is asked for), or when the document is no agent's; those of [`update::read`].
pub fn of_phase(path: &Path, phase: u32, there: Option<bool>) -> Result<Vec<File>, Error> {
    let document = update::read(path)?.existing_document(path)?;
    let root = document.root();
    must_be_agent(path, root)?;
    let pointer = format!("/phases/{phase}");
    let Some(record) = state::record(root, phase) else {
        return Err(refusal(pointer, "the phase has no record").of(path));
    };
    let roots = state::roots(root);
    let mut files: Vec<File> = Vec::new();
    for listed in state::files(record) {
        let outside = |why: &str| {
            refusal(format!("{pointer}/files"), format!("{listed:?} is no file of the worktree: {why}"))
                .of(path)
        };
        let below = roots.iter().find_map(|root| Path::new(&listed).strip_prefix(root).ok()?.to_str());
        let relative = inside::relative(below.unwrap_or(&listed)).map_err(outside)?;
        let exists = match look_for(&relative, &roots) {
            Found::There => Some(true),
            Found::Missing => Some(false),
            Found::Outside => return Err(outside("a link on its way leads out")),
            Found::Nowhere => None,
        };
        if files.iter().all(|file| file.path != relative) {
            files.push(File { path: relative, exists });
        }
    }
    if there.is_some() && files.iter().any(|file| file.exists.is_none()) {
        let reason = "it is not recorded, so whether files exist is not known";
        return Err(refusal("/worktreePath", reason).of(path));
    }
    files.retain(|file| there.is_none() || file.exists == there);
    Ok(files)
}

impl File {
    /// The path as git and others take it for a path: `./` before what git reads as magic and others as a flag.
    pub fn as_pathspec(&self) -> String {
        if self.path.starts_with([':', '-']) { format!("./{}", self.path) } else { self.path.clone() }
    }

    /// The same on a line of its own, quoted as git quotes what would not fit on one.
    pub fn as_line(&self) -> String {
        let path = self.as_pathspec();
        if !path.chars().any(|character| character.is_control() || matches!(character, '"' | '\\')) {
            return path;
        }
        let mut line = String::from('"');
        for byte in path.chars() {
            match byte {
                '"' | '\\' => line.extend(['\\', byte]),
                '\n' => line.push_str("\\n"),
                '\t' => line.push_str("\\t"),
                control if control.is_control() => {
                    let mut bytes = [0; 4];
                    let bytes = control.encode_utf8(&mut bytes).bytes();
                    bytes.for_each(|byte| line.push_str(&format!("\\{byte:03o}")));
                }
                other => line.push(other),
            }
        }
        line.push('"');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_git_reads_as_that_path() {
        for (path, line) in [
            ("a/b.txt", "a/b.txt"),
            ("a b", "a b"),
            ("é", "é"),
            (":(glob)x", "./:(glob)x"),
            ("-x", "./-x"),
            ("a\nb\t\u{1b}", r#""a\nb\t\033""#),
            ("say \"x\" \\", r#""say \"x\" \\""#),
        ] {
            assert_eq!(File { path: path.into(), exists: None }.as_line(), line);
        }
    }
}
