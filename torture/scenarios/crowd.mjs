// A hundred writers that start in one moment: all get through, and nothing is lost (L9).
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Broken, now, sleep } from '../common.mjs';
import { PROGRAM } from '../rig.mjs';

export const name = 'crowd';
export const share = 7;

const ONCE = fileURLToPath(new URL('../writers/once.mjs', import.meta.url));
const CROWD = { program: 60, addon: [8, 8, 8, 6], javascript: 10 };

const names = (kind, count) => Array.from({ length: count }, (_, index) => `${kind}-${index}`);

export async function run(rig) {
  await rig.run({}, async (run, milliseconds) => {
    const end = now() + milliseconds;
    do await crowd(run);
    while (now() < end);
  });
}

async function crowd(run) {
  const folder = fs.mkdtempSync(path.join(run.folder, 'crowd-'));
  const [file, log] = ['state.json', 'events'].map((name) => path.join(folder, name));
  fs.writeFileSync(file, '{"keys":{}}');
  fs.writeFileSync(log, '');
  const once = (door, keys) => [process.execPath, ONCE, JSON.stringify({ door, file, log, keys })];
  const commands = [
    ...names('program', CROWD.program).map((key) => ({ keys: [key], command: [PROGRAM, 'write', file] })),
    ...names('javascript', CROWD.javascript).map((key) => ({ keys: [key], command: once('javascript', [key]) })),
    ...CROWD.addon.map((count, index) => {
      const keys = names(`addon${index}`, count);
      return { keys, command: once('addon', keys) };
    }),
  ];
  const writers = commands.map(({ keys, command: [program, ...parameters] }) => {
    const child = spawn(program, parameters, { stdio: ['pipe', 'ignore', 'pipe'] });
    const writer = { keys, child, stderr: '', isProgram: program === PROGRAM };
    child.stderr.setEncoding('utf8').on('data', (text) => (writer.stderr += text));
    writer.ended = new Promise((resolve) => child.on('close', (code) => resolve(Object.assign(writer, { code, at: now() }))));
    return writer;
  });
  const events = () => fs.readFileSync(log, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const others = writers.filter(({ isProgram }) => !isProgram).flatMap(({ keys }) => keys).length;
  while (events().filter(({ event }) => event === 'ready').length < others) await sleep(10);
  // The program reads its stdin before anything else: those that have been given none are waiting by now.
  await sleep(100);

  const word = now();
  for (const { child, isProgram, keys } of writers) {
    child.stdin.end(isProgram ? JSON.stringify({ keys: { [keys[0]]: 1 } }) : '');
  }
  const ended = Promise.all(writers.map(({ ended }) => ended));
  let isOver = false;
  ended.then(() => (isOver = true));
  let most = 0;
  while (!isOver) {
    const keys = Object.keys(JSON.parse(fs.readFileSync(file, 'utf8')).keys).length;
    if (keys < most) throw new Broken(`there were ${most} keys, and there are ${keys}`);
    most = keys;
    run.ledger.looks += 1;
    await sleep(2);
  }
  for (const { code, stderr, keys } of await ended) {
    if (code !== 0) throw new Broken(`${keys.join(', ')}: exit ${code}: ${stderr}`);
  }
  const expected = writers.flatMap(({ keys }) => keys).sort();
  const found = Object.keys(JSON.parse(fs.readFileSync(file, 'utf8')).keys).sort();
  if (found.join() !== expected.join()) throw new Broken(`of ${expected.length} keys ${found.length} are there`);
  const left = fs.readdirSync(folder).sort().join();
  if (left !== 'events,state.json') throw new Broken(`left behind: ${left}`);

  const { counts, longestWait } = run.ledger;
  counts.acknowledged += expected.length;
  counts.crowds = (counts.crowds ?? 0) + 1;
  for (const { isProgram, at } of writers) {
    if (isProgram) longestWait.pipestate = Math.max(longestWait.pipestate, at - word);
  }
  for (const { event, key, took } of events()) {
    if (event !== 'wrote') continue;
    const who = key.startsWith('javascript') ? 'foreign' : 'pipestate';
    longestWait[who] = Math.max(longestWait[who], took);
  }
  fs.rmSync(folder, { recursive: true });
}
