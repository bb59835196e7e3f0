// Makes what is published, in dist/: the main package, and one for each platform with its addon and program.
//   npm run pack                        builds here; the main package and this platform's
//   npm run pack -- --artifacts DIR     of what was built elsewhere: DIR/<platform>/ with addon and program
//   npm run pack -- --out DIR           there, and not in dist/
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { npx, root, run } from './run.mjs';

const { values } = parseArgs({ options: { artifacts: { type: 'string' }, out: { type: 'string', default: 'dist' } } });
if (!values.artifacts) await import('./build.mjs');

const out = resolve(root, values.out);
const stage = join(out, 'stage');
rmSync(stage, { recursive: true, force: true });
mkdirSync(stage, { recursive: true });
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const writeJson = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);

/** What npm needs to prove where a package was built; only the place that builds it knows its address. */
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
const published = {
  publishConfig: { access: 'public', provenance: true },
  ...(GITHUB_REPOSITORY && { repository: { type: 'git', url: `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git` } }),
};

function pack(folder) {
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const told = run('npm', ['pack', folder, '--pack-destination', out, '--json', '--ignore-scripts'], { capture: true });
  const [{ filename, size, unpackedSize, entryCount }] = JSON.parse(told);
  console.log(`${join(values.out, filename)}: ${entryCount} files, ${size} bytes, ${unpackedSize} unpacked`);
}

// A package for each platform, as @napi-rs/cli describes it.
cpSync(join(root, 'package.json'), join(stage, 'package.json'));
npx('@napi-rs/cli', 'dist/cli.js', ['create-npm-dirs', '--cwd', stage, '--npm-dir', 'npm'], { capture: true });
const platforms = readdirSync(join(stage, 'npm'));
const optionalDependencies = {};
for (const platform of platforms) {
  const folder = join(stage, 'npm', platform);
  const description = readJson(join(folder, 'package.json'));
  optionalDependencies[description.name] = description.version;
  const from = values.artifacts ? join(values.artifacts, platform) : root;
  const addon = join(from, description.main);
  if (!existsSync(addon)) continue;

  const program = join('bin', platform.startsWith('win32') ? 'pipestate.exe' : 'pipestate');
  cpSync(addon, join(folder, description.main));
  cpSync(join(from, basename(program)), join(folder, program));
  chmodSync(join(folder, program), 0o755);
  writeFileSync(
    join(folder, 'README.md'),
    `# ${description.name}\n\nThe addon and the program of [pipestate](https://www.npmjs.com/package/pipestate) for ${platform}. Install \`pipestate\`, not this.\n`,
  );
  writeJson(join(folder, 'package.json'), { ...description, files: [...description.files, program], ...published });
  pack(folder);
}

// The main package: no binary, nothing to build, and no dependency but on those.
const folder = join(stage, 'main');
mkdirSync(folder);
const { scripts, devDependencies, napi, ...description } = readJson(join(root, 'package.json'));
for (const name of [...description.files, 'README.md']) cpSync(join(root, name), join(folder, name), { recursive: true });
writeJson(join(folder, 'package.json'), {
  ...description,
  scripts: { postinstall: 'node install.cjs' },
  optionalDependencies,
  ...published,
});
pack(folder);
