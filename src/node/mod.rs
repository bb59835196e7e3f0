//! The Node addon: convert, call, convert back. `index.js` is the other half, and the only one that calls this one.
//!
//! Every call is one function: it makes a [`Job`](engine::Job) of its arguments, which is done `now`, on this thread, for the `…Sync`
//! twin, or by the [`engine`], which tells JavaScript by calling `settle(ids, outcomes)`.
//!
//! When the environment ends (`worker.terminate()`) or the process exits (`process.exit()`), what the session's jobs
//! are doing is stopped short of its commit and the locks that it holds are released. No signal is handled here: a
//! process that a signal ends leaves its locks to be taken over, like any dead holder's.

mod agent;
mod convert;
mod destroy;
mod held;
mod look;
mod pipeline;
mod session;

use std::ffi::OsString;
use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{External, Function};
use napi_derive::napi;
use serde_json::json;

use crate::cli;
use crate::engine::{self, Input, Interrupted, JobId, LockJob, Once, WriteJob};
use crate::error::Error;
use crate::runs::{self, StateFile};
use crate::update::{self, Caller};
use crate::validate::validate_file;
use convert::{
    File, LockSyncOptions, RecoverOptions, ScanOptions, Text, ValidateOptions, Value, WriteSyncOptions,
};
use held::Held;
use session::{Outcome, Outcomes, Session};

/// A patch of at most this many bytes is checked by the call itself, so that what is wrong with it is told before its
/// turn comes; that takes less time than handing it to another thread.
const SMALL_PATCH: usize = 1 << 16;

/// What JavaScript has of a session.
type Opened = External<Arc<Session>>;
/// What JavaScript has of a lock.
type Handle = External<Arc<Held>>;

/// Opens a session. `program` is what other parties read in a lock; `settle` is called with the ids and the
/// outcomes of jobs.
#[napi(skip_typescript)]
pub fn open(env: Env, program: String, settle: Function<Outcomes, ()>) -> napi::Result<Opened> {
    Session::open(&env, program, settle).map(External::new)
}

/// Whether pending jobs keep the process alive.
#[napi(skip_typescript)]
pub fn keep_alive(env: Env, session: &Opened, keep: bool) {
    session.keep_alive(&env, keep);
}

/// Ends a job that waits, with `ERR_PIPESTATE_ABORTED`.
#[napi(skip_typescript)]
pub fn abort(id: i64) {
    engine::abort(JobId(id as u64));
}

/// Reads a state file.
#[napi(skip_typescript)]
pub fn read(session: &Opened, now: bool, file: File) -> Outcome {
    session.run(now, || {
        let path = convert::path(file)?;
        Ok(once(move |_| Value::document(update::read(&path)?, &path)))
    })
}

/// Judges a state file.
#[napi(skip_typescript)]
pub fn validate(session: &Opened, now: bool, file: File, options: ValidateOptions) -> Outcome {
    session.run(now, || {
        let (path, options) = (convert::path(file)?, options.parse()?);
        Ok(once(move |_| Ok(Value::Report(validate_file(&path, &options)))))
    })
}

/// Decides about the run of a state file.
#[napi(skip_typescript)]
pub fn recover(session: &Opened, now: bool, file: File, options: RecoverOptions) -> Outcome {
    session.run(now, || {
        let (path, (home, clock)) = (convert::path(file)?, options.parse()?);
        Ok(once(move |_| {
            let assessment = StateFile::read(&path, home.as_deref()).assess(&clock());
            Ok(Value::Json(convert::json(&assessment)))
        }))
    })
}

/// Decides about every run of workspaces and home folder.
#[napi(skip_typescript)]
pub fn scan(session: &Opened, now: bool, options: ScanOptions) -> Outcome {
    session.run(now, || {
        let (places, clock) = options.parse()?;
        Ok(once(move |_| {
            let files = runs::scan(&places, &clock())?;
            let code = runs::worst_exit_code(&files);
            Ok(Value::Json(json!({ "ok": code == 0, "files": files, "exitCode": code })))
        }))
    })
}

/// Writes a state file.
#[napi(skip_typescript)]
pub fn write(session: &Opened, now: bool, file: File, patch: Text, options: WriteSyncOptions) -> Outcome {
    session.run(now, || {
        let (path, options) = (convert::path(file)?, options.parse()?);
        Ok(WriteJob::new(path, input(patch)?, options, session.program.clone()))
    })
}

/// Takes the lock of a state file.
#[napi(skip_typescript)]
pub fn lock(session: &Opened, now: bool, file: File, options: LockSyncOptions) -> Outcome {
    session.run(now, || {
        let (path, timeout) = (convert::path(file)?, convert::window(options.lock_timeout_ms)?);
        Ok(LockJob::new(path, timeout, session.program.clone()))
    })
}

/// Reads the state file whose lock is held.
#[napi(skip_typescript)]
pub fn read_locked(session: &Opened, now: bool, lock: &Handle) -> Outcome {
    session.run(now, || {
        let held = Arc::clone(lock);
        Ok(once_in_line(lock, move |_| {
            let (snapshot, path) = held.read()?;
            Value::document(snapshot, &path)
        }))
    })
}

/// Writes the state file whose lock is held.
#[napi(skip_typescript)]
pub fn write_locked(
    session: &Opened,
    now: bool,
    lock: &Handle,
    patch: Text,
    options: WriteSyncOptions,
) -> Outcome {
    session.run(now, || {
        let (mut input, options) = (input(patch)?, options.parse()?);
        let (held, program) = (Arc::clone(lock), session.program.clone());
        Ok(once_in_line(lock, move |interrupted| {
            let caller = Caller { program: &program, interrupted };
            held.write(input.patch()?, &options, caller).map(Value::from)
        }))
    })
}

/// Releases a lock that is held.
#[napi(skip_typescript)]
pub fn release(session: &Opened, now: bool, lock: &Handle) -> Outcome {
    session.run(now, || {
        let held = Arc::clone(lock);
        Ok(once_in_line(lock, move |_| held.release().map(|()| Value::Done)))
    })
}

/// Work of whatever kind as one type, so that the engine's part of it is compiled once and not for every call.
type Work = Box<dyn FnOnce(Interrupted) -> Result<Value, Error> + Send>;

/// Is to do `work`, whatever else is going on.
fn once(work: impl FnOnce(Interrupted) -> Result<Value, Error> + Send + 'static) -> Once<Work> {
    Once::new(Box::new(work))
}

/// Is to do `work` after what was asked for with `lock` before.
fn once_in_line(
    lock: &Held,
    work: impl FnOnce(Interrupted) -> Result<Value, Error> + Send + 'static,
) -> Once<Work> {
    Once::in_line(lock.line(), Box::new(work))
}

fn input(patch: Text) -> Result<Input, Error> {
    let mut input = Input::Text(convert::bytes(patch));
    if let Input::Text(text) = &input
        && text.len() <= SMALL_PATCH
    {
        input.patch()?;
    }
    Ok(input)
}

/// The door of the shims: does what `pipestate write` or `pipestate validate` does with `arguments`, reading and writing the
/// standard streams itself, and returns the exit code. `program` is what other parties read in a lock.
#[napi(js_name = "main", skip_typescript, catch_unwind)]
pub fn run(program: String, command: String, arguments: Vec<String>) -> u8 {
    let command = if command == "write" { &cli::WRITE } else { &cli::VALIDATE };
    cli::run(command, &format!("pipestate {}", command.name), raw_arguments(arguments), &program)
}

/// The arguments as the system has them: what is not UTF-8 in a path is lost in a JavaScript string.
fn raw_arguments(arguments: Vec<String>) -> Vec<OsString> {
    let all: Vec<OsString> = std::env::args_os().collect();
    let tail = &all[all.len().saturating_sub(arguments.len())..];
    if tail.iter().map(|raw| raw.to_string_lossy()).eq(arguments.iter().map(String::as_str)) {
        return tail.to_vec();
    }
    arguments.into_iter().map(OsString::from).collect()
}
