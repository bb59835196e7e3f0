// A patch of 200 bytes on a large file.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { atLeast, atMost } from '../checks.mjs';
import { block, program, starts } from '../children.mjs';
import { median, pair, ratio } from '../pairs.mjs';
import { patch, stateText } from '../states.mjs';

export const title = 'a 200-byte patch of a large file, fast (ms)';

export async function run({ folders, short }) {
  const [where, folder] = Object.entries(folders)[0];
  const measured = {};
  const checks = [];
  const times = [];
  for (const megabytes of [10, 100]) {
    const file = path.join(folder, `large-${megabytes}.json`);
    const theirs = path.join(folder, `large-${megabytes}-plain.json`);
    fs.writeFileSync(file, stateText(megabytes * 1e6));
    fs.copyFileSync(file, theirs);
    const size = fs.statSync(file).size;
    const copy = () => {
      const [cp] = starts(1, '/dev/null', 'cp', file, `${file}.copy`).ms;
      const [cat] = starts(1, '/dev/null', 'cat', file).ms;
      fs.rmSync(`${file}.copy`);
      return cp + cat;
    };
    let mostKiB = 0;
    const stdin = path.join(folder, 'large-patch.json');
    const name = (who) => `${who}, ${megabytes} MB, ${where}`;
    // Each begins with nothing left to be written, as it would wait for what others have written, and with memory that
    // the machine has at hand: a virtual one's host takes away what is free for seconds, and gives it back slowly.
    const calm = (contestant) => (round) => {
      execFileSync('sync');
      execFileSync(process.execPath, ['-e', `Buffer.alloc(${3 * size}, 1)`]);
      return contestant(round);
    };
    const all = await pair(short ? 3 : 11, {
      pipestate: calm((round) => block('large', 'pipestate', file, round)),
      'cp + cat': calm(copy),
      'JSON.parse … JSON.stringify': calm((round) => block('large', 'plain', theirs, round)),
      'the program': calm((round) => {
        fs.writeFileSync(stdin, JSON.stringify(patch(1000 + round)));
        const { ms, mostKiB: most } = starts(1, stdin, program, 'write', '--no-fsync', file);
        mostKiB = Math.max(mostKiB, most);
        return ms[0];
      }),
    });
    for (const [who, numbers] of Object.entries(all)) measured[name(who)] = numbers;
    times.push(median(all.pipestate) / size);
    checks.push(
      atLeast(`times faster than JSON.parse … JSON.stringify, ${megabytes} MB`, 6, ratio(all['JSON.parse … JSON.stringify'], all.pipestate)),
      atMost(`of cp and reading it, ${megabytes} MB`, 2.5, ratio(all.pipestate, all['cp + cat'])),
      atMost(`MB of memory at most, ${megabytes} MB`, (2.5 * size) / 1e6 + 20, (mostKiB * 1024) / 1e6),
    );
    for (const left of [file, theirs]) fs.rmSync(left);
  }
  checks.push(atMost('time a byte of 100 MB, of that of 10 MB (linear)', 1.25, times[1] / times[0]));
  return { measured, checks };
}
