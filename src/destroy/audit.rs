//! Who removed what: `<logs>/audit.ndjson`, a line before the first removal and one behind the last, appended durably. A first
//! line without a second is a run that has crashed.

use std::path::Path;

use chrono::Utc;
use serde_json::{Value, json};

use super::item::Item;
use super::nothing_removed;
use super::request::Request;
use super::run::Outcome;
use super::token::Token;
use crate::disk;
use crate::error::Error;
use crate::lock;
use crate::log;
use crate::update::{Caller, WriteOptions};

/// The file beside the projects.
const AUDIT_FILE: &str = "audit.ndjson";

/// Of a list as many bytes go into a line, which has to be appended in one write.
const MOST_LISTED: usize = log::MOST_BYTES / 4;

/// The audit of one run.
pub struct Audit<'a> {
    /// The logs root.
    pub logs: &'a Path,
    /// What was asked for.
    pub request: &'a Request,
    /// What confirmed it.
    pub token: &'a Token,
    /// How long a lock is waited for.
    pub options: &'a WriteOptions,
    /// Who runs it.
    pub caller: Caller<'a>,
}

impl Audit<'_> {
    /// Before anything is removed; when that cannot be told, nothing is.
    pub fn started(&self) -> Result<(), Error> {
        let file = self.logs.join(AUDIT_FILE);
        if std::fs::symlink_metadata(&file).is_ok_and(|facts| facts.is_symlink()) {
            return Err(nothing_removed(&file, "the audit is a link, which is not followed"));
        }
        self.append("started", json!({}))
    }

    /// When all is removed that can be.
    pub fn ended(&self, outcome: &Outcome) -> Result<(), Error> {
        let removed = outcome.removed.iter().map(Item::described);
        let result = if outcome.left.is_empty() { "done" } else { "partial" };
        let more = json!({ "removed": listed(removed), "left": listed(outcome.left.iter().cloned()) });
        self.append(result, more)
    }

    fn append(&self, result: &str, more: Value) -> Result<(), Error> {
        let mut line = json!({
            "at": log::to_text(Utc::now()),
            "request": self.request,
            "who": {
                "user": disk::own_user(),
                "pid": std::process::id(),
                "program": self.caller.program,
                "host": lock::host(),
            },
            "token": self.token.as_str(),
            "result": result,
        });
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more);
        }
        log::append(&self.logs.join(AUDIT_FILE), &format!("{line}\n"), self.options, self.caller)
    }
}

/// A list, as much of it as fits, with what is left out counted.
fn listed(all: impl Iterator<Item = String>) -> Value {
    let (mut names, mut bytes, mut more) = (Vec::new(), 0, 0);
    for name in all {
        // As JSON it is at most six times as long.
        bytes += 6 * name.len();
        if bytes <= MOST_LISTED || names.is_empty() { names.push(name) } else { more += 1 }
    }
    json!({ "names": names, "more": more })
}
