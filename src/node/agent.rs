//! Agents' runs and tasks, as JavaScript asks for them: `native.agent(session, now, call, file, request)`, the request a
//! JSON object. Its fields are checked here, so that a misspelt one is an error and the rule is written once; the types
//! are in `api.d.ts`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use napi_derive::napi;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use super::convert::{self, File, Value, json as to_json};
use super::session::Outcome;
use super::{Opened, destroy};
use crate::agent::attempt::{self, Answer, MOST_ATTEMPTS};
use crate::agent::halt::{self, Cause, Halted};
use crate::agent::handoff::{self, Handoff};
use crate::agent::hooks::Hooks;
use crate::agent::plan::{Resumable, UNSAFE, of_file};
use crate::agent::transition::{self, Transition};
use crate::agent::worktree::Worktree;
use crate::agent::{files, result, start};
use crate::cli;
use crate::error::Error;
use crate::pipeline::transition::PhaseStatus;
use crate::recovery::{Clock, STALE_AFTER};
use crate::task::{self, NewTask, Repository};
use crate::time::Moment;
use crate::update::{Caller, WriteOptions, Written};
use crate::validate::DEFAULT_MAX_PHASE;

/// Does one of the calls about agents' runs and tasks.
#[napi(skip_typescript)]
pub fn agent(session: &Opened, now: bool, call: String, file: Option<File>, request: String) -> Outcome {
    let program = session.program.clone();
    session.run_apart(now, move |interrupted| {
        let file = file.map(convert::path).transpose()?.unwrap_or_default();
        let caller = Caller { program: &program, interrupted };
        Call { file, request: Request::parse(&request)?, caller }.run(&call).map(Value::Json)
    })
}

/// A call on its way.
struct Call<'a> {
    /// The state file or log; empty where the call has none.
    file: PathBuf,
    request: Request,
    caller: Caller<'a>,
}

/// What was asked with, as far as it has not been taken.
pub(super) struct Request(Map<String, Json>);

impl Request {
    fn parse(text: &str) -> Result<Request, Error> {
        serde_json::from_str(text).map(Request).map_err(wrong)
    }

    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Error> {
        let value = self.0.remove(name).filter(|value| !value.is_null());
        let value = value.map(serde_json::from_value).transpose();
        value.map_err(|error| Error::Usage(format!("options.{name}: {error}")))
    }

    /// How to write.
    fn write(&mut self) -> Result<WriteOptions, Error> {
        let durability: Option<String> = self.take("durability")?;
        Ok(WriteOptions { durability: convert::durability(durability.as_deref())?, ..self.waiting()? })
    }

    /// How long to wait for a lock, and else as usual.
    pub(super) fn waiting(&mut self) -> Result<WriteOptions, Error> {
        let lock_timeout = convert::window(self.take("lockTimeoutMs")?)?;
        Ok(WriteOptions { lock_timeout, ..WriteOptions::default() })
    }

    /// Against what ages are measured.
    fn clock(&mut self) -> Result<impl Fn() -> Clock + use<>, Error> {
        let now: Option<String> = self.take("now")?;
        let now = match now.as_deref().map(Moment::parse) {
            None => None,
            Some(Some(moment)) => Some(moment.at),
            Some(None) => return Err(Error::Usage("options.now must be a time in ISO 8601".into())),
        };
        let stale_after: Option<f64> = self.take("staleAfterMs")?;
        let stale_after = stale_after.map_or(STALE_AFTER, |milliseconds| {
            Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or(Duration::MAX)
        });
        Ok(move || Clock { now: now.unwrap_or_else(Utc::now), stale_after })
    }

    fn max_phase(&mut self) -> Result<u32, Error> {
        Ok(self.take("maxPhase")?.unwrap_or(DEFAULT_MAX_PHASE))
    }

    fn logs(&mut self) -> Result<PathBuf, Error> {
        task::logs_root(self.take("logsDir")?)
    }

    /// Everything that is left, which must be all of this and nothing else.
    pub(super) fn rest<T: DeserializeOwned>(self) -> Result<T, Error> {
        serde_json::from_value(Json::Object(self.0)).map_err(wrong)
    }
}

fn wrong(error: serde_json::Error) -> Error {
    Error::Usage(format!("options: {error}"))
}

/// Nothing more.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Call<'_> {
    fn run(self, call: &str) -> Result<Json, Error> {
        match call {
            "createTask" => self.create_task(),
            "findTask" => self.find_task(),
            "listTasks" => self.list_tasks(),
            "planResume" => self.plan_resume(),
            "startResume" => self.start_resume(),
            "setPhase" => self.set_phase(),
            "halt" => self.halt(),
            "nextAttempt" => self.next_attempt(),
            "appendHandoff" => self.append_handoff(),
            "latestHandoff" => self.latest_handoff(),
            "phaseFiles" => self.phase_files(),
            "checkResult" => self.check_result(),
            "planKill" | "planClearLogs" | "planPurge" => destroy::plan(call, self.request),
            "confirm" => destroy::confirm(self.request, self.caller),
            other => Err(Error::Bug(format!("there is no call {other}"))),
        }
    }

    fn create_task(mut self) -> Result<Json, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Asked {
            ticket: String,
            project: Option<String>,
            #[serde(default)]
            repositories: Vec<AskedRepository>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct AskedRepository {
            repo_path: PathBuf,
            worktree_path: Option<PathBuf>,
            branch: Option<String>,
        }
        let (options, logs) = (self.request.write()?, self.request.logs()?);
        let asked: Asked = self.request.rest()?;
        let repository = |AskedRepository { repo_path, worktree_path, branch }| Repository {
            path: Some(repo_path),
            worktree: worktree_path,
            branch,
        };
        let repositories: Vec<Repository> = asked.repositories.into_iter().map(repository).collect();
        let new =
            NewTask { project: asked.project.as_deref(), ticket: &asked.ticket, repositories: &repositories };
        let (task, warnings) = task::create(&logs, &new, Utc::now(), &options, self.caller)?;
        Ok(with_warnings(to_json(&task), warnings))
    }

    fn find_task(mut self) -> Result<Json, Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Asked {
            name: String,
            project: Option<String>,
        }
        let logs = self.request.logs()?;
        let Asked { name, project } = self.request.rest()?;
        task::find(&logs, project.as_deref(), &name).map(|task| to_json(&task))
    }

    fn list_tasks(mut self) -> Result<Json, Error> {
        let (logs, project) = (self.request.logs()?, self.request.take::<String>("project")?);
        self.request.rest::<Nothing>()?;
        task::list(&logs, project.as_deref()).map(|tasks| to_json(&tasks))
    }

    fn plan_resume(mut self) -> Result<Json, Error> {
        let (clock, max_phase) = (self.request.clock()?, self.request.max_phase()?);
        self.request.rest::<Nothing>()?;
        Ok(match of_file(&self.file, &clock(), max_phase)? {
            Resumable::Plan(plan) => {
                let ok = plan.worktrees.iter().all(Worktree::is_ready);
                with(json!({ "ok": ok, "exitCode": u8::from(!ok) }), to_json(&plan))
            }
            Resumable::Unsafe(report) => json!({
                "ok": false,
                "exitCode": report.exit_code(),
                "message": UNSAFE,
                "path": self.file.to_string_lossy(),
                "rev": report.rev,
                "findings": report.findings,
            }),
        })
    }

    fn start_resume(mut self) -> Result<Json, Error> {
        let (clock, max_phase) = (self.request.clock()?, self.request.max_phase()?);
        let options = self.request.write()?;
        self.request.rest::<Nothing>()?;
        let (plan, written) = start::start(&self.file, &clock, max_phase, &options, self.caller)?;
        Ok(with(with(json!({ "ok": true, "exitCode": 0 }), to_json(&plan)), told(&written, Json::Null)))
    }

    fn set_phase(mut self) -> Result<Json, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Asked {
            phase: u32,
            status: String,
            #[serde(default)]
            files: Vec<String>,
            sub_step: Option<String>,
            retry_count: Option<u64>,
            log: Option<bool>,
        }
        let (options, max_phase) = (self.request.write()?, self.request.max_phase()?);
        let asked: Asked = self.request.rest()?;
        let status = PhaseStatus::parse(&asked.status)
            .ok_or_else(|| Error::Usage("status must be 'pending', 'running', 'done' or 'failed'".into()))?;
        if asked.phase > max_phase {
            return Err(Error::Usage(format!("phase must be 0 to {max_phase}")));
        }
        let transition = Transition {
            phase: asked.phase,
            status,
            files: asked.files,
            sub_step: asked.sub_step,
            retry_count: asked.retry_count,
        };
        let with_log = asked.log != Some(false);
        let written =
            transition::set_phase(&self.file, &transition, Utc::now(), with_log, &options, self.caller)?;
        Ok(told(&written, json!({ "phase": transition.phase, "status": status.word() })))
    }

    fn halt(mut self) -> Result<Json, Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Asked {
            phase: u32,
            cause: String,
        }
        let options = self.request.write()?;
        let Asked { phase, cause } = self.request.rest()?;
        let cause = Cause { phase, text: cause };
        let (now, hooks) = (Utc::now(), Hooks::from_environment());
        halted(halt::halt(&self.file, &cause, now, &hooks, &options, self.caller, &mut alert))
    }

    fn next_attempt(mut self) -> Result<Json, Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Asked {
            #[serde(rename = "loop")]
            name: String,
            reflection: Option<String>,
            #[serde(default)]
            reset: bool,
        }
        let options = self.request.write()?;
        let Asked { name, reflection, reset } = self.request.rest()?;
        let now: DateTime<Utc> = Utc::now();
        if reset {
            let written = attempt::reset(&self.file, &name, now, &options, self.caller)?;
            return Ok(told(
                &written,
                json!({ "loop": name, "attempt": 0, "of": MOST_ATTEMPTS, "reflections": [] }),
            ));
        }
        let hooks = Hooks::from_environment();
        let (reflection, caller) = (reflection.as_deref(), self.caller);
        match attempt::next(&self.file, &name, reflection, now, &hooks, &options, caller, &mut alert)? {
            Answer::Attempt { number, reflections, written } => {
                let more = json!({ "loop": name, "attempt": number, "of": MOST_ATTEMPTS, "reflections": reflections });
                Ok(told(&written, more))
            }
            Answer::Exhausted(exhausted) => {
                halted(*exhausted)?;
                Err(Error::LoopExhausted { path: self.file, name })
            }
        }
    }

    fn append_handoff(mut self) -> Result<Json, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        struct Asked {
            phase: u32,
            name: String,
            #[serde(default)]
            done: Vec<String>,
            #[serde(default)]
            remaining: Vec<String>,
            #[serde(default)]
            decisions: Vec<String>,
            #[serde(default)]
            open_findings: Vec<String>,
            next: String,
        }
        let options = self.request.write()?;
        let asked: Asked = self.request.rest()?;
        let handoff = Handoff {
            phase: asked.phase,
            name: asked.name,
            done: asked.done,
            remaining: asked.remaining,
            decisions: asked.decisions,
            open_findings: asked.open_findings,
            next: vec![asked.next],
        };
        let log = handoff::log_of(&self.file)?;
        let block = handoff::append(&log, &handoff, Utc::now(), &options, self.caller)?;
        Ok(json!({ "path": log.to_string_lossy(), "text": block, "lines": block.lines().count() }))
    }

    fn latest_handoff(self) -> Result<Json, Error> {
        self.request.rest::<Nothing>()?;
        handoff::latest(&handoff::log_of(&self.file)?).map(|latest| to_json(&latest))
    }

    fn phase_files(mut self) -> Result<Json, Error> {
        let there = match self.request.take::<String>("only")?.as_deref() {
            None => None,
            Some("existing") => Some(true),
            Some("missing") => Some(false),
            Some(_) => return Err(Error::Usage("options.only must be 'existing' or 'missing'".into())),
        };
        let phase = self.request.take("phase")?;
        let phase = phase.ok_or_else(|| Error::Usage("phase must be a number".into()))?;
        self.request.rest::<Nothing>()?;
        files::of_phase(&self.file, phase, there).map(|files| to_json(&files))
    }

    fn check_result(mut self) -> Result<Json, Error> {
        let text: String = self.request.take("text")?.unwrap_or_default();
        self.request.rest::<Nothing>()?;
        let checked = result::check(text.into_bytes());
        Ok(json!({
            "ok": checked.is_ok(),
            "findings": checked.all_findings(),
            "result": checked.result,
            "text": checked.text.as_deref().map(String::from_utf8_lossy),
        }))
    }
}

/// The alert of a halt, on stderr like the program's.
fn alert(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}"); // the halt is written, and its result tells the line too
}

/// A halt as an object; that it could not be written is the error, told behind the alert.
fn halted(halted: Halted) -> Result<Json, Error> {
    let more = json!({ "line": halted.line, "hooks": halted.hooks });
    let written = halted.written?;
    Ok(with_warnings(cli::with_write(&written, more), halted.warnings))
}

/// What was told of a write, `more`, and its warnings, when there are any.
fn told(written: &Written, more: Json) -> Json {
    with_warnings(cli::with_write(written, more), written.warnings.clone())
}

fn with_warnings(value: Json, warnings: Vec<String>) -> Json {
    if warnings.is_empty() { value } else { with(value, json!({ "warnings": warnings })) }
}

fn with(value: Json, more: Json) -> Json {
    let members = [value, more].into_iter().filter_map(|value| match value {
        Json::Object(members) => Some(members),
        _ => None,
    });
    Json::Object(members.flatten().collect::<Map<_, _>>())
}
