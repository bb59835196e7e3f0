'use strict';

// What holds a lock for longer than a call: `lockState` and `updateState` with their Sync twins. `core` is what index.js has for
// all calls. Each is called on the function that errors are told as if by.

const NOW = true;
const LATER = false;

module.exports = ({ native, session, later, value, parsed, snapshot, toFile, toText, toOptions, wrong, PATCHING, LOCKING, WAITING }) => {
  class StateLock {
    #handle;
    #path;
    #waitedMs;

    constructor(lock) {
      if (lock?.handle === undefined) throw wrong('a StateLock is made by lockState and lockStateSync');
      this.#handle = lock.handle;
      this.#path = lock.path;
      this.#waitedMs = lock.waitedMs;
    }

    get path() {
      return this.#path;
    }

    get waitedMs() {
      return this.#waitedMs;
    }

    async read() {
      return snapshot(await later(undefined, () => native.readLocked(session, LATER, this.#handle)), this.read);
    }

    readSync() {
      return snapshot(native.readLocked(session, NOW, this.#handle), this.readSync);
    }

    async write(patch, options) {
      const checked = toOptions(options, PATCHING);
      const text = toText(patch);
      return value(
        await later(undefined, () => native.writeLocked(session, LATER, this.#handle, text, checked)),
        this.write,
      );
    }

    writeSync(patch, options) {
      const checked = toOptions(options, PATCHING);
      return value(native.writeLocked(session, NOW, this.#handle, toText(patch), checked), this.writeSync);
    }

    async release() {
      value(await later(undefined, () => native.release(session, LATER, this.#handle)), this.release);
    }

    releaseSync() {
      value(native.release(session, NOW, this.#handle), this.releaseSync);
    }

    async [Symbol.asyncDispose]() {
      await this.release();
    }

    [Symbol.dispose]() {
      this.releaseSync();
    }
  }

  async function lockState(file, options) {
    const path = toFile(file);
    const { signal, ...checked } = toOptions(options, WAITING);
    const outcome = await later(signal, () => native.lock(session, LATER, path, checked));
    return new StateLock(value(outcome, this, signal));
  }

  function lockStateSync(file, options) {
    const path = toFile(file);
    const checked = toOptions(options, LOCKING);
    return new StateLock(value(native.lock(session, NOW, path, checked), this));
  }

  // ---- updates ----

  /**
   * Both updates: lock, read, ask `fn`, write, release; and all of it again when another tool has removed the lock or
   * written meanwhile, as long as the window lasts (L11). A generator, so that it is written once: what it yields comes
   * back as a value, at once or awaited, and `run` has a native call done now or later.
   */
  function* updating(run, caller, path, fn, { signal, lockTimeoutMs, ...patching }) {
    const locking = lockTimeoutMs === undefined ? {} : { lockTimeoutMs };
    let waitedMs = 0;
    for (;;) {
      const lock = value(yield run((now) => native.lock(session, now, path, locking), signal), caller, signal);
      const deadline = performance.now() + lock.leftMs;
      waitedMs += lock.waitedMs;
      let result;
      try {
        const { state, text, rev } = snapshot(yield run((now) => native.readLocked(session, now, lock.handle)), caller);
        const patch = yield fn(state, { text, rev });
        signal?.throwIfAborted();
        if (patch === undefined || patch === null) {
          result = { rev, changed: false, created: false, path: lock.path };
        } else {
          const json = toText(patch);
          // The patch answers to what `fn` was given, so it is written onto that or not at all.
          const options = { ifMatch: rev, ...patching };
          const outcome = parsed(yield run((now) => native.writeLocked(session, now, lock.handle, json, options)));
          locking.lockTimeoutMs = deadline - performance.now();
          if (isOutdated(outcome, patching) && locking.lockTimeoutMs > 0) continue;
          result = value(outcome, caller);
        }
      } finally {
        const { failure } = parsed(yield run((now) => native.release(session, now, lock.handle)));
        if (failure && result) result.warnings = [...(result.warnings ?? []), failure.message];
      }
      return { ...result, waitedMs };
    }
  }

  function isOutdated({ failure }, { ifMatch }) {
    const code = failure?.code;
    return code === 'ERR_PIPESTATE_LOCK_LOST' || (code === 'ERR_PIPESTATE_CONFLICT' && ifMatch === undefined);
  }

  function toFunction(fn) {
    if (typeof fn !== 'function') throw wrong('fn must be a function');
    return fn;
  }

  async function updateState(file, fn, options) {
    const run = (begin, signal) => later(signal, () => begin(LATER));
    const path = toFile(file);
    const steps = updating(run, this, path, toFunction(fn), toOptions(options, PATCHING, WAITING));
    let step = steps.next();
    while (!step.done) {
      let resume;
      try {
        const result = await step.value;
        resume = () => steps.next(result);
      } catch (error) {
        resume = () => steps.throw(error);
      }
      step = resume();
    }
    return step.value;
  }

  function updateStateSync(file, fn, options) {
    const run = (begin) => begin(NOW);
    const path = toFile(file);
    const ask = (...args) => {
      const patch = fn(...args);
      if (typeof patch?.then === 'function') throw wrong('fn gives a promise, which only updateState can wait for');
      return patch;
    };
    toFunction(fn);
    const steps = updating(run, this, path, ask, toOptions(options, PATCHING, LOCKING));
    let step = steps.next();
    while (!step.done) step = steps.next(step.value);
    return step.value;
  }

  return { StateLock, lockState, lockStateSync, updateState, updateStateSync };
};
