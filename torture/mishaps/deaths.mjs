// Writers that are killed, or asked to end, at random moments, and best while they have the lock.
import fs from 'node:fs';
import path from 'node:path';
import { now, readHolder, sleep } from '../common.mjs';
import { followOrphan } from './orphans.mjs';

/** How long to wait for a member to take the lock, in milliseconds. */
const PATIENCE = 50;

/** Before it happens, so that whatever follows from it is logged later. */
function noteDeath(crew, member, how) {
  member.killed = now();
  crew.report({ event: 'killed', id: member.id, how, holder: readHolder(crew.lock)?.pid === member.pid });
}

export function kill(crew, member) {
  // Killed before its tracer has attached, a traced one would leave the tracer waiting for ever.
  if (member.killed || member.isTraced) return;
  const signal = member.isNode || crew.random.chance(0.8) ? 'SIGKILL' : crew.random.pick(Object.keys(ASKING));
  noteDeath(crew, member, signal);
  member.child.kill(signal);
}

/** Signals that ask the program to end, and the code with which it does, having given back the lock (L10). */
const ASKING = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/** Takes note of a member that has ended: killed, or as it was asked, or by itself. */
export function noteEnd(crew, member, code, signal) {
  const { id, pid } = member;
  if (Object.values(ASKING).includes(code)) {
    crew.report({ event: 'ended as asked', id, leavesLock: readHolder(crew.lock)?.pid === pid });
  } else if (signal !== null) {
    if (!member.killed) noteDeath(crew, member, 'strace');
    crew.report({ event: 'gone', id });
    followOrphan(crew, member);
  }
}

/** Whoever of the crew has the lock now or takes it next, or anybody; `undefined` when that is nobody. */
export function pickVictim(crew) {
  return crew.random.chance(0.7) ? nextHolder(crew) : crew.random.pick([...crew.members.values()]);
}

function nextHolder({ members, lock, file }) {
  return new Promise((resolve) => {
    const finish = (member) => {
      clearTimeout(timer);
      watcher.close();
      resolve(member);
    };
    const timer = setTimeout(finish, PATIENCE);
    const watcher = fs.watch(path.dirname(file), () => {
      const member = members.get(readHolder(lock)?.pid);
      if (member) finish(member);
    });
  });
}

export async function killNowAndThen(crew) {
  while (!crew.isStopping()) {
    await sleep(crew.random.interval(crew.killsPerSecond));
    const member = await pickVictim(crew);
    // Node processes are slow to start, and so mostly spared.
    if (member && crew.random.chance(member.isNode ? crew.nodeKills : 1)) kill(crew, member);
  }
}
