//! A folder with all that is in it: how large it is, and what it is told by.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use crate::disk::{self, Facts, FileKind, Folder};
use crate::sort::sort_by;

/// As many files are named; the rest is counted.
const MOST_NAMED: usize = 100;

/// A folder as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Bytes in its files.
    pub size: u64,
    /// How many things that are no folders are in it.
    pub files: u64,
    /// The first of them, by their paths in it.
    pub first: Vec<PathBuf>,
    /// Folders in it that are repositories of their own.
    pub repositories: Vec<PathBuf>,
    /// Changes with the path, kind, inode, size, time of change or target of anything in it.
    pub fingerprint: String,
}

/// Looks through the folder at `root`, following no link.
///
/// # Errors
/// What cannot be looked at, and a file system that is mounted in it: that is not ours to remove.
pub fn look_through(root: &Path) -> io::Result<Tree> {
    nothing_mounted_in(root)?;
    let mut tree = Tree::default();
    let mut print = Fingerprint::of(root);
    let device = Folder::open_path(root)?.id()?.device;
    // A list and no recursion: folders may lie deeper than a stack reaches.
    let mut folders = vec![root.to_owned()];
    while let Some(path) = folders.pop() {
        let at = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let folder = Folder::open_path(&path).map_err(at)?;
        let mut names: Vec<OsString> = folder.names().map_err(at)?;
        sort_by(&mut names, Ord::cmp);
        for name in names {
            let facts = folder.facts(&name).map_err(at)?;
            let inner = path.join(&name);
            print.add(&inner, &facts)?;
            if facts.id.device != device {
                return Err(mounted(&inner));
            }
            if facts.kind == FileKind::Folder {
                if name == ".git" && path != root {
                    tree.repositories.push(path.strip_prefix(root).unwrap_or(&path).to_owned());
                }
                folders.push(inner);
            } else {
                if tree.first.len() < MOST_NAMED {
                    tree.first.push(inner.strip_prefix(root).unwrap_or(&inner).to_owned());
                }
                tree.files += 1;
                tree.size += facts.size;
            }
        }
    }
    tree.fingerprint = print.finish();
    Ok(tree)
}

/// What the file at `path` is told by, and its size; `None` when there is none.
pub fn look_at_file(path: &Path) -> io::Result<Option<(Facts, String)>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let facts = match Folder::open_path(parent)?.facts(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        facts => facts?,
    };
    let mut print = Fingerprint::of(path);
    print.add(path, &facts)?;
    Ok(Some((facts, print.finish())))
}

/// Fails when something is mounted in the folder: its removal would empty another file system.
pub fn nothing_mounted_in(root: &Path) -> io::Result<()> {
    disk::mounted_in(root).first().map_or(Ok(()), |mount| Err(mounted(mount)))
}

fn mounted(at: &Path) -> io::Error {
    io::Error::other(format!("another file system is mounted at {}", at.display()))
}

struct Fingerprint(Sha256);

impl Fingerprint {
    fn of(root: &Path) -> Fingerprint {
        let mut print = Fingerprint(Sha256::new());
        print.bytes(root.as_os_str().as_encoded_bytes());
        print
    }

    fn add(&mut self, path: &Path, facts: &Facts) -> io::Result<()> {
        self.bytes(path.as_os_str().as_encoded_bytes());
        self.bytes(facts.kind.described().as_bytes());
        self.0.update(facts.id.inode.to_le_bytes());
        match facts.kind {
            // Size and time of a folder change with what is in it, which is told by itself.
            FileKind::Folder => {}
            FileKind::Link => self.bytes(fs::read_link(path)?.as_os_str().as_encoded_bytes()),
            FileKind::Regular | FileKind::Special => {
                let modified = facts.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
                self.0.update(facts.size.to_le_bytes());
                self.0.update(modified.as_nanos().to_le_bytes());
            }
        }
        Ok(())
    }

    /// With their length in front, so that no two lists of parts look alike.
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn finish(self) -> String {
        hex(&self.0.finalize()[..16])
    }
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
