// `npm run bench`: what pipestate costs, against what one would take instead and against the system calls alone.
//
//   npm run bench -- [--short] [--only ROW[,ROW…]] [--disk FOLDER] [--memory FOLDER] [--no-build]
//
// Rows: program, shim, load, loop, large, validate, crowd, timer, many. The full run takes a quarter of an hour, and leaves
// bench/results.json; --short a few minutes. --disk and --memory say where the files lie; by themselves an ext4 and a tmpfs are looked for.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { here } from './children.mjs';
import { summary } from './pairs.mjs';
import { fileSystem, makePlaces } from './places.mjs';
import { has, run } from '../scripts/run.mjs';

const ROWS = ['program', 'shim', 'load', 'loop', 'large', 'validate', 'crowd', 'timer', 'many'];
const { values: options } = parseArgs({
  options: { short: { type: 'boolean' }, only: { type: 'string' }, disk: { type: 'string' }, memory: { type: 'string' }, 'no-build': { type: 'boolean' } },
});
const wanted = options.only?.split(',') ?? ROWS;
const unknown = wanted.filter((name) => !ROWS.includes(name));
if (unknown.length) {
  console.error(`bench: no such row: ${unknown.join(', ')}; there are ${ROWS.join(', ')}`);
  process.exit(64);
}

if (!options['no-build']) await import('../scripts/build.mjs');
if (!fs.existsSync(path.join(here, 'node_modules'))) run('npm', ['ci', '--prefix', 'bench', '--no-audit', '--no-fund']);
run('cargo', ['build', '--release', '--locked', '--manifest-path', 'bench/floor/Cargo.toml', '--target-dir', 'bench/floor/target']);
const hasJq = has('jq', ['--version']) && has('flock', ['--version']);
if (!hasJq) console.log('jq or flock is not here (Debian: jq, util-linux): that peer is left out');

const places = makePlaces(options);
const folders = { [fileSystem(places.disk)]: places.disk, [fileSystem(places.memory)]: places.memory };
const results = {
  machine: {
    cpu: os.cpus()[0]?.model,
    cores: os.cpus().length,
    system: `${os.type()} ${os.release()}`,
    node: process.version,
    fileSystems: Object.keys(folders),
    loadBefore: os.loadavg(),
  },
  short: Boolean(options.short),
  rows: {},
};
try {
  for (const name of wanted) {
    const row = await import(`./rows/${name}.mjs`);
    const { measured, checks } = await row.run({ folders, short: options.short, hasJq });
    const summaries = Object.fromEntries(Object.entries(measured).map(([what, numbers]) => [what, summary(numbers)]));
    results.rows[name] = { title: row.title, measured: summaries, checks };
    print(results.rows[name]);
  }
} finally {
  places.remove();
}
results.machine.loadAfter = os.loadavg();
const all = Object.values(results.rows).flatMap(({ checks }) => checks);
console.log(`\n${all.filter(({ ok }) => ok).length} of ${all.length} limits reached`);
if (wanted.length === ROWS.length) {
  fs.writeFileSync(path.join(here, 'results.json'), `${JSON.stringify(results, null, 2)}\n`);
}

/** A row as a table. */
function print({ title, measured, checks }) {
  console.log(`\n${title}`);
  for (const [what, numbers] of Object.entries(measured)) console.log(`  ${what.padEnd(64)} ${show(numbers)}`);
  for (const { what, limit, reached, ok } of checks) {
    console.log(`  ${ok ? 'ok    ' : 'missed'} ${`${what} (${limit})`.padEnd(78)} ${show(reached)}`);
  }
}

function show({ median, low, high }) {
  const short = (number) => Number(number.toPrecision(3));
  return low === undefined ? `${short(median)}` : `${short(median)} [${short(low)} … ${short(high)}]`;
}
