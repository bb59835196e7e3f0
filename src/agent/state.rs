//! An agent's document as the rules read it: its task, cursor, records, worktrees and units. Only reading; documents
//! that are not as T1 has them give less, never an error.

use std::path::{Path, PathBuf};

use crate::document::{Kind, Value, pointer_token};
use crate::phases::is_done;

/// The phase that captures what was learnt, and the last of the documented list (S1, V7).
pub const LAST_PHASE: u32 = 7;

/// Whose run it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// `taskId`, in digits.
    pub id: Option<String>,
    /// `ticket`.
    pub ticket: Option<String>,
}

impl Identity {
    /// What the document says.
    pub fn of(root: Value<'_>) -> Identity {
        Identity {
            id: root.get("taskId").and_then(scalar),
            ticket: root.get("ticket").and_then(scalar).filter(|ticket| !ticket.is_empty()),
        }
    }

    /// The ticket, or the number where there is none, for a sentence.
    pub fn name(&self) -> String {
        match (&self.ticket, &self.id) {
            (Some(ticket), _) => ticket.clone(),
            (None, Some(id)) => format!("task #{id}"),
            (None, None) => "the task".to_owned(),
        }
    }
}

/// The id of the task whose state lies at `path`: its folder's name (T1).
pub fn id_by_folder(path: &Path) -> Option<String> {
    let absolute = std::path::absolute(path).ok()?;
    let name = absolute.parent()?.file_name()?.to_str()?;
    name.bytes().all(|byte| byte.is_ascii_digit()).then(|| name.to_owned())
}

fn scalar(value: Value<'_>) -> Option<String> {
    value.as_str().map(String::from).or_else(|| value.as_number_text().map(str::to_owned))
}

/// The current phase, also in the legacy spellings `4.0` and `"4"` (V2); whether it is one is [`crate::validate`]'s
/// question.
pub fn cursor(root: Value<'_>) -> Option<u32> {
    let text = scalar(root.get("currentPhase")?)?;
    let number: f64 = text.parse().ok()?;
    (number >= 0.0 && number.fract() == 0.0 && number <= f64::from(u32::MAX)).then_some(number as u32)
}

/// The record of a phase, in a list of phases or an object of them.
pub fn record<'a>(root: Value<'a>, phase: u32) -> Option<Value<'a>> {
    root.at(&["phases", &phase.to_string()])
}

/// The status word of a record.
pub fn status(record: Value<'_>) -> Option<String> {
    match record.kind() {
        Kind::String => record.as_str(),
        _ => record.get("status").and_then(Value::as_str),
    }
    .map(String::from)
}

/// Whether nothing is left to do in a phase: it is done, completed or skipped (S1).
pub fn is_finished(record: Value<'_>) -> bool {
    status(record).is_some_and(|status| is_done(&status) || status == "skipped")
}

/// A worktree that a document records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Where it is recorded.
    pub pointer: String,
    /// Where it should be; a relative one starts at its repository.
    pub path: PathBuf,
    /// The repository it belongs to.
    pub repository: Option<PathBuf>,
    /// The branch that it should be on.
    pub branch: Option<String>,
}

/// The worktrees of the run: its own and those of its projects, each once.
pub fn worktrees(root: Value<'_>) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = Vec::new();
    for (pointer, project) in projects(root) {
        let text = |key: &str| project.get(key)?.as_str().filter(|text| !text.is_empty()).map(String::from);
        let Some(path) = text("worktreePath").map(PathBuf::from) else { continue };
        let repository = text("repoPath").map(PathBuf::from);
        let path = repository.as_ref().map_or(path.clone(), |repository| repository.join(&path));
        if all.iter().all(|other| other.path != path) {
            all.push(Recorded {
                pointer: format!("{pointer}/worktreePath"),
                path,
                repository,
                branch: text("branch"),
            });
        }
    }
    all
}

/// A repository that a document records, with what is made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRepository {
    /// The repository.
    pub repository: Option<PathBuf>,
    /// The worktree; a relative one starts at the repository.
    pub worktree: Option<PathBuf>,
    /// The branch.
    pub branch: Option<String>,
}

/// The repositories of the run: its own and those of its projects, each once.
pub fn repositories(root: Value<'_>) -> Vec<RecordedRepository> {
    let mut all = Vec::new();
    for (_, project) in projects(root) {
        let text = |key: &str| project.get(key)?.as_str().filter(|text| !text.is_empty()).map(String::from);
        let repository = text("repoPath").map(PathBuf::from);
        let worktree = text("worktreePath").map(PathBuf::from);
        let worktree = worktree.map(|path| repository.as_ref().map_or(path.clone(), |from| from.join(&path)));
        let recorded = RecordedRepository { repository, worktree, branch: text("branch") };
        if !all.contains(&recorded) {
            all.push(recorded);
        }
    }
    all
}

/// The folders that the files of the run lie in: its worktrees; without one, its repositories.
pub fn roots(root: Value<'_>) -> Vec<PathBuf> {
    let worktrees = worktrees(root).into_iter().map(|worktree| worktree.path);
    let mut roots: Vec<PathBuf> = worktrees.filter(|path| path.is_absolute()).collect();
    if roots.is_empty() {
        let repositories = projects(root).into_iter().filter_map(|(_, project)| {
            let path = PathBuf::from(&*project.get("repoPath")?.as_str()?);
            path.is_absolute().then_some(path)
        });
        roots.extend(repositories);
    }
    roots
}

/// Every folder that the run works in: worktrees and repositories.
pub fn workspace(root: Value<'_>) -> Vec<PathBuf> {
    let repositories = projects(root).into_iter().filter_map(|(_, project)| {
        let path = project.get("repoPath")?.as_str()?;
        (!path.is_empty()).then(|| PathBuf::from(&*path))
    });
    worktrees(root).into_iter().map(|worktree| worktree.path).chain(repositories).collect()
}

/// The document itself and its projects, with their pointers.
fn projects(root: Value<'_>) -> Vec<(String, Value<'_>)> {
    let others = root.get("projects").into_iter().flat_map(Value::elements).enumerate();
    let others = others.map(|(index, project)| (format!("/projects/{index}"), project));
    std::iter::once((String::new(), root)).chain(others).collect()
}

/// A piece of work within a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its name.
    pub token: String,
    /// What it has put out, as the document names it.
    pub files: Vec<String>,
    /// Where it is recorded.
    pub pointer: String,
}

/// The units that a phase's record names as done: those in `subSteps`, and `subStep` where it is not among them, as in
/// documents that record the latest alone; its files are the phase's.
pub fn units(record: Value<'_>, phase: u32) -> Vec<Unit> {
    let mut units = Vec::new();
    for member in record.get("subSteps").into_iter().flat_map(Value::members) {
        let token = member.key.to_str().into_owned();
        let pointer = format!("/phases/{phase}/subSteps/{}", pointer_token(&token));
        let files = match member.value.kind() {
            Kind::Array => texts(member.value),
            _ => member.value.get("files").map(texts).unwrap_or_default(),
        };
        units.push(Unit { token, files, pointer });
    }
    if let Some(token) = sub_step(record)
        && units.iter().all(|unit| unit.token != token)
    {
        let pointer = format!("/phases/{phase}/subStep");
        units.push(Unit { token, files: files(record), pointer });
    }
    units
}

/// The latest unit of a phase.
pub fn sub_step(record: Value<'_>) -> Option<String> {
    record.get("subStep")?.as_str().filter(|token| !token.is_empty()).map(String::from)
}

/// The files that a record lists.
pub fn files(record: Value<'_>) -> Vec<String> {
    record.get("files").map(texts).unwrap_or_default()
}

fn texts(list: Value<'_>) -> Vec<String> {
    list.elements().filter_map(Value::as_str).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn document(text: &str) -> Document {
        Document::parse(text.into()).unwrap()
    }

    #[test]
    fn the_cursor_is_read_in_its_legacy_spellings() {
        for (text, phase) in
            [("4", Some(4)), ("4.0", Some(4)), ("\"4\"", Some(4)), ("null", None), ("-1", None)]
        {
            assert_eq!(cursor(document(&format!(r#"{{"currentPhase":{text}}}"#)).root()), phase, "{text}");
        }
    }

    #[test]
    #[cfg(unix)] // its absolute paths are of Unix
    fn a_relative_worktree_starts_at_its_repository_and_each_counts_once() {
        let document = document(
            r#"{"repoPath":"/r","worktreePath":".worktrees/A","branch":"a","projects":[
                {"repoPath":"/r","worktreePath":"/r/.worktrees/A"},
                {"repoPath":"/s","worktreePath":"/w","branch":""},
                {"repoPath":"/t","worktreePath":null}]}"#,
        );
        let found = worktrees(document.root());
        let rows: Vec<_> = found
            .iter()
            .map(|w| (w.pointer.as_str(), w.path.to_str().unwrap(), w.branch.as_deref()))
            .collect();
        assert_eq!(
            rows,
            [("/worktreePath", "/r/.worktrees/A", Some("a")), ("/projects/1/worktreePath", "/w", None)]
        );
        assert_eq!(roots(document.root()), [PathBuf::from("/r/.worktrees/A"), "/w".into()]);
    }

    #[test]
    #[cfg(unix)] // its absolute paths are of Unix
    fn without_a_worktree_files_lie_in_the_repository() {
        let document = document(r#"{"repoPath":"/r","worktreePath":null}"#);
        assert_eq!(roots(document.root()), [PathBuf::from("/r")]);
    }

    #[test]
    fn units_are_those_recorded_and_the_latest_where_it_stands_alone() {
        let unit = |token: &str, files: &[&str], pointer: &str| Unit {
            token: token.into(),
            files: files.iter().map(|&file| file.into()).collect(),
            pointer: pointer.into(),
        };
        let document =
            document(r#"{"subStep":"green","files":["a","b"],"subSteps":{"red":{"files":["a"]},"x":["b"]}}"#);
        assert_eq!(
            units(document.root(), 3),
            [
                unit("red", &["a"], "/phases/3/subSteps/red"),
                unit("x", &["b"], "/phases/3/subSteps/x"),
                unit("green", &["a", "b"], "/phases/3/subStep")
            ]
        );
    }
}
