// Builds, in the package's folder: the addon pipestate.<platform>.node, its typings index.d.ts, and the program pipestate.
// What is up to date is left alone, as cargo does.
import { copyFileSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { npx, root, run } from './run.mjs';

const addon = ['--platform', '--release', '--no-js', '--no-default-features', '--features', 'node'];
npx('@napi-rs/cli', 'dist/cli.js', ['build', ...addon, '--dts', 'index.d.ts', '--output-dir', '.', '--', '--locked']);

run('cargo', ['build', '--release', '--locked', '--bin', 'pipestate']);
const { target_directory: target } = JSON.parse(
  run('cargo', ['metadata', '--format-version', '1', '--no-deps', '--locked'], { capture: true }),
);
const name = process.platform === 'win32' ? 'pipestate.exe' : 'pipestate';
const built = join(target, 'release', name);
const placed = join(root, name);
const isNewer = !existsSync(placed) || statSync(placed).mtimeMs < statSync(built).mtimeMs;
if (isNewer) copyFileSync(built, placed);
