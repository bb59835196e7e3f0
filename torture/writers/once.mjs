// Writers that wait for a word, the end of stdin, and then write one key each: for crowds that start together.
//
//   node once.mjs OPTIONS    `door` is `javascript`, one writer, or `addon`, one worker for each key
import fs from 'node:fs';
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { writeState } from '../../index.js';
import { now, reporter } from '../common.mjs';
import { acquire, replace } from './foreign-lock.mjs';

const WAITING = 0;
const GO = 1;

const { door, file, log, keys, word } = isMainThread ? JSON.parse(process.argv[2]) : workerData;
const report = reporter(log);

const doors = {
  async addon(key) {
    await writeState(file, { keys: { [key]: 1 } });
  },
  javascript(key) {
    fs.closeSync(acquire(`${file}.lock`, String(process.pid)));
    const state = JSON.parse(fs.readFileSync(file, 'utf8'));
    state.keys[key] = 1;
    replace(file, state);
    fs.unlinkSync(`${file}.lock`);
  },
};

async function write(key) {
  const started = now();
  await doors[door](key);
  report({ event: 'wrote', key, took: now() - started });
}

if (!isMainThread) {
  report({ event: 'ready' });
  Atomics.wait(word, 0, WAITING);
  await write(keys[0]);
} else if (door === 'javascript') {
  report({ event: 'ready' });
  fs.readFileSync(0);
  await write(keys[0]);
} else {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const workers = keys.map((key) => {
    const workerData = { door, file, log, keys: [key], word };
    return new Worker(new URL(import.meta.url), { workerData });
  });
  for (const worker of workers) worker.on('error', (error) => Promise.reject(error));
  fs.readFileSync(0);
  Atomics.store(word, 0, GO);
  Atomics.notify(word, 0);
}
