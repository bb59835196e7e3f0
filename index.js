'use strict';

// The JavaScript half of the API (index.d.ts): it checks arguments, makes promises and errors, and leaves the rest to
// Rust. Every call of `native` either is done `now` and returns an outcome, `{ value }` or `{ failure }`, or returns an
// id, and `settle` is called with that id and the outcome.

const { basename } = require('node:path');
const { fileURLToPath } = require('node:url');
const { isDate, isUint8Array } = require('node:util/types');
const native = require('./pipestate-native.cjs');

const NOW = true;
const LATER = false;
const USAGE = { code: 'ERR_PIPESTATE_USAGE', exitCode: 64 };

class PipestateError extends Error {
  constructor({ message, errno, ...fields }) {
    super(message);
    Object.assign(this, fields);
    // As in Node's own errors, so that util.getSystemErrorName(error.errno) works.
    if (errno !== undefined) this.errno = -errno;
  }
}
Object.defineProperty(PipestateError.prototype, 'name', { value: 'PipestateError', configurable: true, writable: true });

// ---- outcomes ----

const pending = new Map();
const session = native.open(`node ${basename(process.argv[1] ?? '')}`.trim(), settle);

/** Has `begin` started and resolves with its outcome. */
function later(signal, begin) {
  return new Promise((resolve) => {
    const id = begin();
    if (pending.size === 0) native.keepAlive(session, true);
    pending.set(id, { resolve, signal });
    if (signal) listen(signal, id);
  });
}

function settle(id, outcome) {
  const { resolve, signal } = pending.get(id);
  pending.delete(id);
  if (pending.size === 0) native.keepAlive(session, false);
  if (signal) unlisten(signal, id);
  resolve(outcome);
}

/** The value of an outcome; its failure is thrown as if by `caller`. */
function value(outcome, caller, signal) {
  if (outcome.failure === undefined) return outcome.value;
  const failure = JSON.parse(outcome.failure);
  if (failure.code === 'ERR_PIPESTATE_ABORTED') throw signal.reason;
  const error =
    failure.code === USAGE.code ? Object.assign(new TypeError(failure.message), USAGE) : new PipestateError(failure);
  Error.captureStackTrace(error, caller);
  throw error;
}

function report(outcome, caller, signal) {
  return JSON.parse(value(outcome, caller, signal));
}

function snapshot(outcome, caller) {
  const { text, rev } = value(outcome, caller);
  return { state: rev === 'none' ? {} : JSON.parse(text), text, rev };
}

// ---- signals: one listener each, however many calls share it ----

const listeners = new WeakMap();

function listen(signal, id) {
  let listener = listeners.get(signal);
  if (!listener) {
    const ids = new Set();
    const abort = () => ids.forEach((job) => native.abort(job));
    listener = { ids, abort };
    listeners.set(signal, listener);
    signal.addEventListener('abort', abort, { once: true });
  }
  listener.ids.add(id);
}

function unlisten(signal, id) {
  const { ids, abort } = listeners.get(signal);
  ids.delete(id);
  if (ids.size > 0) return;
  listeners.delete(signal);
  signal.removeEventListener('abort', abort);
}

// ---- arguments ----

function wrong(message, cause) {
  return Object.assign(new TypeError(message, cause && { cause }), USAGE);
}

function toFile(file) {
  if (typeof file === 'string' || isUint8Array(file)) return file;
  if (file instanceof URL) {
    try {
      return fileURLToPath(file);
    } catch (error) {
      throw wrong(`file: ${error.message}`, error);
    }
  }
  throw wrong('file must be a string, a Buffer or a file: URL');
}

function toText(patch, name = 'patch') {
  if (typeof patch === 'string') {
    // A lone surrogate has no UTF-8; escaped it is the same JSON.
    return patch.isWellFormed() ? patch : patch.replace(/\p{Surrogate}/gu, escape);
  }
  if (isUint8Array(patch)) return patch;
  if (typeof patch !== 'object') throw wrong(`${name} must be an object, a JSON string or a Uint8Array of JSON`);
  let text;
  try {
    text = JSON.stringify(patch);
  } catch (error) {
    throw wrong(`${name} cannot be written as JSON: ${error.message}`, error);
  }
  if (text === undefined) throw wrong(`${name} cannot be written as JSON: its toJSON gives undefined`);
  return text;
}

function escape(surrogate) {
  return `\\u${surrogate.charCodeAt(0).toString(16)}`;
}

const is = (type) => (option) => typeof option === type;
const isPath = (option) => is('string')(option) || isUint8Array(option) || option instanceof URL;
const isNewPhase = (phase) =>
  is('string')(phase) || (is('string')(phase?.name) && (phase.agent === undefined || is('string')(phase.agent)));
const OPTIONS = {
  replace: ['a boolean', is('boolean')],
  nulls: ["'store' or 'delete'", (option) => option === 'store' || option === 'delete'],
  ifMatch: ['a string', is('string')],
  durability: ["'durable' or 'fast'", (option) => option === 'durable' || option === 'fast'],
  lockTimeoutMs: ['a number, 0 or more', (option) => typeof option === 'number' && option >= 0],
  signal: ['an AbortSignal', (option) => typeof option.aborted === 'boolean' && is('function')(option.addEventListener)],
  kind: ["'auto', 'agent' or 'pipeline'", (option) => ['auto', 'agent', 'pipeline'].includes(option)],
  maxPhase: ['an integer, 0 or more', (option) => Number.isInteger(option) && option >= 0 && option < 2 ** 32],
  strict: ['a boolean', is('boolean')],
  staleAfterMs: ['a number, 0 or more', (option) => typeof option === 'number' && option >= 0],
  now: ['a valid Date or a string', (option) => is('string')(option) || (isDate(option) && !Number.isNaN(option.getTime()))],
  workspaces: ['an array of paths', Array.isArray],
  force: ['a boolean', is('boolean')],
  name: ['a string', is('string')],
  pattern: ['a string', is('string')],
  tier: ['a string', is('string')],
  layout: ["'data' or 'legacy'", (option) => option === 'data' || option === 'legacy'],
  scopeRoot: ['a path', isPath],
  phases: ['an array of names and of { name, agent }', (option) => Array.isArray(option) && option.every(isNewPhase)],
  profile: ['a path', isPath],
  workspace: ['a path', isPath],
  runId: ["'uuid' or 'stamp'", (option) => option === 'uuid' || option === 'stamp'],
  confirm: ['a boolean', is('boolean')],
  logsDir: ['a path', isPath],
  propose: ['a boolean', is('boolean')],
  home: ['a path or false', (option) => option === false || isPath(option)],
};
const PATCHING = ['replace', 'nulls', 'ifMatch', 'force', 'durability'];
const LOCKING = ['lockTimeoutMs'];
const WAITING = ['lockTimeoutMs', 'signal'];
const VALIDATING = ['kind', 'maxPhase', 'strict'];
const DECIDING = ['home', 'staleAfterMs', 'now'];
const SCANNING = ['workspaces'];
const LISTING = ['logsDir'];
const EXAMINING = ['propose'];
const STARTING = ['name', 'pattern', 'tier', 'layout', 'scopeRoot', 'phases', 'profile', 'workspace', 'runId', 'durability'];
const RESUMING = ['tier', 'profile', 'confirm', 'staleAfterMs', 'now', 'durability'];
const EDITING = ['durability'];

/** The options that are given, checked; a name that is not known is an error, as a misspelt `ifMatch` would be ignored. */
function toOptions(options, ...groups) {
  const checked = {};
  if (options === undefined) return checked;
  if (options === null || typeof options !== 'object') throw wrong('options must be an object');
  for (const [name, option] of Object.entries(options)) {
    if (!groups.some((names) => names.includes(name))) {
      throw wrong(`options.${name} is not an option here: ${groups.flat().join(', ')}`);
    }
    if (option === undefined) continue;
    const [expected, accepts] = OPTIONS[name];
    if (option === null || !accepts(option)) throw wrong(`options.${name} must be ${expected}`);
    checked[name] = option;
  }
  checked.signal?.throwIfAborted();
  return checked;
}

// ---- calls ----

async function readState(file) {
  const path = toFile(file);
  return snapshot(await later(undefined, () => native.read(session, LATER, path)), readState);
}

function readStateSync(file) {
  return snapshot(native.read(session, NOW, toFile(file)), readStateSync);
}

async function validateState(file, options) {
  const path = toFile(file);
  const checked = toOptions(options, VALIDATING);
  return report(await later(undefined, () => native.validate(session, LATER, path, checked)), validateState);
}

function validateStateSync(file, options) {
  return report(native.validate(session, NOW, toFile(file), toOptions(options, VALIDATING)), validateStateSync);
}

/** The options of a decision, as the native half has them. */
function toScan(options, ...groups) {
  const { now, workspaces, home, logsDir, ...checked } = toOptions(options, DECIDING, ...groups);
  if (now !== undefined) checked.now = isDate(now) ? now.toISOString() : now;
  if (workspaces !== undefined) checked.workspaces = workspaces.map(toFile);
  if (logsDir !== undefined) checked.logsDir = toFile(logsDir);
  if (home !== undefined) checked.home = home === false ? false : toFile(home);
  return checked;
}

async function recover(file, options) {
  const path = toFile(file);
  const checked = toScan(options);
  return report(await later(undefined, () => native.recover(session, LATER, path, checked)), recover);
}

function recoverSync(file, options) {
  return report(native.recover(session, NOW, toFile(file), toScan(options)), recoverSync);
}

async function scanRuns(options) {
  const checked = toScan(options, SCANNING);
  return report(await later(undefined, () => native.scan(session, LATER, checked)), scanRuns);
}

function scanRunsSync(options) {
  return report(native.scan(session, NOW, toScan(options, SCANNING)), scanRunsSync);
}

async function listRuns(options) {
  const checked = toScan(options, SCANNING, LISTING);
  return report(await later(undefined, () => native.list(session, LATER, checked)), listRuns);
}

function listRunsSync(options) {
  return report(native.list(session, NOW, toScan(options, SCANNING, LISTING)), listRunsSync);
}

async function doctor(path, options) {
  const file = toFile(path);
  const { propose = false } = toOptions(options, EXAMINING);
  return report(await later(undefined, () => native.doctor(session, LATER, file, propose)), doctor);
}

function doctorSync(path, options) {
  const { propose = false } = toOptions(options, EXAMINING);
  return report(native.doctor(session, NOW, toFile(path), propose), doctorSync);
}

async function renderReport(path, options) {
  const file = toFile(path);
  const checked = toScan(options);
  return report(await later(undefined, () => native.renderReport(session, LATER, file, checked)), renderReport);
}

function renderReportSync(path, options) {
  return report(native.renderReport(session, NOW, toFile(path), toScan(options)), renderReportSync);
}

async function guardToolUse(event) {
  const text = toText(event, 'event');
  return report(await later(undefined, () => native.guard(session, LATER, text)), guardToolUse);
}

function guardToolUseSync(event) {
  return report(native.guard(session, NOW, toText(event, 'event')), guardToolUseSync);
}

async function writeState(file, patch, options) {
  const path = toFile(file);
  const { signal, ...checked } = toOptions(options, PATCHING, WAITING);
  const text = toText(patch);
  return value(await later(signal, () => native.write(session, LATER, path, text, checked)), writeState, signal);
}

function writeStateSync(file, patch, options) {
  const path = toFile(file);
  const checked = toOptions(options, PATCHING, LOCKING);
  return value(native.write(session, NOW, path, toText(patch), checked), writeStateSync);
}

// ---- pipelines ----

/** Options with paths and times in them, as the native half has them; those of `required` must be there. */
function toPipeline(options, required, ...groups) {
  const { signal, ...checked } = toOptions(options, ...groups);
  for (const name of required) {
    if (checked[name] === undefined) throw wrong(`options.${name} must be ${OPTIONS[name][0]}`);
  }
  for (const name of ['scopeRoot', 'profile', 'workspace']) {
    if (checked[name] !== undefined) checked[name] = toFile(checked[name]);
  }
  if (isDate(checked.now)) checked.now = checked.now.toISOString();
  return { signal, checked };
}

const START = ['name', 'pattern', 'tier'];

async function initPipeline(options) {
  const { checked } = toPipeline(options, START, STARTING);
  return report(await later(undefined, () => native.initPipeline(session, LATER, checked)), initPipeline);
}

function initPipelineSync(options) {
  const { checked } = toPipeline(options, START, STARTING);
  return report(native.initPipeline(session, NOW, checked), initPipelineSync);
}

async function resumePipeline(file, options) {
  const path = toFile(file);
  const { signal, checked } = toPipeline(options, ['tier'], RESUMING, WAITING);
  const outcome = await later(signal, () => native.resumePipeline(session, LATER, path, checked));
  return report(outcome, resumePipeline, signal);
}

function resumePipelineSync(file, options) {
  const { checked } = toPipeline(options, ['tier'], RESUMING, LOCKING);
  return report(native.resumePipeline(session, NOW, toFile(file), checked), resumePipelineSync);
}

function toPhase(phase) {
  if (typeof phase === 'string' || Number.isSafeInteger(phase)) return String(phase);
  throw wrong('phase must be an index, or the key of a phase');
}

const TRANSITION = {
  status: is('string'),
  outputs: (outputs) => outputs === undefined || (Array.isArray(outputs) && outputs.every(is('string'))),
  error: (error) => error === undefined || typeof error === 'string',
};

function toTransition(transition) {
  if (transition === null || typeof transition !== 'object') throw wrong('transition must be an object');
  for (const name of Object.keys(transition)) {
    if (!Object.hasOwn(TRANSITION, name)) throw wrong(`transition.${name} is none of ${Object.keys(TRANSITION).join(', ')}`);
  }
  for (const [name, accepts] of Object.entries(TRANSITION)) {
    if (!accepts(transition[name])) throw wrong(`transition.${name} must be ${name === 'outputs' ? 'an array of strings' : 'a string'}`);
  }
  return transition;
}

async function setPipelinePhase(file, phase, transition, options) {
  const [path, key, checkedStep] = [toFile(file), toPhase(phase), toTransition(transition)];
  const { signal, checked } = toPipeline(options, [], EDITING, WAITING);
  const outcome = await later(signal, () => native.setPhase(session, LATER, path, key, checkedStep, checked));
  return report(outcome, setPipelinePhase, signal);
}

function setPipelinePhaseSync(file, phase, transition, options) {
  const [path, key, checkedStep] = [toFile(file), toPhase(phase), toTransition(transition)];
  const { checked } = toPipeline(options, [], EDITING, LOCKING);
  return report(native.setPhase(session, NOW, path, key, checkedStep, checked), setPipelinePhaseSync);
}

async function finalizePipeline(file, options) {
  const path = toFile(file);
  const { signal, checked } = toPipeline(options, [], EDITING, WAITING);
  return report(await later(signal, () => native.finalize(session, LATER, path, checked)), finalizePipeline, signal);
}

function finalizePipelineSync(file, options) {
  const { checked } = toPipeline(options, [], EDITING, LOCKING);
  return report(native.finalize(session, NOW, toFile(file), checked), finalizePipelineSync);
}

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
  return new StateLock(value(outcome, lockState, signal));
}

function lockStateSync(file, options) {
  const path = toFile(file);
  const checked = toOptions(options, LOCKING);
  return new StateLock(value(native.lock(session, NOW, path, checked), lockStateSync));
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
        const outcome = yield run((now) => native.writeLocked(session, now, lock.handle, json, options));
        locking.lockTimeoutMs = deadline - performance.now();
        if (isOutdated(outcome, patching) && locking.lockTimeoutMs > 0) continue;
        result = value(outcome, caller);
      }
    } finally {
      const { failure } = yield run((now) => native.release(session, now, lock.handle));
      if (failure && result) result.warnings = [...(result.warnings ?? []), JSON.parse(failure).message];
    }
    return { ...result, waitedMs };
  }
}

function isOutdated({ failure }, { ifMatch }) {
  if (failure === undefined) return false;
  const { code } = JSON.parse(failure);
  return code === 'ERR_PIPESTATE_LOCK_LOST' || (code === 'ERR_PIPESTATE_CONFLICT' && ifMatch === undefined);
}

function toFunction(fn) {
  if (typeof fn !== 'function') throw wrong('fn must be a function');
  return fn;
}

async function updateState(file, fn, options) {
  const run = (begin, signal) => later(signal, () => begin(LATER));
  const path = toFile(file);
  const steps = updating(run, updateState, path, toFunction(fn), toOptions(options, PATCHING, WAITING));
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
  const steps = updating(run, updateStateSync, path, ask, toOptions(options, PATCHING, LOCKING));
  let step = steps.next();
  while (!step.done) step = steps.next(step.value);
  return step.value;
}

// ---- agent runs and tasks: what is asked goes as JSON to the native half, which checks it ----

/** Every call: its function, and what its arguments say, as `[file, request]`. */
const AGENT = {
  createTask: (ticket, options) => [undefined, { ...toRequest(options), ticket }],
  findTask: (name, options) => [undefined, { ...toRequest(options), name: typeof name === 'number' ? `${name}` : name }],
  listTasks: (options) => [undefined, toRequest(options)],
  planResume: (file, options) => [toFile(file), toRequest(options)],
  startResume: (file, options) => [toFile(file), toRequest(options)],
  setPhase: (file, phase, options) => [toFile(file), { ...toRequest(options), phase }],
  halt: (file, options) => [toFile(file), toRequest(options)],
  nextAttempt: (file, loop, options) => [toFile(file), { ...toRequest(options), loop }],
  appendHandoff: (file, options) => [toFile(file), toRequest(options)],
  latestHandoff: (file) => [toFile(file), {}],
  phaseFiles: (file, phase, options) => [toFile(file), { ...toRequest(options), phase }],
  planKill: (task, options) => [undefined, { ...toRequest(options), task: typeof task === 'number' ? `${task}` : task }],
  planClearLogs: (options) => [undefined, toRequest(options)],
  planPurge: (options) => [undefined, toRequest(options)],
  confirm: (token, options) => [undefined, { ...toRequest(options), token }],
  checkResult: (text) => [undefined, { text: isUint8Array(text) ? Buffer.from(text).toString() : toResult(text) }],
};

function toRequest(options = {}) {
  if (options === null || typeof options !== 'object') throw wrong('options must be an object');
  return options;
}

function toResult(text) {
  if (typeof text !== 'string') throw wrong('text must be a string or a Uint8Array');
  return text.toWellFormed();
}

/** JSON has no Infinity, and no number of milliseconds is larger than this one. */
function toRequestText(request) {
  return JSON.stringify(request, (_, option) => (option === Infinity ? Number.MAX_VALUE : option));
}

const agent = {};
for (const [name, toArguments] of Object.entries(AGENT)) {
  const twins = {
    async [name](...args) {
      const [file, request] = toArguments(...args);
      const text = toRequestText(request);
      return report(await later(undefined, () => native.agent(session, LATER, name, file, text)), twins[name]);
    },
    [`${name}Sync`](...args) {
      const [file, request] = toArguments(...args);
      return report(native.agent(session, NOW, name, file, toRequestText(request)), twins[`${name}Sync`]);
    },
  };
  Object.assign(agent, twins);
}

// Plain lists, so that `import { writeState } from 'pipestate'` finds the names.
const {
  createTask,
  createTaskSync,
  findTask,
  findTaskSync,
  listTasks,
  listTasksSync,
  planResume,
  planResumeSync,
  startResume,
  startResumeSync,
  setPhase,
  setPhaseSync,
  halt,
  haltSync,
  nextAttempt,
  nextAttemptSync,
  appendHandoff,
  appendHandoffSync,
  latestHandoff,
  latestHandoffSync,
  phaseFiles,
  phaseFilesSync,
  checkResult,
  checkResultSync,
  planKill,
  planKillSync,
  planClearLogs,
  planClearLogsSync,
  planPurge,
  planPurgeSync,
  confirm,
  confirmSync,
} = agent;

module.exports = {
  createTask,
  createTaskSync,
  findTask,
  findTaskSync,
  listTasks,
  listTasksSync,
  planResume,
  planResumeSync,
  startResume,
  startResumeSync,
  setPhase,
  setPhaseSync,
  halt,
  haltSync,
  nextAttempt,
  nextAttemptSync,
  appendHandoff,
  appendHandoffSync,
  latestHandoff,
  latestHandoffSync,
  phaseFiles,
  phaseFilesSync,
  checkResult,
  checkResultSync,
  planKill,
  planKillSync,
  planClearLogs,
  planClearLogsSync,
  planPurge,
  planPurgeSync,
  confirm,
  confirmSync,
  writeState,
  writeStateSync,
  readState,
  readStateSync,
  validateState,
  validateStateSync,
  recover,
  recoverSync,
  scanRuns,
  scanRunsSync,
  listRuns,
  listRunsSync,
  doctor,
  doctorSync,
  renderReport,
  renderReportSync,
  guardToolUse,
  guardToolUseSync,
  initPipeline,
  initPipelineSync,
  resumePipeline,
  resumePipelineSync,
  setPipelinePhase,
  setPipelinePhaseSync,
  finalizePipeline,
  finalizePipelineSync,
  updateState,
  updateStateSync,
  lockState,
  lockStateSync,
  StateLock,
  PipestateError,
};
