// Promises that wait: in order, without threads, without holding up anything else, and until they are told to stop.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { existsSync, promises, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { lockState, lockStateSync, readState, readStateSync, updateState, writeState, writeStateSync } from 'pipestate';
import { folder, holder } from './support.mjs';

test('100 unawaited writes keep 100 keys, and the last one wins', async (t) => {
  const file = join(folder(t), 'state.json');
  const writes = Array.from({ length: 100 }, (_, n) => writeState(file, { [`key${n}`]: n, last: n }));
  await Promise.all(writes);
  const { state } = readStateSync(file);
  assert.equal(Object.keys(state).length, 101);
  assert.equal(state.last, 99);
});

test('two spellings of one file, 100 unawaited writes each, keep 200 keys', async (t) => {
  const path = folder(t);
  const write = (spelling, n) => writeState(spelling, { [`${spelling}${n}`]: n }, { durability: 'fast', lockTimeoutMs: 60_000 });
  const spellings = [join(path, 'state.json'), `${path}/../${path.split('/').pop()}/./state.json`];
  await Promise.all(spellings.flatMap((spelling) => Array.from({ length: 100 }, (_, n) => write(spelling, n))));
  assert.equal(Object.keys(readStateSync(spellings[0]).state).length, 200);
});

test('files with names alike, written together, do not mix', async (t) => {
  const path = folder(t);
  const names = ['state.json', 'state.json.bak', 'state.json.tmp', 'state.json.locked'];
  const write = (name, n) => writeState(join(path, name), { name, [n]: n }, { durability: 'fast' });
  await Promise.all(Array.from({ length: 40 }, (_, n) => names.map((name) => write(name, n))).flat());
  assert.deepEqual(readdirSync(path).sort(), [...names].sort());
  for (const name of names) {
    const { state } = readStateSync(join(path, name));
    assert.deepEqual([state.name, Object.keys(state).length], [name, 41]);
  }
});

test('100 writes that wait beside a held lock hold up neither the holder nor the file system', async (t) => {
  const path = folder(t);
  const file = join(path, 'state.json');
  const lock = await lockState(file);
  const waiting = Array.from({ length: 100 }, (_, n) => writeState(file, { [`key${n}`]: n }, { lockTimeoutMs: 60_000 }));
  const elsewhere = Array.from({ length: 30 }, (_, n) => writeState(join(path, `other${n}`), { n }));
  await lock.write({ holder: true });
  assert.deepEqual((await lock.read()).state, { holder: true });
  await Promise.all(elsewhere);
  await promises.readFile(file, 'utf8');
  assert.deepEqual((await readState(file)).state, { holder: true });
  await lock.release();
  const results = await Promise.all(waiting);
  assert.ok(results.every(({ changed }) => changed));
  assert.equal(Object.keys(readStateSync(file).state).length, 101);
});

/** What Linux knows about this process. */
function resources() {
  const threads = Number(/Threads:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  return { threads, descriptors: readdirSync('/proc/self/fd').length };
}

test('1000 files with held locks take few threads and few descriptors', { skip: process.platform !== 'linux' }, async (t) => {
  const path = folder(t);
  const files = Array.from({ length: 1000 }, (_, n) => join(path, `${n}.json`));
  for (const file of files) writeFileSync(`${file}.lock`, String(process.pid)); // a foreign tool in this process
  const before = resources();
  const writes = files.map((file, n) => writeState(file, { n }, { durability: 'fast', lockTimeoutMs: 60_000 }));
  await writeState(join(path, 'free.json'), {}, { durability: 'fast', lockTimeoutMs: 60_000 });
  const during = resources();
  // When all have made their first attempts, which are many at once. One that spins would use a core, and never stop.
  let share = 1;
  for (let tries = 0; share >= 0.6 && tries < 40; tries += 1) {
    const [cpu, since] = [process.cpuUsage(), performance.now()];
    await setTimeout(500);
    const { user, system } = process.cpuUsage(cpu);
    share = (user + system) / 1000 / (performance.now() - since);
  }
  assert.ok(share < 0.6, `those who wait use ${share} of a core`);
  assert.ok(during.threads - before.threads <= 5, JSON.stringify({ before, during }));
  assert.ok(during.descriptors - before.descriptors <= 300, JSON.stringify({ before, during }));
  for (const file of files) rmSync(`${file}.lock`);
  await Promise.all(writes);
  assert.equal(readdirSync(path).filter((name) => !name.endsWith('.json')).length, 0);
});

test('another process’s release is noticed at once', async (t) => {
  const file = join(folder(t), 'state.json');
  for (let round = 0; round < 5; round += 1) {
    const other = await holder(t, file);
    const waiting = writeState(file, { round }, { lockTimeoutMs: 60_000 });
    const { waitedMs } = await Promise.all([waiting, other.release()]).then(([written]) => written);
    assert.ok(waitedMs < 5000, `${waitedMs} ms`);
    assert.equal(readStateSync(file).state.round, round);
  }
});

test('a killed holder’s lock is taken over within a second', async (t) => {
  const file = join(folder(t), 'state.json');
  const other = await holder(t, file);
  const waiting = writeState(file, { a: 1 });
  other.kill('SIGKILL');
  await other.end();
  const since = performance.now();
  await waiting;
  assert.ok(performance.now() - since < 1000);
});

test('the event loop stays free while large files are written', async (t) => {
  const file = join(folder(t), 'state.json');
  writeFileSync(file, JSON.stringify({ n: 0, fill: Array.from({ length: 10_000 }, (_, n) => [n, 'x'.repeat(1000)]) }));
  const before = performance.eventLoopUtilization();
  for (let n = 1; n <= 20; n += 1) await writeState(file, { n }, { durability: 'fast' });
  const { utilization } = performance.eventLoopUtilization(before);
  assert.ok(utilization < 0.2, `busy for ${utilization} of the time`);
  assert.match(readFileSync(file, 'utf8'), /^\{"n":20,/);
});

test('an aborted signal: nothing is done, and the reason comes back', async (t) => {
  const file = join(folder(t), 'new/state.json');
  const reason = new Error('no longer wanted');
  const signal = AbortSignal.abort(reason);
  await assert.rejects(writeState(file, {}, { signal }), reason);
  await assert.rejects(lockState(file, { signal }), reason);
  await assert.rejects(updateState(file, () => assert.fail('asked'), { signal }), reason);
  await assert.rejects(writeState(file, {}, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  assert.equal(existsSync(join(file, '..')), false);
});

test('an abort while waiting ends the wait of all that share the signal, and of no others', async (t) => {
  const file = join(folder(t), 'state.json');
  const lock = await lockState(file);
  const controller = new AbortController();
  const { signal } = controller;
  const options = { signal, lockTimeoutMs: 60_000 };
  const aborted = [
    ...Array.from({ length: 30 }, (_, n) => writeState(file, { [n]: n }, options)),
    lockState(file, options),
    updateState(file, () => assert.fail('asked'), options),
  ];
  const other = writeState(file, { other: true }, { lockTimeoutMs: 60_000 });
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  // One more turn of the line: the first has found the lock busy by then.
  await lock.read();
  const reason = { any: 'value' };
  controller.abort(reason);
  for (const { status, reason: got } of await Promise.allSettled(aborted)) {
    assert.deepEqual([status, got], ['rejected', reason]);
    assert.equal(got, reason);
  }
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await lock.release();
  await other;
  assert.deepEqual(readStateSync(file).state, { other: true });
});

test('an abort after the write is done changes nothing, and leaves no listener', async (t) => {
  const file = join(folder(t), 'state.json');
  const controller = new AbortController();
  assert.equal((await writeState(file, { a: 1 }, { signal: controller.signal })).changed, true);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  controller.abort();
  assert.deepEqual(readStateSync(file).state, { a: 1 });
});

test('an abort in the middle of writes: each is either done or not there', async (t) => {
  const file = join(folder(t), 'state.json');
  for (let round = 0; round < 20; round += 1) {
    const controller = new AbortController();
    const writes = Array.from({ length: 10 }, (_, n) => writeState(file, { [`${round}-${n}`]: n }, { signal: controller.signal }));
    await setTimeout(round / 2);
    controller.abort();
    const settled = await Promise.allSettled(writes);
    const { state } = readStateSync(file);
    settled.forEach(({ status }, n) => assert.equal(`${round}-${n}` in state, status === 'fulfilled'));
  }
  assert.deepEqual(readdirSync(join(file, '..')).filter((name) => name !== 'state.json'), []);
});

test('an update that is aborted while its function runs writes nothing', async (t) => {
  const file = join(folder(t), 'state.json');
  const controller = new AbortController();
  const update = updateState(file, async () => {
    controller.abort();
    return { a: 1 };
  }, { signal: controller.signal });
  await assert.rejects(update, { name: 'AbortError' });
  assert.equal(existsSync(file), false);
  assert.equal(existsSync(`${file}.lock`), false);
});

test('a synchronous write comes after what this process writes already', async (t) => {
  const file = join(folder(t), 'state.json');
  const writes = Array.from({ length: 10 }, (_, n) => writeState(file, { [n]: n }, { durability: 'fast' }));
  writeStateSync(file, { sync: true }, { lockTimeoutMs: 60_000 });
  lockStateSync(file, { lockTimeoutMs: 60_000 }).releaseSync();
  await Promise.all(writes);
  assert.equal(Object.keys(readStateSync(file).state).length, 11);
});
