// Fuzzes the scanner and the merge, one after the other: npm run fuzz [-- SECONDS_EACH], ten minutes each by default.
// It starts from fuzz/seeds; what it finds goes to fuzz/corpus and fuzz/artifacts, which are not kept.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { has, root, run } from './run.mjs';

const seconds = Number(process.argv[2] ?? 600);
if (!has('cargo', ['fuzz', '--version'])) run('cargo', ['install', 'cargo-fuzz', '--locked']);
// libFuzzer's instrumentation is not stable, and works on a stable compiler all the same.
process.env.RUSTC_BOOTSTRAP = '1';
for (const target of ['scan', 'edit']) {
  mkdirSync(join(root, 'fuzz/corpus', target), { recursive: true });
  const options = [`-max_total_time=${seconds}`, '-max_len=4096', '-print_final_stats=1'];
  run('cargo', ['fuzz', 'run', target, `fuzz/corpus/${target}`, `fuzz/seeds/${target}`, '--', ...options]);
}
