//! `pipestate recover`.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::arguments::{Run, Value, arguments};
use super::output::Output;
use crate::error::Error;
use crate::recovery::{Clock, STALE_AFTER};
use crate::runs::{self, Assessment, Places, StateFile};
use crate::text::one_line;
use crate::time::{self, Moment};

arguments! {
    /// Say what to do about a run that is found: refuse, ask, skip, stop or escalate, and why
    #[examples = "\
Examples:
  pipestate recover pipeline-state.json     one run: exit 0 completed, 1 any other, 3 damaged
  pipestate recover --scan .                every run of all tiers below this workspace and the home folder
  pipestate recover --scan . | grep '^ask'  those that have crashed"]
    pub struct Recover {
        /// Find the runs of these workspaces and of the home folder, of all tiers
        scan: Vec<PathBuf> = option("scan", "DIR").excludes("FILE").greedy(),
        home: HomeOptions = group(HomeOptions::ARGUMENTS),
        clock: ClockOptions = group(ClockOptions::ARGUMENTS),
        /// Print the decisions as one JSON object
        json: bool = flag("json"),
        /// The state files, of pipelines or of agents
        files: Vec<PathBuf> = operand("FILE").required().unless("scan"),
    }
}

arguments! {
    /// The home folder that counts.
    pub struct HomeOptions {
        /// The home folder, for the runs below it and for preference files in `~` [default: $HOME]
        home: Option<PathBuf> = option("home", "DIR").excludes("no-user"),
        /// Leave the home folder alone
        no_user: bool = flag("no-user"),
    }
}

impl HomeOptions {
    /// The folder, unless it is to be left alone.
    pub fn folder(self) -> Option<PathBuf> {
        if self.no_user { None } else { self.home.or_else(runs::home_folder) }
    }
}

arguments! {
    /// What ages are measured against.
    pub struct ClockOptions {
        /// How long a running run may be silent before it has crashed: 90m, 1h30m [default: 1h]
        stale_after: Option<Duration> = option("stale-after", "TIME"),
        /// The time that counts as now, in ISO 8601, without a zone UTC [default: the system's]
        now: Option<DateTime<Utc>> = option("now", "TIME"),
    }
}

impl ClockOptions {
    /// The clock that the options ask for, at this moment.
    pub fn read(&self) -> Clock {
        Clock { now: self.now.unwrap_or_else(Utc::now), stale_after: self.stale_after.unwrap_or(STALE_AFTER) }
    }
}

impl Run for Recover {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
        let clock = self.clock.read();
        let home = self.home.folder();
        let found = if self.scan.is_empty() {
            let assess = |file: &PathBuf| StateFile::read(file, home.as_deref()).assess(&clock);
            self.files.iter().map(assess).collect()
        } else {
            runs::scan(&Places { workspaces: self.scan, home }, &clock)?
        };
        let code = runs::worst_exit_code(&found);
        let lines: String = found.iter().map(|found| one_line(&line(found)) + "\n").collect();
        output.results(code == 0, json!({ "files": found }), &lines)?;
        Ok(code)
    }
}

/// `ask R2 running 3h12m FILE: reason; reason; choices: resume, restart, abort`: the first four without blanks in them.
fn line(assessment: &Assessment) -> String {
    let decision = &assessment.decision;
    let mut parts: Vec<String> = decision.reasons.iter().map(ToString::to_string).collect();
    if !decision.choices.is_empty() {
        let choices: Vec<&str> = decision.choices.iter().map(|choice| choice.word()).collect();
        parts.push(format!("choices: {}", choices.join(", ")));
    }
    format!(
        "{:<8} {:?} {:<9} {:>6} {}: {}",
        decision.action.word(),
        decision.rule,
        decision.status_word(),
        decision.age.map_or("-".to_owned(), time::told),
        assessment.path.display(),
        parts.join("; ")
    )
}

impl Value for Duration {
    fn read(text: &str) -> Result<Duration, String> {
        time::parse_duration(text).ok_or_else(|| "write it as in 90m, 1h30m or 2d".to_owned())
    }
}

impl Value for DateTime<Utc> {
    fn read(text: &str) -> Result<DateTime<Utc>, String> {
        match Moment::parse(text) {
            Some(moment) => Ok(moment.at),
            None => Err("write it in ISO 8601, as in 2026-07-31T13:40:00Z".to_owned()),
        }
    }
}
