'use strict';

// The JavaScript half of the API (index.d.ts): it checks arguments, makes promises and errors, and leaves the rest to
// Rust. Every call of `native` either is done `now` and returns an outcome, `{ value }` or `{ failure }`, mostly as JSON, or
// returns an id, and `settle` is called with that id among others, and the outcomes.
//
// Reading and writing is here; locks.js, for what holds a lock, and runs.js, which knows about runs and tasks, are loaded when
// they are asked for.

const native = load();

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

/**
 * The addon. Where `npm run build` and npm put it, it is opened without being resolved as a module, as that takes as long as
 * to load it; the loader finds it wherever it is, or says what is missing.
 */
function load() {
  const { platform, arch } = process;
  const name = `${platform}-${arch}${{ linux: '-gnu', win32: '-msvc' }[platform] ?? ''}`;
  const addon = { exports: {} };
  for (const folder of [__dirname, `${__dirname}/../pipestate-${name}`]) {
    try {
      process.dlopen(addon, `${folder}/pipestate.${name}.node`);
      return addon.exports;
    } catch {
      // The loader looks again.
    }
  }
  return require('./pipestate-native.cjs');
}

// ---- outcomes ----

const pending = new Map();
// Not by node:path: the first module of Node that is asked for takes a twentieth of all of this.
const session = native.open(`node ${(process.argv[1] ?? '').replace(/^.*[\\/]/, '')}`.trim(), settle);

/** Has `begin` started and resolves with its outcome. */
function later(signal, begin) {
  return new Promise((resolve) => {
    const id = begin();
    if (pending.size === 0) native.keepAlive(session, true);
    pending.set(id, { resolve, signal });
    if (signal) listen(signal, id);
  });
}

function settle(ids, outcomes) {
  ids.forEach((id, place) => {
    const { resolve, signal } = pending.get(id);
    pending.delete(id);
    if (signal) unlisten(signal, id);
    resolve(outcomes[place]);
  });
  if (pending.size === 0) native.keepAlive(session, false);
}

function parsed(outcome) {
  return typeof outcome === 'string' ? JSON.parse(outcome) : outcome;
}

/** The value of an outcome; its failure is thrown as if by `caller`. */
function value(outcome, caller, signal) {
  const { value, failure } = parsed(outcome);
  if (failure === undefined) return value;
  if (failure.code === 'ERR_PIPESTATE_ABORTED') throw signal.reason;
  const error =
    failure.code === USAGE.code ? Object.assign(new TypeError(failure.message), USAGE) : new PipestateError(failure);
  Error.captureStackTrace(error, caller);
  throw error;
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

/** As node:util has it. */
function isUint8Array(value) {
  return ArrayBuffer.isView(value) && value[Symbol.toStringTag] === 'Uint8Array';
}

function toFile(file) {
  if (typeof file === 'string' || isUint8Array(file)) return file;
  if (file instanceof URL) {
    try {
      return require('node:url').fileURLToPath(file);
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
/** What may be given by which name. */
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
  force: ['a boolean', is('boolean')],
};
const PATCHING = ['replace', 'nulls', 'ifMatch', 'force', 'durability'];
const LOCKING = ['lockTimeoutMs'];
const WAITING = ['lockTimeoutMs', 'signal'];
const VALIDATING = ['kind', 'maxPhase', 'strict'];

/** The options that are given, checked; a name that is not known is an error, as a misspelt `ifMatch` would be ignored. */
function toOptions(options, ...groups) {
  if (options === undefined) return {};
  if (options === null || typeof options !== 'object') throw wrong('options must be an object');
  const checked = { ...options };
  for (const name of Object.keys(checked)) {
    const option = checked[name];
    if (!groups.some((names) => names.includes(name))) {
      throw wrong(`options.${name} is not an option here: ${groups.flat().join(', ')}`);
    }
    if (option === undefined) {
      delete checked[name];
      continue;
    }
    const [expected, accepts] = OPTIONS[name];
    if (option === null || !accepts(option)) throw wrong(`options.${name} must be ${expected}`);
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
  return value(await later(undefined, () => native.validate(session, LATER, path, checked)), validateState);
}

function validateStateSync(file, options) {
  return value(native.validate(session, NOW, toFile(file), toOptions(options, VALIDATING)), validateStateSync);
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

// ---- what is exported, by name, so that `import { writeState } from 'pipestate'` finds it ----

const core = { native, session, later, value, parsed, snapshot, toFile, toText, toOptions, wrong, OPTIONS, PATCHING, LOCKING, WAITING };
const loaded = {};

function part(file) {
  loaded[file] ??= require(file)(core);
  return loaded[file];
}

/** The function `name` of another file, which is loaded when it is asked for. Errors are told as if by this one. */
function lazily(name, file = './runs.js') {
  const caller = {
    [name](...args) {
      return part(file)[name].apply(caller, args);
    },
  }[name];
  return caller;
}

const lockState = lazily('lockState', './locks.js');
const lockStateSync = lazily('lockStateSync', './locks.js');
const updateState = lazily('updateState', './locks.js');
const updateStateSync = lazily('updateStateSync', './locks.js');

module.exports = {
  writeState,
  writeStateSync,
  readState,
  readStateSync,
  validateState,
  validateStateSync,
  updateState,
  updateStateSync,
  lockState,
  lockStateSync,
  PipestateError,
};
// A class is loaded when it is looked at; in these words, which is how ES modules find its name.
const classes = {
  get StateLock() {
    return part('./locks.js').StateLock;
  },
};
Object.defineProperty(module.exports, 'StateLock', { enumerable: true, get: function () { return classes.StateLock; } });
module.exports.recover = lazily('recover');
module.exports.recoverSync = lazily('recoverSync');
module.exports.scanRuns = lazily('scanRuns');
module.exports.scanRunsSync = lazily('scanRunsSync');
module.exports.listRuns = lazily('listRuns');
module.exports.listRunsSync = lazily('listRunsSync');
module.exports.doctor = lazily('doctor');
module.exports.doctorSync = lazily('doctorSync');
module.exports.renderReport = lazily('renderReport');
module.exports.renderReportSync = lazily('renderReportSync');
module.exports.guardToolUse = lazily('guardToolUse');
module.exports.guardToolUseSync = lazily('guardToolUseSync');
module.exports.initPipeline = lazily('initPipeline');
module.exports.initPipelineSync = lazily('initPipelineSync');
module.exports.resumePipeline = lazily('resumePipeline');
module.exports.resumePipelineSync = lazily('resumePipelineSync');
module.exports.setPipelinePhase = lazily('setPipelinePhase');
module.exports.setPipelinePhaseSync = lazily('setPipelinePhaseSync');
module.exports.finalizePipeline = lazily('finalizePipeline');
module.exports.finalizePipelineSync = lazily('finalizePipelineSync');
module.exports.createTask = lazily('createTask');
module.exports.createTaskSync = lazily('createTaskSync');
module.exports.findTask = lazily('findTask');
module.exports.findTaskSync = lazily('findTaskSync');
module.exports.listTasks = lazily('listTasks');
module.exports.listTasksSync = lazily('listTasksSync');
module.exports.planResume = lazily('planResume');
module.exports.planResumeSync = lazily('planResumeSync');
module.exports.startResume = lazily('startResume');
module.exports.startResumeSync = lazily('startResumeSync');
module.exports.setPhase = lazily('setPhase');
module.exports.setPhaseSync = lazily('setPhaseSync');
module.exports.halt = lazily('halt');
module.exports.haltSync = lazily('haltSync');
module.exports.nextAttempt = lazily('nextAttempt');
module.exports.nextAttemptSync = lazily('nextAttemptSync');
module.exports.appendHandoff = lazily('appendHandoff');
module.exports.appendHandoffSync = lazily('appendHandoffSync');
module.exports.latestHandoff = lazily('latestHandoff');
module.exports.latestHandoffSync = lazily('latestHandoffSync');
module.exports.phaseFiles = lazily('phaseFiles');
module.exports.phaseFilesSync = lazily('phaseFilesSync');
module.exports.checkResult = lazily('checkResult');
module.exports.checkResultSync = lazily('checkResultSync');
module.exports.planKill = lazily('planKill');
module.exports.planKillSync = lazily('planKillSync');
module.exports.planClearLogs = lazily('planClearLogs');
module.exports.planClearLogsSync = lazily('planClearLogsSync');
module.exports.planPurge = lazily('planPurge');
module.exports.planPurgeSync = lazily('planPurgeSync');
module.exports.confirm = lazily('confirm');
module.exports.confirmSync = lazily('confirmSync');
