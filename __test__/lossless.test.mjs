// What JavaScript would lose on the way to the file and back (D2, D5).
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readStateSync, updateStateSync, validateStateSync, writeState, writeStateSync } from 'pipestate';
import { folder } from './support.mjs';

test('`__proto__` and its like are data, and reach no prototype', async (t) => {
  const file = join(folder(t), 'state.json');
  const patches = [
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}}}',
    JSON.parse('{"__proto__":{"polluted":1},"toString":{"valueOf":3}}'),
    Buffer.from('{"nested":{"__proto__":{"__proto__":{"polluted":4}}}}'),
  ];
  for (const patch of patches) await writeState(file, patch);
  const { state } = readStateSync(file);
  assert.equal({}.polluted, undefined);
  assert.equal(state.polluted, undefined);
  assert.deepEqual(Object.keys(state), ['__proto__', 'constructor', 'toString', 'nested']);
  assert.deepEqual(Object.getOwnPropertyDescriptor(state, '__proto__').value, { polluted: 1 });
  assert.equal(Object.getPrototypeOf(state), Object.prototype);
  updateStateSync(file, () => JSON.parse('{"__proto__":{"polluted":5}}'));
  validateStateSync(file);
  assert.equal({}.polluted, undefined);
  assert.match(readFileSync(file, 'utf8'), /"__proto__": \{\n {4}"polluted": 5\n {2}\}/);
});

test('lone surrogates are kept, however they come', async (t) => {
  const file = join(folder(t), 'state.json');
  for (const patch of ['{"a":"\ud83d","\udc00b":1}', { a: '\ud83d', '\udc00b': 1 }, '{"a":"\\ud83d","\\udc00b":1}']) {
    await writeState(file, patch, { replace: true });
    assert.equal(readFileSync(file, 'utf8'), '{\n  "a": "\\ud83d",\n  "\\udc00b": 1\n}\n');
    assert.deepEqual(readStateSync(file).state, { a: '\ud83d', '\udc00b': 1 });
  }
  // A pair is no lone surrogate, also beside one.
  writeStateSync(file, '{"a":"😀\ud83d😀"}', { replace: true });
  assert.equal(readStateSync(file).state.a, '😀\ud83d😀');
  assert.throws(() => writeStateSync(file, '{\ud83d}'), { code: 'ERR_PIPESTATE_INVALID' });
});

test('numbers keep their digits in `text`, and every untouched byte stays', async (t) => {
  const file = join(folder(t), 'state.json');
  const text = '{ "10":1e400,"2":1.0,\t"big":12345678901234567890123,\r\n"dup":1,"dup":2, "esc":"\\u0041\\/" }';
  writeFileSync(file, text);
  await writeState(file, '{"more":9007199254740993}');
  const read = readStateSync(file);
  assert.equal(read.text, text.replace(' }', ', "more":9007199254740993 }'));
  assert.deepEqual(Object.keys(read.state), ['2', '10', 'big', 'dup', 'esc', 'more']);
  await writeState(file, { more: null }, { nulls: 'delete' });
  assert.equal(readStateSync(file).text, text);
});

test('a patch is what it was when the call was made', async (t) => {
  const file = join(folder(t), 'state.json');
  const bytes = Buffer.from('{"a":"before"}');
  const object = { b: 'before' };
  const writes = [writeState(file, bytes), writeState(file, object)];
  bytes.write('after ', 6);
  object.b = 'after';
  await Promise.all(writes);
  assert.deepEqual(readStateSync(file).state, { a: 'before', b: 'before' });
});

test('bytes may come in any view, with a byte order mark in front', async (t) => {
  const file = join(folder(t), 'state.json');
  const { buffer } = new Uint8Array(Buffer.from('xx{"a":1}xx'));
  await writeState(file, new Uint8Array(buffer, 2, 7));
  await writeState(file, '\ufeff{"b":2}');
  writeStateSync(file, Buffer.from('\ufeff{"c":3}'));
  assert.deepEqual(readStateSync(file).state, { a: 1, b: 2, c: 3 });
});

test('a document of any depth', async (t) => {
  const file = join(folder(t), 'state.json');
  const deep = `{"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  await writeState(file, deep, { replace: true });
  await writeState(file, { a: 1 });
  let depth = 0;
  for (let value = readStateSync(file).state.deep; Array.isArray(value); [value] = value) depth += 1;
  assert.equal(depth, 100_000);
});
