//! What crosses into JavaScript and back. The comments on the objects are for its readers: the build prints them into
//! `index.d.ts`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use napi::bindgen_prelude::{Either, Either3, External, Object, ToNapiValue, Uint8Array};
use napi::{Env, JsValue, sys};
use napi_derive::napi;
use serde::Serialize;

use super::held::Held;
use crate::atomic::Durability;
use crate::cli;
use crate::error::Error;
use crate::kind::StateKind;
use crate::lock;
use crate::merge::Nulls;
use crate::recovery::{Clock, STALE_AFTER};
use crate::runs::{self, Places};
use crate::task;
use crate::time::Moment;
use crate::update::{self, Mode, Snapshot, Written};
use crate::validate::{self, Report};

/// A path: a string, or bytes where it may not be UTF-8.
pub type File = Either<String, Uint8Array>;
/// JSON text.
pub type Text = Either<String, Uint8Array>;

/// V8 has no longer strings.
const LONGEST_STRING: usize = (1 << 29) - 24;

/// How `writeStateSync` writes.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct WriteSyncOptions {
    /// Store the patch as the whole document instead of merging it. The only way to write over a file that does not
    /// parse.
    ///
    /// @default false
    pub replace: Option<bool>,
    /// What a `null` in the patch does: it is stored as a value, or it deletes the key. `'delete'` merges by RFC 7396
    /// to the letter, so a patch replaces arrays as a whole.
    ///
    /// @default 'store'
    #[napi(ts_type = "'store' | 'delete'")]
    pub nulls: Option<String>,
    /// Write only if the file still has this revision, checked under the lock; `'none'` writes only if there is no
    /// file. Otherwise nothing is written and the call fails with `ERR_PIPESTATE_CONFLICT`.
    pub if_match: Option<String>,
    /// Write also what never changes after init in a pipeline document; each such field is told in `warnings`.
    ///
    /// @default false
    pub force: Option<bool>,
    /// `'durable'` syncs the file and its folder, so that an acknowledged write outlives a power cut. `'fast'` leaves
    /// that out; the file is whole either way.
    ///
    /// @default 'durable'
    #[napi(ts_type = "'durable' | 'fast'")]
    pub durability: Option<String>,
    /// How long to wait for the lock, in milliseconds. 0 tries once, `Infinity` waits without end.
    ///
    /// @default the environment variable `PIPESTATE_LOCK_TIMEOUT_MS`, else 10000
    pub lock_timeout_ms: Option<f64>,
}

/// How `lockStateSync` waits.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct LockSyncOptions {
    /// How long to wait for the lock, in milliseconds. 0 tries once, `Infinity` waits without end.
    ///
    /// @default the environment variable `PIPESTATE_LOCK_TIMEOUT_MS`, else 10000
    pub lock_timeout_ms: Option<f64>,
}

/// What `validateState` asks of a state.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct ValidateOptions {
    /// Which rules apply; `'auto'` finds out by file name and keys.
    ///
    /// @default 'auto'
    #[napi(ts_type = "'auto' | 'agent' | 'pipeline'")]
    pub kind: Option<String>,
    /// The highest phase of the host's phase list.
    ///
    /// @default 7
    pub max_phase: Option<u32>,
    /// Whether warnings fail too.
    ///
    /// @default false
    pub strict: Option<bool>,
}

/// Against what `recover` measures.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct RecoverOptions {
    /// The home folder, in which preference files may lie (`~`); `false` leaves it alone.
    ///
    /// @default the user's home folder, `HOME`
    #[napi(ts_type = "StateFile | false")]
    pub home: Option<Either3<bool, String, Uint8Array>>,
    /// How long a running run may be silent before it counts as crashed, in milliseconds.
    ///
    /// @default 3600000
    pub stale_after_ms: Option<f64>,
    /// The time that counts as now; a string is ISO 8601, and without a zone it is UTC.
    ///
    /// @default the system's clock
    #[napi(ts_type = "Date | string")]
    pub now: Option<String>,
}

/// Where `scanRuns` looks, and against what it measures.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct ScanOptions {
    /// The workspaces below which the scope roots of all tiers are looked through.
    ///
    /// @default the working directory
    #[napi(ts_type = "StateFile[]")]
    pub workspaces: Option<Vec<File>>,
    /// The home folder, below which they are looked through too, and in which preference files may lie; `false` leaves it
    /// alone.
    ///
    /// @default the user's home folder, `HOME`
    #[napi(ts_type = "StateFile | false")]
    pub home: Option<Either3<bool, String, Uint8Array>>,
    /// How long a running run may be silent before it counts as crashed, in milliseconds.
    ///
    /// @default 3600000
    pub stale_after_ms: Option<f64>,
    /// The time that counts as now; a string is ISO 8601, and without a zone it is UTC.
    ///
    /// @default the system's clock
    #[napi(ts_type = "Date | string")]
    pub now: Option<String>,
}

/// What `listRuns` lists, and against what it measures.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct ListOptions {
    /// The workspaces below which the scope roots of all tiers are looked through.
    ///
    /// @default the working directory
    #[napi(ts_type = "StateFile[]")]
    pub workspaces: Option<Vec<File>>,
    /// The home folder, below which they are looked through too, and in which preference files may lie; `false` leaves it
    /// alone.
    ///
    /// @default the user's home folder, `HOME`
    #[napi(ts_type = "StateFile | false")]
    pub home: Option<Either3<bool, String, Uint8Array>>,
    /// The root of all logs, with the tasks below it.
    ///
    /// @default the environment variable `PIPESTATE_LOGS_DIR`, else `.claude/logs/multi-agent` below the home folder
    #[napi(ts_type = "StateFile")]
    pub logs_dir: Option<File>,
    /// How long a running run may be silent before it counts as crashed, in milliseconds.
    ///
    /// @default 3600000
    pub stale_after_ms: Option<f64>,
    /// The time that counts as now; a string is ISO 8601, and without a zone it is UTC.
    ///
    /// @default the system's clock
    #[napi(ts_type = "Date | string")]
    pub now: Option<String>,
}

/// What a write did.
#[napi(object, object_from_js = false)]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteResult {
    /// The revision of the file now.
    pub rev: String,
    /// Whether a byte of the file changed. A write that would change none touches nothing.
    pub changed: bool,
    /// Whether the file is new.
    pub created: bool,
    /// The real path of the file: absolute, without symbolic links. What is not UTF-8 in it stands as U+FFFD.
    pub path: String,
    /// How long the lock was waited for, in milliseconds.
    pub waited_ms: u32,
    /// What went wrong after the write without making it a failure; absent when nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

impl WriteSyncOptions {
    /// As the core has them.
    pub fn parse(self) -> Result<update::WriteOptions, Error> {
        let nulls = match self.nulls.as_deref() {
            None | Some("store") => Nulls::Store,
            Some("delete") => Nulls::Delete,
            Some(_) => return Err(Error::Usage("options.nulls must be 'store' or 'delete'".into())),
        };
        Ok(update::WriteOptions {
            mode: if self.replace == Some(true) { Mode::Replace } else { Mode::Merge(nulls) },
            if_match: self.if_match,
            durability: durability(self.durability.as_deref())?,
            lock_timeout: window(self.lock_timeout_ms)?,
            force: self.force == Some(true),
        })
    }
}

impl ValidateOptions {
    /// As the core has them.
    pub fn parse(self) -> Result<validate::Options, Error> {
        let kind = match self.kind.as_deref() {
            None | Some("auto") => None,
            Some("agent") => Some(StateKind::Agent),
            Some("pipeline") => Some(StateKind::Pipeline),
            Some(_) => return Err(Error::Usage("options.kind must be 'auto', 'agent' or 'pipeline'".into())),
        };
        let max_phase = self.max_phase.unwrap_or(validate::DEFAULT_MAX_PHASE);
        Ok(validate::Options { kind, max_phase, strict: self.strict == Some(true) })
    }
}

impl RecoverOptions {
    /// As the core has them: the home folder, and the clock, which is read when the work is done.
    pub fn parse(self) -> Result<(Option<PathBuf>, impl Fn() -> Clock + Send + 'static), Error> {
        let home = match self.home {
            Some(Either3::A(false)) => None,
            Some(Either3::A(true)) | None => runs::home_folder(),
            Some(Either3::B(home)) => Some(path(Either::A(home))?),
            Some(Either3::C(home)) => Some(path(Either::B(home))?),
        };
        let now = match self.now.as_deref().map(Moment::parse) {
            None => None,
            Some(Some(moment)) => Some(moment.at),
            Some(None) => return Err(Error::Usage("options.now must be a time in ISO 8601".into())),
        };
        let stale_after = self.stale_after_ms.map_or(STALE_AFTER, duration);
        Ok((home, move || Clock { now: now.unwrap_or_else(Utc::now), stale_after }))
    }
}

impl ScanOptions {
    /// As the core has them.
    pub fn parse(self) -> Result<(Places, impl Fn() -> Clock + Send + 'static), Error> {
        let workspaces = match self.workspaces {
            Some(workspaces) => workspaces.into_iter().map(path).collect::<Result<_, _>>()?,
            None => vec![".".into()],
        };
        let ScanOptions { home, stale_after_ms, now, .. } = self;
        let (home, clock) = RecoverOptions { home, stale_after_ms, now }.parse()?;
        Ok((Places { workspaces, home }, clock))
    }
}

impl ListOptions {
    /// As the core has them: where runs lie, where tasks lie, the clock.
    pub fn parse(self) -> Result<(Places, Option<PathBuf>, impl Fn() -> Clock + Send + 'static), Error> {
        let ListOptions { workspaces, home, logs_dir, stale_after_ms, now } = self;
        let (places, clock) = ScanOptions { workspaces, home, stale_after_ms, now }.parse()?;
        let logs = task::logs_root_below(logs_dir.map(path).transpose()?, places.home.as_deref());
        Ok((places, logs, clock))
    }
}

/// Whether to sync.
pub fn durability(word: Option<&str>) -> Result<Durability, Error> {
    match word {
        None | Some("durable") => Ok(Durability::Durable),
        Some("fast") => Ok(Durability::Fast),
        Some(_) => Err(Error::Usage("options.durability must be 'durable' or 'fast'".into())),
    }
}

/// What no clock can count to has no end.
fn duration(milliseconds: f64) -> Duration {
    Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or(Duration::MAX)
}

/// The acquire window of `milliseconds`; what no clock can count to has no end.
pub fn window(milliseconds: Option<f64>) -> Result<Duration, Error> {
    lock::window(milliseconds.map(duration))
}

/// The path that `file` is.
pub fn path(file: File) -> Result<PathBuf, Error> {
    let bytes = bytes(file);
    if bytes.contains(&0) {
        return Err(Error::Usage("the path of the state file has a NUL byte in it".into()));
    }
    path_of_bytes(bytes)
}

#[cfg(unix)]
fn path_of_bytes(bytes: Vec<u8>) -> Result<PathBuf, Error> {
    use std::os::unix::ffi::OsStringExt;
    Ok(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn path_of_bytes(bytes: Vec<u8>) -> Result<PathBuf, Error> {
    let path = String::from_utf8(bytes)
        .map_err(|_| Error::Usage("the path of the state file is not UTF-8".into()))?;
    Ok(path.into())
}

/// A copy of what JavaScript may change at any time.
pub fn bytes(text: Text) -> Vec<u8> {
    match text {
        Either::A(text) => text.into_bytes(),
        Either::B(bytes) => bytes.to_vec(),
    }
}

/// What a call came to.
pub enum Value {
    /// Nothing to tell.
    Done,
    /// A state file.
    Snapshot {
        /// The document.
        text: String,
        /// Its revision.
        rev: String,
    },
    /// What a write did.
    Written(WriteResult),
    /// A lock.
    Lock {
        /// The lock itself.
        held: Arc<Held>,
        /// The state file.
        path: PathBuf,
        /// How long the lock was waited for.
        waited: Duration,
        /// How much of the window is left.
        left: Duration,
    },
    /// A verdict on a state file.
    Report(Report),
    /// Any other answer, which `index.js` parses.
    Json(serde_json::Value),
}

impl From<Written> for Value {
    fn from(written: Written) -> Value {
        Value::Written(WriteResult {
            rev: written.rev,
            changed: written.changed,
            created: written.created,
            path: written.place.real_path().to_string_lossy().into_owned(),
            waited_ms: milliseconds(written.waited),
            warnings: Some(written.warnings).filter(|warnings| !warnings.is_empty()),
        })
    }
}

impl Value {
    /// The document in what was read from `path`; a missing file is an empty one (M5).
    pub fn document(snapshot: Snapshot, path: &std::path::Path) -> Result<Value, Error> {
        let rev = snapshot.rev.clone();
        if snapshot.facts.is_none() {
            return Ok(Value::Snapshot { text: String::new(), rev });
        }
        let text = snapshot.document(path)?.into_text();
        if text.len() > LONGEST_STRING {
            let source = std::io::ErrorKind::FileTooLarge;
            return Err(Error::io(path, "hand the document to JavaScript as a string", "read", source));
        }
        let text = String::from_utf8(text).expect("a document is UTF-8");
        Ok(Value::Snapshot { text, rev })
    }
}

/// What the core serialises, as JSON.
pub fn json(value: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).expect("a tree of strings and numbers is JSON")
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

/// A value or a failure, as `index.js` takes it: `{ value }` or `{ failure }`, the failure as `--json` prints it. Mostly as
/// JSON: one string, and V8's parser behind it, take a fraction of the calls that make an object.
pub struct Settled(pub Result<Value, Error>);

/// A member of the outcome, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Told<T> {
    Value(T),
    Failure(T),
}

impl ToNapiValue for Settled {
    unsafe fn to_napi_value(env: sys::napi_env, Settled(result): Settled) -> napi::Result<sys::napi_value> {
        let text = match result {
            Err(error) => text(&Told::Failure(cli::error_object(&error))),
            Ok(Value::Done) => "{}".to_owned(),
            Ok(Value::Written(result)) => text(&Told::Value(result)),
            Ok(Value::Json(json)) => text(&Told::Value(json)),
            Ok(Value::Report(report)) => {
                let mut value = json(&report);
                value["exitCode"] = report.exit_code().into();
                text(&Told::Value(value))
            }
            Ok(Value::Snapshot { text, rev }) => {
                let env = Env::from_raw(env);
                let mut value = Object::new(&env)?;
                value.set("text", text)?;
                value.set("rev", rev)?;
                return of_value(env, value);
            }
            Ok(Value::Lock { held, path, waited, left }) => {
                let env = Env::from_raw(env);
                let mut value = Object::new(&env)?;
                value.set("handle", External::new(held))?;
                value.set("path", path.to_string_lossy().into_owned())?;
                value.set("waitedMs", milliseconds(waited))?;
                value.set("leftMs", left.as_secs_f64() * 1000.0)?;
                return of_value(env, value);
            }
        };
        // SAFETY: the caller's environment.
        unsafe { String::to_napi_value(env, text) }
    }
}

/// An outcome with something in it that is no JSON, or is too large to be escaped and parsed again.
fn of_value(env: Env, value: Object<'_>) -> napi::Result<sys::napi_value> {
    let mut outcome = Object::new(&env)?;
    outcome.set("value", value)?;
    Ok(outcome.raw())
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a tree of strings and numbers is JSON")
}
