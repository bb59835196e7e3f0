//! The right to run a plan once (T2).
//!
//! - A plan is a file in `<logs>/.plans/`, 0600: the call, what it lists, when it was made, and a nonce. Its token is the SHA-256
//!   of these bytes, so that a plan that is changed has another one; the file's name is a hash of the token, so that who may
//!   list the folder learns none.
//! - A token is used by unlinking its plan, which of several succeeds for one. It is gone then, whatever comes of it.
//! - Ten minutes by the wall clock. A clock that has been set back, behind the making of the plan, makes it expired.
//! - Plans that have expired are swept by whoever uses a token. One that a crash has torn stands for no token.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::plan::Plan;
use super::request::Request;
use super::tree::hex;
use super::{PERMANENTLY as PERMANENTLY_ASKED, nothing_removed};
use crate::disk::{self, Access, Folder};
use crate::error::Error;
use crate::log;
use crate::place;
use crate::task::PLANS;
use crate::text::quoted;

/// How long a token may be used.
pub const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Readable by nobody else.
const MODE: u32 = 0o600;
/// Of the hash that a token is, in hexadecimal digits.
const DIGITS: usize = 32;

/// Which of the questions a token answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The first; the only one but for purge.
    First,
    /// "Purge permanently".
    Permanent,
}

/// A plan that is ready to be confirmed.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The plan.
    pub plan: Plan,
    /// What confirms it; `None` when there is nothing to remove.
    pub token: Option<Issued>,
}

/// A token that was made.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The token.
    pub token: String,
    /// From then on it is void.
    pub expires: DateTime<Utc>,
}

impl Prepared {
    /// The line that confirms it; `logs` is the root that was named.
    pub fn line(&self, issued: &Issued, logs: Option<&Path>) -> String {
        self.plan.request.line(Some(&issued.token), logs)
    }

    /// The plan as `--json` prints it and JavaScript gets it.
    pub fn to_json(&self, logs: Option<&Path>) -> Value {
        json!({
            "command": self.plan.request.command,
            "groups": self.plan.groups,
            "kept": self.plan.kept,
            "token": self.token.as_ref().map(|issued| &issued.token),
            "expiresAt": self.token.as_ref().map(|issued| log::to_text(issued.expires)),
            "confirm": self.token.as_ref().map(|issued| self.line(issued, logs)),
        })
    }

    /// The second question as `--json` prints it and JavaScript gets it.
    pub fn to_question(&self, logs: Option<&Path>) -> Value {
        json!({
            "done": false,
            "command": self.plan.request.command,
            "question": PERMANENTLY_ASKED,
            "token": self.token.as_ref().map(|issued| &issued.token),
            "expiresAt": self.token.as_ref().map(|issued| log::to_text(issued.expires)),
            "confirm": self.token.as_ref().map(|issued| self.line(issued, logs)),
        })
    }
}

/// A token that was handed in.
#[derive(Clone, Debug)]
pub struct Token(String);

/// A plan as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stored {
    /// The call.
    pub request: Request,
    /// Which question its token answers.
    pub stage: Stage,
    /// When it was made, in milliseconds since 1970.
    made: i64,
    /// So that nobody guesses a token, and no two plans have the same.
    nonce: String,
    listing: Value,
}

impl Token {
    /// A token that looks like one, which makes it fit for a file's name.
    pub fn parse(text: &str, logs: &Path) -> Result<Token, Error> {
        let looks_right = text.rsplit_once('-').is_some_and(|(word, digits)| {
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            WORDS.contains(&word) && digits.len() == DIGITS && digits.bytes().all(is_digit)
        });
        match looks_right {
            true => Ok(Token(text.to_owned())),
            false => Err(nothing_removed(logs, format!("{} is no token", quoted(text)))),
        }
    }

    fn of(stored: &Stored, bytes: &[u8]) -> Token {
        let word = match stored.stage {
            Stage::First => stored.request.command.word(),
            Stage::Permanent => PERMANENTLY,
        };
        Token(format!("{word}-{}", hex(&Sha256::digest(bytes)[..DIGITS / 2])))
    }

    /// The token itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn file_name(&self) -> String {
        format!("{}{SUFFIX}", hex(&Sha256::digest(self.0.as_bytes())[..DIGITS / 2]))
    }
}

/// What the second token of a purge begins with.
const PERMANENTLY: &str = "purge-permanently";
const WORDS: [&str; 4] = ["kill", "clear-logs", "purge", PERMANENTLY];
const SUFFIX: &str = ".json";

/// The folder of the plans.
#[derive(Debug)]
pub struct Plans {
    folder: Folder,
    path: PathBuf,
    logs: PathBuf,
}

impl Plans {
    /// The folder, made if it is missing.
    pub fn make(logs: &Path) -> Result<Plans, Error> {
        let path = logs.join(PLANS);
        place::refuse_plugin_root(&path)?;
        place::make_new_folder(&path, true)
            .map_err(|source| Error::io(&path, "make the folder of the plans", "mkdir", source))?;
        Plans::at(logs, path)
    }

    /// The folder that `token`'s plan must lie in.
    pub fn open(logs: &Path, token: &Token) -> Result<Plans, Error> {
        let path = logs.join(PLANS);
        match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(unknown(logs, token)),
            _ => Plans::at(logs, path),
        }
    }

    fn at(logs: &Path, path: PathBuf) -> Result<Plans, Error> {
        let failed = |source| Error::io(&path, "open the folder of the plans", "open", source);
        if std::fs::symlink_metadata(&path).map_err(failed)?.is_symlink() {
            return Err(nothing_removed(&path, "it is a link, and plans are kept in a folder"));
        }
        let folder = Folder::open_path(&path).map_err(failed)?;
        Ok(Plans { folder, path, logs: logs.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a plan, and makes its token.
    pub fn prepare(&self, plan: Plan, stage: Stage, now: DateTime<Utc>) -> Result<Prepared, Error> {
        let stored = Stored {
            request: plan.request.clone(),
            stage,
            made: now.timestamp_millis(),
            nonce: uuid::Uuid::new_v4().simple().to_string(),
            listing: plan.listing(),
        };
        let bytes = serde_json::to_vec(&stored).expect("a plan is JSON");
        let token = Token::of(&stored, &bytes);
        let name = token.file_name();
        let failed = |syscall| move |source| Error::io(&self.path, "keep a plan in it", syscall, source);
        let file = self.folder.create(name.as_ref(), MODE).map_err(failed("open"))?;
        let written = disk::write_all(&file, &[&bytes]).and_then(|()| disk::sync_file(&file));
        if let Err(error) = written.and_then(|()| self.folder.sync()) {
            let _ = self.folder.unlink(name.as_ref()); // the first error is the one to tell
            return Err(failed("write")(error));
        }
        let expires = now + TimeDelta::from_std(LIFETIME).expect("ten minutes");
        Ok(Prepared { plan, token: Some(Issued { token: token.0, expires }) })
    }

    /// Uses a token: its plan, which is unlinked and so nobody else's. One that belongs to another call than `expected` stays.
    pub fn take(
        &self,
        token: &Token,
        expected: Option<&Request>,
        now: DateTime<Utc>,
    ) -> Result<Stored, Error> {
        let name = token.file_name();
        let failed = |syscall| move |source| Error::io(&self.path, "read a plan in it", syscall, source);
        let bytes = match self.folder.open(name.as_ref(), Access::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(unknown(&self.logs, token));
            }
            file => {
                let file = file.map_err(failed("open"))?;
                let size = disk::facts(&file).map_err(failed("fstat"))?.size;
                disk::read_all(&file, size).map_err(failed("read"))?
            }
        };
        let stored: Option<Stored> = serde_json::from_slice(&bytes).ok();
        let Some(stored) = stored.filter(|stored| Token::of(stored, &bytes).0 == token.0) else {
            return Err(nothing_removed(&self.logs, "the plan of this token has been changed; plan anew"));
        };
        if let Some(expected) = expected.filter(|expected| **expected != stored.request) {
            let (its, called) = (stored.request.line(None, None), expected.line(None, None));
            return Err(nothing_removed(
                &self.logs,
                format!("the token is for `{its}`, and not for `{called}`"),
            ));
        }
        match self.folder.unlink(name.as_ref()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(unknown(&self.logs, token));
            }
            unlinked => unlinked.and_then(|()| self.folder.sync()).map_err(failed("unlink"))?,
        }
        self.sweep();
        let age = now.timestamp_millis().checked_sub(stored.made).and_then(|age| u64::try_from(age).ok());
        match age {
            Some(age) if age <= LIFETIME.as_millis() as u64 => Ok(stored),
            Some(_) => Err(nothing_removed(&self.logs, "the token is older than 10 minutes; plan anew")),
            None => Err(nothing_removed(
                &self.logs,
                "the clock has been set back since the plan was made; plan anew",
            )),
        }
    }

    /// Takes a token back.
    pub fn withdraw(&self, token: &Token) -> Result<(), Error> {
        match self.folder.unlink(token.file_name().as_ref()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(&self.path, "remove a plan in it", "unlink", error))
            }
            _ => Ok(()),
        }
    }

    /// Removes plans that nobody can use any more. What cannot be removed stays for the next one.
    fn sweep(&self) {
        let now = SystemTime::now();
        for name in self.folder.names().unwrap_or_default() {
            let is_plan = name.to_str().is_some_and(|name| name.ends_with(SUFFIX));
            let age = || self.folder.facts(&name).ok().and_then(|facts| facts.age(now));
            if is_plan && age().is_some_and(|age| age > LIFETIME) {
                let _ = self.folder.unlink(&name);
            }
        }
    }
}

fn unknown(logs: &Path, token: &Token) -> Error {
    nothing_removed(logs, format!("{} has been used or withdrawn, or was never made; plan anew", token.0))
}

impl Stored {
    /// Whether a plan that was made just now lists the same; else the token is void, and what differs is named.
    pub fn must_still_be(&self, plan: &Plan, logs: &Path) -> Result<(), Error> {
        let now = plan.listing();
        if now == self.listing {
            return Ok(());
        }
        let what = difference(&self.listing, &now);
        Err(nothing_removed(
            logs,
            format!("the token is void, because what it lists has changed: {what}; plan anew"),
        ))
    }
}

/// The first thing that two listings do not have in common.
fn difference(before: &Value, now: &Value) -> String {
    let items = |listing: &Value| -> Vec<Value> {
        let groups = listing["groups"].as_array().cloned().unwrap_or_default();
        groups.iter().flat_map(|group| group["items"].as_array().cloned().unwrap_or_default()).collect()
    };
    let name = |item: &Value| {
        let text = |key: &str| item[key].as_str().map(str::to_owned);
        let name = text("path").or(text("name")).unwrap_or_default();
        format!("{} {name}", text("kind").unwrap_or_default())
    };
    let (before, now) = (items(before), items(now));
    let changed = before.iter().find(|item| !now.contains(item));
    match (changed, now.iter().find(|item| !before.contains(item))) {
        (Some(item), _) => name(item),
        (None, Some(new)) => format!("{} is new", name(new)),
        (None, None) => "what is kept, or the order".to_owned(),
    }
}
