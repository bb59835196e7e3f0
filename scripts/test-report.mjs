// Builds what is stale, looks at the page of a run in headless Chromium, and takes the pictures of the README.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './run.mjs';
import './build.mjs';

mkdirSync(join(root, 'docs/images'), { recursive: true });
process.env.PIPESTATE_PICTURES = '1';
run(process.execPath, ['--test', '__test__/report.test.mjs']);
