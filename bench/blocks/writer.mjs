// One of a crowd: writes to a file of its own until it is compiled, is ready, waits for the time that it is told, writes COUNT
// keys of its own, prints when each write
// began and ended.
//   node writer.mjs WRITER FILE KEY COUNT
import fs from 'node:fs';
import { createInterface } from 'node:readline';
import { sleep } from '../plain-writer.mjs';
import { WRITERS } from '../writers.mjs';

/** Else the crowd would be measured as it starts, and the one process that it is compared with as it runs. */
const WARM = 100;

const [name, file, key, count] = process.argv.slice(2);
const warm = `${file}-${key}`;
fs.copyFileSync(file, warm);
const [warmUp, write] = [WRITERS[name](warm), WRITERS[name](file)];
for (let number = 0; number < WARM; number++) await warmUp({ number });
const now = () => performance.timeOrigin + performance.now();
console.log('ready');
for await (const start of createInterface({ input: process.stdin })) {
  while (now() < Number(start) - 1) sleep(1);
  const times = [];
  for (let number = 0; number < count; number++) {
    const began = now();
    await write({ [`${key}-${number}`]: number });
    times.push([began, now()]);
  }
  console.log(JSON.stringify(times));
  process.exit();
}
