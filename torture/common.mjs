// What the rig and its writers share.
import fs from 'node:fs';

/** An invariant does not hold. */
export class Broken extends Error {}

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Sleeps without an event loop. */
export const pause = (milliseconds) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);

/** Milliseconds on the monotonic clock, which all processes of one time namespace share. */
export const now = () => Number(process.hrtime.bigint()) / 1e6;

/** The elements of `list` by what `key` says of each. */
export function groupBy(list, key) {
  const groups = new Map();
  for (const element of list) {
    const name = key(element);
    if (groups.has(name)) groups.get(name).push(element);
    else groups.set(name, [element]);
  }
  return groups;
}

/** Random choices that a seed repeats. Who is scheduled when is the machine's choice, and no seed repeats that. */
export class Random {
  constructor(seed) {
    this.state = [...String(seed)].reduce((hash, c) => Math.imul(hash ^ c.charCodeAt(0), 16777619), 2166136261);
  }

  /** In [0, 1): mulberry32. */
  next() {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  between(least, most) {
    return least + this.next() * (most - least);
  }

  /** Milliseconds until the next of events that come independently, so many in a second. */
  interval(perSecond) {
    return -Math.log(1 - this.next()) * (1000 / perSecond);
  }

  chance(probability) {
    return this.next() < probability;
  }

  pick(list) {
    return list[Math.floor(this.next() * list.length)];
  }
}

/** Appends events to the log of a run. One `write` each to an O_APPEND file: lines of different processes do not mix,
 * and what was logged before a signal was sent stands before whatever the signal made happen. */
export function reporter(log) {
  const fd = fs.openSync(log, 'a');
  return (event) => fs.writeSync(fd, `${JSON.stringify(event)}\n`);
}

export const readEvents = (log) => fs.readFileSync(log, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));

/** The process-id namespace of this process, as pipestate writes it into its locks. */
const NAMESPACE = process.platform === 'linux' ? fs.statSync('/proc/self/ns/pid').ino : null;

/** Who the lock names (by path, or open): its bytes, the process id, and whether a pipestate made it; `null` when there is none.
 * The id is `null` when it belongs to another namespace, where the same number is somebody else. */
export function readHolder(lock) {
  let lines;
  try {
    lines = fs.readFileSync(lock, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
  const isPipestate = lines.includes('\n{"pipestate":');
  const isElsewhere = isPipestate && JSON.parse(lines.split('\n')[1]).pidns !== NAMESPACE;
  return { lines, pid: isElsewhere ? null : parseInt(lines, 10), isPipestate };
}

// The document that all write. Every write moves it by one step that can be told from all others:
// a counted one sets the writer's count and the total, which is therefore the sum of the counts in every version, and
// names itself; a plain one, which need not know the rest, sets the writer's own number.

export const newState = (ballastBytes) => ({
  total: 0,
  counted: {},
  plain: {},
  stamp: 'start',
  ballast: Array.from({ length: Math.ceil(ballastBytes / 32) }, (_, index) => `ballast ${index} `.padEnd(28, '.')),
});

export const countedPatch = (state, writer, stamp) => ({
  total: state.total + 1,
  counted: { [writer]: (state.counted[writer] ?? 0) + 1 },
  stamp,
});

export const plainPatch = (writer, number) => ({ plain: { [writer]: number } });
