//! `pipestate recover`.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::json;

use super::output::Output;
use crate::error::Error;
use crate::recovery::{Clock, STALE_AFTER};
use crate::runs::{self, Assessment, Places, StateFile};
use crate::text::one_line;
use crate::time::{self, Moment};

/// Say what to do about a run that is found: refuse, ask, skip, stop or escalate, and why
#[derive(Args)]
#[command(help_template = super::HELP)]
#[command(before_help = "\
Examples:
  pipestate recover pipeline-state.json     one run: exit 0 completed, 1 any other, 3 damaged
  pipestate recover --scan .                every run of all tiers below this workspace and the home folder
  pipestate recover --scan . | grep '^ask'  those that have crashed")]
pub struct Recover {
    /// Find the runs of these workspaces and of the home folder, of all tiers
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with = "files")]
    scan: Vec<PathBuf>,
    #[command(flatten)]
    home: HomeOptions,
    #[command(flatten)]
    clock: ClockOptions,
    /// Print the decisions as one JSON object
    #[arg(long)]
    pub json: bool,
    /// The state files, of pipelines or of agents
    #[arg(value_name = "FILE", required_unless_present = "scan")]
    files: Vec<PathBuf>,
}

/// The home folder that counts.
#[derive(Args)]
pub struct HomeOptions {
    /// The home folder, for the runs below it and for preference files in `~` [default: $HOME]
    #[arg(long, value_name = "DIR", conflicts_with = "no_user")]
    home: Option<PathBuf>,
    /// Leave the home folder alone
    #[arg(long)]
    no_user: bool,
}

impl HomeOptions {
    /// The folder, unless it is to be left alone.
    pub fn folder(self) -> Option<PathBuf> {
        if self.no_user { None } else { self.home.or_else(runs::home_folder) }
    }
}

/// What ages are measured against.
#[derive(Args)]
pub struct ClockOptions {
    /// How long a running run may be silent before it has crashed: 90m, 1h30m [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    stale_after: Option<Duration>,
    /// The time that counts as now, in ISO 8601, without a zone UTC [default: the system's]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    now: Option<DateTime<Utc>>,
}

impl ClockOptions {
    /// The clock that the options ask for, at this moment.
    pub fn read(&self) -> Clock {
        Clock { now: self.now.unwrap_or_else(Utc::now), stale_after: self.stale_after.unwrap_or(STALE_AFTER) }
    }
}

impl Recover {
    pub fn run(self, output: &mut Output) -> Result<u8, Error> {
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

fn duration(text: &str) -> Result<Duration, String> {
    time::parse_duration(text).ok_or_else(|| "write it as in 90m, 1h30m or 2d".to_owned())
}

fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    match Moment::parse(text) {
        Some(moment) => Ok(moment.at),
        None => Err("write it in ISO 8601, as in 2026-07-31T13:40:00Z".to_owned()),
    }
}
