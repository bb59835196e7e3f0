// Builds what is stale and runs all tests: a minute of torture, rules and programs in Rust, the examples in its
// documentation, then what crosses into JavaScript. Ends with the counts of the test runners.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { has, root } from './run.mjs';
import './build.mjs';
import './fault-tools.mjs';

const counts = [];

/** Runs a test runner, shows what it prints, and notes the lines in which it counts. */
async function runner(command, args, counting) {
  console.log(`$ ${[command, ...args].join(' ')}`);
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const [stream, to] of [[child.stdout, process.stdout], [child.stderr, process.stderr]]) {
    stream.on('data', (data) => {
      to.write(data);
      text += data;
    });
  }
  const code = await new Promise((resolve) => child.on('close', resolve));
  // Colours are for the terminal.
  const lines = text.replace(/\x1b\[[0-9;]*m/g, '').split('\n').filter((line) => counting.test(line));
  counts.push(...lines.map((line) => `${command.split('/').pop()} ${args[0]}: ${line.trim()}`));
  if (code !== 0) {
    console.log(counts.join('\n'));
    process.exit(code ?? 1);
  }
}

if (process.platform === 'linux') {
  await runner(process.execPath, ['torture/run.mjs', '--minutes', '1'], /^(total|Total)/);
}
if (has('cargo', ['nextest', '--version'])) {
  await runner('cargo', ['nextest', 'run', '--locked'], /^ *Summary/);
  await runner('cargo', ['test', '--locked', '--doc', '--quiet'], /^test result/);
} else {
  await runner('cargo', ['test', '--locked'], /^test result/);
}
const files = readdirSync(join(root, '__test__')).filter((name) => name.endsWith('.test.mjs'));
const tests = [...files.map((name) => `__test__/${name}`), 'torture/ledger.test.mjs'];
await runner(process.execPath, ['--test', ...tests], /^(#|ℹ) (tests|pass|fail|skipped) /);
console.log(`\n${counts.join('\n')}`);
