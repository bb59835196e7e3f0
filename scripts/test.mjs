// Builds what is stale and runs all tests: rules and programs in Rust, then the examples in its documentation, then what
// crosses into JavaScript, and a minute of torture.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { has, root, run } from './run.mjs';
import './build.mjs';
import './fault-tools.mjs';

if (has('cargo', ['nextest', '--version'])) {
  run('cargo', ['nextest', 'run', '--locked']);
  run('cargo', ['test', '--locked', '--doc', '--quiet']);
} else {
  run('cargo', ['test', '--locked']);
}
const files = readdirSync(join(root, '__test__')).filter((name) => name.endsWith('.test.mjs'));
run(process.execPath, ['--test', ...files.map((name) => `__test__/${name}`), 'torture/ledger.test.mjs']);
if (process.platform === 'linux') run(process.execPath, ['torture/run.mjs', '--minutes', '1']);
