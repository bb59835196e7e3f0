// Every error code, with the fields that it has (X4).
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { getSystemErrorName } from 'node:util';
import { lockStateSync, PipestateError, readState, readStateSync, writeState, writeStateSync } from 'pipestate';
import { folder, holder, root } from './support.mjs';
import * as shapes from './types/shapes.mjs';

/** What the call fails with, as plain fields; the same now and later. */
async function failure(now, later) {
  const errors = [];
  for (const call of [async () => now(), later]) {
    const error = await call().then(() => assert.fail('it did not fail'), (thrown) => thrown);
    assert.ok(error instanceof PipestateError, error.stack);
    assert.match(error.message, /^[^\n]+$/);
    for (const key of Object.keys(error)) assert.ok(key in shapes.errorFields, `${key} is not in the typings`);
    errors.push({ ...error, message: error.message });
  }
  const [first, second] = errors;
  assert.deepEqual({ ...second, holder: undefined, message: '' }, { ...first, holder: undefined, message: '' });
  return first;
}

const failedWrite = (...args) => failure(() => writeStateSync(...args), () => writeState(...args));
const failedRead = (file) => failure(() => readStateSync(file), () => readState(file));

test('the typings name all codes of the core', () => {
  const source = readFileSync(join(root, 'src/error.rs'), 'utf8');
  const inNode = new Set(source.match(/ERR_PIPESTATE_\w+/g));
  // A TypeError, the signal's own reason, and a signal, which the addon does not handle.
  for (const code of ['USAGE', 'ABORTED', 'INTERRUPTED']) assert.ok(inNode.delete(`ERR_PIPESTATE_${code}`));
  assert.deepEqual([...inNode].sort(), Object.keys(shapes.codes).sort());
});

test('INVALID: a patch that is no JSON says where, one that is no object says what', async (t) => {
  const file = join(folder(t), 'state.json');
  const { message, ...fields } = await failedWrite(file, '{"a":1,\n "ü": nul}');
  assert.deepEqual(fields, { code: 'ERR_PIPESTATE_INVALID', exitCode: 1, line: 2, column: 7, offset: 15 });
  assert.match(message, /the patch is not valid JSON/);
  for (const patch of ['[1]', [1], '1', 'null', null, Buffer.from('"text"')]) {
    const { message, ...fields } = await failedWrite(file, patch);
    assert.deepEqual(fields, { code: 'ERR_PIPESTATE_INVALID', exitCode: 1 });
    assert.match(message, /a state document is a JSON object/);
  }
  assert.equal((await failedWrite(file, '')).code, 'ERR_PIPESTATE_INVALID');
  assert.equal((await failedWrite(file, Buffer.from([0x7b, 0xff, 0x7d]))).code, 'ERR_PIPESTATE_INVALID');
  const large = await failedWrite(file, `{"a":"${'x'.repeat(1 << 20)}"`);
  assert.deepEqual([large.code, large.offset], ['ERR_PIPESTATE_INVALID', (1 << 20) + 7]);
});

test('REFUSED: the field is named', async (t) => {
  const file = join(folder(t), 'state.json');
  writeFileSync(file, '{"phases":[{}],"a":{"b/c":1,"b/c":2}}');
  const { message, ...fields } = await failedWrite(file, { phases: { 2: {} } });
  assert.deepEqual(fields, { code: 'ERR_PIPESTATE_REFUSED', exitCode: 1, path: file, pointer: '/phases/2' });
  assert.ok(message.includes('/phases/2') && message.includes(file));
  assert.equal((await failedWrite(file, { a: { 'b/c': 3 } })).pointer, '/a/b~1c');
  assert.equal(readFileSync(file, 'utf8'), '{"phases":[{}],"a":{"b/c":1,"b/c":2}}');
});

test('LOCK_TIMEOUT: the holder is named, and 0 tries once', async (t) => {
  const file = join(folder(t), 'state.json');
  const other = await holder(t, file);
  for (const lockTimeoutMs of [0, 50]) {
    const { message, holder, ...fields } = await failedWrite(file, {}, { lockTimeoutMs });
    assert.deepEqual(fields, { code: 'ERR_PIPESTATE_LOCK_TIMEOUT', exitCode: 2, path: file });
    assert.deepEqual(Object.keys(holder), Object.keys(shapes.holder));
    assert.deepEqual([holder.pid, holder.program, holder.alive], [other.pid, 'node holder.mjs', true]);
    assert.ok(message.includes(`process ${other.pid} (node holder.mjs)`) && message.includes('retry once'), message);
  }
  await other.release();
  writeFileSync(`${file}.lock`, String(process.pid));
  const foreign = await failedWrite(file, {}, { lockTimeoutMs: 0 });
  assert.deepEqual([foreign.holder.pid, foreign.holder.program, foreign.holder.host], [process.pid, null, null]);
});

test('LOCK_TIMEOUT: those behind the first in line are told of the same holder, in time', async (t) => {
  const file = join(folder(t), 'state.json');
  const other = await holder(t, file);
  const started = performance.now();
  const writes = Array.from({ length: 20 }, () => writeState(file, {}, { lockTimeoutMs: 300 }));
  for (const { reason } of await Promise.allSettled(writes)) {
    assert.deepEqual([reason.code, reason.holder.pid], ['ERR_PIPESTATE_LOCK_TIMEOUT', other.pid]);
  }
  const took = performance.now() - started;
  assert.ok(took >= 300 && took < 1500, `${took} ms`);
});

test('LOCK_LOST is in api.test.mjs; CONFLICT tells the revision of the file', async (t) => {
  const file = join(folder(t), 'state.json');
  const { rev } = writeStateSync(file, { a: 1 });
  const { message, ...fields } = await failedWrite(file, { a: 2 }, { ifMatch: 'none' });
  assert.deepEqual(fields, { code: 'ERR_PIPESTATE_CONFLICT', exitCode: 4, path: file, rev });
  assert.ok(message.includes(rev));
  assert.equal((await failedWrite(join(folder(t), 'none'), {}, { ifMatch: rev })).rev, 'none');
});

test('CORRUPT: what does not parse is kept, and only replace writes over it', async (t) => {
  const file = join(folder(t), 'state.json');
  for (const text of ['{"a":1', '', 'null', '[]', '\ufeff{}', '{"a":1}}']) {
    writeFileSync(file, text);
    for (const failed of [failedWrite(file, { b: 1 }), failedRead(file)]) {
      const { message, ...fields } = await failed;
      assert.deepEqual(fields, { code: 'ERR_PIPESTATE_CORRUPT', exitCode: 3, path: file });
      assert.match(message, /corrupt/);
    }
    assert.equal(readFileSync(file, 'utf8'), text);
  }
  assert.equal(writeStateSync(file, { a: 1 }, { replace: true }).created, false);
});

test('IO: system call and number as in Node’s own errors', async (t) => {
  const path = folder(t);
  writeFileSync(join(path, 'file'), '');
  const inFile = join(path, 'file/state.json');
  const { message, ...fields } = await failedWrite(inFile, {});
  assert.deepEqual(fields, { ...fields, code: 'ERR_PIPESTATE_IO', exitCode: 3, path: inFile });
  assert.equal(getSystemErrorName(fields.errno), 'ENOTDIR');
  assert.equal(typeof fields.syscall, 'string');
  assert.ok(message.includes(inFile));
  symlinkSync('loop', join(path, 'loop'));
  assert.equal(getSystemErrorName((await failedRead(join(path, 'loop'))).errno), 'ELOOP');
  mkdirSync(join(path, 'folder'));
  assert.equal((await failedRead(join(path, 'folder'))).code, 'ERR_PIPESTATE_IO');
});

test('IO: state is not kept below the plugin’s own folder', async (t) => {
  const file = join(folder(t), 'state.json');
  process.env.CLAUDE_PLUGIN_ROOT = join(file, '..');
  t.after(() => delete process.env.CLAUDE_PLUGIN_ROOT);
  assert.equal((await failedWrite(file, {})).code, 'ERR_PIPESTATE_IO');
});

test('the window is the environment’s unless the call has its own', async (t) => {
  const file = join(folder(t), 'state.json');
  process.env.PIPESTATE_LOCK_TIMEOUT_MS = '0';
  t.after(() => delete process.env.PIPESTATE_LOCK_TIMEOUT_MS);
  const lock = lockStateSync(file);
  assert.equal((await failedWrite(file, {})).code, 'ERR_PIPESTATE_LOCK_TIMEOUT');
  const waiting = writeState(file, { a: 1 }, { lockTimeoutMs: 10_000 });
  await lock.release();
  assert.equal((await waiting).changed, true);
  process.env.PIPESTATE_LOCK_TIMEOUT_MS = 'soon';
  await assert.rejects(writeState(file, {}), { name: 'TypeError', message: /PIPESTATE_LOCK_TIMEOUT_MS/ });
});
