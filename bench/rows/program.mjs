// One write by the native program, its start included.
import fs from 'node:fs';
import path from 'node:path';
import { atLeast, atMost } from '../checks.mjs';
import { floorProgram, here, patches, program, starts } from '../children.mjs';
import { median, pair, ratio } from '../pairs.mjs';
import { stateText } from '../states.mjs';

export const title = 'one write by the native program, 4 kB, --no-fsync (ms)';

export async function run({ folders, short, hasJq }) {
  const measured = {};
  const checks = [];
  for (const [where, folder] of Object.entries(folders)) {
    const state = (name) => {
      const file = path.join(folder, name, 'agent-state.json');
      fs.mkdirSync(path.dirname(file));
      fs.writeFileSync(file, stateText(4096));
      return file;
    };
    const block = (count, name, ...command) => {
      const file = state(name);
      return (round) => {
        const stdin = patches(folder, round, count);
        return median(starts(count, stdin, ...command.map((word) => word.replaceAll('FILE', file))).ms);
      };
    };
    const shell = `jq -s '.[0] * .[1]' FILE - > FILE.tmp && mv FILE.tmp FILE`;
    const all = await pair(short ? 5 : 11, {
      pipestate: block(20, 'program', program, 'write', '--no-fsync', 'FILE'),
      floor: block(20, 'floor', floorProgram, 'write', 'FILE'),
      'barer floor': block(20, 'bare', floorProgram, 'write', '--bare', 'FILE'),
      'flock + jq + mv': hasJq && block(5, 'shell', 'flock', 'FILE.lock', 'sh', '-c', shell),
      'plain script': block(3, 'script', process.execPath, path.join(here, 'plain-writer.mjs'), 'FILE'),
    });
    for (const [name, numbers] of Object.entries(all)) measured[`${name}, ${where}`] = numbers;
    checks.push(
      atLeast(`times faster than the plain script, ${where}`, 40, ratio(all['plain script'], all.pipestate)),
      ...(hasJq ? [atLeast(`times faster than flock + jq + mv, ${where}`, 12, ratio(all['flock + jq + mv'], all.pipestate))] : []),
      atMost(`of a program that starts and makes the floor's calls, ${where}`, 1.6, ratio(all.pipestate, all.floor)),
    );
  }
  return { measured, checks };
}
