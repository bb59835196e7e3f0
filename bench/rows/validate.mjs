// Is a state of 10 MB safe to resume?
import fs from 'node:fs';
import path from 'node:path';
import { atLeast } from '../checks.mjs';
import { block } from '../children.mjs';
import { pair, ratio, summary } from '../pairs.mjs';
import { stateText } from '../states.mjs';

export const title = 'validateStateSync, 10 MB (ms)';

export async function run({ folders, short }) {
  const file = path.join(folders.tmpfs ?? Object.values(folders)[0], 'agent-state.json');
  fs.writeFileSync(file, stateText(10e6));
  const { size } = fs.statSync(file);
  const all = await pair(short ? 5 : 11, {
    'pipestate, reading included': () => block('validate', 'pipestate', file, 20),
    'JSON.parse of a string': () => block('validate', 'parse', file, 5),
  });
  fs.rmSync(file);
  const [ours, theirs] = Object.values(all);
  return {
    measured: all,
    checks: [
      atLeast('times faster than JSON.parse', 6, ratio(theirs, ours)),
      atLeast('MB/s', 800, summary(ours.map((ms) => size / 1e3 / ms))),
    ],
  };
}
