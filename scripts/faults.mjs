// Every fault at every call of every way to write, on every file system, and the power cut after every step: what
// `npm test` tries a sample of. `npm run faults -- disks` runs the tests of that name; PIPESTATE_SEED repeats the choices.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { root } from './run.mjs';
import './fault-tools.mjs';

const tests = ['test', '--locked', '--release', '--test', 'faults', '--test', 'destroy', '--', '--nocapture', '--test-threads=2'];
const env = { ...process.env, PIPESTATE_FAULTS: 'all' };
const started = Date.now();
const child = spawn('cargo', [...tests, ...process.argv.slice(2)], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });

const sums = [
  {
    line: /faults: (?:in all|on \w+) (\d+) runs: (\d+) errors, (\d+) failed disks, (\d+) kills, (\d+) terminations/,
    of: ['runs', 'errors', 'failed disks', 'kills', 'terminations'],
  },
  {
    line: /power: .*: (\d+) recordings, (\d+) cuts, (\d+) remains, (\d+) next writers/,
    of: ['recordings', 'power cuts', 'remains', 'next writers on them'],
  },
];
const totals = new Map();
for await (const text of createInterface({ input: child.stdout })) {
  console.log(text);
  for (const { line, of } of sums) {
    const numbers = line.exec(text)?.slice(1) ?? [];
    numbers.forEach((number, index) => totals.set(of[index], (totals.get(of[index]) ?? 0) + Number(number)));
  }
}
const told = [...totals].map(([what, number]) => `${number} ${what}`);
console.log(`total: ${[...told, `${Math.round((Date.now() - started) / 1000)} s`].join(', ')}`);
process.exitCode = child.exitCode ?? (await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1))));
