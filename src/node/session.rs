//! What one loading of `index.js` has open, and its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use napi::bindgen_prelude::{Either, FnArgs, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status, sys};

use super::convert::{Settled, Value};
use super::held::Held;
use crate::disk;
use crate::engine::{self, Acquired, Interrupted, Job, Owner};
use crate::error::Error;
use crate::update::Written;

/// Jobs by their ids, and what they came to.
pub type Outcomes = FnArgs<(Vec<i64>, Vec<Settled>)>;
/// Calls `settle(ids, outcomes)` in JavaScript, from any thread, with all that is in [`Told`] by then.
type Settle = ThreadsafeFunction<(), (), Outcomes, Status, false, true>;
/// What jobs came to that JavaScript has not been told of. A call into it takes longer than many a job: where they end
/// faster than it is told, it is told of several at once.
type Told = Arc<Mutex<Vec<(i64, Settled)>>>;

/// One loading of `index.js`: it belongs to one environment of Node, the main thread's or a worker's.
pub struct Session {
    owner: Owner,
    /// Who writes, as others read it in the lock.
    pub program: Arc<str>,
    held: Mutex<Vec<Weak<Held>>>,
    settle: Settle,
    told: Told,
    apart: Apart,
}

/// The calls of a session that are done apart from the engine, each on a thread of its own.
#[derive(Default)]
struct Apart {
    running: Mutex<usize>,
    finished: Condvar,
    stopped: AtomicBool,
}

impl Apart {
    fn count(&self) -> MutexGuard<'_, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops them short of their commits and waits for their end.
    fn end(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let mut running = self.count();
        while *running > 0 {
            running = self.finished.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What became of a call that was to be done now, or the id of one that will be told of later.
pub type Outcome = Either<Settled, i64>;

impl Session {
    /// Opens a session, which ends with its environment or with the process.
    pub fn open(env: &Env, program: String, settle: Function<Outcomes, ()>) -> napi::Result<Arc<Session>> {
        let told = Told::default();
        let all = told.clone();
        let settle = settle
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .build_callback(move |_| Ok(take(&all).into_iter().unzip::<_, _, Vec<_>, Vec<_>>().into()))?;
        disk::close_outgoing_apart();
        let owner = engine::new_owner();
        let session = Arc::new(Session {
            owner,
            program: program.into(),
            held: Mutex::default(),
            settle,
            told,
            apart: Apart::default(),
        });
        env.add_env_cleanup_hook(session.clone(), |session| session.end())?;
        end_with_process(&session);
        Ok(session)
    }

    /// Whether pending jobs keep the process alive.
    pub fn keep_alive(&self, env: &Env, keep: bool) {
        let change =
            if keep { sys::napi_ref_threadsafe_function } else { sys::napi_unref_threadsafe_function };
        // SAFETY: both are alive, and this is the environment's thread. It fails only when they are not.
        unsafe { change(env.raw(), self.settle.raw()) };
    }

    /// Does the job that `prepare` gives: now, on this thread, or by the engine.
    pub fn run<J>(self: &Arc<Session>, now: bool, prepare: impl FnOnce() -> Result<J, Error>) -> Outcome
    where
        J: Job<Output: IntoValue>,
    {
        if now {
            let result = caught(|| prepare()?.wait(&|| None));
            return Either::A(Settled(result.map(|output| output.into_value(self))));
        }
        let id = engine::new_job();
        let session = self.clone();
        let settle = move |result: Result<J::Output, Error>| {
            let settled = Settled(result.map(|output| output.into_value(&session)));
            session.tell(id.0 as i64, settled);
        };
        match caught(prepare) {
            Ok(job) => engine::submit(self.owner, id, job, settle),
            Err(error) => settle(Err(error)),
        }
        Either::B(id.0 as i64)
    }

    /// Does `work`, which waits for locks and other programs by itself: now, on this thread, or on one of its own, so that
    /// it keeps none of the engine's few workers. Of such calls neither order nor abort is promised.
    pub fn run_apart(
        self: &Arc<Session>,
        now: bool,
        work: impl FnOnce(Interrupted) -> Result<Value, Error> + Send + 'static,
    ) -> Outcome {
        if now {
            return Either::A(Settled(caught(|| work(&|| None))));
        }
        let id = engine::new_job().0 as i64;
        let session = self.clone();
        *self.apart.count() += 1;
        let thread = std::thread::Builder::new().name("pipestate-agent".into()).spawn(move || {
            let stopped = || session.apart.stopped.load(Ordering::SeqCst).then_some(Error::Aborted);
            let settled = Settled(caught(|| work(&stopped)));
            session.tell(id, settled);
            *session.apart.count() -= 1;
            session.apart.finished.notify_all();
        });
        if let Err(source) = thread {
            *self.apart.count() -= 1;
            let error = Error::io("pipestate".as_ref(), "start a thread", "clone", source);
            return Either::A(Settled(Err(error)));
        }
        Either::B(id)
    }

    /// Tells JavaScript what a job came to.
    fn tell(&self, id: i64, settled: Settled) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.push((id, settled));
        let is_first = told.len() == 1;
        drop(told);
        // Who came before has called already. It fails when the environment has ended: then nobody waits.
        if is_first {
            self.settle.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    fn hold(&self, Acquired { lock, waited, left }: Acquired) -> Value {
        let path = lock.place().real_path();
        let held = Arc::new(Held::new(lock));
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|held| held.strong_count() > 0);
        all.push(Arc::downgrade(&held));
        Value::Lock { held, path, waited, left }
    }

    /// Ends what is open: the environment does, or the process.
    fn end(&self) {
        self.apart.end();
        engine::abandon(self.owner);
        drop(take(&self.told));
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        for held in held.iter().filter_map(Weak::upgrade) {
            let _ = held.release(); // nobody is left to tell; the next writer takes it over
        }
    }
}

/// All sessions that may have to be ended by [`end_all`].
static OPEN: LazyLock<Mutex<Vec<Weak<Session>>>> = LazyLock::new(Mutex::default);

/// `process.exit()` does not end the main thread's environment; so the process itself is asked to run [`end_all`] after
/// the last JavaScript.
fn end_with_process(session: &Arc<Session>) {
    static ASKED: std::sync::Once = std::sync::Once::new();
    ASKED.call_once(|| {
        // SAFETY: the function takes nothing, and napi keeps this image loaded for as long as the process lives.
        unsafe { atexit(end_all) };
    });
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|session| session.strong_count() > 0);
    open.push(Arc::downgrade(session));
}

extern "C" fn end_all() {
    let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
    open.iter().filter_map(Weak::upgrade).for_each(|session| session.end());
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

fn take(told: &Told) -> Vec<(i64, Settled)> {
    std::mem::take(&mut *told.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What a job comes to, on its way to JavaScript.
pub trait IntoValue {
    /// What JavaScript gets.
    fn into_value(self, session: &Session) -> Value;
}

impl IntoValue for Value {
    fn into_value(self, _: &Session) -> Value {
        self
    }
}

impl IntoValue for Written {
    fn into_value(self, _: &Session) -> Value {
        self.into()
    }
}

impl IntoValue for Acquired {
    fn into_value(self, session: &Session) -> Value {
        session.hold(self)
    }
}

/// A panic must not cross into Node, which would end the process.
fn caught<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Error::Bug(engine::describe_panic(&*panic))))
}
