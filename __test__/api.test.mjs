// Every function does what index.d.ts says, now and later, for every kind of argument.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import pipestate, * as esm from 'pipestate';
import { folder, root, run } from './support.mjs';
import * as shapes from './types/shapes.mjs';

const {
  lockState,
  lockStateSync,
  PipestateError,
  readState,
  readStateSync,
  StateLock,
  updateState,
  updateStateSync,
  validateState,
  validateStateSync,
  writeState,
  writeStateSync,
} = pipestate;

/** Both twins of a function, the synchronous one as if it were the other. */
const twins = {
  read: [readState, async (...args) => readStateSync(...args)],
  write: [writeState, async (...args) => writeStateSync(...args)],
  validate: [validateState, async (...args) => validateStateSync(...args)],
  update: [updateState, async (...args) => updateStateSync(...args)],
  lock: [lockState, async (...args) => lockStateSync(...args)],
};

test('import and require give the same functions, and those that the typings declare', () => {
  const cjs = createRequire(import.meta.url)('pipestate');
  assert.deepEqual(Object.keys(cjs).sort(), Object.keys(shapes.api).sort());
  assert.deepEqual(Object.keys(esm).sort(), [...Object.keys(shapes.api), 'default'].sort());
  for (const name of Object.keys(shapes.api)) assert.equal(esm[name], cjs[name], name);
  assert.equal(esm.default, cjs);
});

test('the typings compile, and what they forbid does not', async () => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { code, stdout } = await run(process.execPath, [tsc, '-p', join(root, '__test__/types')]);
  assert.equal(stdout, '');
  assert.equal(code, 0);
});

test('a write creates file and folders, merges, and tells what it did', async (t) => {
  for (const [at, write] of twins.write.entries()) {
    const file = join(folder(t), `a/b${at}/state.json`);
    const created = await write(file, { currentPhase: 3, phases: { 3: { status: 'running' } } });
    assert.deepEqual({ ...created, rev: '', waitedMs: 0 }, { rev: '', changed: true, created: true, path: file, waitedMs: 0 });
    const merged = await write(file, { currentPhase: 4, phases: { 4: { status: 'pending' } } });
    assert.equal(merged.created, false);
    assert.notEqual(merged.rev, created.rev);
    const text = '{\n  "currentPhase": 4,\n  "phases": {\n    "3": {\n      "status": "running"\n    },\n    "4": {\n      "status": "pending"\n    }\n  }\n}\n';
    assert.equal(readFileSync(file, 'utf8'), text);
    const { waitedMs } = merged;
    const again = await write(file, { currentPhase: 4 });
    assert.deepEqual({ ...again, waitedMs }, { ...merged, changed: false });
    assert.ok(Object.keys(created).every((key) => key in shapes.writeResult));
    assert.equal(existsSync(`${file}.lock`), false);
  }
});

test('options of a write', async (t) => {
  for (const write of twins.write) {
    const file = join(folder(t), 'state.json');
    const { rev } = await write(file, { a: null, b: [1, 2] }, { ifMatch: 'none', durability: 'fast', lockTimeoutMs: 0 });
    await write(file, { a: null, b: { 0: 3 } }, { ifMatch: rev, durability: 'durable', nulls: 'store', replace: false });
    assert.deepEqual(readStateSync(file).state, { a: null, b: [3, 2] });
    await write(file, { a: null, b: { 0: 3 } }, { nulls: 'delete', lockTimeoutMs: Infinity });
    assert.deepEqual(readStateSync(file).state, { b: { 0: 3 } });
    await write(file, ' { "whole": 1 }', { replace: true, ifMatch: undefined });
    assert.equal(readFileSync(file, 'utf8'), '{\n  "whole": 1\n}\n');
  }
});

test('files are named by strings, bytes and URLs, also where they are not UTF-8', async (t) => {
  const path = folder(t);
  for (const [at, write] of twins.write.entries()) {
    const odd = Buffer.concat([Buffer.from(`${path}/状態 \n-${at}`), Buffer.from([0xff]), Buffer.from('.json')]);
    const written = await write(odd, { a: 1 });
    assert.equal(written.path, odd.toString());
    assert.equal(readFileSync(odd, 'utf8'), '{\n  "a": 1\n}\n');
    assert.equal((await twins.read[at](odd)).state.a, 1);
    const url = pathToFileURL(join(path, `a b%20${at}.json`));
    assert.equal((await write(url, { a: 1 })).path, join(path, `a b%20${at}.json`));
    assert.equal((await twins.read[at](url)).rev, written.rev);
  }
});

test('a read gives the state, its text and its revision; a missing file is an empty document', async (t) => {
  const path = folder(t);
  const file = join(path, 'state.json');
  writeFileSync(file, ' {"a":1.0, "b":[]}');
  for (const read of twins.read) {
    const { rev } = writeStateSync(file, {});
    assert.deepEqual(await read(file), { state: { a: 1, b: [] }, text: ' {"a":1.0, "b":[]}', rev });
    assert.deepEqual(await read(join(path, 'none.json')), { state: {}, text: '', rev: 'none' });
    assert.deepEqual(await read(join(path, 'no/folder/none.json')), { state: {}, text: '', rev: 'none' });
    assert.deepEqual(Object.keys(await read(file)), Object.keys(shapes.snapshot));
  }
  assert.equal(existsSync(join(path, 'no')), false);
});

test('a validation is the report that the program prints, and never an exception', async (t) => {
  const path = folder(t);
  const states = {
    good: '{"currentPhase":1,"phases":{"0":{"status":"done"},"1":{"status":"running"}}}',
    bad: '{"currentPhase":null,"phases":7}',
    torn: '{"currentPhase":1',
  };
  mkdirSync(join(path, 'folder'));
  for (const [name, text] of Object.entries(states)) writeFileSync(join(path, name), text);
  const exitCodes = { good: 0, bad: 1, torn: 3, missing: 3, folder: 3 };
  for (const [name, exitCode] of Object.entries(exitCodes)) {
    const file = join(path, name);
    const { code, stdout } = await run(join(root, 'pipestate'), ['validate', '--kind', 'agent', '--max-phase', '9', '--json', file]);
    assert.equal(code, exitCode, name);
    for (const validate of twins.validate) {
      const report = await validate(file, { kind: 'agent', maxPhase: 9 });
      assert.deepEqual(report, { ...JSON.parse(stdout), exitCode }, name);
      assert.deepEqual(Object.keys(report).sort(), Object.keys(shapes.report).sort());
      for (const finding of report.findings) assert.deepEqual(Object.keys(finding).sort(), Object.keys(shapes.finding).sort());
      assert.equal(report.ok, exitCode === 0);
    }
  }
  const legacy = '{"currentPhase":"1","phases":{"0":{"status":"done"},"1":{"status":"running"}}}';
  writeFileSync(join(path, 'legacy'), legacy);
  for (const validate of twins.validate) {
    assert.equal((await validate(join(path, 'legacy'))).exitCode, 0);
    assert.equal((await validate(join(path, 'legacy'), { strict: true, kind: 'auto' })).exitCode, 1);
  }
});

test('an update reads, asks and writes under one lock', async (t) => {
  for (const update of twins.update) {
    const file = join(folder(t), 'state.json');
    const created = await update(file, (state, read) => {
      assert.deepEqual([state, read], [{}, { text: '', rev: 'none' }]);
      assert.ok(existsSync(`${file}.lock`));
      return { attempt: 1 };
    });
    assert.deepEqual(created, { ...created, changed: true, created: true, path: file });
    const updated = await update(file, ({ attempt }, { text, rev }) => {
      assert.equal(rev, created.rev);
      return text.replace(String(attempt), String(attempt + 1));
    });
    for (const nothing of [undefined, null]) {
      const { rev, changed, path } = await update(file, () => nothing);
      assert.deepEqual({ rev, changed, path }, { rev: updated.rev, changed: false, path: file });
    }
    const thrown = new Error('no');
    await assert.rejects(update(file, () => { throw thrown; }), thrown);
    await assert.rejects(update(file, () => ({ attempt: 9 }), { ifMatch: 'none' }), { code: 'ERR_PIPESTATE_CONFLICT' });
    assert.deepEqual(readStateSync(file).state, { attempt: 2 });
    assert.equal(existsSync(`${file}.lock`), false);
  }
});

test('the function of an update may be async; then only updateState takes it', async (t) => {
  const file = join(folder(t), 'state.json');
  const add = async ({ n = 0 }) => {
    await new Promise(setImmediate);
    return { n: n + 1 };
  };
  await Promise.all(Array.from({ length: 20 }, () => updateState(file, add)));
  assert.equal(readStateSync(file).state.n, 20);
  assert.throws(() => updateStateSync(file, add), { name: 'TypeError', code: 'ERR_PIPESTATE_USAGE' });
  assert.equal(existsSync(`${file}.lock`), false);
});

test('an update whose lock is removed by a careless tool is done again from what that tool wrote', async (t) => {
  for (const update of twins.update) {
    const file = join(folder(t), 'state.json');
    writeStateSync(file, { n: 1 });
    const seen = [];
    const result = await update(file, ({ n }) => {
      seen.push(n);
      if (seen.length === 1) {
        robLock(file);
        writeFileSync(file, '{"n":10,"theirs":true}');
      }
      return { n: n + 1 };
    });
    assert.deepEqual(seen, [1, 10]);
    assert.equal(result.changed, true);
    assert.deepEqual(readStateSync(file).state, { n: 11, theirs: true });
  }
});

test('an update that loses its lock when the window has run out fails, with nothing written', async (t) => {
  for (const update of twins.update) {
    const file = join(folder(t), 'state.json');
    writeStateSync(file, { n: 1 });
    let asked = 0;
    const losing = update(file, () => {
      asked += 1;
      robLock(file);
      return { n: 2 };
    }, { lockTimeoutMs: 0 });
    await assert.rejects(losing, { code: 'ERR_PIPESTATE_LOCK_LOST', path: file });
    assert.equal(asked, 1);
    assert.deepEqual(readStateSync(file).state, { n: 1 });
  }
});

test('a lock is held over reads and writes, and released once', async (t) => {
  const file = join(folder(t), 'new/state.json');
  const lock = await lockState(file, { lockTimeoutMs: 1000 });
  assert.ok(lock instanceof StateLock);
  assert.equal(lock.path, file);
  assert.equal(typeof lock.waitedMs, 'number');
  assert.deepEqual(await lock.read(), { state: {}, text: '', rev: 'none' });
  const { rev } = await lock.write({ a: 1 }, { ifMatch: 'none', durability: 'fast' });
  assert.equal(lock.readSync().rev, rev);
  lock.writeSync('{"a":null}', { nulls: 'delete' });
  assert.equal(parseInt(readFileSync(`${file}.lock`, 'utf8'), 10), process.pid);
  assert.match(readFileSync(`${file}.lock`, 'utf8'), /"program":"node [^"]+"/);
  assert.throws(() => lockStateSync(file, { lockTimeoutMs: 0 }), { code: 'ERR_PIPESTATE_LOCK_TIMEOUT' });
  await lock.release();
  assert.equal(existsSync(`${file}.lock`), false);
  lock.releaseSync();
  await lock.release();
  assert.deepEqual(readStateSync(file).state, {});

  const again = lockStateSync(file);
  again.releaseSync();
  await again.release();
  const released = { name: 'TypeError', code: 'ERR_PIPESTATE_USAGE', message: /released/ };
  await assert.rejects(again.write({}), released);
  await assert.rejects(again.read(), released);
  assert.throws(() => again.writeSync({}), released);
  assert.throws(() => again.readSync(), released);
  for (const key of Reflect.ownKeys(shapes.lock)) assert.ok(key in again, String(key));
});

test('unawaited calls of one lock are done in their order', async (t) => {
  const file = join(folder(t), 'state.json');
  const lock = await lockState(file);
  const writes = Array.from({ length: 50 }, (_, n) => lock.write({ n }));
  const read = lock.read();
  const released = lock.release();
  const late = lock.write({ n: 'late' });
  await assert.rejects(late, { code: 'ERR_PIPESTATE_USAGE' });
  await Promise.all([...writes, released]);
  assert.equal((await read).state.n, 49);
});

test('the end of a block releases its lock', async (t) => {
  const file = join(folder(t), 'state.json');
  await lockState(file).then((lock) => lock[Symbol.asyncDispose]());
  assert.equal(existsSync(`${file}.lock`), false);
  lockStateSync(file)[Symbol.dispose]();
  assert.equal(existsSync(`${file}.lock`), false);
});

test('a lock that a careless tool has removed writes no more, and takes away nobody else’s', async (t) => {
  const file = join(folder(t), 'state.json');
  const lock = await lockState(file);
  robLock(file);
  const lost = { code: 'ERR_PIPESTATE_LOCK_LOST', exitCode: 2, path: file };
  await assert.rejects(lock.write({ a: 1 }), lost);
  writeFileSync(`${file}.lock`, `${process.pid}`);
  assert.throws(() => lock.writeSync({ a: 1 }), lost);
  await lock.release();
  assert.equal(readFileSync(`${file}.lock`, 'utf8'), `${process.pid}`);
  assert.equal(existsSync(file), false);
});

test('wrong arguments are a TypeError, and touch nothing', async (t) => {
  const file = join(folder(t), 'state.json');
  const circle = {};
  circle.circle = circle;
  const wrong = [
    [undefined, {}],
    [1, {}],
    ['', {}],
    ['a\0b', {}],
    [new URL('http://127.0.0.1/state.json'), {}],
    [file],
    [file, 1],
    [file, () => {}],
    [file, circle],
    [file, { big: 1n }],
    [file, { toJSON() {} }],
    [file, {}, null],
    [file, {}, 'replace'],
    [file, {}, { ifmatch: 'none' }],
    [file, {}, { replace: 1 }],
    [file, {}, { nulls: 'keep' }],
    [file, {}, { ifMatch: null }],
    [file, {}, { durability: true }],
    [file, {}, { lockTimeoutMs: -1 }],
    [file, {}, { lockTimeoutMs: NaN }],
    [file, {}, { lockTimeoutMs: '1' }],
    [file, {}, { signal: {} }],
    [file, {}, { strict: true }],
  ];
  const usage = { name: 'TypeError', code: 'ERR_PIPESTATE_USAGE', exitCode: 64 };
  for (const args of wrong) {
    for (const write of twins.write) await assert.rejects(write(...args), usage, String(args));
  }
  await assert.rejects(twins.write[1](file, {}, { signal: AbortSignal.abort() }), usage, 'no signal for what cannot wait');
  for (const read of twins.read) await assert.rejects(read(), usage);
  for (const validate of twins.validate) await assert.rejects(validate(file, { maxPhase: 1.5 }), usage);
  for (const lock of twins.lock) await assert.rejects(lock(file, { replace: true }), usage);
  for (const update of twins.update) await assert.rejects(update(file, {}), usage);
  const lock = lockStateSync(file);
  await assert.rejects(lock.write({}, { lockTimeoutMs: 1 }), usage);
  assert.throws(() => lock.writeSync(1), usage);
  lock.releaseSync();
  assert.throws(() => new StateLock(), usage);
  assert.equal(existsSync(file), false);
});

test('a PipestateError is an Error of its own class, and its stack leads to the caller', async (t) => {
  const file = join(folder(t), 'state.json');
  async function theCaller(write) {
    await write(file, '[');
  }
  for (const write of [writeState, (...args) => writeStateSync(...args)]) {
    const error = await theCaller(write).catch((thrown) => thrown);
    assert.ok(error instanceof PipestateError && error instanceof Error);
    assert.equal(error.name, 'PipestateError');
    assert.match(error.stack, /^PipestateError: the patch is not valid JSON/);
    assert.match(error.stack.split('\n')[1], /api\.test\.mjs/);
    assert.match(error.stack, /theCaller/);
  }
});

/** What plain writers do to a lock that they take for a dead one's. */
function robLock(file) {
  rmSync(`${file}.lock`);
}
