//! Replacing a file as a whole (contract A): a reader at any instant sees the old content or the new one.
//!
//! What is on disk after each step, and so after a crash there:
//!
//! | step | target | beside it |
//! |---|---|---|
//! | 1 create the temporary file, take its kernel lock | old | an empty `.pipestate-….tmp` |
//! | 2 write it, give it owner and mode of the target | old | part or all of the new content in it |
//! | 3 sync it (durable) | old | the new content, on the disk itself |
//! | 4 ask whether the lock is still ours | old | the same |
//! | 5 rename it onto the target | new | nothing |
//! | 6 sync the folder (durable) | new, also after a power cut | nothing |
//!
//! What the old file had in it is freed with step 5, or, where that takes long, when the lock has been given back
//! ([`disk::Outgoing`]).
//!
//! Where there was no file, the name of the folder itself is made durable before all that (durable): whoever made the
//! folder may have been killed before they had synced it.
//!
//! A crash leaves at most one temporary file, whose kernel lock is free from then on: the next writer that takes over
//! the dead one's lock, or is new to the folder, removes it ([`disk::sweep`]).
//!
//! Not kept: hard links to the old file, its access-control lists and its extended attributes.

use std::io;

use crate::disk::{self, Facts, Private};
use crate::error::Error;
use crate::place::Place;

/// Whether an acknowledged write outlives a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It does: the file and its folder are synced.
    #[default]
    Durable,
    /// Not surely, but the file is whole in any case that the file system's ordering of rename after data allows.
    Fast,
}

/// What a replacement came to, when nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The new content is in place.
    Committed,
    /// The lock was no longer ours just before the rename; nothing was changed (L11).
    LockLost,
}

/// Mode of a new file, less the umask (A4).
const NEW_MODE: u32 = 0o666;
/// Nobody else reads new content before it has the mode of the file it replaces.
const PRIVATE_MODE: u32 = 0o600;
/// How often a temporary file may vanish under us before that is an error.
const MOST_TRIES: usize = 8;

/// Replaces the file at `place` with the concatenation of `content`.
///
/// `existing` is what stands there now and gives mode, owner and group; without it the file is new. `may_commit` is
/// asked just before the rename; its `false` or error leaves everything as it was.
///
/// # Errors
/// Before the rename: the target is untouched and the temporary file removed (A5). [`Error::NotDurable`] is the one
/// failure after it.
pub fn replace(
    place: &Place,
    existing: Option<&Facts>,
    content: &[&[u8]],
    durability: Durability,
    may_commit: &dyn Fn() -> Result<bool, Error>,
) -> Result<Replaced, Error> {
    if existing.is_none() && durability == Durability::Durable {
        place.folder.sync_own_name().map_err(place.failed("make its folder durable", "fsync"))?;
    }
    for _ in 0..MOST_TRIES {
        let mut temporary = Temporary::create(place, existing)?;
        temporary.fill(existing, content, durability)?;
        if !may_commit()? {
            return Ok(Replaced::LockLost);
        }
        match temporary.rename() {
            Ok(()) => return sync_folder(place, durability),
            // Somebody cleans up by name. We still have the lock, so: again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(place.failed("put the new content in place", "rename")(error)),
        }
    }
    let vanished = io::Error::from(io::ErrorKind::NotFound);
    Err(place.failed("keep a temporary file beside it", "rename")(vanished))
}

/// Makes durable what stands at `place`, for a write that finds nothing to change: whoever put it there may have been
/// killed before they had synced it, or the sync may have failed, or they wrote without syncs.
///
/// # Errors
/// [`Error::Io`]; the file is as it was.
pub fn keep(place: &Place, durability: Durability) -> Result<(), Error> {
    if durability == Durability::Durable {
        let synced = place.folder.sync_file(&place.name).and_then(|()| place.folder.sync());
        synced.map_err(place.failed("make durable what is there already", "fsync"))?;
    }
    Ok(())
}

fn sync_folder(place: &Place, durability: Durability) -> Result<Replaced, Error> {
    if durability == Durability::Durable {
        place.folder.sync().map_err(|source| Error::NotDurable { path: place.path.clone(), source })?;
    }
    Ok(Replaced::Committed)
}

/// New content on its way; dropping it removes it, unless it has been renamed.
struct Temporary<'a> {
    place: &'a Place,
    /// Its kernel lock tells sweepers that its writer lives.
    private: Private,
    renamed: bool,
}

impl<'a> Temporary<'a> {
    fn create(place: &'a Place, existing: Option<&Facts>) -> Result<Temporary<'a>, Error> {
        let mode = if existing.is_some() { PRIVATE_MODE } else { NEW_MODE };
        let private = disk::create_private(&place.folder, mode)
            .map_err(place.failed("create a temporary file beside it", "open"))?;
        Ok(Temporary { place, private, renamed: false })
    }

    fn fill(&self, existing: Option<&Facts>, content: &[&[u8]], durability: Durability) -> Result<(), Error> {
        let failed = |syscall| self.place.failed("write the new content", syscall);
        let Private { file, facts, .. } = &self.private;
        disk::write_all(file, content).map_err(failed("write"))?;
        if let Some(existing) = existing {
            // The owner first: changing it clears bits of the mode.
            if (facts.uid, facts.gid) != (existing.uid, existing.gid) {
                disk::set_owner(file, existing).map_err(failed("fchown"))?;
            }
            if facts.mode != existing.mode {
                disk::set_mode(file, existing.mode).map_err(failed("fchmod"))?;
            }
        }
        if durability == Durability::Durable {
            disk::sync_file(file).map_err(failed("fsync"))?;
        }
        Ok(())
    }

    fn rename(&mut self) -> io::Result<()> {
        disk::replacing(|| self.place.folder.rename(&self.private.name, &self.place.name))?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = self.place.folder.unlink(&self.private.name); // what cannot be removed now, the next writer sweeps
        }
    }
}
