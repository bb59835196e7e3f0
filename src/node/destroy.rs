//! Kill, clear-logs and purge, as JavaScript asks for them: the plan with its token, and the token that runs it.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value as Json;

use super::agent::Request;
use crate::destroy::request::{self, Command};
use crate::destroy::{self, Confirmed};
use crate::error::Error;
use crate::task;
use crate::update::Caller;

/// What `call` would remove, and the token that removes it.
pub fn plan(call: &str, mut request: Request) -> Result<Json, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Kill {
        task: String,
        project: Option<String>,
        #[serde(default)]
        remote: bool,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct ClearLogs {
        project: Option<String>,
        #[serde(default)]
        include_active: bool,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Purge {
        project: Option<String>,
        #[serde(default)]
        remote: bool,
        #[serde(default)]
        include_active: bool,
    }
    let named: Option<PathBuf> = request.take("logsDir")?;
    let asked = match call {
        "planKill" => {
            let Kill { task, project, remote } = request.rest()?;
            request::Request {
                command: Command::Kill,
                task: Some(task),
                project,
                remote,
                include_active: false,
            }
        }
        "planClearLogs" => {
            let ClearLogs { project, include_active } = request.rest()?;
            let command = Command::ClearLogs;
            request::Request { command, task: None, project, remote: false, include_active }
        }
        _ => {
            let Purge { project, remote, include_active } = request.rest()?;
            request::Request { command: Command::Purge, task: None, project, remote, include_active }
        }
    };
    let logs = task::logs_root(named.clone())?;
    Ok(destroy::plan(&asked, &logs)?.to_json(named.as_deref()))
}

/// Runs the plan of a token, or asks again.
pub fn confirm(mut request: Request, caller: Caller) -> Result<Json, Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Asked {
        token: String,
    }
    let (options, named) = (request.waiting()?, request.take::<PathBuf>("logsDir")?);
    let Asked { token } = request.rest()?;
    let logs = task::logs_root(named.clone())?;
    match destroy::confirm(&logs, &token, None, &options, caller)? {
        Confirmed::Done(done) => Ok(done.to_json()),
        Confirmed::AskAgain(again) => Ok(again.to_question(named.as_deref())),
    }
}
