// How processes start and end: what keeps them alive, what they leave behind, and what the addon does to their host.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockState, readStateSync, writeStateSync } from 'pipestate';
import { fixture, folder, run, start } from './support.mjs';

const ending = (how, file) => run(process.execPath, ['--expose-gc', fixture('ending.cjs'), how, file]);

test('pending calls keep the process alive, and only as long as they are pending', async (t) => {
  const file = join(folder(t), 'state.json');
  const lock = await lockState(file);
  const child = start(t, [fixture('ending.cjs'), 'pending', file]);
  assert.equal(await child.line(), 'pending');
  await lock.release();
  assert.equal((await child.end()).code, 0);
  assert.deepEqual(readStateSync(file).state, { awaited: true });
});

test('however a process ends that holds locks, it leaves none', async (t) => {
  for (const [how, expected] of Object.entries({ natural: 0, exit: 7, exception: 1, rejection: 1 })) {
    const file = join(folder(t), 'state.json');
    const { code, stdout } = await ending(how, file);
    assert.deepEqual([how, code, stdout], [how, expected, 'held\n']);
    assert.deepEqual(readdirSync(join(file, '..')), [], how);
  }
});

test('process.exit in the middle of writes leaves a whole file and nothing beside it', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const file = join(folder(t), 'state.json');
    writeStateSync(file, { n: -1 });
    const { code, stderr } = await ending('storm', file);
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(readdirSync(join(file, '..')), ['state.json']);
    assert.ok(readStateSync(file).state.n >= -1);
  }
});

test('a signal ends the process as if the addon were not there, and its lock is taken over at once', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    const file = join(folder(t), 'state.json');
    const child = start(t, [fixture('ending.cjs'), 'hold', file]);
    assert.equal(await child.line(), 'held');
    child.kill(signal);
    assert.equal((await child.end()).signal, signal);
    assert.ok(existsSync(`${file}.lock`));
    writeStateSync(file, { a: 1 }, { lockTimeoutMs: 1000 });
    assert.equal(existsSync(`${file}.lock`), false);
  }
});

test('the addon handles no signals', { skip: process.platform !== 'linux' }, async (t) => {
  const { stdout } = await ending('signals', join(folder(t), 'state.json'));
  const [before, after] = stdout.trim().split('\n');
  assert.match(before, /^SigCgt/);
  assert.equal(after, before);
});

test('a lock that nobody refers to any more is released by the garbage collector', async (t) => {
  const file = join(folder(t), 'state.json');
  const { code, stdout } = await ending('garbage', file);
  assert.deepEqual([code, stdout], [0, 'held\nreleased\n']);
});

test('locks name the program that holds them', async (t) => {
  const file = join(folder(t), 'state.json');
  const child = start(t, [fixture('ending.cjs'), 'hold', file]);
  await child.line();
  assert.match(readFileSync(`${file}.lock`, 'utf8'), new RegExp(`^${child.pid}\\n.*"program":"node ending.cjs"`));
  assert.throws(() => writeStateSync(file, {}, { lockTimeoutMs: 0 }), { message: /\(node ending\.cjs\)/ });
});

test('a missing or broken addon is an error that says how to get it', async (t) => {
  const path = folder(t);
  for (const name of ['index.js', 'pipestate-native.cjs']) writeFileSync(join(path, name), readFileSync(join(import.meta.dirname, '..', name)));
  const load = () => run(process.execPath, ['-e', `require(${JSON.stringify(path)})`]);
  const missing = await load();
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /Error: the native addon for \w+-\w+ is not here; install the package pipestate-\w+-\w+.*npm run build/);
  const [addon] = readdirSync(join(import.meta.dirname, '..')).filter((name) => name.endsWith('.node'));
  writeFileSync(join(path, addon), 'not an addon');
  const broken = await load();
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, new RegExp(`Error: the native addon for \\S+ cannot be loaded: .*${addon}`));
});
