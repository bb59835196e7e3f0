//! The way of a folder out of the world: a rename to a name that nobody takes for it, in the same folder, and only then
//! the deletion of what is in it. So a crash leaves the folder whole under its name or not at all, and a rest that is trash by
//! its name and found by the next plan.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::tree::{self, hex};
use crate::disk::{self, Folder};

/// What the name of all trash begins with.
pub const PREFIX: &str = ".pipestate-trash-";

/// Where the trash of the folder at `path` lies: beside it, under a name that its own name leads to.
pub fn of(path: &Path) -> Option<PathBuf> {
    Some(path.with_file_name(name_for(path.file_name()?)))
}

/// Short, so that it fits wherever the folder's own name does.
fn name_for(name: &OsStr) -> OsString {
    format!("{PREFIX}{}", hex(&Sha256::digest(name.as_encoded_bytes())[..8])).into()
}

/// Renames the folder at `path` to its trash, and makes that durable: what is deleted in it must not reappear in a folder
/// that has its old name.
///
/// # Errors
/// What the system says, and trash that is there already; the folder is as it was.
pub fn put(path: &Path) -> io::Result<PathBuf> {
    let (Some(parent), Some(name), Some(trash)) = (path.parent(), path.file_name(), of(path)) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let folder = Folder::open_path(parent)?;
    let trash_name = name_for(name);
    match folder.facts(&trash_name) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Ok(_) => return Err(io::Error::other(format!("there is trash already at {}", trash.display()))),
        Err(error) => return Err(error),
    }
    folder.rename(name, &trash_name)?;
    folder.sync()?;
    Ok(trash)
}

/// Deletes trash with all that is in it, following no link.
pub fn empty(trash: &Path) -> io::Result<()> {
    tree::nothing_mounted_in(trash)?;
    disk::remove_tree(trash)
}
