// Prints by how many milliseconds, at most, a timer of 5 ms was late while COUNT writes were awaited, or while as much
// time went by idly.
//   node timer.mjs pipestate|idle FILE COUNT MILLISECONDS
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import { patch } from '../states.mjs';

const [name, file, count, milliseconds] = process.argv.slice(2);
const { writeState } = createRequire(import.meta.url)('../../index.js');
await writeState(file, patch(-1), { durability: 'fast' });
await pause(50);
let latest = 0;
let expected = performance.now() + 5;
const timer = setInterval(() => {
  latest = Math.max(latest, performance.now() - expected);
  expected = performance.now() + 5;
}, 5);
const since = performance.now();
if (name === 'idle') await pause(Number(milliseconds));
else for (let number = 0; number < count; number++) await writeState(file, patch(number), { durability: 'fast' });
clearInterval(timer);
console.log(JSON.stringify({ late: latest, took: performance.now() - since }));
