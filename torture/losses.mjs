// What a run with careless tools has lost, and whose doing it was. Pure: the versions that were tried, the last one and
// what careless tools removed come in.
//
// Checked:
// - two writes made from one version are explained: all but one of their holders had lost the lock. Mostly to a foreign tool,
//   which left what it removed as evidence; hardly ever to a pipestate that had itself been robbed between the last look at
//   its lock and the unlink of its release. Unexplained, they would be two holders by pipestate's doing;
// - the fence (L11) of `updateState`, exactly: a holder whose lock was removed before its function had returned has not
//   committed what that returned;
// - the fence of the program, by the clock of the file system: of those whose lock was removed, hardly any committed
//   later than that. Some may: between the fence and the rename such a tool is not noticed.
//
// The two instants are the model's (docs/design.md). Programs that were made to dawdle just there are counted apart.
import { Broken, groupBy } from './common.mjs';

/** Two time stamps of the file system that are closer than this, in milliseconds, say nothing about the order. */
const COARSE = 10;
/** The share of robbed holders that may be in an open instant, which lasts microseconds, on a machine that is busy. */
const IN_AN_INSTANT = 0.02;
/** When the lock of one was removed that did not find it any more when its function began. */
const ALREADY = -Infinity;
/** What the program calls in the open instants. */
const IN_INSTANTS = ['pread64', 'renameat', 'unlinkat', 'close'];

const isOfPipestate = (version) => !version.hold || version.hold.includes('\n{"pipestate":');
const kindOf = (version) => (isOfPipestate(version) ? 'a pipestate' : 'a foreign tool');

/** `versions`: by stamp, with `from`, the stamp of what they were made from. `removals`: `lines`, `own`, `time`. */
export function explainLosses(versions, last, removals) {
  const made = [...versions.values()].filter(({ from }) => from !== undefined);
  const children = groupBy(made, ({ from }) => from);
  const isCommitted = (version) => version.done || version.committed !== undefined || children.has(version.stamp);
  const robbed = findRobbed(made, removals.filter(({ own }) => !own));
  const fence = checkFence(robbed, isCommitted);
  const forks = checkForks(children, isCommitted, robbed);
  const ousted = checkReleases(made, robbed);
  return { robbed: robbed.size, ...fence, ousted, forks, lost: countLosses(versions, last, children) };
}

/** Versions whose maker's lock was removed by somebody else, and when. */
function findRobbed(made, robberies) {
  // Several when a worker was robbed so soon that it read the lines of another one, as its own.
  const byHold = groupBy(made.filter(({ hold }) => hold), ({ hold }) => hold);
  const byPid = groupBy(made.filter(({ pid }) => pid), ({ pid }) => pid);
  const robbed = new Map(made.filter(({ hold }) => hold === null).map((version) => [version, ALREADY]));
  for (const { lines, time } of robberies) {
    for (const version of byHold.get(lines) ?? programsOf(lines, byPid)) robbed.set(version, time);
  }
  return robbed;
}

/** The program does not tell its lines; they have the id of its process, and were written after it had started. */
function programsOf(lines, byPid) {
  const [pid, record] = lines.split('\n');
  if (!record?.includes('"pipestate":')) return [];
  const taken = Date.parse(JSON.parse(record).time);
  const version = byPid.get(Number(pid))?.findLast(({ time }) => time <= taken);
  return version ? [version] : [];
}

function checkFence(robbed, isCommitted) {
  const counts = { fenced: 0, openInstant: 0, late: 0, madeLate: 0 };
  let programs = 0;
  for (const [version, removed] of robbed) {
    if (!isOfPipestate(version)) continue;
    const { stamp, ended, committed, pid, call } = version;
    if (pid === undefined) {
      if (ended === undefined || removed > ended - COARSE) counts.openInstant += isCommitted(version) ? 1 : 0;
      else if (!isCommitted(version)) counts.fenced += 1;
      else throw new Broken(`${stamp} was committed, though its lock had been removed before: the fence failed`);
      continue;
    }
    programs += 1;
    if (!isCommitted(version)) counts.fenced += 1;
    else if (committed > removed + COARSE) counts[IN_INSTANTS.includes(call) ? 'madeLate' : 'late'] += 1;
  }
  if (counts.late > few(programs)) {
    throw new Broken(`of ${programs} programs whose lock was removed, ${counts.late} committed later: the fence failed`);
  }
  return counts;
}

const few = (robbed) => Math.max(1, robbed * IN_AN_INSTANT);

/** Counts foreign holders that lost the lock, and to no foreign tool: so a pipestate has removed it. */
function checkReleases(made, robbed) {
  const robbedOfUs = [...robbed.keys()].filter(isOfPipestate);
  const dawdled = robbedOfUs.filter(({ call }) => IN_INSTANTS.includes(call)).length;
  const ousted = made.filter((version) => version.lock === 'gone' && !robbed.has(version)).length;
  if (ousted > dawdled + few(robbedOfUs.length)) {
    throw new Broken(`pipestates removed ${ousted} locks of living foreign tools, and ${robbedOfUs.length} had been robbed`);
  }
  return ousted;
}

/** Counts versions from which more than one was made. Each but one of those was made by somebody who was robbed. */
function checkForks(children, isCommitted, robbed) {
  let forks = 0;
  for (const [from, siblings] of children) {
    const committed = siblings.filter(isCommitted);
    if (committed.length > 1) forks += 1;
    // A foreign tool that was killed before it had released cannot say whether its lock was there.
    const couldTell = (version) => isOfPipestate(version) || version.done;
    const hadTheLock = (version) => !robbed.has(version) && version.lock !== 'gone';
    const unexplained = committed.filter((version) => couldTell(version) && hadTheLock(version));
    if (unexplained.length > 1) {
      const names = unexplained.map(({ stamp }) => stamp).join(' and ');
      throw new Broken(`${names} were all made from ${from}, and none had lost its lock: two held`);
    }
  }
  return forks;
}

/** Acknowledged writes that the last version was not made from, by whose they are and who wrote over them. */
function countLosses(versions, last, children) {
  const survivors = new Set();
  for (let stamp = last; stamp !== undefined; stamp = versions.get(stamp)?.from) survivors.add(stamp);
  const lost = {};
  for (const version of versions.values()) {
    if (!version.done || survivors.has(version.stamp)) continue;
    let first = version;
    while (!survivors.has(first.from)) first = versions.get(first.from);
    const overwriter = children.get(first.from).find(({ stamp }) => survivors.has(stamp));
    const what = `of ${kindOf(version)} by ${kindOf(overwriter)}`;
    lost[what] = (lost[what] ?? 0) + 1;
  }
  return lost;
}
