//! The drop-in: the shims, with what they need, in a folder of scripts such as `~/.claude/scripts`, where no package is.
//!
//! Four files are put there, and `pipestate-install.json`, which says what they are and where what they replaced is kept.
//! Under its lock, in this order, so that after a crash at any step either command finishes the work or takes it back:
//!
//! 1. the record, which names every file that will be there and every copy that will be kept;
//! 2. for each file that was there before: a second name, [`KEPT`]; the script itself stays in its place;
//! 3. for each: the new content, renamed onto the old.
//!
//! A file counts as pipestate's while its digest is the recorded one. One that is not, because step 3 was never reached or
//! somebody has edited it since, is kept before it is replaced, and left alone by [`uninstall`].

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::atomic::{self, Durability};
use crate::disk::{self, Facts, FileKind, Folder};
use crate::error::Error;
use crate::lock::{self, Lock};
use crate::place::{Missing, Place};
use crate::update::Caller;

/// The files that are the same on every platform.
const SCRIPTS: [(&str, &str); 3] = [
    ("pipestate-native.cjs", include_str!("../pipestate-native.cjs")),
    ("write-state.mjs", include_str!("../write-state.mjs")),
    ("validate-state.mjs", include_str!("../validate-state.mjs")),
];

/// What is kept of `NAME` is `NAME.before-pipestate`, or `NAME.before-pipestate-2` and so on.
const KEPT: &str = ".before-pipestate";

const RECORD: &str = "pipestate-install.json";

/// What has been put into a folder.
#[derive(Serialize, Deserialize)]
struct Record {
    version: String,
    files: Vec<Installed>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Installed {
    name: String,
    sha256: String,
    /// The name of what it replaced.
    kept: Option<String>,
}

/// What was done about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Done {
    /// There was none.
    Installed,
    /// There was another, which is kept.
    Replaced,
    /// There was one of another version of pipestate.
    Updated,
    /// It was there already.
    Unchanged,
    /// What had been there before is back.
    Restored,
    /// There was none before, and there is none now.
    Removed,
    /// It is not what was put there, and so not pipestate's to remove.
    LeftAlone,
}

/// What was done about one file of a folder.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Its name in the folder.
    pub name: String,
    /// What was done.
    pub done: Done,
    /// The name of what it replaced.
    pub kept: Option<String>,
}

/// Puts the shims and `addon`, the `.node` file of this platform, into `folder`, which is made if it is missing.
/// Doing it again changes nothing.
///
/// # Errors
/// [`Error::Io`], [`Error::LockTimeout`] when another installation is at work, [`Error::Corrupt`] for a record that was
/// edited; all that was there before is there still, under its own name or the kept one.
pub fn install(folder: &Path, addon: &Path, caller: Caller) -> Result<Vec<Outcome>, Error> {
    let binary = fs::read(addon).map_err(|source| Error::io(addon, "read the addon", "open", source))?;
    // Under the name by which the loader asks for it, whatever the file is called.
    let addon_name = addon_name();
    let scripts = SCRIPTS.iter().map(|&(name, text)| (name, text.as_bytes()));
    let contents: Vec<_> = std::iter::once((addon_name.as_str(), binary.as_slice())).chain(scripts).collect();

    let site = Site::open(folder, Missing::Make { durable: true })?;
    let lock = site.lock(caller)?;
    let before = site.read_record()?.map_or(Vec::new(), |record| record.files);
    let steps = contents
        .iter()
        .map(|&(name, content)| site.plan(name, content, &before))
        .collect::<Result<Vec<_>, _>>()?;
    if steps.iter().any(|step| step.done != Done::Unchanged) || steps.len() != before.len() {
        let files = steps.iter().map(|step| step.installed.clone()).collect();
        site.write_record(&Record { version: env!("CARGO_PKG_VERSION").into(), files })?;
    }
    for (step, (_, content)) in steps.iter().zip(&contents) {
        site.carry_out(step, content)?;
    }
    let _ = lock.release(); // a lock that stays is a dead one's, and hinders nobody
    let outcome =
        |step: Step| Outcome { name: step.installed.name, done: step.done, kept: step.installed.kept };
    Ok(steps.into_iter().map(outcome).collect())
}

/// Takes back what [`install`] did: what it replaced is in its place again. Without a record nothing is done.
///
/// # Errors
/// As [`install`]; what is left is finished by doing it again.
pub fn uninstall(folder: &Path, caller: Caller) -> Result<Vec<Outcome>, Error> {
    let site = match Site::open(folder, Missing::Fail) {
        Ok(site) => site,
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let lock = site.lock(caller)?;
    let mut outcomes = Vec::new();
    if let Some(record) = site.read_record()? {
        // The addon last: until then whoever starts a shim finds what it needs.
        for file in record.files.into_iter().rev() {
            outcomes.push(site.take_back(file)?);
        }
        site.folder().unlink(RECORD.as_ref()).map_err(site.failed("remove the record", "unlink"))?;
        site.sync()?;
    }
    let _ = lock.release(); // as above
    Ok(outcomes)
}

/// The addon of this platform in the packages that `program` was installed with: beside it, or in a package beside its own.
pub fn find_addon(program: &Path) -> Option<PathBuf> {
    let (addon, package) = (addon_name(), format!("pipestate-{}", platform()));
    program.ancestors().skip(1).take(4).find_map(|folder| {
        let places = [folder.to_owned(), folder.join(&package), folder.join("node_modules").join(&package)];
        places.into_iter().map(|place| place.join(&addon)).find(|file| file.is_file())
    })
}

/// File name of this platform's addon.
pub fn addon_name() -> String {
    format!("pipestate.{}.node", platform())
}

/// The platform as Node and the packages call it.
fn platform() -> String {
    use std::env::consts::{ARCH, OS};
    let (os, abi) = match OS {
        "linux" if cfg!(target_env = "musl") => ("linux", "-musl"),
        "linux" => ("linux", "-gnu"),
        "windows" => ("win32", "-msvc"),
        "macos" => ("darwin", ""),
        other => (other, ""),
    };
    let arch = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{os}-{arch}{abi}")
}

/// What is to be done about one file.
struct Step {
    installed: Installed,
    done: Done,
    /// What stands there now, to be kept first.
    keep: bool,
    existing: Option<Facts>,
}

/// A folder that is installed into; `record` has it open.
struct Site {
    record: Arc<Place>,
}

impl Site {
    fn open(folder: &Path, missing: Missing) -> Result<Site, Error> {
        Ok(Site { record: Arc::new(Place::find(&folder.join(RECORD), missing)?) })
    }

    /// Takes the lock, and removes what an installation that died has left unfinished.
    fn lock(&self, caller: Caller) -> Result<Lock, Error> {
        let lock = lock::acquire(&self.record, caller.program, lock::DEFAULT_TIMEOUT, caller.interrupted)?;
        let _ = disk::sweep(self.folder(), lock.id()); // what cannot be swept now stays for the next
        Ok(lock)
    }

    fn folder(&self) -> &Folder {
        &self.record.folder
    }

    fn failed(&self, action: &'static str, syscall: &'static str) -> impl Fn(io::Error) -> Error + Copy {
        self.record.failed(action, syscall)
    }

    fn sync(&self) -> Result<(), Error> {
        self.folder().sync().map_err(self.failed("make it durable", "fsync"))
    }

    fn read_record(&self) -> Result<Option<Record>, Error> {
        let Some((_, text)) = self.read(RECORD)? else { return Ok(None) };
        let corrupt = |error: serde_json::Error| Error::Corrupt {
            path: self.record.path.clone(),
            reason: format!("it is no record of an installation: {error}"),
        };
        serde_json::from_slice(&text).map(Some).map_err(corrupt)
    }

    fn write_record(&self, record: &Record) -> Result<(), Error> {
        let text =
            serde_json::to_string_pretty(record).map_err(|error| Error::Bug(error.to_string()))? + "\n";
        self.put(RECORD, text.as_bytes(), None)
    }

    /// What stands there, with what it is: of a link what it leads to, but the facts of the link.
    fn read(&self, name: &str) -> Result<Option<(Facts, Vec<u8>)>, Error> {
        let failed = |source| Error::io(&self.path(name), "read what is there", "open", source);
        let facts = match self.folder().facts(name.as_ref()) {
            Ok(facts) => facts,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        match facts.kind {
            FileKind::Regular => fs::read(self.path(name)).map(|text| Some((facts, text))).map_err(failed),
            // Kept and put back as a link, wherever it leads.
            FileKind::Link => Ok(Some((facts, Vec::new()))),
            other => Err(failed(io::Error::other(format!("it is {}", other.described())))),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.record.path.with_file_name(name)
    }

    fn plan(&self, name: &str, content: &[u8], before: &[Installed]) -> Result<Step, Error> {
        let sha256 = digest(content);
        let before = before.iter().find(|file| file.name == name);
        let mut kept = before.and_then(|file| file.kept.clone());
        let existing = self.read(name)?;
        let is_regular = |facts: &Facts| facts.kind == FileKind::Regular;
        let (done, keep) = match &existing {
            None => (Done::Installed, false),
            Some((facts, text)) if is_regular(facts) && text == content => (Done::Unchanged, false),
            Some((facts, text))
                if is_regular(facts) && before.is_some_and(|file| file.sha256 == digest(text)) =>
            {
                (Done::Updated, false)
            }
            Some((facts, text)) => {
                let is_kept = match &kept {
                    Some(kept) => {
                        self.read(kept)?.is_some_and(|(it, copy)| it.kind == facts.kind && copy == *text)
                    }
                    None => false,
                };
                if !is_kept {
                    kept = Some(self.free_name(name)?);
                }
                (Done::Replaced, !is_kept)
            }
        };
        let existing = existing.map(|(facts, _)| facts).filter(is_regular);
        Ok(Step { installed: Installed { name: name.into(), sha256, kept }, done, keep, existing })
    }

    fn free_name(&self, name: &str) -> Result<String, Error> {
        let names = (1..).map(|number| match number {
            1 => format!("{name}{KEPT}"),
            _ => format!("{name}{KEPT}-{number}"),
        });
        for candidate in names {
            if self.read(&candidate)?.is_none() {
                return Ok(candidate);
            }
        }
        unreachable!("there are more names than files")
    }

    fn carry_out(&self, step: &Step, content: &[u8]) -> Result<(), Error> {
        if step.done == Done::Unchanged {
            return Ok(());
        }
        let name = &step.installed.name;
        if let (true, Some(kept)) = (step.keep, &step.installed.kept) {
            let (name, kept) = (name.as_ref(), kept.as_ref());
            let link = self.folder().link(name, kept).or_else(|error| {
                // Without second names there is for a moment no script at all.
                if disk::has_no_links(&error) { self.folder().rename(name, kept) } else { Err(error) }
            });
            link.map_err(self.failed("keep what is there", "link"))?;
            self.sync()?;
        }
        self.put(name, content, step.existing.as_ref())
    }

    fn put(&self, name: &str, content: &[u8], existing: Option<&Facts>) -> Result<(), Error> {
        let path = self.path(name);
        // The name itself, also where it is a link that leads elsewhere.
        let folder =
            Folder::open_path(self.folder().path()).map_err(self.failed("open the folder", "open"))?;
        let place = Place { folder, name: name.into(), lock_name: self.record.lock_name.clone(), path };
        atomic::replace(&place, existing, &[content], Durability::Durable, &|| Ok(true)).map(drop)
    }

    fn take_back(&self, file: Installed) -> Result<Outcome, Error> {
        let is_ours = match self.read(&file.name)? {
            Some((facts, text)) => facts.kind == FileKind::Regular && digest(&text) == file.sha256,
            None => false,
        };
        let kept = match &file.kept {
            Some(kept) => self.read(kept)?.and(Some(kept)),
            None => None,
        };
        let name = OsStr::new(&file.name);
        let (done, step) = match kept {
            _ if !is_ours => (Done::LeftAlone, Ok(())),
            Some(kept) => (Done::Restored, self.folder().rename(kept.as_ref(), name)),
            None => (Done::Removed, self.folder().unlink(name)),
        };
        step.map_err(self.failed("put back what was there", "rename"))?;
        let kept = kept.filter(|_| done == Done::LeftAlone).cloned();
        Ok(Outcome { name: file.name, done, kept })
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
