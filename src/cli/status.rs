//! `pipestate status`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::arguments::{Run, arguments};
use super::output::Output;
use super::recover::ClockOptions;
use crate::error::Error;
use crate::place::{Missing, Place};
use crate::recovery::Rule;
use crate::runs::{self, Places, StateFile};
use crate::status::{self, Line, View};
use crate::watch::{FileWatch, Woken};

arguments! {
    /// Show a run: name, status, age, what to do about it, and a line for each phase
    #[examples = "\
Examples:
  pipestate status pipeline-state.json      one run
  pipestate status .                        the run in this folder, or a line for each run of this workspace
  pipestate status --watch agent-state.json follow it until it ends"]
    pub struct Status {
        /// Show it again whenever it changes, until the run ends or Ctrl-C
        watch: bool = flag("watch"),
        clock: ClockOptions = group(ClockOptions::ARGUMENTS),
        /// Print what is shown as one JSON object (with --watch, one at each change)
        json: bool = flag("json"),
        /// The state file or the folder that has one; of any other folder, the runs of all tiers below it
        path: PathBuf = operand("FILE|DIR"),
    }
}

impl Run for Status {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        match runs::state_file(&self.path) {
            Some(file) if self.watch => self.follow(&file, output),
            Some(file) => {
                let view = View::of(&read(&file), &self.clock.read());
                self.show(&view, "", output)?;
                Ok(exit_code(&view))
            }
            None if self.watch => Err(Error::Usage(format!(
                "{}: --watch follows one run, and this folder has no state file of its own; name the run's",
                self.path.display()
            ))),
            None => self.list(output),
        }
    }
}

impl Status {
    /// A line for each run of a workspace.
    fn list(&self, output: &mut Output) -> Result<u8, Error> {
        let clock = self.clock.read();
        let files = runs::find(&Places { workspaces: vec![self.path.clone()], home: None })?;
        let views: Vec<View> = files.iter().map(|file| View::of(file, &clock)).collect();
        if views.is_empty() {
            let path = self.path.display();
            output.warning(&format!(
                "{path}: no state file in this folder, and no runs of a workspace below it"
            ));
        }
        let code = views.iter().map(exit_code).max().unwrap_or(0);
        let lines: Vec<Line> = views.iter().map(status::summary).collect();
        output.results(code == 0, json!({ "runs": views }), &text(&lines))?;
        Ok(code)
    }

    /// Shows the run whenever its file changes, until it ends or nobody looks any more. On a terminal each picture
    /// takes the place of the one before, and the ages go on while nothing changes.
    fn follow(&self, path: &Path, output: &mut Output) -> Result<u8, Error> {
        let on_terminal = !self.json && std::io::stdout().is_terminal();
        let tick = on_terminal.then_some(Duration::from_secs(1));
        let mut shown = Shown::default();
        loop {
            // The watch comes before the look, so that no change falls between them.
            let place = Place::find(path, Missing::Fail)?;
            let watch = FileWatch::new(&place)?;
            let mut file = read(path);
            loop {
                let view = View::of(&file, &self.clock.read());
                let is_looked_at = if on_terminal {
                    self.show(&view, &shown.erase(), output)?
                } else if shown.rev != Some(file.rev.clone()) {
                    self.show(&view, shown.separator(), output)?
                } else {
                    true
                };
                if !is_looked_at || has_ended(&view) {
                    return Ok(exit_code(&view));
                }
                shown = Shown { rev: Some(file.rev.clone()), lines: status::lines(&view).len() };
                match watch.sleep(tick).map_err(place.failed("wait for a change", "poll"))? {
                    Woken::Changed => file = read(path),
                    Woken::TimeOut => {}
                    Woken::FolderGone => break,
                }
            }
        }
    }

    /// Shows a run, `before` first unless it is JSON; says whether anybody is still there to see it.
    fn show(&self, view: &View, before: &str, output: &mut Output) -> Result<bool, Error> {
        let object = serde_json::to_value(view).expect("a view is JSON");
        output.results(exit_code(view) == 0, object, &format!("{before}{}", text(&status::lines(view))))
    }
}

/// What a reader of `--watch` has before them.
#[derive(Default)]
struct Shown {
    /// The revision that was shown last; `None` before the first.
    rev: Option<Option<String>>,
    /// How many lines it took.
    lines: usize,
}

impl Shown {
    /// The terminal's codes that take the last picture away: up to its first line, and clear from there.
    fn erase(&self) -> String {
        if self.lines == 0 { String::new() } else { format!("\u{1b}[{}A\u{1b}[J", self.lines) }
    }

    /// What parts one picture from the next where nothing can be taken away.
    fn separator(&self) -> &'static str {
        if self.rev.is_none() { "" } else { "\n" }
    }
}

fn read(path: &Path) -> StateFile {
    StateFile::read(path, runs::home_folder().as_deref())
}

/// Whether nobody is going to work on the run any more, unless a human has it so (R3, R4).
fn has_ended(view: &View) -> bool {
    matches!(view.assessment.decision.rule, Rule::R3 | Rule::R4)
}

/// Whatever it is, it was shown: only a damaged file fails.
pub fn exit_code(view: &View) -> u8 {
    if view.assessment.decision.rule == Rule::R5 { 3 } else { 0 }
}

fn text(lines: &[Line]) -> String {
    let colour = wants_colour();
    lines.iter().map(|line| line.text(colour) + "\n").collect()
}

/// Colour is for terminals, and for people who have not said no (<https://no-color.org>).
fn wants_colour() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}
