//! The command line: arguments and streams in, exit code out. The program and the shims are both this.
//!
//! One file per command; [`output`] is the one place that prints.

pub mod arguments;
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

use crate::error::{EXIT_CODES, Error};
use arguments::{Command, Failure};
pub use edit::with_write;
use output::Output;
pub use output::to_object as error_object;
pub use status::exit_code as exit_code_of;

/// The highest phase of the phase list that is usual, as a default is written.
const MAX_PHASE: &str = "7";
const _: () = assert!(crate::validate::DEFAULT_MAX_PHASE == 7);

/// The program.
pub static PIPESTATE: Command = Command::group(
    "pipestate",
    "The state file of a multi-agent pipeline: written whole or not at all, under a lock, changing only what is set",
    "\
Examples:
  echo '{\"currentPhase\":4}' | pipestate write agent-state.json     set one value, keep every other byte
  pipestate validate agent-state.json                              is it safe to resume?
  pipestate get agent-state.json /phases/4/status                  print one value
  pipestate unlock agent-state.json                                who holds the lock? remove a dead one's
  pipestate recover --scan .                                       which runs crashed, and what to do about them
  pipestate list                                                   all runs and tasks, newest first
  pipestate status --watch pipeline-state.json                     look on until the run ends
  pipestate doctor agent-state.json                                what is wrong with it, and where
  pipestate resume agent-state.json                                where to go on, and what not to do again",
    &[
        &WRITE,
        &VALIDATE,
        &Command::new::<get::Get>("get"),
        &Command::new::<unlock::Unlock>("unlock"),
        &Command::new::<init::Init>("init"),
        &Command::new::<phase::Phase>("phase"),
        &Command::new::<recover::Recover>("recover"),
        &Command::new::<status::Status>("status"),
        &Command::new::<resume::Resume>("resume"),
        &Command::new::<finalize::Finalize>("finalize"),
        &task::COMMAND,
        &Command::new::<halt::Halt>("halt"),
        &Command::new::<attempt::Attempt>("attempt"),
        &handoff::COMMAND,
        &Command::new::<files::Files>("files"),
        &Command::new::<check_result::CheckResult>("check-result"),
        &Command::new::<guard::Guard>("guard").with_notes(guard::notes),
        &Command::new::<list::List>("list"),
        &Command::new::<doctor::Doctor>("doctor"),
        &Command::new::<report::Report>("report"),
        &Command::new::<completions::Completions>("completions"),
        &Command::new::<install::Install>("install"),
        &Command::new::<kill::Kill>("kill"),
        &Command::new::<clear_logs::ClearLogs>("clear-logs"),
        &Command::new::<purge::Purge>("purge"),
    ],
)
.with_notes(exit_codes);

/// What `write-state.mjs` does.
pub static WRITE: Command = Command::new::<write::Write>("write");
/// What `validate-state.mjs` does.
pub static VALIDATE: Command = Command::new::<validate::Validate>("validate");

/// Runs `command` with the words `arguments`, which follow its name, and returns the exit code.
///
/// `path` is how it is called, for its help: `pipestate`, or the program and the command. `program` is the name that other
/// parties read in a lock: `pipestate`, or a shim's. Signals are handled for the rest of the process (L10): this is for
/// processes that do nothing else.
pub fn run(
    command: &'static Command,
    path: &str,
    arguments: impl IntoIterator<Item = OsString>,
    program: &str,
) -> u8 {
    signals::install();
    let (command, mut values) = match arguments::parse(command, path, arguments) {
        Ok(parsed) => parsed,
        Err(stop) => return output::stopped(&stop),
    };
    let mut output = Output::new(values.has("json"));
    let result = catch_unwind(AssertUnwindSafe(|| (command.run)(&mut values, program, &mut output)));
    let code = match result {
        Ok(Ok(code)) => code,
        Ok(Err(Failure::Stopped(stop))) => output::stopped(&stop.seeing(&values.path)),
        Ok(Err(Failure::Failed(error))) => output.failure(&error),
        // The lock went with the stack; the panic itself has been printed.
        Err(_) => output.failure(&Error::Bug("a panic".into())),
    };
    // Whatever was asked for is done by now, but whoever sent the signal expects to be told.
    signals::pending().map_or(code, |signal| 128 + signal as u8)
}

fn exit_codes() -> String {
    let lines = EXIT_CODES.iter().map(|exit| format!("\n  {:>2}  {}", exit.code, exit.meaning));
    format!("Exit codes:{}", lines.collect::<String>())
}
