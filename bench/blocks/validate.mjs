// Prints the milliseconds, in the middle of COUNT, that it takes to validate a file, which is read for that, or to parse
// its text, which is in memory.
//   node validate.mjs pipestate|parse FILE COUNT
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { median } from '../pairs.mjs';

const [name, file, count] = process.argv.slice(2);
const { validateStateSync } = createRequire(import.meta.url)('../../index.js');
const text = fs.readFileSync(file, 'utf8');
const ways = { pipestate: () => validateStateSync(file), parse: () => JSON.parse(text) };
const took = Array.from({ length: Number(count) }, () => {
  const since = performance.now();
  ways[name]();
  return performance.now() - since;
});
console.log(median(took));
