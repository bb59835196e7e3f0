//! Where a state file really is (L1, A4): the folder and the name that a path finally leads to, so that all spellings
//! of one file share one lock and a symbolic link stays one.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::disk::{self, Folder};
use crate::error::Error;

/// As many links as Linux follows in one path.
const MOST_LINKS: usize = 40;

/// A state file by its open folder and its name in it, whether or not it exists yet.
#[derive(Debug)]
pub struct Place {
    /// The folder that holds the file, and beside it lock and temporary files.
    pub folder: Folder,
    /// The file's name in the folder.
    pub name: OsString,
    /// The lock's name in the folder.
    pub lock_name: OsString,
    /// The path as the caller gave it, for messages.
    pub path: PathBuf,
}

/// What to do about folders that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Fail: this only reads.
    Fail,
    /// Make them (M5).
    Make {
        /// Whether each is made durable in its parent before anything is made in it.
        durable: bool,
    },
}

impl Place {
    /// Follows `path` to the folder and name that it finally stands for. Links that dangle lead to where the file
    /// would be; a loop is an error.
    pub fn find(path: &Path, missing: Missing) -> Result<Place, Error> {
        if path.as_os_str().is_empty() {
            return Err(Error::Usage("the path of the state file is empty".into()));
        }
        let mut current = path.to_owned();
        for _ in 0..=MOST_LINKS {
            let (parent, name) =
                split(&current).map_err(|source| Error::io(path, "use this path", "open", source))?;
            let folder = open_folder(&parent, missing)
                .map_err(|source| Error::io(path, "open the folder of the state file", "open", source))?;
            let name = folder
                .stored_name(&name)
                .map_err(|source| Error::io(path, "use this name", "open", source))?;
            match folder.read_link(&name) {
                Ok(Some(target)) => current = parent.join(target),
                Ok(None) => {
                    let mut lock_name = name.clone();
                    lock_name.push(".lock");
                    return Ok(Place { folder, name, lock_name, path: path.to_owned() });
                }
                Err(source) => return Err(Error::io(path, "read the link", "readlink", source)),
            }
        }
        Err(Error::io(path, "follow the links", "open", disk::too_many_links()))
    }

    /// Makes an error of what the system said about this file: `map_err(place.failed("open the lock", "open"))`.
    pub fn failed(&self, action: &'static str, syscall: &'static str) -> impl Fn(io::Error) -> Error + Copy {
        move |source| Error::io(&self.path, action, syscall, source)
    }

    /// The real path of the file: absolute, without links.
    pub fn real_path(&self) -> PathBuf {
        self.folder.real_path().join(&self.name)
    }
}

/// The folder and the name in it that a path consists of.
fn split(path: &Path) -> io::Result<(PathBuf, OsString)> {
    let name = match path.components().next_back() {
        Some(Component::Normal(name)) => name.to_owned(),
        _ => return Err(io::ErrorKind::IsADirectory.into()),
    };
    if ends_in_separator(path.as_os_str()) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok((parent_of(path).to_owned(), name))
}

fn ends_in_separator(path: &OsStr) -> bool {
    path.as_encoded_bytes().last().is_some_and(|&byte| std::path::is_separator(byte as char))
}

fn open_folder(path: &Path, missing: Missing) -> io::Result<Folder> {
    match (Folder::open_path(path), missing) {
        (Err(error), Missing::Make { durable }) if error.kind() == io::ErrorKind::NotFound => {
            make_folders(path, durable)?;
            Folder::open_path(path)
        }
        (result, _) => result,
    }
}

/// Makes `path` and whatever of its parents is missing. Nothing is made in a folder whose own name is not durable:
/// whoever made that folder may have been killed since, or be about to sync it.
fn make_folders(path: &Path, durable: bool) -> io::Result<()> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.is_dir()).collect();
    for folder in missing.into_iter().rev() {
        if durable {
            Folder::open_path(parent_of(folder))?.sync_own_name()?;
        }
        disk::make_folder(folder)?;
    }
    Ok(())
}

/// Makes the folder `path`, and whatever of its parents is missing; `false` when somebody else has made it. Of several
/// that make it at once one is told `true`.
pub fn make_new_folder(path: &Path, durable: bool) -> io::Result<bool> {
    let parent = parent_of(path);
    make_folders(parent, durable)?;
    match disk::make_new_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        made => made?,
    }
    if durable {
        Folder::open_path(parent)?.sync()?;
    }
    Ok(true)
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses places below `$CLAUDE_PLUGIN_ROOT`, which a plugin update replaces (A7). Looks before any folder is made.
pub fn refuse_plugin_root(path: &Path) -> Result<(), Error> {
    let Some(root) = std::env::var_os("CLAUDE_PLUGIN_ROOT").filter(|root| !root.is_empty()) else {
        return Ok(());
    };
    // A root that does not exist has nothing below it.
    let Ok(root) = std::fs::canonicalize(root) else { return Ok(()) };
    if final_path(path).starts_with(&root) {
        return Err(Error::PluginRoot { path: path.to_owned(), root });
    }
    Ok(())
}

/// Where `path` leads, as far as it exists, with the rest taken literally.
fn final_path(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut current = absolute;
    for _ in 0..=MOST_LINKS {
        match std::fs::read_link(&current) {
            Ok(target) => current = current.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => break,
        }
    }
    let existing = current.ancestors().find_map(|part| Some((part, std::fs::canonicalize(part).ok()?)));
    let Some((part, real)) = existing else { return current };
    let mut result = real;
    for component in current.strip_prefix(part).unwrap_or(Path::new("")).components() {
        match component {
            Component::ParentDir => drop(result.pop()),
            component => result.push(component),
        }
    }
    result
}
