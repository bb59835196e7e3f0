// `node write-state.mjs` against the script whose place it takes, and against Node that does nothing.
import fs from 'node:fs';
import path from 'node:path';
import { atMost } from '../checks.mjs';
import { here, patches, root, starts } from '../children.mjs';
import { median, pair, ratio, summary } from '../pairs.mjs';
import { stateText } from '../states.mjs';

export const title = 'node write-state.mjs, 4 kB (ms)';

export async function run({ folders, short }) {
  const [where, folder] = Object.entries(folders)[0];
  const block = (name, ...command) => {
    const file = path.join(folder, `shim-${name}`, 'agent-state.json');
    fs.mkdirSync(path.dirname(file));
    fs.writeFileSync(file, stateText(4096));
    return (round) => {
      const stdin = patches(folder, round, 3);
      return median(starts(3, stdin, process.execPath, ...command.map((word) => word.replaceAll('FILE', file))).ms);
    };
  };
  const all = await pair(short ? 7 : 15, {
    'write-state.mjs': block('shim', path.join(root, 'write-state.mjs'), '--no-fsync', 'FILE'),
    'plain script': block('plain', path.join(here, 'plain-writer.mjs'), 'FILE'),
    'node -e 0': block('nothing', '-e', '0'),
    'write-state.mjs, durable': block('durable', path.join(root, 'write-state.mjs'), 'FILE'),
  });
  const more = all['write-state.mjs'].map((number, round) => number - all['node -e 0'][round]);
  return {
    measured: Object.fromEntries(Object.entries(all).map(([name, numbers]) => [`${name}, ${where}`, numbers])),
    checks: [
      atMost('of the plain script', 1.05, ratio(all['write-state.mjs'], all['plain script'])),
      atMost('ms more than `node -e 0`', 25, summary(more)),
    ],
  };
}
