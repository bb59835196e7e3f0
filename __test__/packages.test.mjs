// What is published, installed as users do: from a registry, into an empty folder, without Rust.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { before, test } from 'node:test';
import { registry } from './registry.mjs';
import { folder, root, run, start } from './support.mjs';

const made = folder({ after: (clean) => process.on('exit', clean) });
const readJson = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));
const isWindows = process.platform === 'win32';

/** The package of every platform, as described; with the tarball only for the one that was built. */
let platforms;
let main;
let own;
before(async () => {
  const { code, stderr } = await run(process.execPath, [join(root, 'scripts/pack.mjs'), '--out', made]);
  assert.equal(code, 0, stderr);
  const read = (...path) => {
    const description = readJson(made, 'stage', ...path, 'package.json');
    const tarball = join(made, `${description.name}-${description.version}.tgz`);
    return { description, tarball: existsSync(tarball) ? readFileSync(tarball) : null };
  };
  platforms = readdirSync(join(made, 'stage/npm')).map((name) => read('npm', name));
  main = read('main');
  own = platforms.find(({ tarball }) => tarball).description.name;
});

/** A PATH on which Node and npm are, and Rust is not, wherever they lie together. */
const PATH = isWindows ? process.env.PATH : join(made, 'bin');
if (!isWindows) {
  mkdirSync(PATH);
  symlinkSync(process.execPath, join(PATH, 'node'));
  for (const name of ['npm', 'sh', 'sed', 'dirname', 'uname']) {
    const found = process.env.PATH.split(delimiter).map((path) => join(path, name)).find(existsSync);
    symlinkSync(found, join(PATH, name));
  }
}

/** An empty project, and how to run things in it. */
function project(t, address) {
  const path = folder(t);
  writeFileSync(join(path, 'package.json'), '{"private":true}');
  const env = {
    PATH,
    HOME: path,
    npm_config_registry: address,
    npm_config_cache: join(path, '.cache'),
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  };
  const inside = (command, args, options) => run(command, args, { cwd: path, env, ...options });
  const bin = (name, args, options) => inside(join(path, 'node_modules/.bin', name), args, options);
  return { path, inside, bin };
}

/** Installs a tool from npm's own registry, for this test. */
async function tool(t, name) {
  const tools = folder(t);
  await ok(run('npm', ['install', '--prefix', tools, '--no-audit', '--no-fund', name]));
  return join(tools, 'node_modules/.bin', name.split('@')[0]);
}

async function ok(running) {
  const { code, stdout, stderr } = await running;
  assert.equal(code, 0, stderr + stdout);
  return stdout;
}

async function installed(t, args, packages = [main, ...platforms]) {
  const { address, fetched } = await registry(t, packages);
  const { path, inside, bin } = project(t, address);
  await ok(inside('npm', ['install', 'pipestate', ...args]));
  return { path, inside, bin, fetched };
}

/** What a user does first, by every door of an installation. */
async function works({ path, inside, bin }) {
  const state = join(path, 'agent-state.json');
  await ok(bin('pipestate', ['write', state], { input: '{"currentPhase":1,"phases":{}}' }));
  await ok(bin('write-state', [state], { input: '{"currentPhase":2}' }));
  assert.equal(await ok(bin('pipestate', ['get', state, '/currentPhase'])), '2\n');
  await ok(bin('validate-state', [state]));
  for (const shim of ['write-state.mjs', 'validate-state.mjs']) {
    await ok(inside(process.execPath, [join('node_modules/pipestate', shim), state], { input: '{"currentPhase":3}' }));
  }
  const required = "const { readState } = require('pipestate'); readState('agent-state.json').then(({ state }) => console.log(state.currentPhase))";
  assert.equal(await ok(inside(process.execPath, ['-e', required])), '3\n');
  const imported = "import { readStateSync } from 'pipestate'; console.log(readStateSync('agent-state.json').state.currentPhase)";
  assert.equal(await ok(inside(process.execPath, ['--input-type=module', '-e', imported])), '3\n');
  const schema = "console.log(require('pipestate/schemas/agent-state.schema.json').$schema.length > 0)";
  assert.equal(await ok(inside(process.execPath, ['-e', schema])), 'true\n');
}

const firstBytes = (path) => readFileSync(path).subarray(0, 4).toString('latin1');

test('the packages hold what they need and nothing else', () => {
  assert.deepEqual(Object.keys(main.description.optionalDependencies).sort(), platforms.map(({ description }) => description.name).sort());
  assert.deepEqual(new Set(Object.values(main.description.optionalDependencies)), new Set([main.description.version]));
  assert.deepEqual(main.description.scripts, { postinstall: 'node install.cjs' });
  assert.equal(Object.keys(main.description.exports['.'])[0], 'types');
  assert.equal(main.description.devDependencies, undefined);
  assert.ok(main.tarball.length < 200_000, `${main.tarball.length} bytes`);
  for (const { description } of [main, ...platforms].filter(({ tarball }) => tarball)) {
    assert.equal(description.publishConfig.provenance, true);
    assert.ok(description.engines.node && description.license && description.files.length > 0, description.name);
  }
  for (const { description } of platforms) assert.ok(description.os && description.cpu, description.name);
});

test('installed by npm, the command is the native program', async (t) => {
  const project = await installed(t, []);
  await works(project);
  assert.deepEqual(project.fetched.sort(), ['pipestate', own], 'and nothing of another platform is fetched');
  const names = readdirSync(join(project.path, 'node_modules')).filter((name) => name.startsWith('pipestate'));
  assert.deepEqual(names.sort(), ['pipestate', own]);
  if (isWindows) return;
  assert.equal(firstBytes(join(project.path, 'node_modules/.bin/pipestate')), firstBytes(join(root, 'pipestate')));
  const help = { cwd: project.path, env: { PATH: '/nowhere' } };
  assert.match(await ok(run(join(project.path, 'node_modules/.bin/pipestate'), ['--version'], help)), /^pipestate \d/);
});

test('without install scripts a script starts it, with its streams, exit code and signals', { skip: isWindows }, async (t) => {
  const project = await installed(t, ['--ignore-scripts']);
  await works(project);
  assert.equal(firstBytes(join(project.path, 'node_modules/.bin/pipestate')), '#!/u');
  const { code, stderr } = await project.bin('pipestate', ['get', 'agent-state.json', '/none']);
  assert.deepEqual([code, stderr], [1, 'pipestate: agent-state.json: there is nothing at /none\n']);

  const state = join(project.path, 'agent-state.json');
  writeFileSync(state, '{"status":"running","currentPhase":1,"phases":{"1":{"status":"running"}}}');
  const watch = start(t, [join(project.path, 'node_modules/pipestate/bin/pipestate'), 'status', '--watch', state]);
  assert.match(await watch.line(), /running/);
  watch.kill('SIGTERM');
  assert.deepEqual(await watch.end(), { code: 143, signal: null, stderr: '' });
});

test('installed again over itself, and taken out', { skip: isWindows }, async (t) => {
  const project = await installed(t, []);
  await ok(project.inside('npm', ['rebuild']));
  await works(project);
  await ok(project.inside('npm', ['uninstall', 'pipestate']));
  assert.equal(existsSync(join(project.path, 'node_modules/.bin/pipestate')), false);
});

test('without the package of its platform it says which one, where, and how to get it', async (t) => {
  const project = await installed(t, [], [main, ...platforms.filter(({ tarball }) => !tarball)]);
  const required = await project.inside(process.execPath, ['-e', "require('pipestate')"]);
  assert.equal(required.code, 1);
  const message = new RegExp(`the native addon for ${process.platform}-${process.arch} is not here; install the package ${own} `);
  assert.match(required.stderr, message);
  for (const name of ['pipestate', 'write-state', 'validate-state']) {
    const { code, stderr } = await project.bin(name, ['agent-state.json'], { input: '{}' });
    assert.equal(code, 70);
    assert.match(stderr, message);
  }
});

test('in worker threads only', async (t) => {
  const project = await installed(t, []);
  writeFileSync(
    join(project.path, 'main.mjs'),
    `import { Worker, isMainThread, workerData } from 'node:worker_threads';
     if (isMainThread) {
       for (let number = 0; number < 4; number += 1) new Worker(new URL(import.meta.url), { workerData: number });
     } else {
       const { writeState } = await import('pipestate');
       await writeState('state.json', { ['w' + workerData]: true });
     }`,
  );
  await ok(project.inside(process.execPath, ['main.mjs']));
  assert.deepEqual(Object.keys(readJson(project.path, 'state.json')).sort(), ['w0', 'w1', 'w2', 'w3']);
});

test('two copies in one process exclude each other', async (t) => {
  const project = await installed(t, []);
  const other = join(project.path, 'other');
  mkdirSync(other);
  cpSync(join(project.path, 'node_modules'), join(other, 'node_modules'), { recursive: true });
  writeFileSync(join(other, 'copy.cjs'), "module.exports = require('pipestate');");
  const script = `
    const copies = [require('pipestate'), require('./other/copy.cjs')];
    if (copies[0] === copies[1]) throw new Error('one copy only');
    const add = ({ n = 0 }) => ({ n: n + 1 });
    const all = Array.from({ length: 40 }, (_, turn) => copies[turn % 2].updateState('state.json', add));
    Promise.all(all).then(() => console.log(copies[0].readStateSync('state.json').state.n));`;
  assert.equal(await ok(project.inside(process.execPath, ['-e', script])), '40\n');
});

test('the typings hold for CommonJS and for modules', async (t) => {
  const project = await installed(t, []);
  const use = `const { rev }: { rev: string } = pipestate.readStateSync('agent-state.json'); export { rev };`;
  writeFileSync(join(project.path, 'common.cts'), `import pipestate = require('pipestate'); ${use}`);
  writeFileSync(join(project.path, 'module.mts'), `import * as pipestate from 'pipestate'; ${use}`);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--typeRoots', join(root, 'node_modules/@types')];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await ok(project.inside(process.execPath, [tsc, ...options, 'common.cts', 'module.mts']));
});

test('the scripts it installs elsewhere need no package near them', { skip: isWindows }, async (t) => {
  for (const args of [[], ['--ignore-scripts']]) {
    const project = await installed(t, args);
    const scripts = join(folder(t), 'scripts');
    mkdirSync(scripts);
    writeFileSync(join(scripts, 'package.json'), '{"type":"module"}');
    writeFileSync(join(scripts, 'write-state.mjs'), 'old');
    assert.match(await ok(project.bin('pipestate', ['install', scripts])), /write-state\.mjs: replaced; what was there is kept/);
    rmSync(join(project.path, 'node_modules'), { recursive: true });
    const state = join(scripts, 'state.json');
    const shim = (name, options) => run(process.execPath, [join(scripts, `${name}.mjs`), state], { cwd: '/', ...options });
    await ok(shim('write-state', { input: '{"currentPhase":1,"phases":{}}' }));
    await ok(shim('validate-state'));
  }
});

test('installed by pnpm', { skip: isWindows }, async (t) => {
  const pnpm = await tool(t, 'pnpm@10');
  for (const allowed of [true, false]) {
    const { address } = await registry(t, [main, ...platforms]);
    const { path, inside, bin } = project(t, address);
    if (allowed) writeFileSync(join(path, 'package.json'), '{"private":true,"pnpm":{"onlyBuiltDependencies":["pipestate"]}}');
    const stores = ['--store-dir', join(path, '.store'), `--config.cache-dir=${join(path, '.cache')}`];
    await ok(inside(pnpm, ['add', 'pipestate', ...stores]));
    assert.equal(firstBytes(join(path, 'node_modules/pipestate/bin/pipestate')) === '#!/u', !allowed);
    await works({ path, inside, bin });
  }
});

for (const [runtime, args] of [['bun', []], ['deno', ['run', '--allow-all']]]) {
  test(`in ${runtime}`, { skip: isWindows }, async (t) => {
    const command = await tool(t, runtime);
    const project = await installed(t, []);
    writeFileSync(
      join(project.path, 'use.mjs'),
      `import { lockState, readStateSync, updateState, writeState } from 'pipestate';
       await writeState('state.json', { n: 1 });
       await Promise.all([1, 2, 3].map(() => updateState('state.json', async ({ n }) => ({ n: n + 1 }))));
       const lock = await lockState('state.json');
       await lock.write({ held: true });
       await lock.release();
       const error = await writeState('state.json', '{oops').catch((error) => error);
       console.log(JSON.stringify(readStateSync('state.json').state), error.name, error.code, error.exitCode);`,
    );
    const told = await ok(project.inside(command, [...args, 'use.mjs']));
    assert.equal(told, '{"n":4,"held":true} PipestateError ERR_PIPESTATE_INVALID 1\n');
  });
}
