// What it takes to have it at hand.
import fs from 'node:fs';
import path from 'node:path';
import { atMost } from '../checks.mjs';
import { block, program, root } from '../children.mjs';
import { pair, summary } from '../pairs.mjs';

export const title = "require('pipestate') (ms), sizes (MB)";

export async function run({ short }) {
  const all = await pair(short ? 15 : 41, { 'require, fresh process': () => block('require') });
  const addon = fs.readdirSync(root).find((name) => name.startsWith('pipestate.') && name.endsWith('.node'));
  const megabytes = (file) => fs.statSync(file).size / 1e6;
  return {
    measured: all,
    checks: [
      atMost('ms for require', 2.5, summary(all['require, fresh process'])),
      atMost('MB of addon', 1, megabytes(path.join(root, addon))),
      atMost('MB of program', 2, megabytes(program)),
    ],
  };
}
