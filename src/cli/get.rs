//! `pipestate get`.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{Run, arguments};
use super::output::Output;
use crate::error::Error;
use crate::update;

arguments! {
    /// Print a value of the state file, byte for byte as it stands there
    #[examples = "\
Examples:
  pipestate get agent-state.json                      the whole document
  pipestate get agent-state.json /phases/4/status     one value, by its JSON pointer (RFC 6901)
  pipestate get --rev agent-state.json                the revision, for `write --if-match`"]
    pub struct Get {
        /// Print the revision instead; `none` if there is no file
        rev: bool = flag("rev").excludes("POINTER"),
        /// Print path, revision, pointer and value as one JSON object
        json: bool = flag("json"),
        /// The state file
        file: PathBuf = operand("FILE"),
        /// What to print; exit 1 if it is not there [default: the whole document]
        pointer: Option<String> = operand("POINTER"),
    }
}

impl Run for Get {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let snapshot = update::read(&self.file)?;
        let path = self.file.to_string_lossy();
        if self.rev {
            output.result(json!({ "path": path, "rev": snapshot.rev }), &snapshot.rev)?;
            return Ok(0);
        }
        let rev = snapshot.rev.clone();
        let document = snapshot.existing_document(&self.file)?;
        let pointer = self.pointer.as_deref().unwrap_or("");
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(Error::Usage(format!(
                "{pointer:?} is no JSON pointer: one starts with a slash, as in /phases/4"
            )));
        }
        let not_there = || Error::NotThere { path: self.file.clone(), pointer: pointer.to_owned() };
        let value = document.root().pointer(pointer).ok_or_else(not_there)?.raw();
        match (self.json, &self.pointer) {
            (true, _) => {
                // Put in as it is: through a tree of values it would lose digits and lone surrogates.
                let head = json!({ "ok": true, "path": path, "rev": rev, "pointer": pointer }).to_string();
                let head = head.strip_suffix('}').unwrap_or(&head);
                output.bytes(&[head.as_bytes(), b",\"value\":", value, b"}\n"])?;
            }
            (false, None) => output.bytes(&[document.text()])?,
            (false, Some(_)) => output.bytes(&[value, b"\n"])?,
        }
        Ok(0)
    }
}
