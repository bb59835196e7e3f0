// writeStateSync in a loop, with and without syncs.
import fs from 'node:fs';
import path from 'node:path';
import { atLeast, atMost } from '../checks.mjs';
import { block, floor } from '../children.mjs';
import { pair, ratio } from '../pairs.mjs';
import { stateText } from '../states.mjs';

export const title = 'writeStateSync, 4 kB, in a loop (µs)';

const FAST = 'write-file-atomic + proper-lockfile, no fsync';
const SYNCED = 'write-file-atomic + proper-lockfile';

export async function run({ folders, short }) {
  const measured = {};
  const checks = [];
  for (const [where, folder] of Object.entries(folders)) {
    const state = (name) => {
      const file = path.join(folder, `loop-${name.replaceAll(/\W+/g, '-')}`, 'agent-state.json');
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, stateText(4096));
      return file;
    };
    const writer = (name, count) => {
      const file = state(name);
      return () => block('loop', name, file, count);
    };
    const bottom = (count, ...flags) => {
      const file = state(`floor${flags.join('')}`);
      return () => floor('loop', ...flags, count, file);
    };
    const count = short ? 300 : 500;
    const fast = await pair(short ? 5 : 9, {
      'pipestate, fast': writer('pipestate, fast', count),
      floor: bottom(count),
      'barer floor': bottom(count, '--bare'),
      [FAST]: writer(FAST, count),
      'plain script': writer('plain script', count),
      'better-sqlite3, WAL, NORMAL': writer('better-sqlite3, WAL, NORMAL', count),
      'atomically (no lock), no fsync': writer('atomically (no lock), no fsync', count),
      'steno (no lock, no fsync)': writer('steno (no lock, no fsync)', count),
    });
    const synced = await pair(short ? 5 : 9, {
      'pipestate, durable': writer('pipestate, durable', 200),
      'floor, synced': bottom(200, '--sync'),
      'barer floor, synced': bottom(200, '--sync', '--bare'),
      [SYNCED]: writer(SYNCED, 200),
      'better-sqlite3, WAL, FULL': writer('better-sqlite3, WAL, FULL', 200),
    });
    for (const [name, numbers] of Object.entries({ ...fast, ...synced })) measured[`${name}, ${where}`] = numbers;
    const isDisk = where !== 'tmpfs';
    checks.push(
      atMost(`fast, of the floor, ${where}`, isDisk ? 1.15 : 1.4, ratio(fast['pipestate, fast'], fast.floor)),
      atLeast(`fast, times faster than ${FAST}, ${where}`, isDisk ? 2 : 5, ratio(fast[FAST], fast['pipestate, fast'])),
    );
    if (isDisk) {
      const durable = synced['pipestate, durable'];
      checks.push(
        atMost(`durable, of the floor with syncs, ${where}`, 1.15, ratio(durable, synced['floor, synced'])),
        atLeast(`durable, times faster than ${SYNCED}, ${where}`, 1.7, ratio(synced[SYNCED], durable)),
      );
    }
  }
  return { measured, checks };
}
