// That the ledger sees what it is there to see: a storm in which nothing breaks proves something only then.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { Broken, newState, readHolder } from './common.mjs';
import { Ledger } from './ledger.mjs';

const START = newState(64);

/** A ledger that has recorded `events`, and shown every `state` between them. */
function ledger(options, ...steps) {
  const ledger = new Ledger({ start: START, ...options });
  for (const step of steps) {
    if (step.event) ledger.record(step, 0);
    else ledger.look(JSON.stringify({ ...START, ...step }), step.time);
  }
  return ledger;
}

const trying = (id, number, stamp, more) => ({ event: 'try', writer: id, id, kind: 'counted', number, stamp, ...more });
const done = (id, number, stamp) => ({ event: 'done', writer: id, id, kind: 'counted', number, stamp, waited: 1 });
const wrote = (id, number, stamp, more) => [trying(id, number, stamp, more), done(id, number, stamp)];
const state = (stamp, counted, more) => {
  const total = Object.values(counted).reduce((sum, count) => sum + count, 0);
  return { stamp, counted, total, ...more };
};

const breaks = (message, work) => assert.throws(work, (error) => error instanceof Broken && message.test(error.message));

test('an orderly run breaks nothing', () => {
  const run = ledger(
    {},
    ...wrote('a', 1, 'a1', { from: 'start' }),
    state('a1', { a: 1 }),
    ...wrote('b', 1, 'b1', { from: 'a1' }),
    trying('a', 2, 'a2', { from: 'b1' }),
    { event: 'killed', id: 'a', how: 'SIGKILL' },
    { event: 'gone', id: 'a' },
    state('a2', { a: 2, b: 1 }),
  );
  run.end();
  assert.equal(run.counts.acknowledged, 2);
  assert.equal(run.counts.cutOff, 1);
});

test('a file that does not parse, an edit of what nobody writes, and a mixture of two versions are seen', () => {
  breaks(/does not parse/, () => new Ledger({ start: START }).look('{"total":'));
  breaks(/ballast/, () => ledger({}, { ballast: ['other'] }));
  breaks(/total is 2, and the counts add up to 1/, () => ledger({}, state('a1', { a: 1 }, { total: 2 })));
});

test('an acknowledged write that is not there is seen', () => {
  breaks(/counted.a is undefined, and 1 was acknowledged/, () =>
    ledger({}, ...wrote('a', 1, 'a1', { from: 'start' }), state('start', {})),
  );
});

test('a count that goes back is seen, acknowledged or not', () => {
  breaks(/counted.a was 2 and is 1/, () => ledger({}, state('x', { a: 2 }), state('y', { a: 1 })));
});

test('a write that nobody made is seen', () => {
  breaks(/counted.a is 2, and 1 were acknowledged and 0 cut off/, () =>
    ledger({}, ...wrote('a', 1, 'a1', { from: 'start' }), state('a2', { a: 2 })).end(),
  );
});

test('two writes made from one version are two holders', () => {
  const fork = [...wrote('a', 1, 'a1', { from: 'start' }), ...wrote('b', 1, 'b1', { from: 'start' })];
  breaks(/both acknowledged and made from start/, () => ledger({}, ...fork));
});

test('a witness of the living is a second holder, one of the dead is not', () => {
  const met = { event: 'met', id: 'a', other: 'b/1/2' };
  breaks(/which has it too/, () => ledger({}, met));
  ledger({}, { event: 'killed', id: 'b/1', how: 'SIGKILL' }, met);
});

test('two traced holds at one time are two holders', () => {
  const held = (id, from, to) => ({ event: 'held', id, from, to });
  breaks(/b and a both had the lock, for 0.5/, () => ledger({}, held('b', 1.5, 3), held('a', 1, 2)).end());
  ledger({}, held('b', 2, 3), held('a', 1, 2)).end();
});

test('a succession that takes too long is seen, unless the machine did not let us look', () => {
  const successor = (of, took, unseen) => ({ event: 'successor', of, took, unseen, id: 'a' });
  breaks(/1500 ms/, () => ledger({}, successor('pipestate', 1500, 0)));
  breaks(/3500 ms/, () => ledger({}, successor('foreign', 3500, 0)));
  ledger({}, successor('pipestate', 1500, 600), successor('foreign', 2500, 0));
});

test('what moves while a holder stands still is seen', () => {
  breaks(/stood still/, () => ledger({}, { event: 'stood still', id: 'a', duration: 9, same: false }));
});

test('a JavaScript writer whose lock is taken while it lives tells, and is believed', () => {
  const end = (lock) => [trying('a', 1, 'a1', { from: 'start' }), { ...done('a', 1, 'a1'), lock }];
  breaks(/found it overwritten/, () => ledger({ lossless: false }, ...end('overwritten')));
  breaks(/found it gone/, () => ledger({}, ...end('gone')));
});

const careless = { lossless: false };
const PIPESTATE = '7\n{"pipestate":1,"time":"2026-01-01T00:00:00.000Z"}\n';

test('with careless tools a fork is explained by a robbery, and without one it is two holders', () => {
  const fork = [
    ...wrote('a', 1, 'a1', { from: 'start', hold: '5\na/1\n' }),
    ...wrote('b', 1, 'b1', { from: 'start', hold: '6\nb/1\n' }),
    state('b1', { b: 1 }),
  ];
  const robbery = { lines: '5\na/1\n', own: false, time: 0 };
  assert.deepEqual(ledger(careless, ...fork).end([robbery]), {
    robbed: 1, fenced: 0, openInstant: 0, late: 0, madeLate: 0, ousted: 0, forks: 1,
    lost: { 'of a foreign tool by a foreign tool': 1 },
  });
  breaks(/two held/, () => ledger(careless, ...fork).end([]));
  breaks(/two held/, () => ledger(careless, ...fork).end([{ ...robbery, own: true }]));
});

test('pipestates that remove the locks of others when they release are seen', () => {
  const robbed = (id, from) => [
    trying(id, 1, `${id}1`, { from, hold: `5\n${id}/1\n` }),
    { ...done(id, 1, `${id}1`), lock: 'gone' },
  ];
  const run = (...ids) => {
    const steps = ids.flatMap((id, index) => robbed(id, index === 0 ? 'start' : `${ids[index - 1]}1`));
    const counts = Object.fromEntries(ids.map((id) => [id, 1]));
    return ledger(careless, ...steps, state(`${ids.at(-1)}1`, counts)).end([]);
  };
  assert.equal(run('a').ousted, 1);
  breaks(/removed 2 locks of living foreign tools/, () => run('a', 'b'));
});

test('an update that commits though its lock was removed while its function ran is a hole in the fence', () => {
  const update = (removed) =>
    ledger(
      careless,
      trying('a', 1, 'a1', { from: 'start', hold: PIPESTATE }),
      { event: 'fn ended', stamp: 'a1', time: 1000 },
      done('a', 1, 'a1'),
      state('a1', { a: 1 }),
    ).end([{ lines: PIPESTATE, own: false, time: removed }]);
  breaks(/the fence failed/, () => update(900));
  assert.equal(update(1001).openInstant, 1);
});

test('an update that never saw its lock has been robbed, and the lock that it saw has not', () => {
  const lock = '5\na/1\n';
  const run = (hold) =>
    ledger(
      careless,
      ...wrote('a', 1, 'a1', { from: 'start', hold: lock }),
      ...wrote('b', 1, 'b1', { from: 'start', hold: '6\nb/1\n' }),
      trying('c', 1, 'c1', { from: 'start', hold }),
      { event: 'gone', id: 'c' },
      state('b1', { b: 1 }),
    ).end([{ lines: lock, own: false, time: 0 }]);
  assert.equal(run(null).robbed, 2);
  breaks(/the fence failed/, () =>
    ledger(
      careless,
      ...wrote('c', 1, 'c1', { from: 'start', hold: null }),
      { event: 'fn ended', stamp: 'c1', time: 1 },
      state('c1', { c: 1 }),
    ).end([]),
  );
});

test('programs that commit long after their lock was removed are a hole in the fence', () => {
  const programs = (call) => {
    const tries = [1, 2, 3].map((pid) => trying(`p${pid}`, 1, `p${pid}`, { from: 'start', pid, time: 0, call }));
    const removals = [1, 2, 3].map((pid) => ({ lines: PIPESTATE.replace('7', pid), own: false, time: 100 }));
    const seen = [1, 2, 3].map((pid) => state(`p${pid}`, { [`p${pid}`]: 1 }, { time: 200 }));
    const ends = tries.map(({ id }) => ({ event: 'gone', id }));
    return ledger(careless, ...tries, ...seen, ...ends).end(removals);
  };
  breaks(/of 3 programs whose lock was removed, 3 committed later/, () => programs(undefined));
  assert.equal(programs('renameat').madeLate, 3);
});

test('a process id in a lock is nobody here when it belongs to another namespace', { skip: process.platform !== 'linux' }, (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pipestate-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const lock = path.join(folder, 'lock');
  const holder = (pidns) => {
    fs.writeFileSync(lock, `7\n${JSON.stringify({ pipestate: 1, pidns })}\n`);
    return readHolder(lock).pid;
  };
  const { ino } = fs.statSync('/proc/self/ns/pid');
  assert.equal(holder(ino), 7);
  assert.equal(holder(ino + 1), null);
});
