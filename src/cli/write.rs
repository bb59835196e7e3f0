//! `pipestate write`, and `write-state.mjs`.

use std::path::PathBuf;

use serde_json::json;

use super::arguments::{Run, arguments};
use super::edit::{EditOptions, as_caller, tell};
use super::{input, output::Output};
use crate::error::Error;
use crate::merge::{Nulls, Patch};
use crate::update::{self, Mode, WriteOptions};

arguments! {
    /// Merge the JSON object on stdin into the state file
    #[examples = "\
Examples:
  echo '{\"currentPhase\":4,\"phases\":{\"4\":{\"status\":\"running\"}}}' | pipestate write agent-state.json
  printf '%s' \"$NEW_STATE\" | pipestate write --replace agent-state.json
  rev=$(pipestate get --rev agent-state.json)
  echo '{\"attempt\":2}' | pipestate write --if-match \"$rev\" agent-state.json"]
    pub struct Write {
        /// Store the document as a whole, also over a file that does not parse
        replace: bool = flag("replace"),
        /// Merge by RFC 7396: null deletes a key, arrays are replaced
        merge_patch: bool = flag("merge-patch").excludes("replace"),
        /// Write only if the file has this revision (`none`: if there is no file); else exit 4
        if_match: Option<String> = option("if-match", "REV"),
        /// Write also what never changes after init in a pipeline document (P2, P3), and warn of it
        force: bool = flag("force"),
        edit: EditOptions = group(EditOptions::ARGUMENTS),
        /// Print the result as one JSON object
        json: bool = flag("json"),
        /// The state file; made, with its folders, if it does not exist
        file: PathBuf = operand("FILE"),
    }
}

impl Run for Write {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let options = WriteOptions {
            mode: match (self.replace, self.merge_patch) {
                (true, _) => Mode::Replace,
                (_, true) => Mode::Merge(Nulls::Delete),
                _ => Mode::Merge(Nulls::Store),
            },
            if_match: self.if_match,
            force: self.force,
            ..self.edit.read()?
        };
        let patch = Patch::parse(input::read_stdin()?, "stdin")?;
        let written =
            as_caller(program, "write", |caller| update::write(&self.file, &patch, &options, caller))?;
        tell(output, &self.file, &written, json!({}));
        Ok(0)
    }
}
