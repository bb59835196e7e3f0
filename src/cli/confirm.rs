//! What kill, clear-logs and purge have in common: the plan is shown, and a token or a person at a terminal confirms it. A
//! pipe is never a yes.

use std::io::{BufRead, IsTerminal, stderr, stdin, stdout};
use std::path::Path;
use std::time::Duration;

use super::arguments::arguments;
use super::edit::as_caller;
use super::output::Output;
use super::signals;
use super::task::LogsOptions;
use crate::destroy::request::{Command, Request};
use crate::destroy::token::{Issued, Prepared};
use crate::destroy::{self, Confirmed, Done, PERMANENTLY};
use crate::error::Error;
use crate::lock;
use crate::log;
use crate::update::WriteOptions;

arguments! {
    /// How a plan is confirmed.
    pub struct Confirming {
        /// Run the plan that this token was printed with, once
        confirm: Option<String> = option("confirm", "TOKEN"),
        logs: LogsOptions = group(LogsOptions::ARGUMENTS),
        /// Milliseconds to wait for a lock, 0: one try [default: $PIPESTATE_LOCK_TIMEOUT_MS or 10000]
        lock_timeout: Option<u64> = option("lock-timeout", "MS"),
        /// Print the plan or the result as one JSON object
        json: bool = flag("json"),
    }
}

impl Confirming {
    /// Shows the plan of `request`, or runs it.
    pub fn carry_out(self, request: &Request, program: &str, output: &mut Output) -> Result<u8, Error> {
        let named = self.logs.named();
        let logs = self.logs.root()?;
        let lock_timeout = lock::window(self.lock_timeout.map(Duration::from_millis))?;
        let options = WriteOptions { lock_timeout, ..WriteOptions::default() };
        let call = Call { request, logs: &logs, named: named.as_deref(), options, program };
        match self.confirm {
            Some(token) => call.confirm(&token, output),
            None => call.show(self.json, output),
        }
    }
}

struct Call<'a> {
    request: &'a Request,
    logs: &'a Path,
    /// The logs root, if the call names it, so that the line that confirms does too.
    named: Option<&'a Path>,
    options: WriteOptions,
    program: &'a str,
}

impl Call<'_> {
    fn show(&self, json: bool, output: &mut Output) -> Result<u8, Error> {
        let prepared = destroy::plan(self.request, self.logs)?;
        if json {
            output.result(prepared.to_json(self.named), "")?;
            return Ok(0);
        }
        for line in prepared.plan.lines() {
            output.line(&line)?;
        }
        let Some(issued) = &prepared.token else {
            output.line("there is nothing to remove")?;
            return Ok(0);
        };
        if stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal() {
            return self.ask(&prepared, issued, output);
        }
        output.line(&format!(
            "nothing is removed; until {} this removes exactly that, once:",
            log::to_text(issued.expires)
        ))?;
        output.line(&prepared.line(issued, self.named))?;
        Ok(0)
    }

    /// Asks a person.
    fn ask(&self, prepared: &Prepared, issued: &Issued, output: &mut Output) -> Result<u8, Error> {
        let (question, yes) = match self.request.command {
            Command::Kill => (kill_question(prepared), "yes"),
            Command::ClearLogs => ("These logs will be deleted. Are you sure?".to_owned(), "yes"),
            Command::Purge => ("All of this will be removed.".to_owned(), "Continue"),
        };
        self.must_say(yes, &question, issued, output)?;
        match self.run(&issued.token, output)? {
            Confirmed::Done(done) => self.tell(done, output),
            Confirmed::AskAgain(again) => {
                let Some(issued) = &again.token else {
                    return Err(Error::Bug("a plan without a token".into()));
                };
                self.must_say(PERMANENTLY, "This cannot be undone.", issued, output)?;
                match self.run(&issued.token, output)? {
                    Confirmed::Done(done) => self.tell(done, output),
                    Confirmed::AskAgain(_) => Err(Error::Bug("a third question".into())),
                }
            }
        }
    }

    /// Anything else but `yes` cancels, and so does no answer.
    fn must_say(&self, yes: &str, question: &str, issued: &Issued, output: &mut Output) -> Result<(), Error> {
        signals::expose(); // whoever is asked may go away
        output.ask(&format!("{question} Type `{yes}`, or anything else to cancel: "));
        let mut answer = String::new();
        let read = stdin().lock().read_line(&mut answer);
        if read.is_ok() && answer.trim() == yes && signals::pending().is_none() {
            return Ok(());
        }
        destroy::withdraw(self.logs, &issued.token)?;
        Err(Error::NothingRemoved { path: self.logs.to_owned(), reason: "cancelled".into() })
    }

    fn confirm(&self, token: &str, output: &mut Output) -> Result<u8, Error> {
        match self.run(token, output)? {
            Confirmed::Done(done) => self.tell(done, output),
            Confirmed::AskAgain(again) => {
                let Some(issued) = &again.token else {
                    return Err(Error::Bug("a plan without a token".into()));
                };
                let line = again.line(issued, self.named);
                let until = log::to_text(issued.expires);
                let lines =
                    [format!("nothing is removed yet. {PERMANENTLY}? Until {until} this does, once:"), line];
                output.results_of_done(again.to_question(self.named), &lines);
                Ok(0)
            }
        }
    }

    fn run(&self, token: &str, output: &mut Output) -> Result<Confirmed, Error> {
        let result = as_caller(self.program, self.request.command.word(), |caller| {
            destroy::confirm(self.logs, token, Some(self.request), &self.options, caller)
        });
        if let Err(Error::NotAllRemoved { removed, left, .. }) = &result {
            let removed = removed.iter().map(|item| format!("removed: {item}"));
            let left = left.iter().map(|item| format!("left: {item}"));
            output.lines_of_done(&removed.chain(left).collect::<Vec<_>>());
        }
        result
    }

    fn tell(&self, done: Done, output: &mut Output) -> Result<u8, Error> {
        for warning in &done.warnings {
            output.warning(warning);
        }
        let removed = done.removed.iter().map(|item| format!("removed: {item}"));
        let lines: Vec<String> = removed.chain([done.line.clone()]).collect();
        output.results_of_done(done.to_json(), &lines);
        Ok(0)
    }
}

/// The question of the source document.
fn kill_question(prepared: &Prepared) -> String {
    let group = prepared.plan.groups.first();
    let id = group.and_then(|group| group.task_id).unwrap_or_default();
    let ticket = group.and_then(|group| group.ticket.as_deref()).unwrap_or("the task");
    let remote = if prepared.plan.request.remote { ", branch and remote branch" } else { " and branch" };
    format!("{ticket} (Task #{id}) will be deleted: worktree{remote}. Logs will be preserved. Are you sure?")
}
