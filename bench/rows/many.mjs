// A thousand files at once from one process.
import fs from 'node:fs';
import path from 'node:path';
import { atLeast, atMost } from '../checks.mjs';
import { block, floor } from '../children.mjs';
import { pair, ratio } from '../pairs.mjs';
import { stateText } from '../states.mjs';

export const title = '1,000 files at once, 4 kB, fast (s)';

const FILES = 1000;
/** As many as the engine has workers. */
const THREADS = 4;

export async function run({ folders, short }) {
  const measured = {};
  const checks = [];
  for (const [where, disk] of Object.entries(folders)) {
    const folder = path.join(disk, 'many');
    fs.mkdirSync(folder);
    const text = stateText(4096);
    for (let file = 0; file < FILES; file++) fs.writeFileSync(path.join(folder, `${file}.json`), text);
    let [threads, descriptors] = [0, 0];
    const all = await pair(short ? 5 : 11, {
      pipestate: (round) => {
        const told = block('many', folder, FILES, round);
        threads = Math.max(threads, told.threads);
        descriptors = Math.max(descriptors, told.descriptors);
        return told.seconds;
      },
      floor: () => floor('many', THREADS, FILES, folder),
    });
    for (const [name, numbers] of Object.entries(all)) measured[`${name}, ${where}`] = numbers;
    checks.push(
      atLeast(`of the floor's throughput, ${where}`, 0.8, ratio(all.floor, all.pipestate)),
      atMost(`threads of the process, ${where}`, 20, threads),
      atMost(`descriptors more, ${where}`, 64, descriptors),
    );
  }
  return { measured, checks };
}
