//! `pipestate install`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::arguments::{Run, arguments};
use super::edit::as_caller;
use super::output::Output;
use crate::error::Error;
use crate::install::{self, Done, Outcome};

arguments! {
    /// Put write-state.mjs and validate-state.mjs into a folder of scripts, in place of those that are there
    #[examples = "\
Examples:
  pipestate install ~/.claude/scripts                 keeps what it replaces as NAME.before-pipestate
  pipestate install --uninstall ~/.claude/scripts     puts that back"]
    pub struct Install {
        /// Put back what was there before
        uninstall: bool = flag("uninstall"),
        /// The addon to install [default: the one that came with this program]
        addon: Option<PathBuf> = option("addon", "FILE").excludes("uninstall"),
        /// Print the result as one JSON object
        json: bool = flag("json"),
        /// The folder; nothing that is in it needs to be a package
        folder: PathBuf = operand("DIR"),
    }
}

impl Run for Install {
    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        let outcomes = if self.uninstall {
            as_caller(program, "install", |caller| install::uninstall(&self.folder, caller))?
        } else {
            let addon = self.addon.map_or_else(own_addon, Ok)?;
            as_caller(program, "install", |caller| install::install(&self.folder, &addon, caller))?
        };
        let mut lines: Vec<_> = outcomes.iter().map(|outcome| line(&self.folder, outcome)).collect();
        if lines.is_empty() {
            lines.push(format!("{}: nothing is installed here", self.folder.display()));
        }
        output.results_of_done(json!({ "folder": self.folder.to_string_lossy(), "files": outcomes }), &lines);
        Ok(0)
    }
}

fn own_addon() -> Result<PathBuf, Error> {
    let program = std::env::current_exe()
        .map_err(|error| Error::io("pipestate".as_ref(), "find itself", "readlink", error))?;
    install::find_addon(&program).ok_or_else(|| {
        Error::Usage(format!(
            "{} is not where {} was installed; name it with --addon",
            install::addon_name(),
            program.display()
        ))
    })
}

fn line(folder: &Path, Outcome { name, done, kept }: &Outcome) -> String {
    let path = folder.join(name);
    let path = path.display();
    let kept = kept.as_deref().unwrap_or_default();
    match done {
        Done::Installed => format!("{path}: installed"),
        Done::Replaced => format!("{path}: replaced; what was there is kept as {kept}"),
        Done::Updated => format!("{path}: updated"),
        Done::Unchanged => format!("{path}: is there already"),
        Done::Restored => format!("{path}: put back as it was"),
        Done::Removed => format!("{path}: removed"),
        Done::LeftAlone if kept.is_empty() => format!("{path}: not what was installed, left alone"),
        Done::LeftAlone => {
            format!("{path}: not what was installed, left alone; what was there before is {kept}")
        }
    }
}
