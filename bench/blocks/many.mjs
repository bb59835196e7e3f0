// Writes COUNT files at once; prints seconds, and the most threads and descriptors that this took more than before.
//   node many.mjs FOLDER COUNT ROUND
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { patch } from '../states.mjs';

const [folder, count, round] = process.argv.slice(2);
const { writeState } = createRequire(import.meta.url)('../../index.js');
const options = { durability: 'fast' };
const entries = (path) => (fs.existsSync(path) ? fs.readdirSync(path).length : 0);
const here = () => [entries('/proc/self/task'), entries('/proc/self/fd')];

await writeState(`${folder}/0.json`, patch(-1), options);
const before = here();
const most = [...before];
let done = false;
const look = () => {
  here().forEach((now, which) => (most[which] = Math.max(most[which], now)));
  if (!done) setTimeout(look, 5);
};
look();
const since = performance.now();
const write = (_, file) => writeState(`${folder}/${file}.json`, patch(round), options);
await Promise.all(Array.from({ length: Number(count) }, write));
const seconds = (performance.now() - since) / 1e3;
done = true;
console.log(JSON.stringify({ seconds, threads: most[0], descriptors: most[1] - before[1] }));
