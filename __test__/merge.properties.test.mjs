// The merge across the Node border, against a deep merge in plain JavaScript: thousands of random documents and patches.
// The seed of a failure is printed by fast-check; FC_SEED repeats it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { readStateSync, writeStateSync } from '../index.js';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pipestate-merge-'));
const file = path.join(folder, 'state.json');
test.after(() => fs.rmSync(folder, { recursive: true }));

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const isIndex = (key) => /^(0|[1-9][0-9]*)$/.test(key);

function set(target, key, value) {
  // Not by assignment, which would give `__proto__` its meaning.
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/** The rules M1 to M3; throws where an append would leave a gap. */
function merge(target, patch) {
  if (!isObject(patch)) return patch;
  const keys = Object.keys(patch);
  if (Array.isArray(target) && keys.every(isIndex)) {
    for (const key of keys.map(Number).sort((a, b) => a - b)) {
      if (key > target.length) throw new RangeError('gap');
      target[key] = merge(target[key], patch[key]);
    }
    return target;
  }
  if (!isObject(target)) return patch;
  for (const key of keys) set(target, key, Object.hasOwn(target, key) ? merge(target[key], patch[key]) : patch[key]);
  return target;
}

/** RFC 7396. */
function mergePatch(target, patch) {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? target : {};
  for (const key of Object.keys(patch)) {
    if (patch[key] === null) delete result[key];
    else set(result, key, mergePatch(Object.hasOwn(result, key) ? result[key] : undefined, patch[key]));
  }
  return result;
}

const key = fc.oneof(
  fc.constantFrom('a', 'b', 'phases', 'status', '0', '1', '2', '01', '', '__proto__', 'constructor', 'é', '\ud83d', '"\\\n'),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.constant(null), fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string({ unit: 'binary' })),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => {
    const object = {};
    entries.forEach(([name, member]) => set(object, name, member));
    return object;
  }),
}));
const object = value.filter(isObject);
const indent = fc.constantFrom(undefined, 1, 2, 4, '\t');
// What no JavaScript number holds: it must come through untouched.
const SENTINEL = '"\u0000sentinel": [12345678901234567890.10, 1.0, 1e400, "\\ud83d\\u0041"]';

function check(nulls, oracle) {
  return (before, patch, space) => {
    const text = JSON.stringify(before, null, space);
    const empty = Object.keys(before).length === 0;
    const sentinel = SENTINEL.replace('\u0000', '\\u0000');
    fs.writeFileSync(file, empty ? `{${sentinel}}` : `{${sentinel},${text.slice(1)}`);
    let expected;
    try {
      expected = oracle(JSON.parse(fs.readFileSync(file, 'utf8')), JSON.parse(JSON.stringify(patch)));
    } catch (error) {
      assert.ok(error instanceof RangeError);
      const unchanged = fs.readFileSync(file, 'utf8');
      assert.throws(() => writeStateSync(file, patch, { nulls, durability: 'fast' }), { code: 'ERR_PIPESTATE_REFUSED', exitCode: 1 });
      assert.equal(fs.readFileSync(file, 'utf8'), unchanged);
      return;
    }
    writeStateSync(file, patch, { nulls, durability: 'fast' });
    const after = readStateSync(file);
    assert.deepEqual(after.state, expected);
    assert.ok(after.text.startsWith(`{${sentinel}`), after.text);
    assert.equal(writeStateSync(file, patch, { nulls, durability: 'fast' }).changed, false, 'again it changes nothing');
    assert.equal(Object.getPrototypeOf(after.state), Object.prototype);
  };
}

const parameters = { numRuns: 2000, ...(process.env.FC_SEED && { seed: Number(process.env.FC_SEED) }) };

test('a merge equals the deep merge in JavaScript and leaves other bytes alone', () => {
  fc.assert(fc.property(object, object, indent, check('store', merge)), parameters);
});

test('with nulls that delete it equals RFC 7396', () => {
  fc.assert(fc.property(object, object, indent, check('delete', mergePatch)), parameters);
});

test('a replaced document reads back as it is', () => {
  fc.assert(
    fc.property(object, (document) => {
      writeStateSync(file, document, { replace: true, durability: 'fast' });
      assert.deepEqual(readStateSync(file).state, JSON.parse(JSON.stringify(document)));
    }),
    parameters,
  );
});
