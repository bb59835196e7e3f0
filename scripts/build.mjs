// Builds, in the package's folder: the addon pipestate.<platform>.node, its typings index.d.ts, and the program pipestate.
// What is up to date is left alone.
import { generateTypeDef, parseTriple } from '@napi-rs/cli';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './run.mjs';

const metadata = run('cargo', ['metadata', '--format-version', '1', '--no-deps', '--locked'], { capture: true });
const { target_directory: target } = JSON.parse(metadata);
const [, triple] = /^host: (.*)$/m.exec(run('rustc', ['-vV'], { capture: true }));
const { platformArchABI } = parseTriple(triple);

/** What cargo calls a dynamic library and a program. */
const [library, program] = {
  win32: ['pipestate.dll', 'pipestate.exe'],
  darwin: ['libpipestate.dylib', 'pipestate'],
}[process.platform] ?? ['libpipestate.so', 'pipestate'];

/** Puts what cargo has built into the package's folder. Whoever runs or has loaded the old one keeps it. */
function place(built, name) {
  const from = join(target, 'release', built);
  const to = join(root, name);
  if (existsSync(to) && statSync(to).mtimeMs >= statSync(from).mtimeMs) return;
  copyFileSync(from, `${to}.new`);
  renameSync(`${to}.new`, to);
}

// The library is linked as a dynamic one for the addon alone: with a Rust library beside it, as one crate of both kinds,
// it keeps everything that somebody might call, and program and tests would be linked twice.
const typeDefDir = join(target, 'napi-types');
mkdirSync(typeDefDir, { recursive: true });
const features = ['--lib', '--crate-type', 'cdylib', '--no-default-features', '--features', 'node'];
run('cargo', ['rustc', '--release', '--locked', ...features], { env: { NAPI_TYPE_DEF_TMP_FOLDER: typeDefDir } });
place(library, `pipestate.${platformArchABI}.node`);

const { dts } = await generateTypeDef({ typeDefDir, cwd: root, dtsHeaderFile: 'src/node/api.d.ts' });
const typings = join(root, 'index.d.ts');
if (!existsSync(typings) || readFileSync(typings, 'utf8') !== dts) writeFileSync(typings, dts);

run('cargo', ['build', '--release', '--locked', '--bin', 'pipestate']);
place(program, program);
