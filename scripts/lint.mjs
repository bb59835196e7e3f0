// Formatting, lints of both builds, one version, and typings that are up to date.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './run.mjs';

const read = (name) => readFileSync(join(root, name), 'utf8');
function fail(message) {
  console.error(message);
  process.exit(1);
}

const { version } = JSON.parse(read('package.json'));
const crate = /^version = "(.*)"$/m.exec(read('Cargo.toml'))[1];
if (version !== crate) fail(`package.json has version ${version}, Cargo.toml ${crate}`);
if (JSON.parse(read('package-lock.json')).version !== version) fail('package-lock.json has another version: npm install');

run('cargo', ['fmt', '--check']);
run('cargo', ['clippy', '--locked', '--all-targets', '--', '-D', 'warnings']);
run('cargo', ['clippy', '--locked', '--no-default-features', '--features', 'node', '--', '-D', 'warnings']);

const typings = read('index.d.ts');
await import('./build.mjs');
if (read('index.d.ts') !== typings) fail('index.d.ts was stale; the build has printed it anew: commit it');
