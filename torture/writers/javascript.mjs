// A writer that knows nothing of pipestate: it creates the lock exclusively, writes its process id into it and waits
// while it is there.
//
// A careless one also removes the lock of a process that has ended, and takes its time between looking and removing, so
// that the lock may be somebody else's by then. It removes by renaming the lock into the folder `removed`, which for
// all others is the same as unlinking, and leaves there what was removed by whom: evidence that no kill can tear.
import fs from 'node:fs';
import { Random, countedPatch, pause, now, plainPatch, reporter } from '../common.mjs';
import { Witness } from '../witness.mjs';
import { acquire, fateOf, isAlive, replace } from './foreign-lock.mjs';

const { file, log, stop, writer, id, seed, careless, removed, witness: witnessPath } = JSON.parse(process.argv[2]);
const lock = `${file}.lock`;
const random = new Random(seed);
const report = reporter(log);
const parent = process.ppid;
const witness = careless ? null : new Witness(witnessPath, id, report);
let turn = 0;

/** The second line names the hold, so that the ledger can tell whose lock was removed. Any tool reads the first. */
const ownLines = () => (careless ? `${process.pid}\n${id}/${turn}\n` : String(process.pid));

function remove() {
  if (!careless) return fs.unlinkSync(lock);
  try {
    fs.renameSync(lock, `${removed}/${id.replaceAll('/', '-')}-${turn}-${Math.floor(now() * 1e3)}`);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

function reclaim() {
  let pid;
  try {
    pid = parseInt(fs.readFileSync(lock, 'utf8'), 10);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if (pid > 0 && !isAlive(pid)) {
    pause(random.between(0, 8));
    remove();
  }
}

function meanwhile() {
  if (careless) reclaim();
  if (process.ppid !== parent) process.exit(1);
}

function read() {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

let plain = read().plain[writer] ?? 0;
while (!fs.existsSync(stop) && process.ppid === parent) {
  turn += 1;
  const started = now();
  const taken = acquire(lock, ownLines(), meanwhile);
  const waited = now() - started;
  witness?.enter();
  const state = read();
  const stamp = `${id}/${turn}`;
  const isCounted = careless || random.chance(0.7);
  const patch = isCounted ? countedPatch(state, writer, stamp) : plainPatch(writer, (plain += 1));
  const number = isCounted ? patch.counted[writer] : plain;
  const about = { writer, id, kind: isCounted ? 'counted' : 'plain', number, stamp };
  report({ event: 'try', from: state.stamp, hold: careless ? ownLines() : undefined, ...about });
  Object.assign(state.counted, patch.counted);
  Object.assign(state.plain, patch.plain);
  state.total = patch.total ?? state.total;
  state.stamp = patch.stamp ?? state.stamp;
  replace(file, state);
  witness?.leave();
  const fate = fateOf(lock, ownLines(), taken);
  remove();
  report({ event: 'done', foreign: true, waited, lock: fate, ...about });
  pause(random.between(0, 25));
}
