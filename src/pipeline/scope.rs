//! Where a run's scope root is, told from where its document lies (P5).
//!
//! Documents record the *name* of their scope root, not its path, so that a workspace can be moved. The path is
//! recomputed: four folders up from the document (`data`), five when the folder above `temp` is `superpipelines`
//! (`legacy`). The recorded name, which has two components for two of the tiers, must be what that path ends in. A
//! [`Mismatch`] is for telling; nothing here looks for a root elsewhere.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::tiers::{LEGACY_INFIX, Layout, ScopeRoot, TEMP};

/// The scope root of a run, and whether the document agrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The root that the document's place implies; `None` when it lies in no folder that a run may have.
    pub root: Option<ScopeRoot>,
    /// The workspace or home folder: the root without the components of the recorded name. Only when they agree.
    pub base: Option<PathBuf>,
    /// Why place and record do not go together.
    pub mismatch: Option<Mismatch>,
}

/// Why the recorded scope root is not where the document lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The document is not in `…/temp/{P}/{runId}/`.
    NotInTemp {
        /// The third folder up, which is not `temp`; empty when there are not so many.
        found: String,
    },
    /// The document records no name, so nothing can be compared.
    NotRecorded,
    /// What is recorded is no name of a folder below another: it is absolute, empty, or goes upwards.
    NotAName {
        /// What is recorded.
        recorded: String,
    },
    /// The run lies below another root than the recorded one.
    OtherRoot {
        /// What is recorded.
        recorded: String,
        /// The recomputed root.
        found: PathBuf,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::NotInTemp { found } if found.is_empty() => {
                write!(
                    f,
                    "the file does not lie in {{scope_root}}/temp/{{P}}/{{runId}}: it has been moved out of its scope root"
                )
            }
            Mismatch::NotInTemp { found } => write!(
                f,
                "the file does not lie in {{scope_root}}/temp/{{P}}/{{runId}}, the third folder up being {found:?}: it has \
                 been moved out of its scope root"
            ),
            Mismatch::NotRecorded => {
                write!(f, "scope_root_dir is not recorded, so where the run belongs cannot be checked")
            }
            Mismatch::NotAName { recorded } => {
                write!(
                    f,
                    "scope_root_dir is {recorded:?}, and it is the name of a folder such as \".claude\""
                )
            }
            Mismatch::OtherRoot { recorded, found } => write!(
                f,
                "scope_root_dir is {recorded:?}, but the run lies below {found:?}: it has been moved out of its scope root"
            ),
        }
    }
}

/// The scope root of the document at `file`, which is an absolute path ([`of_file`] takes any).
///
/// ```
/// use std::path::Path;
/// use pipestate::pipeline::scope::locate;
///
/// let file = Path::new("/ws/.agents/codex/superpipelines/temp/docs/run-1/pipeline-state.json");
/// let scope = locate(file, Some(".agents/codex"));
/// assert_eq!(scope.mismatch, None);
/// assert_eq!(scope.base.as_deref(), Some(Path::new("/ws")));
/// ```
pub fn locate(file: &Path, recorded: Option<&str>) -> Scope {
    let Some(recorded) = recorded else {
        return Scope { root: root_of(file), base: None, mismatch: Some(Mismatch::NotRecorded) };
    };
    let Some(root) = root_of(file) else {
        let found =
            file.ancestors().nth(3).and_then(Path::file_name).map(|name| name.to_string_lossy().into());
        let mismatch = Some(Mismatch::NotInTemp { found: found.unwrap_or_default() });
        return Scope { root: None, base: None, mismatch };
    };
    match base_of(&root.path, recorded) {
        Ok(base) => Scope { root: Some(root), base: Some(base), mismatch: None },
        Err(mismatch) => Scope { root: Some(root), base: None, mismatch: Some(mismatch) },
    }
}

/// The scope root of a file: by the path as it is given, or, where that does not agree with the record, by the path
/// without its links. Either is a place where the document lies.
pub fn of_file(file: &Path, recorded: Option<&str>) -> Scope {
    let given = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let scope = locate(&given, recorded);
    if scope.mismatch.is_none() {
        return scope;
    }
    let real = std::fs::canonicalize(file).map(|real| locate(&real, recorded));
    real.ok().filter(|scope| scope.mismatch.is_none()).unwrap_or(scope)
}

/// Whether it can be the recorded name of a scope root: plain components, relative, not upwards.
pub fn is_name(recorded: &str) -> bool {
    names(recorded).is_some()
}

/// The root that the place of a document implies: `{root}[/superpipelines]/temp/{P}/{runId}/{file}`.
fn root_of(file: &Path) -> Option<ScopeRoot> {
    let mut up = file.ancestors().skip(3);
    up.next().filter(|folder| folder.file_name() == Some(OsStr::new(TEMP)))?;
    let above_temp = up.next()?;
    if above_temp.file_name() == Some(OsStr::new(LEGACY_INFIX)) {
        return Some(ScopeRoot { path: up.next()?.to_owned(), layout: Layout::Legacy });
    }
    Some(ScopeRoot { path: above_temp.to_owned(), layout: Layout::Data })
}

/// The path without the components of the recorded name, if it ends in them.
fn base_of(root: &Path, recorded: &str) -> Result<PathBuf, Mismatch> {
    let names = names(recorded).ok_or_else(|| Mismatch::NotAName { recorded: recorded.to_owned() })?;
    let mut base = root;
    for name in names.iter().rev() {
        match (base.file_name() == Some(OsStr::new(name)), base.parent()) {
            (true, Some(parent)) => base = parent,
            _ => return Err(Mismatch::OtherRoot { recorded: recorded.to_owned(), found: root.to_owned() }),
        }
    }
    Ok(base.to_owned())
}

/// The components of a recorded scope root, which another system may have written with its own separators.
fn names(recorded: &str) -> Option<Vec<&str>> {
    let trimmed = recorded.trim_end_matches(['/', '\\']);
    let is_absolute = recorded.starts_with(['/', '\\', '~']) || recorded.as_bytes().get(1) == Some(&b':');
    let names: Vec<&str> = trimmed.split(['/', '\\']).collect();
    let is_plain = |name: &&str| matches!(Path::new(name).components().next(), Some(Component::Normal(_)));
    (!is_absolute && names.iter().all(is_plain)).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::super::tiers::{STATE_FILE, Tier};
    use super::*;

    fn state_file(base: &str, layout: Layout, root: &str) -> PathBuf {
        layout.runs_folder(&Path::new(base).join(root)).join("docs").join("run-1").join(STATE_FILE)
    }

    #[test]
    fn a_run_of_every_tier_and_layout_finds_its_root_wherever_the_workspace_is() {
        for base in ["/ws", "/mnt/c/Users/a b/work", "/"] {
            for tier in Tier::ALL {
                for layout in Layout::ALL {
                    for name in [layout.workspace_root(tier), layout.user_root(tier)] {
                        let file = state_file(base, layout, name);
                        let root = ScopeRoot { path: Path::new(base).join(name), layout };
                        assert_eq!(
                            locate(&file, Some(name)),
                            Scope { root: Some(root), base: Some(base.into()), mismatch: None },
                            "{file:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_run_below_another_root_than_the_recorded_one_is_told() {
        let file = state_file("/ws", Layout::Legacy, ".claude");
        let other = |recorded: &str| {
            Some(Mismatch::OtherRoot { recorded: recorded.into(), found: "/ws/.claude".into() })
        };
        for recorded in [".codex", ".agents/.claude", "claude", ".superpipelines", "work"] {
            let scope = locate(&file, Some(recorded));
            assert_eq!((scope.mismatch, scope.base), (other(recorded), None));
        }
        assert_eq!(
            other(".codex").unwrap().to_string(),
            "scope_root_dir is \".codex\", but the run lies below \"/ws/.claude\": it has been moved out of its scope root"
        );
        // Of a name of two components both count.
        let file = state_file("/ws", Layout::Legacy, "elsewhere/codex");
        assert!(locate(&file, Some(".agents/codex")).mismatch.is_some());
    }

    #[test]
    fn a_legacy_run_is_not_taken_for_a_data_run_of_the_folder_between() {
        let file = state_file("/ws", Layout::Legacy, ".superpipelines");
        let scope = locate(&file, Some(".superpipelines"));
        assert_eq!(scope.root.map(|root| root.layout), Some(Layout::Legacy));
        assert_eq!(scope.mismatch, None);
    }

    #[test]
    fn a_document_that_lies_in_no_run_folder_has_no_root() {
        for file in ["/ws/pipeline-state.json", "/pipeline-state.json", "/a/b/c/d/pipeline-state.json"] {
            let scope = locate(Path::new(file), Some(".claude"));
            assert_eq!(scope.root, None, "{file}");
            assert!(matches!(scope.mismatch, Some(Mismatch::NotInTemp { .. })), "{file}");
        }
        assert!(locate(Path::new("/temp/p/r/pipeline-state.json"), Some("x")).mismatch.is_some());
    }

    #[test]
    fn what_is_no_name_of_a_folder_is_never_compared() {
        let file = state_file("/ws", Layout::Legacy, ".claude");
        for recorded in ["", "/ws/.claude", "C:\\ws\\.claude", "~/.claude", "../.claude", "./.claude", "a//b"]
        {
            let expected = Some(Mismatch::NotAName { recorded: recorded.into() });
            assert_eq!(locate(&file, Some(recorded)).mismatch, expected, "{recorded}");
        }
        assert_eq!(locate(&file, None).mismatch, Some(Mismatch::NotRecorded));
        let two = state_file("/ws", Layout::Legacy, ".agents/codex");
        assert_eq!(locate(&two, Some(".agents\\codex")).mismatch, None);
        assert_eq!(locate(&two, Some(".agents/codex/")).mismatch, None);
    }
}
