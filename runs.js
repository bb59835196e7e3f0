'use strict';

// What the API asks about runs and tasks: each a function and its Sync twin. `core` is what index.js has for all calls.

const { isDate, isUint8Array } = require('node:util/types');

const NOW = true;
const LATER = false;

module.exports = ({ native, session, later, value, toFile, toText, toOptions, wrong, OPTIONS, LOCKING, WAITING }) => {
  /**
   * A function and its twin. `prepare` checks the arguments, told which options of waiting there are, and gives the native
   * call, which takes whether it is to be done now, and the signal that ends its wait.
   */
  function twins(name, prepare) {
    const later_ = {
      async [name](...args) {
        const { call, signal } = prepare(args, WAITING);
        return value(await later(signal, () => call(LATER)), later_, signal);
      },
    }[name];
    const now = {
      [`${name}Sync`](...args) {
        return value(prepare(args, LOCKING).call(NOW), this);
      },
    }[`${name}Sync`];
    return { [name]: later_, [`${name}Sync`]: now };
  }

  // ---- options ----

  const is = (type) => (option) => typeof option === type;
  const isPath = (option) => is('string')(option) || isUint8Array(option) || option instanceof URL;
  const isNewPhase = (phase) =>
    is('string')(phase) || (is('string')(phase?.name) && (phase.agent === undefined || is('string')(phase.agent)));
  Object.assign(OPTIONS, {
    staleAfterMs: ['a number, 0 or more', (option) => typeof option === 'number' && option >= 0],
    now: ['a valid Date or a string', (option) => is('string')(option) || (isDate(option) && !Number.isNaN(option.getTime()))],
    workspaces: ['an array of paths', Array.isArray],
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
  });
  const DECIDING = ['home', 'staleAfterMs', 'now'];
  const SCANNING = ['workspaces'];
  const LISTING = ['logsDir'];
  const EXAMINING = ['propose'];
  const STARTING = ['name', 'pattern', 'tier', 'layout', 'scopeRoot', 'phases', 'profile', 'workspace', 'runId', 'durability'];
  const RESUMING = ['tier', 'profile', 'confirm', 'staleAfterMs', 'now', 'durability'];
  const EDITING = ['durability'];

  /** The options of a decision, as the native half has them. */
  function toScan(options, ...groups) {
    const { now, workspaces, home, logsDir, ...checked } = toOptions(options, DECIDING, ...groups);
    if (now !== undefined) checked.now = isDate(now) ? now.toISOString() : now;
    if (workspaces !== undefined) checked.workspaces = workspaces.map(toFile);
    if (logsDir !== undefined) checked.logsDir = toFile(logsDir);
    if (home !== undefined) checked.home = home === false ? false : toFile(home);
    return checked;
  }

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

  // ---- looking ----

  const looking = {
    ...twins('recover', ([file, options]) => {
      const [path, checked] = [toFile(file), toScan(options)];
      return { call: (now) => native.recover(session, now, path, checked) };
    }),
    ...twins('scanRuns', ([options]) => {
      const checked = toScan(options, SCANNING);
      return { call: (now) => native.scan(session, now, checked) };
    }),
    ...twins('listRuns', ([options]) => {
      const checked = toScan(options, SCANNING, LISTING);
      return { call: (now) => native.list(session, now, checked) };
    }),
    ...twins('doctor', ([file, options]) => {
      const path = toFile(file);
      const { propose = false } = toOptions(options, EXAMINING);
      return { call: (now) => native.doctor(session, now, path, propose) };
    }),
    ...twins('renderReport', ([file, options]) => {
      const [path, checked] = [toFile(file), toScan(options)];
      return { call: (now) => native.renderReport(session, now, path, checked) };
    }),
    ...twins('guardToolUse', ([event]) => {
      const text = toText(event, 'event');
      return { call: (now) => native.guard(session, now, text) };
    }),
  };

  // ---- pipelines ----

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

  const pipelines = {
    ...twins('initPipeline', ([options]) => {
      const { checked } = toPipeline(options, ['name', 'pattern', 'tier'], STARTING);
      return { call: (now) => native.initPipeline(session, now, checked) };
    }),
    ...twins('resumePipeline', ([file, options], waiting) => {
      const path = toFile(file);
      const { signal, checked } = toPipeline(options, ['tier'], RESUMING, waiting);
      return { signal, call: (now) => native.resumePipeline(session, now, path, checked) };
    }),
    ...twins('setPipelinePhase', ([file, phase, transition, options], waiting) => {
      const [path, key, step] = [toFile(file), toPhase(phase), toTransition(transition)];
      const { signal, checked } = toPipeline(options, [], EDITING, waiting);
      return { signal, call: (now) => native.setPhase(session, now, path, key, step, checked) };
    }),
    ...twins('finalizePipeline', ([file, options], waiting) => {
      const path = toFile(file);
      const { signal, checked } = toPipeline(options, [], EDITING, waiting);
      return { signal, call: (now) => native.finalize(session, now, path, checked) };
    }),
  };

  // ---- agent runs and tasks: what is asked goes as JSON to the native half, which checks it ----

  function toRequest(options = {}) {
    if (options === null || typeof options !== 'object') throw wrong('options must be an object');
    return options;
  }

  /** A task is named by its number or its ticket. */
  const toTask = (task) => (typeof task === 'number' ? `${task}` : task);

  function toResult(text) {
    if (isUint8Array(text)) return Buffer.from(text).toString();
    if (typeof text !== 'string') throw wrong('text must be a string or a Uint8Array');
    return text.toWellFormed();
  }

  /** Every call: its function, and what its arguments say, as `[file, request]`. */
  const AGENT = {
    createTask: (ticket, options) => [undefined, { ...toRequest(options), ticket }],
    findTask: (name, options) => [undefined, { ...toRequest(options), name: toTask(name) }],
    listTasks: (options) => [undefined, toRequest(options)],
    planResume: (file, options) => [toFile(file), toRequest(options)],
    startResume: (file, options) => [toFile(file), toRequest(options)],
    setPhase: (file, phase, options) => [toFile(file), { ...toRequest(options), phase }],
    halt: (file, options) => [toFile(file), toRequest(options)],
    nextAttempt: (file, loop, options) => [toFile(file), { ...toRequest(options), loop }],
    appendHandoff: (file, options) => [toFile(file), toRequest(options)],
    latestHandoff: (file) => [toFile(file), {}],
    phaseFiles: (file, phase, options) => [toFile(file), { ...toRequest(options), phase }],
    checkResult: (text) => [undefined, { text: toResult(text) }],
    planKill: (task, options) => [undefined, { ...toRequest(options), task: toTask(task) }],
    planClearLogs: (options) => [undefined, toRequest(options)],
    planPurge: (options) => [undefined, toRequest(options)],
    confirm: (token, options) => [undefined, { ...toRequest(options), token }],
  };

  /** JSON has no Infinity, and no number of milliseconds is larger than this one. */
  const toRequestText = (request) =>
    JSON.stringify(request, (_, option) => (option === Infinity ? Number.MAX_VALUE : option));

  const agents = Object.entries(AGENT).map(([name, toArguments]) =>
    twins(name, (args) => {
      const [file, request] = toArguments(...args);
      const text = toRequestText(request);
      return { call: (now) => native.agent(session, now, name, file, text) };
    }),
  );

  return Object.assign(looking, pipelines, ...agents);
};
