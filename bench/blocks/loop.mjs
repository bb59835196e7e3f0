// Writes in a loop, after half as many to have them compiled; prints microseconds per write.
//   node loop.mjs WRITER FILE COUNT
import { patch } from '../states.mjs';
import { WRITERS } from '../writers.mjs';

const [name, file, count] = process.argv.slice(2);
const write = WRITERS[name](file);
const warm = Math.ceil(count / 2);
for (let number = 0; number < warm; number++) await write(patch(-number));
const since = process.hrtime.bigint();
for (let number = 1; number <= count; number++) await write(patch(number));
console.log(Number(process.hrtime.bigint() - since) / 1e3 / count);
