// Writers in the worker threads of one process, through every door of the addon. A worker may be terminated in the
// middle of a write, as a server does with its workers, and another takes its place.
import fs from 'node:fs';
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { lockState, readState, updateState, writeState } from '../../index.js';
import { Random, countedPatch, now, plainPatch, readHolder, reporter, sleep } from '../common.mjs';
import { Witness } from '../witness.mjs';

/** How long a call waits for the lock unless it is told otherwise (L8), in milliseconds. */
const WINDOW = 10_000;

if (isMainThread) await supervise(JSON.parse(process.argv[2]));
else await write(workerData);

async function supervise(options) {
  const { id, log, seed, stop, writers, terminationsPerSecond } = options;
  const random = new Random(seed);
  const report = reporter(log);
  const parent = process.ppid;
  const isStopping = () => fs.existsSync(stop);
  let lives = 0;

  async function keepOneAtWork(writer) {
    while (!isStopping()) {
      const worker = { id: `${id}/${writer}/${(lives += 1)}` };
      const workerData = { ...options, writer, id: worker.id, seed: `${seed}/${worker.id}` };
      worker.thread = new Worker(new URL(import.meta.url), { workerData });
      worker.ended = new Promise((resolve) => worker.thread.once('exit', resolve));
      worker.thread.once('error', (error) => report({ event: 'failed', id: worker.id, how: error.stack }));
      workers.set(writer, worker);
      await worker.ended;
      workers.delete(writer);
      if (worker.terminated) report({ event: 'gone', id: worker.id });
    }
  }

  async function terminateNowAndThen() {
    while (!isStopping()) {
      await sleep(random.interval(terminationsPerSecond));
      const worker = workers.size > 0 && random.pick([...workers.values()]);
      if (!worker || worker.terminated) continue;
      worker.terminated = true;
      report({ event: 'killed', id: worker.id, how: 'terminate' });
      await worker.thread.terminate();
    }
  }

  const workers = new Map();
  setInterval(() => process.ppid === parent || process.exit(1), 1000).unref();
  await Promise.all([...writers.map(keepOneAtWork), ...(terminationsPerSecond ? [terminateNowAndThen()] : [])]);
}

async function write({ file, log, stop, writer, id, seed, careless, witness: witnessPath }) {
  const random = new Random(seed);
  const report = reporter(log);
  const witness = careless ? null : new Witness(witnessPath, id, report);
  let plain = (await readState(file)).state.plain[writer] ?? 0;
  let turn = 0;
  let about;

  const options = () => ({ durability: random.chance(0.7) ? 'fast' : 'durable' });

  /** What stands in the lock that this process has; `null` when somebody has removed it already. */
  function ownLines() {
    const holder = readHolder(`${file}.lock`);
    return holder?.isPipestate && holder.pid === process.pid ? holder.lines : null;
  }

  /** What to write next, as the log has it from here on. */
  function step(state, more) {
    turn += 1;
    const stamp = `${id}/${turn}`;
    const isCounted = state !== undefined;
    const patch = isCounted ? countedPatch(state, writer, stamp) : plainPatch(writer, (plain += 1));
    const number = isCounted ? patch.counted[writer] : plain;
    about = { writer, id, kind: isCounted ? 'counted' : 'plain', number, stamp };
    report({ event: 'try', from: state?.stamp, ...more, ...about });
    return patch;
  }

  const doors = {
    async plainWrite() {
      return writeState(file, step(), options());
    },
    async compareAndWrite() {
      const { state, rev } = await readState(file);
      return writeState(file, step(state), { ...options(), ifMatch: rev });
    },
    async update() {
      let runs = 0;
      const written = await updateState(
        file,
        async (state) => {
          if ((runs += 1) > 1) report({ event: 'restarted', ...about });
          const hold = careless ? ownLines() : undefined;
          witness?.enter();
          const patch = step(state, { hold });
          await sleep(careless ? random.between(0, 15) : random.between(0, 3));
          witness?.leave();
          if (careless) report({ event: 'fn ended', time: Date.now(), ...about });
          return patch;
        },
        options(),
      );
      return written;
    },
    async hold() {
      const lock = await lockState(file);
      try {
        witness?.enter();
        const { state } = await lock.read();
        const written = await lock.write(step(state), options());
        witness?.leave();
        return written;
      } finally {
        await lock.release();
      }
    },
  };

  const names = careless ? ['update'] : Object.keys(doors);
  while (!fs.existsSync(stop)) {
    about = { writer, id };
    const started = now();
    try {
      const { waitedMs } = await doors[random.pick(names)]();
      report({ event: 'done', waited: waitedMs, ...about });
    } catch (error) {
      if (error.code === 'ERR_PIPESTATE_CONFLICT') report({ event: 'conflict', ...about });
      else if (error.code === 'ERR_PIPESTATE_LOCK_LOST') report({ event: 'lost', ...about });
      else if (error.code === 'ERR_PIPESTATE_LOCK_TIMEOUT') {
        report({ event: 'timeout', window: WINDOW, took: now() - started, stderr: error.message, ...about });
      }
      else report({ event: 'failed', how: error.stack, ...about });
    }
    await sleep(random.between(0, 25));
  }
}
