// Starting what is measured, each in a process of its own.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { patch } from './states.mjs';

export const here = import.meta.dirname;
export const root = path.dirname(here);
export const program = path.join(root, 'pipestate');
export const floorProgram = path.join(here, 'floor', 'target', 'release', 'floor');

function output(command, args) {
  const { status, stdout, stderr, error, signal } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: exit ${status ?? signal}: ${stderr}`);
  return JSON.parse(stdout);
}

/** What a block (`blocks/NAME.mjs`) prints. */
export function block(name, ...args) {
  return output(process.execPath, [path.join(here, 'blocks', `${name}.mjs`), ...args.map(String)]);
}

/** What the floor prints. */
export function floor(...args) {
  return output(floorProgram, args.map(String));
}

/** Starts `command` `count` times, one after another, from a small process: `{ ms: [...], mostKiB }`. */
export function starts(count, stdin, ...command) {
  return floor('time', count, stdin, ...command);
}

/** Writes patches for `count` starts, each of which changes something, and returns their name with `{}` for the number. */
export function patches(folder, round, count) {
  const name = (number) => path.join(folder, `patch-${number}.json`);
  for (let number = 0; number < count; number++) fs.writeFileSync(name(number), JSON.stringify(patch(round * count + number)));
  return name('{}');
}

/**
 * A crowd: `processes` processes, all started and ready before the first write, each of which writes `count` times.
 * Returns when each write began and ended, by process.
 */
export async function crowd(writer, file, processes, count) {
  const block = path.join(here, 'blocks', 'writer.mjs');
  const children = Array.from({ length: processes }, (_, number) => {
    const args = [block, writer, file, `writer-${number}`, count].map(String);
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return { child, next: async () => (await lines.next()).value, ended: once(child, 'exit') };
  });
  for (const { next } of children) await next();
  const start = Date.now() + 200;
  for (const { child } of children) child.stdin.write(`${start}\n`);
  const times = await Promise.all(children.map(async ({ next }) => JSON.parse(await next())));
  for (const { ended } of children) {
    const [code] = await ended;
    if (code !== 0) throw new Error(`${writer}: a writer ended with ${code}`);
  }
  return times;
}
