//! The command line: arguments and streams in, exit code out. The program and the shims are both this.
//!
//! One file per command; [`output`] is the one place that prints.

mod attempt;
mod check_result;
mod clear_logs;
mod completions;
mod confirm;
mod doctor;
mod edit;
mod files;
mod finalize;
mod get;
mod guard;
mod halt;
mod handoff;
mod init;
mod input;
mod install;
mod kill;
mod list;
mod output;
mod phase;
mod plan;
mod purge;
mod recover;
mod report;
mod resume;
#[cfg_attr(unix, path = "signals/unix.rs")]
#[cfg_attr(not(unix), path = "signals/other.rs")]
mod signals;
mod status;
mod task;
mod unlock;
mod validate;
mod write;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::{Args, Parser, Subcommand};

use crate::error::{EXIT_CODES, Error};
pub use edit::with_write;
use output::Output;
pub use output::to_object as error_object;
pub use status::exit_code as exit_code_of;

const HELP: &str = "\
{about}

{before-help}{usage-heading} {usage}

{all-args}{after-help}";

/// The state file of a multi-agent pipeline: written whole or not at all, under a lock, changing only what is set
#[derive(Parser)]
#[command(name = "pipestate", version, help_template = HELP, disable_help_subcommand = true)]
#[command(before_help = "\
Examples:
  echo '{\"currentPhase\":4}' | pipestate write agent-state.json     set one value, keep every other byte
  pipestate validate agent-state.json                              is it safe to resume?
  pipestate get agent-state.json /phases/4/status                  print one value
  pipestate unlock agent-state.json                                who holds the lock? remove a dead one's
  pipestate recover --scan .                                       which runs crashed, and what to do about them
  pipestate list                                                   all runs and tasks, newest first
  pipestate status --watch pipeline-state.json                     look on until the run ends
  pipestate doctor agent-state.json                                what is wrong with it, and where
  pipestate resume agent-state.json                                where to go on, and what not to do again")]
#[command(after_help = exit_codes())]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Write(write::Write),
    Validate(validate::Validate),
    Get(get::Get),
    Unlock(unlock::Unlock),
    Init(init::Init),
    Phase(phase::Phase),
    Recover(recover::Recover),
    Status(status::Status),
    Resume(resume::Resume),
    Finalize(finalize::Finalize),
    Task(task::TaskCommand),
    Halt(halt::Halt),
    Attempt(attempt::Attempt),
    Handoff(handoff::HandoffCommand),
    Files(files::Files),
    CheckResult(check_result::CheckResult),
    Guard(guard::Guard),
    List(list::List),
    Doctor(doctor::Doctor),
    Report(report::Report),
    Completions(completions::Completions),
    Install(install::Install),
    Kill(kill::Kill),
    ClearLogs(clear_logs::ClearLogs),
    Purge(purge::Purge),
}

/// Runs the command line `arguments` (without the program's name) and returns the exit code.
///
/// `program` is the name that other parties read in a lock: `pipestate`, or a shim's. Signals are handled for the rest
/// of the process (L10): this is for processes that do nothing else.
pub fn run(arguments: impl IntoIterator<Item = OsString>, program: &str) -> u8 {
    signals::install();
    let command = match parse(arguments.into_iter().collect()) {
        Ok(command) => command,
        Err(error) => return output::usage(&error),
    };
    let mut output = Output::new(command.json());
    let result = catch_unwind(AssertUnwindSafe(|| command.run(program, &mut output)));
    let code = match result {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => output.failure(&error),
        // The lock went with the stack; the panic itself has been printed.
        Err(_) => output.failure(&Error::Bug("a panic".into())),
    };
    // Whatever was asked for is done by now, but whoever sent the signal expects to be told.
    signals::pending().map_or(code, |signal| 128 + signal as u8)
}

fn parse(arguments: Vec<OsString>) -> Result<Command, clap::Error> {
    if let Some(command) = parse_frequent(&arguments) {
        return Ok(command);
    }
    let program = std::iter::once(OsString::from("pipestate"));
    Ok(Arguments::try_parse_from(program.chain(arguments))?.command)
}

/// The commands that hooks call all day, without describing every other command to the parser first: that takes as long as
/// a write. `None` is for any other command, for help and for what is wrong, and all of it is told by the whole parser.
fn parse_frequent(arguments: &[OsString]) -> Option<Command> {
    fn only<T: Args>(arguments: &[OsString]) -> Option<T> {
        let command = T::augment_args(clap::Command::new("pipestate")).disable_help_flag(true);
        T::from_arg_matches(&command.try_get_matches_from(arguments).ok()?).ok()
    }
    match arguments.first()?.to_str()? {
        "write" => only(arguments).map(Command::Write),
        "validate" => only(arguments).map(Command::Validate),
        "get" => only(arguments).map(Command::Get),
        "phase" => only(arguments).map(Command::Phase),
        _ => None,
    }
}

impl Command {
    fn json(&self) -> bool {
        match self {
            Command::Write(write) => write.json,
            Command::Validate(validate) => validate.json,
            Command::Get(get) => get.json,
            Command::Unlock(unlock) => unlock.json,
            Command::Init(init) => init.json,
            Command::Phase(phase) => phase.json,
            Command::Recover(recover) => recover.json,
            Command::Status(status) => status.json,
            Command::Resume(resume) => resume.json,
            Command::Finalize(finalize) => finalize.json,
            Command::Task(task) => task.json(),
            Command::Halt(halt) => halt.json,
            Command::Attempt(attempt) => attempt.json,
            Command::Handoff(handoff) => handoff.json(),
            Command::Files(files) => files.json,
            Command::CheckResult(check) => check.json,
            Command::Guard(_) | Command::Completions(_) => false,
            Command::List(list) => list.json,
            Command::Doctor(doctor) => doctor.json,
            Command::Report(report) => report.json,
            Command::Install(install) => install.json,
            Command::Kill(kill) => kill.json(),
            Command::ClearLogs(clear) => clear.json(),
            Command::Purge(purge) => purge.json(),
        }
    }

    fn run(self, program: &str, output: &mut Output) -> Result<u8, Error> {
        match self {
            Command::Write(write) => write.run(program, output),
            Command::Validate(validate) => validate.run(output),
            Command::Get(get) => get.run(output),
            Command::Unlock(unlock) => unlock.run(output),
            Command::Init(init) => init.run(program, output),
            Command::Phase(phase) => phase.run(program, output),
            Command::Recover(recover) => recover.run(output),
            Command::Status(status) => status.run(output),
            Command::Resume(resume) => resume.run(program, output),
            Command::Finalize(finalize) => finalize.run(program, output),
            Command::Task(task) => task.run(program, output),
            Command::Halt(halt) => halt.run(program, output),
            Command::Attempt(attempt) => attempt.run(program, output),
            Command::Handoff(handoff) => handoff.run(program, output),
            Command::Files(files) => files.run(output),
            Command::CheckResult(check) => check.run(output),
            Command::Guard(guard) => guard.run(output),
            Command::List(list) => list.run(output),
            Command::Doctor(doctor) => doctor.run(output),
            Command::Report(report) => report.run(output),
            Command::Completions(completions) => completions.run(output),
            Command::Install(install) => install.run(program, output),
            Command::Kill(kill) => kill.run(program, output),
            Command::ClearLogs(clear) => clear.run(program, output),
            Command::Purge(purge) => purge.run(program, output),
        }
    }
}

/// The command line as clap knows it.
pub fn command() -> clap::Command {
    <Arguments as clap::CommandFactory>::command()
}

fn exit_codes() -> String {
    let lines = EXIT_CODES.iter().map(|exit| format!("\n  {:>2}  {}", exit.code, exit.meaning));
    format!("Exit codes:{}", lines.collect::<String>())
}
