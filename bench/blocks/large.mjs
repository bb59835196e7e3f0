// One patch of a large file; prints milliseconds, after a first one on a small file to have everything loaded.
//   node large.mjs pipestate|plain FILE NUMBER
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { merge } from '../plain-writer.mjs';
import { patch, stateText } from '../states.mjs';

const [name, file, number] = process.argv.slice(2);
const { writeStateSync } = createRequire(import.meta.url)('../../index.js');
const ways = {
  pipestate: (path) => writeStateSync(path, patch(Number(number)), { durability: 'fast' }),
  plain(path) {
    const state = merge(JSON.parse(fs.readFileSync(path, 'utf8')), patch(Number(number)));
    fs.writeFileSync(path, `${JSON.stringify(state, null, 2)}\n`);
  },
};
const small = `${file}.small`;
fs.writeFileSync(small, stateText(4096));
ways[name](small);
fs.rmSync(small);
const since = performance.now();
ways[name](file);
console.log(performance.now() - since);
