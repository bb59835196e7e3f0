// A hundred writers that start in one moment: all get through, and nothing is lost (L9).
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Broken, now, readEvents, sleep } from '../common.mjs';
import { PROGRAM } from '../rig.mjs';

export const name = 'crowd';
export const share = 7;
export const checked = 'all finish, all keys are there, the file whole at every look';

const ONCE = fileURLToPath(new URL('../writers/once.mjs', import.meta.url));
const CROWD = { program: 60, addon: [8, 8, 8, 6], javascript: 10 };

export async function run(rig, milliseconds) {
  const end = now() + milliseconds;
  do await crowd(rig);
  while (now() < end);
}

async function crowd(rig) {
  const folder = fs.mkdtempSync(path.join(rig.folder, 'crowd-'));
  const [file, log] = ['state.json', 'events'].map((name) => path.join(folder, name));
  fs.writeFileSync(file, '{"keys":{}}');
  fs.writeFileSync(log, '');
  const writers = start(file, log);
  await areReady(writers, log);
  const word = now();
  for (const { child, stdin } of writers) child.stdin.end(stdin);
  await lookUntilAllHaveEnded(writers, file, rig.ledger);
  check(writers, folder, file);
  count(rig.ledger, writers, word, readEvents(log));
  fs.rmSync(folder, { recursive: true });
}

/** Starts all of them. The program waits for its stdin before it does anything else, and so do the others. */
function start(file, log) {
  const names = (kind, count) => Array.from({ length: count }, (_, index) => `${kind}-${index}`);
  const once = (door, keys) => [process.execPath, ONCE, JSON.stringify({ door, file, log, keys })];
  const program = names('program', CROWD.program).map((key) => {
    const stdin = JSON.stringify({ keys: { [key]: 1 } });
    return { keys: [key], isProgram: true, stdin, command: [PROGRAM, 'write', file] };
  });
  const javascript = names('javascript', CROWD.javascript).map((key) => {
    return { keys: [key], command: once('javascript', [key]) };
  });
  const addon = CROWD.addon.map((count, index) => {
    const keys = names(`addon${index}`, count);
    return { keys, command: once('addon', keys) };
  });
  return [...program, ...javascript, ...addon].map((writer) => {
    const [command, ...parameters] = writer.command;
    const child = spawn(command, parameters, { stdio: ['pipe', 'ignore', 'pipe'] });
    const started = { ...writer, child, stderr: '' };
    child.stderr.setEncoding('utf8').on('data', (text) => (started.stderr += text));
    child.on('exit', () => (started.ended = now()));
    started.code = new Promise((resolve) => child.on('close', (code, signal) => resolve(code ?? signal)));
    return started;
  });
}

async function areReady(writers, log) {
  const others = writers.filter(({ isProgram }) => !isProgram).flatMap(({ keys }) => keys);
  const ready = () => readEvents(log).filter(({ event }) => event === 'ready');
  while (ready().length < others.length) await sleep(10);
  // Those that read their stdin have opened nothing yet: when that is all they do, they sleep.
  const isAsleep = ({ child }) => fs.readFileSync(`/proc/${child.pid}/stat`, 'latin1').includes(') S ');
  while (!writers.every(isAsleep)) await sleep(10);
}

async function lookUntilAllHaveEnded(writers, file, ledger) {
  let before = 0;
  let areOver = false;
  const codes = Promise.all(writers.map(({ code }) => code));
  codes.then(() => (areOver = true));
  while (!areOver) {
    const keys = Object.keys(JSON.parse(fs.readFileSync(file, 'utf8')).keys).length;
    if (keys < before) throw new Broken(`there were ${before} keys, and there are ${keys}`);
    before = keys;
    ledger.looks += 1;
    await sleep(2);
  }
  (await codes).forEach((code, index) => {
    const { keys, stderr } = writers[index];
    if (code !== 0) throw new Broken(`${keys.join(', ')}: exit ${code}: ${stderr}`);
  });
}

function check(writers, folder, file) {
  const expected = writers.flatMap(({ keys }) => keys).sort();
  const found = Object.keys(JSON.parse(fs.readFileSync(file, 'utf8')).keys).sort();
  if (found.join() !== expected.join()) throw new Broken(`of ${expected.length} keys ${found.length} are there`);
  const left = fs.readdirSync(folder).sort().join();
  if (left !== 'events,state.json') throw new Broken(`left behind: ${left}`);
}

function count({ counts, longestWait }, writers, word, events) {
  const waited = (who, time) => (longestWait[who] = Math.max(longestWait[who], time));
  for (const { isProgram, ended } of writers) if (isProgram) waited('pipestate', ended - word);
  for (const { event, key, took } of events) {
    if (event === 'wrote') waited(key.startsWith('javascript') ? 'foreign' : 'pipestate', took);
  }
  counts.acknowledged += writers.flatMap(({ keys }) => keys).length;
  counts.crowds += 1;
}
