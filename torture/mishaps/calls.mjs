// Programs that die or dawdle at one of their system calls, under strace, whose trace then tells when they had the lock.
import fs from 'node:fs';
import path from 'node:path';

/** Calls of the program, between which everything that matters happens, and which of each: the first ones load it. */
const CALLS = {
  openat: [5, 14], flock: [1, 4], fstat: [1, 6], fchmod: [1, 3], pwrite64: [1, 2], linkat: [1, 3], newfstatat: [5, 10],
  pread64: [3, 9], writev: [1, 1], fsync: [1, 2], renameat: [1, 1], unlinkat: [1, 2], close: [5, 13],
};
/** What a trace must have to tell when the lock was held. */
const TOLD = ['openat', 'renameat', 'unlinkat'];

/** For how long a writer dawdles at most, in microseconds. */
const MOST_DELAY = 40_000;

let traces = 0;

/** How a program is run: to die or to dawdle at some call, or in a time namespace, or just so. */
export function fateOf({ id, random, fatalCalls, slowCalls, prefixes, traces: folder }) {
  const lot = random.next();
  if (lot >= fatalCalls + slowCalls) return { prefix: random.pick(prefixes) };
  const fault = lot < fatalCalls ? 'signal=SIGKILL' : `delay_enter=${Math.floor(random.between(0, MOST_DELAY))}`;
  const call = random.pick(Object.keys(CALLS));
  const [first, last] = CALLS[call];
  const inject = `inject=${call}:${fault}:when=${Math.floor(random.between(first, last + 1))}`;
  const trace = path.join(folder, `${id}-${(traces += 1)}`);
  // -D: the writer stays our child, with the process id that stands in its lock.
  const options = ['-D', '-qqq', '-ttt', '-o', trace, '-e', `trace=${[...TOLD, call]}`, '-e', inject];
  return { call, trace, prefix: ['strace', ...options] };
}

/** When a writer had the lock and when it committed, by its trace: it reads the state when it has the lock, and removes
 * the lock last. */
export function readHold(trace, file) {
  const name = path.basename(file);
  // Not the line that tells of a death: by then another may have taken over.
  const calls = fs.readFileSync(trace, 'utf8').split('\n').filter((line) => /^[\d.]+ \w+\(/.test(line));
  fs.unlinkSync(trace);
  const time = (line) => Number(line.split(' ')[0]);
  const first = calls.findIndex((line) => line.includes(' openat(') && line.includes(`"${name}"`));
  if (first < 0) return undefined;
  const last = calls.findLastIndex((line) => line.includes(' unlinkat(') && line.includes(`"${name}.lock"`));
  // One that was killed had it at least until its last call.
  const to = time(calls[last > first ? last : calls.length - 1]);
  const rename = calls.find((line) => line.includes(' renameat(') && line.endsWith('= 0'));
  return { from: time(calls[first]), to, committed: rename && time(rename) };
}
