// What a run with careless tools has lost, and whose doing it was. Pure: the versions that were tried, the last one and
// what careless tools removed come in.
//
// Checked:
// - two writes made from one version are explained: all but one of their holders had lost the lock to a foreign tool,
//   which left what it removed as evidence. Unexplained, they would be two holders by pipestate's doing. So whatever is
//   lost, by whomever, is lost to a lock that was removed from under a living holder;
// - the fence (L11) of `updateState`, exactly: a holder whose lock was removed before its function had returned has not
//   committed what that returned;
// - the fence of the program, by the clock of the file system: of those whose lock was removed, hardly any committed
//   later than that. Some may: between the fence and the rename such a tool is not noticed. Runs that were made to
//   dawdle just there are counted apart.
import { Broken, groupBy } from './common.mjs';

/** Two time stamps of the file system that are closer than this, in milliseconds, say nothing about the order. */
const COARSE = 10;
/** The share of robbed programs that may be between the fence and the rename, on a machine that lets them lie there. */
const MOST_LATE = 0.02;
/** What the program calls from the fence on. */
const AFTER_FENCE = ['pread64', 'renameat', 'close'];

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
  return { robbed: robbed.size, ...fence, forks, lost: countLosses(versions, last, children) };
}

/** Versions whose maker's lock was removed by somebody else, and when. */
function findRobbed(made, robberies) {
  const byHold = new Map(made.filter(({ hold }) => hold).map((version) => [version.hold, version]));
  const byPid = groupBy(made.filter(({ pid }) => pid), ({ pid }) => pid);
  const robbed = new Map();
  for (const { lines, time } of robberies) {
    const version = byHold.get(lines) ?? programOf(lines, byPid);
    if (version) robbed.set(version, time);
  }
  return robbed;
}

/** The program does not tell its lines; they have the id of its process, and were written after it had started. */
function programOf(lines, byPid) {
  const [pid, record] = lines.split('\n');
  if (!record?.includes('"pipestate":')) return undefined;
  const taken = Date.parse(JSON.parse(record).time);
  return byPid.get(Number(pid))?.findLast(({ time }) => time <= taken);
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
    else if (committed > removed + COARSE) counts[AFTER_FENCE.includes(call) ? 'madeLate' : 'late'] += 1;
  }
  if (counts.late > Math.max(1, programs * MOST_LATE)) {
    throw new Broken(`of ${programs} programs whose lock was removed, ${counts.late} committed later: the fence failed`);
  }
  return counts;
}

/** Counts versions from which more than one was made. Each but one of those was made by somebody who was robbed. */
function checkForks(children, isCommitted, robbed) {
  let forks = 0;
  for (const [from, siblings] of children) {
    const committed = siblings.filter(isCommitted);
    if (committed.length > 1) forks += 1;
    const unexplained = committed.filter((version) => !robbed.has(version));
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
