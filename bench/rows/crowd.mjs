// Sixteen processes that write one file as fast as they can.
import fs from 'node:fs';
import path from 'node:path';
import { atLeast, atMost } from '../checks.mjs';
import { crowd } from '../children.mjs';
import { pair, ratio, summary } from '../pairs.mjs';
import { stateText } from '../states.mjs';
import { stored } from '../writers.mjs';

export const title = '16 processes × 50 writes of one file (writes a second)';

const PROCESSES = 16;
const WRITES = 50;
const PIPESTATE = 'pipestate, fast';
const LOCKED = 'write-file-atomic + proper-lockfile, no fsync';
const SQLITE = 'better-sqlite3, WAL, NORMAL';

export async function run({ folders, short }) {
  const measured = {};
  const checks = [];
  for (const [where, folder] of Object.entries(folders)) {
    const longest = {};
    let run = 0;
    const writes = (writer, processes, count) => async () => {
      const file = path.join(folder, `crowd-${run++}`, 'agent-state.json');
      fs.mkdirSync(path.dirname(file));
      fs.writeFileSync(file, stateText(4096));
      const times = await crowd(writer, file, processes, count);
      const state = stored(writer, file);
      const kept = Object.keys(state).filter((key) => key.startsWith('writer-')).length;
      if (kept !== processes * count) throw new Error(`${writer}: ${processes * count} writes, ${kept} kept`);
      const all = times.flat();
      const waits = all.map(([began, ended]) => ended - began);
      const mean = waits.reduce((sum, wait) => sum + wait) / waits.length;
      (longest[`${writer} × ${processes}`] ??= []).push(Math.max(...waits) / mean);
      const seconds = (Math.max(...all.map(([, ended]) => ended)) - Math.min(...all.map(([began]) => began))) / 1e3;
      return (processes * count) / seconds;
    };
    const all = await pair(short ? 3 : 7, {
      [PIPESTATE]: writes(PIPESTATE, PROCESSES, WRITES),
      'pipestate, one process': writes(PIPESTATE, 1, PROCESSES * WRITES),
      [SQLITE]: writes(SQLITE, PROCESSES, WRITES),
      [LOCKED]: writes(LOCKED, PROCESSES, WRITES),
    });
    for (const [name, numbers] of Object.entries(all)) measured[`${name}, ${where}`] = numbers;
    for (const [name, numbers] of Object.entries(longest)) measured[`longest of mean wait, ${name}, ${where}`] = numbers;
    checks.push(
      atLeast(`of one process's throughput, ${where}`, 0.75, ratio(all[PIPESTATE], all['pipestate, one process'])),
      atLeast(`times the throughput of ${LOCKED}, ${where}`, 5, ratio(all[PIPESTATE], all[LOCKED])),
      atLeast(`times the throughput of ${SQLITE}, ${where}`, 1, ratio(all[PIPESTATE], all[SQLITE])),
      atMost(`longest wait, of the mean, ${where}`, 10, summary(longest[`${PIPESTATE} × ${PROCESSES}`])),
    );
  }
  return { measured, checks };
}
