// What the writers were told, against what a reader sees. Pure: events and texts come in, a `Broken` is thrown.
//
// Checked at every look, in every run:
// - the file parses, and what nobody writes (the ballast) is as it was;
// - the total is the sum of the counts, because every write is made from one version of the document.
//
// Also, in runs where every party keeps the rules (`lossless`):
// - no count ever goes back, and every write that was acknowledged before the look is in what is seen;
// - no two acknowledged counted writes were made from one version (a fork would be two holders);
// - no holder meets the witness of another one that lives (addon and JavaScript writers);
// - no two programs whose calls were traced had the lock at one time;
// - the lock of a JavaScript writer is intact when it comes to remove it (never `overwritten` in any run);
// - at the end every count is that of the acknowledged writes, or more by at most one for each write that a kill cut off;
// - no writer fails, and no pipestate runs out of its window, unless the scenario allows it.
//
// What was lost in runs with careless tools (not `lossless`) is explained at the end: losses.mjs.

import { Broken } from './common.mjs';
import { explainLosses } from './losses.mjs';

export class Ledger {
  constructor({ start, lossless = true, mayTimeOut = false }) {
    Object.assign(this, { lossless, mayTimeOut, ballast: JSON.stringify(start.ballast), seen: start });
    this.writers = new Map();
    this.open = new Map();
    this.killed = new Set();
    this.dones = new Map();
    this.versions = new Map([[start.stamp, {}]]);
    this.holds = [];
    this.progress = new Map();
    this.looks = 0;
    this.counts = { acknowledged: 0, kills: 0, holderKills: 0, terminations: 0, conflicts: 0, timeouts: 0 };
    Object.assign(this.counts, { orphans: 0, restarts: 0, lockLost: 0, stops: 0, holderStops: 0, clockMoves: 0, cutOff: 0 });
    Object.assign(this.counts, { asked: 0, traced: 0, heirs: 0, crowds: 0 });
    this.successors = { pipestate: [], foreign: [] };
    this.longestWait = { pipestate: 0, foreign: 0 };
  }

  writer(name) {
    if (!this.writers.has(name)) {
      const numbers = () => ({ counted: 0, plain: 0 });
      this.writers.set(name, { acknowledged: numbers(), times: numbers(), cutOff: numbers() });
    }
    return this.writers.get(name);
  }

  /** Expects no more of the writers of a crew that has been killed. */
  forgetWriters(crew) {
    for (const writer of this.progress.keys()) if (writer.startsWith(`${crew}-`)) this.progress.delete(writer);
  }

  /** What was being written by `dead`, or by parts of it, may have been written or not. */
  cutOff(dead) {
    for (const [id, { writer, kind }] of this.open) {
      if (!isWithin(id, dead)) continue;
      this.open.delete(id);
      this.writer(writer).cutOff[kind] += 1;
      this.counts.cutOff += 1;
    }
  }

  /** Takes the next event of the log. */
  record(event, at) {
    if (event.writer) this.progress.set(event.writer, at);
    const handle = HANDLERS[event.event];
    if (!handle) throw new Error(`the log has an event of another kind: ${JSON.stringify(event)}`);
    handle.call(this, event);
  }

  /** Checks a version of the file that was read after all recorded events; it was put in place at `time`. */
  look(text, time) {
    this.looks += 1;
    let state;
    try {
      state = JSON.parse(text);
    } catch (error) {
      throw new Broken(`the file does not parse: ${error.message}`);
    }
    const sum = Object.values(state.counted).reduce((sum, count) => sum + count, 0);
    if (state.total !== sum) throw new Broken(`the total is ${state.total}, and the counts add up to ${sum}`);
    if (JSON.stringify(state.ballast) !== this.ballast) throw new Broken('the ballast has changed');
    if (this.lossless) this.checkNothingIsLost(state);
    this.seen = state;
    const version = this.versions.get(state.stamp);
    if (version) version.committed ??= time;
  }

  checkNothingIsLost(state) {
    for (const kind of ['counted', 'plain']) {
      for (const [writer, number] of Object.entries(this.seen[kind])) {
        if (!(state[kind][writer] >= number)) {
          throw new Broken(`${kind}.${writer} was ${number} and is ${state[kind][writer]}`);
        }
      }
      for (const [writer, { acknowledged }] of this.writers) {
        if (!((state[kind][writer] ?? 0) >= acknowledged[kind])) {
          throw new Broken(`${kind}.${writer} is ${state[kind][writer]}, and ${acknowledged[kind]} was acknowledged`);
        }
      }
    }
  }

  /** Checks the last version, when every writer has ended. `removals` is what careless tools removed. */
  end(removals = []) {
    if (this.open.size > 0) throw new Broken(`writes without an end: ${[...this.open.keys()].join(', ')}`);
    if (this.lossless) {
      this.checkCounts();
      this.checkHolds();
    }
    return this.lossless ? undefined : explainLosses(this.versions, this.seen.stamp, removals);
  }

  checkCounts() {
    for (const [name, { times, cutOff }] of this.writers) {
      const count = this.seen.counted[name] ?? 0;
      if (count < times.counted || count > times.counted + cutOff.counted) {
        const expected = `${times.counted} were acknowledged and ${cutOff.counted} cut off`;
        throw new Broken(`counted.${name} is ${count}, and ${expected}`);
      }
    }
  }

  /** Within what the traces say, so that a trace that says too little hides an overlap, and none makes one up. */
  checkHolds() {
    this.holds.sort((a, b) => a.from - b.from);
    for (const [index, hold] of this.holds.entries()) {
      const next = this.holds[index + 1];
      if (next && next.from < hold.to) {
        const seconds = (hold.to - next.from).toFixed(6);
        throw new Broken(`${next.id} and ${hold.id} both had the lock, for ${seconds} s of their traces`);
      }
    }
  }

  /** Whether `id`, or what it is a part of, was killed before the present event. */
  isKilled(id) {
    const parts = id.split('/');
    return parts.some((_, index) => this.killed.has(parts.slice(0, index + 1).join('/')));
  }
}

const ASKING = ['SIGHUP', 'SIGINT', 'SIGTERM'];

const isWithin = (id, ancestor) => id === ancestor || id.startsWith(`${ancestor}/`);

const HANDLERS = {
  try(event) {
    this.open.set(event.id, event);
    if (event.kind === 'counted') this.versions.set(event.stamp, event);
  },
  'fn ended'({ stamp, time }) {
    this.versions.get(stamp).ended = time;
  },
  done({ writer, id, kind, number, stamp, waited, foreign, lock = 'intact' }) {
    this.open.delete(id);
    if (lock === 'overwritten' || (lock === 'gone' && this.lossless)) {
      throw new Broken(`${id} was alive and had the lock, and found it ${lock}`);
    }
    this.counts.acknowledged += 1;
    const who = foreign ? 'foreign' : 'pipestate';
    this.longestWait[who] = Math.max(this.longestWait[who], waited);
    const { acknowledged, times } = this.writer(writer);
    times[kind] += 1;
    acknowledged[kind] = number;
    if (kind === 'plain') return;
    const version = this.versions.get(stamp);
    version.done = true;
    version.lock = lock;
    const other = this.dones.get(version.from);
    if (this.lossless && other) {
      throw new Broken(`${stamp} and ${other} were both acknowledged and made from ${version.from}: two held`);
    }
    this.dones.set(version.from, stamp);
  },
  conflict({ id }) {
    this.open.delete(id);
    this.counts.conflicts += 1;
  },
  timeout({ id, window, took, stderr }) {
    this.open.delete(id);
    this.counts.timeouts += 1;
    if (!this.mayTimeOut) throw new Broken(`${id} ran out of its window of ${window} ms after ${took} ms: ${stderr}`);
    if (took < window) throw new Broken(`${id} gave up after ${took} ms of its window of ${window} ms: ${stderr}`);
  },
  lost({ id }) {
    this.open.delete(id);
    this.counts.lockLost += 1;
    if (this.lossless) throw new Broken(`${id} lost its lock, and nobody here takes locks away`);
  },
  failed({ id, how }) {
    throw new Broken(`${id} failed: ${how}`);
  },
  restarted({ id }) {
    this.counts.restarts += 1;
    if (this.lossless) throw new Broken(`${id} lost its lock, and nobody here takes locks away`);
  },
  killed({ id, how, holder }) {
    this.killed.add(id);
    if (how === 'terminate') this.counts.terminations += 1;
    else if (ASKING.includes(how)) this.counts.asked += 1;
    else this.counts.kills += 1;
    if (holder) this.counts.holderKills += 1;
  },
  gone({ id }) {
    this.cutOff(id);
  },
  'ended as asked'({ id, leavesLock }) {
    this.cutOff(id);
    if (leavesLock) throw new Broken(`${id} ended by a signal that it handles, and left its lock`);
  },
  met({ id, other }) {
    if (!this.isKilled(other)) throw new Broken(`${id} has the lock and meets ${other}, which has it too`);
  },
  held({ id, from, to, committed }) {
    this.holds.push({ id, from, to });
    const version = this.versions.get(id);
    if (version && committed) version.committed = committed * 1000;
    this.counts.traced += 1;
  },
  successor({ of, took, unseen, id }) {
    this.successors[of].push(took);
    const most = MOST_SUCCESSION[of];
    if (took - unseen > most) {
      throw new Broken(`nobody took over the lock of ${id}, which was dead, for ${took} ms (${of}; at most ${most} ms)`);
    }
  },
  'stood still'({ id, duration, same }) {
    this.counts.holderStops += 1;
    if (!same) throw new Broken(`${id} stood still for ${duration} ms with the lock, and lock or file changed`);
  },
  heir({ what, problem, waited }) {
    if (problem) throw new Broken(`${what}: ${problem}`);
    this.counts.heirs += 1;
    this.longestWait.pipestate = Math.max(this.longestWait.pipestate, waited);
  },
  orphan() {
    this.counts.orphans += 1;
  },
  stopped() {
    this.counts.stops += 1;
  },
  'clock moved'() {
    this.counts.clockMoves += 1;
  },
};

/** L4, in milliseconds. */
const MOST_SUCCESSION = { pipestate: 1000, foreign: 3000 };
