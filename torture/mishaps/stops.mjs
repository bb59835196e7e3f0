// Writers that stand still (SIGSTOP) and go on, or are killed on the spot. While a holder stands still, lock and file must
// stay as they are.
import fs from 'node:fs';
import { now, readHolder, sleep } from '../common.mjs';
import { kill, pickVictim } from './deaths.mjs';

/** For how long, in milliseconds: shorter than most windows, or longer than all. */
const SHORT = 2000;
const LONG = 12_000;

export async function stopNowAndThen(crew) {
  const { random } = crew;
  while (!crew.isStopping()) {
    await sleep(random.between(0, 300));
    const member = await pickVictim(crew);
    if (!member || member.killed || member.isStopped || member.isTraced) continue;
    await stopFor(crew, member, random.chance(crew.longStops) ? LONG : random.between(0, SHORT));
    if (random.chance(0.2)) kill(crew, member);
    member.child.kill('SIGCONT');
    member.isStopped = false;
  }
}

async function stopFor(crew, member, duration) {
  member.isStopped = true;
  crew.report({ event: 'stopped', id: member.id });
  member.child.kill('SIGSTOP');
  while (!['T', 'Z', null].includes(stateOf(member.pid))) await sleep(1);
  const look = () => ({ lines: readHolder(crew.lock)?.lines, text: fs.readFileSync(crew.file, 'utf8') });
  const before = look();
  const holds = parseInt(before.lines, 10) === member.pid && stateOf(member.pid) === 'T';
  const until = now() + duration;
  while (now() < until && !crew.isStopping()) await sleep(50);
  if (!holds || member.killed) return;
  const after = look();
  const same = after.lines === before.lines && after.text === before.text;
  crew.report({ event: 'stood still', id: member.id, duration, same });
}

/** The letter of the process's state; `null` when it is gone. */
function stateOf(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat[stat.lastIndexOf(')') + 2];
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null;
    throw error;
  }
}
