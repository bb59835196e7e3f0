// updateState against tools that take no notice of the lock (L11).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { updateState, updateStateSync } from '../index.js';

/** An update of `{"n":1}` that has `meanwhile` done while its function runs for the first time. */
function counting(meanwhile) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pipestate-update-'));
  const file = path.join(folder, 'state.json');
  fs.writeFileSync(file, '{"n":1}\n');
  const given = [];
  const count = ({ n }) => {
    given.push(n);
    if (given.length === 1) meanwhile(file);
    return { n: n + 1 };
  };
  const check = ({ changed }) => {
    assert.deepEqual(given, [1, 7], 'the function runs again, on what is there now');
    assert.equal(changed, true);
    assert.equal(fs.readFileSync(file, 'utf8'), '{"n":8}\n');
    assert.deepEqual(fs.readdirSync(folder), ['state.json']);
    fs.rmSync(folder, { recursive: true });
  };
  return { file, count, check };
}

// A careless tool that was robbed of its lock by another one writes while we have ours, as `npm run torture` showed. The
// patch, made from what had been there before, was merged onto that: a counter fell behind what it counts.
const robbed = (file) => fs.writeFileSync(file, '{"n":7}\n');

function reclaimer(file) {
  fs.unlinkSync(`${file}.lock`);
  robbed(file);
}

for (const [what, meanwhile] of Object.entries({ writes: robbed, 'removes the lock and writes': reclaimer })) {
  test(`an update starts over when another tool ${what} meanwhile`, async () => {
    const { file, count, check } = counting(meanwhile);
    check(await updateState(file, async (state) => count(state)));
  });

  test(`a synchronous one too, when another tool ${what} meanwhile`, () => {
    const { file, count, check } = counting(meanwhile);
    check(updateStateSync(file, count));
  });
}

test('an update with ifMatch is refused when another tool writes meanwhile', async () => {
  const { file } = counting(robbed);
  const { rev } = await updateState(file, () => ({ n: 2 }));
  const update = updateState(file, () => (robbed(file), { n: 3 }), { ifMatch: rev });
  await assert.rejects(update, { code: 'ERR_PIPESTATE_CONFLICT', exitCode: 4 });
  assert.equal(fs.readFileSync(file, 'utf8'), '{"n":7}\n');
  fs.rmSync(path.dirname(file), { recursive: true });
});
