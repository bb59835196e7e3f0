//! Looking at runs from JavaScript: lists, diagnoses, pages, and the guard.

use napi_derive::napi;
use serde_json::json;

use super::convert::{self, File, ListOptions, RecoverOptions, Text, Value};
use super::session::Outcome;
use super::{Opened, once};
use crate::cli::exit_code_of;
use crate::doctor;
use crate::guard;
use crate::report;
use crate::runs;

/// Lists runs and tasks.
#[napi(skip_typescript)]
pub fn list(session: &Opened, now: bool, options: ListOptions) -> Outcome {
    session.run(now, || {
        let (places, logs, clock) = options.parse()?;
        Ok(once(move |_| {
            let runs = runs::newest_first(&places, logs.as_deref(), &clock())?;
            let code = runs.iter().map(exit_code_of).max().unwrap_or(0);
            Ok(Value::Json(json!({ "ok": code == 0, "runs": runs, "exitCode": code })))
        }))
    })
}

/// Examines state files, and writes proposals if it is to.
#[napi(skip_typescript)]
pub fn doctor(session: &Opened, now: bool, file: File, propose: bool) -> Outcome {
    session.run(now, || {
        let path = convert::path(file)?;
        Ok(once(move |_| {
            let files = runs::state_files(&path)?;
            let mut files: Vec<_> = files.iter().map(|file| doctor::examine(file)).collect();
            if propose {
                files.iter_mut().try_for_each(doctor::propose)?;
            }
            let code = doctor::worst_exit_code(&files);
            Ok(Value::Json(json!({ "ok": code == 0, "files": files, "exitCode": code })))
        }))
    })
}

/// Makes the page of a run.
#[napi(skip_typescript)]
pub fn render_report(session: &Opened, now: bool, file: File, options: RecoverOptions) -> Outcome {
    session.run(now, || {
        let (path, (home, clock)) = (convert::path(file)?, options.parse()?);
        Ok(once(move |_| {
            let path = runs::state_file(&path).unwrap_or(path);
            let page = report::page(&report::Run::read(&path, home.as_deref(), &clock())?);
            Ok(Value::Json(page.into()))
        }))
    })
}

/// Judges a hook event.
#[napi(skip_typescript)]
pub fn guard(session: &Opened, now: bool, event: Text) -> Outcome {
    session.run(now, || {
        let event = convert::bytes(event);
        Ok(once(move |_| {
            let denial = guard::judge(event)?;
            Ok(Value::Json(
                denial.map_or(json!(null), |denial| json!({ "file": denial.file, "reason": denial.reason })),
            ))
        }))
    })
}
