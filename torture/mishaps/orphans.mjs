// Locks of the dead: how long each stays until somebody has taken it over; and more of them, as dead foreign tools leave.
import fs from 'node:fs';
import { now, readHolder, sleep } from '../common.mjs';

/** Between two looks at a lock, in milliseconds. */
const LOOK = 2;
/** What a look takes beyond this is the machine's doing: this process was not let run, and could not see. */
const MOST_LOOK = 20;

/** Measures how long the lock of a dead member stays, if it left one. */
export async function followOrphan(crew, member) {
  const orphan = readHolder(crew.lock);
  if (isLeftBy(orphan, member)) await follow(crew, orphan, member.killed, member.id);
}

function isLeftBy(holder, member) {
  if (holder === null) return false;
  // A foreign writer that died between creating its lock and writing into it leaves an empty one.
  return holder.pid === member.pid || (member.kind === 'javascript' && holder.lines === '');
}

async function follow(crew, orphan, since, id) {
  const isThere = () => readHolder(crew.lock)?.lines === orphan.lines;
  let last = now();
  let unseen = 0;
  while (isThere()) {
    if (crew.isStopping()) return;
    await sleep(LOOK);
    unseen += Math.max(0, now() - last - MOST_LOOK);
    last = now();
  }
  const of = orphan.isPipestate ? 'pipestate' : 'foreign';
  crew.report({ event: 'successor', of, id, took: last - since, unseen, orphan: orphan.lines });
}

/** Leaves locks as a foreign tool that has died does: with the process id of one of our dead. */
export async function leaveOrphansNowAndThen(crew) {
  const { random } = crew;
  while (!crew.isStopping()) {
    await sleep(random.interval(crew.orphansPerSecond));
    if (crew.lastDead === undefined) continue;
    const lines = String(crew.lastDead);
    while (!create(crew.lock, lines)) {
      if (crew.isStopping()) return;
      await sleep(random.between(0, LOOK));
    }
    crew.report({ event: 'orphan' });
    await follow(crew, { lines, isPipestate: false }, now(), `process ${lines}`);
  }
}

/** Creates the lock exclusively, unless somebody has it. */
function create(lock, lines) {
  try {
    fs.writeFileSync(lock, lines, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}
