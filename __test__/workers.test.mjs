// Workers: many at once, ended at any moment, and as the only ones that load the addon.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { lockState, readStateSync, writeState, writeStateSync } from 'pipestate';
import { fixture, folder, run } from './support.mjs';

function startWorker(t, task, file) {
  const worker = new Worker(fixture('worker.mjs'), { workerData: { task, file } });
  t.after(() => worker.terminate());
  return worker;
}

/** The next message is `text`. */
async function says(worker, text) {
  const [message] = await once(worker, 'message');
  assert.equal(message, text);
}

test('8 workers x 50 writes keep 400 keys', async (t) => {
  const file = join(folder(t), 'state.json');
  const workers = Array.from({ length: 8 }, () => startWorker(t, 'keys', file));
  await Promise.all(workers.map((worker) => says(worker, 'done')));
  assert.equal(Object.keys(readStateSync(file).state).length, 400);
  assert.deepEqual(readdirSync(join(file, '..')), ['state.json']);
});

test('a worker that is terminated while it waits writes nothing, and others go on', async (t) => {
  const file = join(folder(t), 'state.json');
  const lock = await lockState(file);
  const worker = startWorker(t, 'wait', file);
  await says(worker, 'waiting');
  const ours = writeState(file, { ours: true }, { lockTimeoutMs: 60_000 });
  await worker.terminate();
  await lock.release();
  await ours;
  assert.deepEqual(readStateSync(file).state, { ours: true });
});

test('a worker that is terminated while it holds a lock has released it', async (t) => {
  const file = join(folder(t), 'state.json');
  const worker = startWorker(t, 'hold', file);
  await says(worker, 'held');
  assert.ok(existsSync(`${file}.lock`));
  await worker.terminate();
  assert.equal(existsSync(`${file}.lock`), false);
  writeStateSync(file, { a: 1 }, { lockTimeoutMs: 0 });
});

test('workers that are terminated in the middle of writes leave a whole file and nothing beside it', async (t) => {
  const file = join(folder(t), 'state.json');
  for (let round = 0; round < 10; round += 1) {
    const worker = startWorker(t, 'storm', file);
    await says(worker, 'writing');
    while (!existsSync(file) || readStateSync(file).state.n < round) await new Promise(setImmediate);
    await worker.terminate();
    assert.deepEqual(readdirSync(join(file, '..')), ['state.json']);
    JSON.parse(readFileSync(file, 'utf8'));
    writeStateSync(file, { n: 0, round }, { lockTimeoutMs: 0 });
  }
});

test('only workers load the addon', async (t) => {
  const file = join(folder(t), 'state.json');
  const { code, stderr } = await run(process.execPath, [fixture('only-workers.mjs'), file]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(Object.keys(readStateSync(file).state).length, 150);
});

test('main thread and workers load it, each twice', async (t) => {
  const file = join(folder(t), 'state.json');
  const { code, stderr } = await run(process.execPath, [fixture('loaded-twice.cjs'), file]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(Object.keys(readStateSync(file).state).length, 120);
});
