// Clocks that jump: those that the writers see, and the time of the lock.
import fs from 'node:fs';
import { readHolder, sleep } from '../common.mjs';

/** How far, in seconds: three years. */
const FAR = 1e8;

export async function moveClocks(crew) {
  const { random } = crew;
  while (!crew.isStopping()) {
    for (const clock of crew.clocks) {
      // libfaketime reads it anew each time.
      fs.writeFileSync(clock, `${random.pick(['+', '-'])}${Math.floor(random.between(0, FAR))}`);
    }
    if (moveTimeOf(crew.lock, Date.now() / 1000 + random.between(-FAR, FAR))) crew.report({ event: 'clock moved' });
    await sleep(random.between(0, 100));
  }
}

/** Only of a pipestate's lock: that of a bare process id is judged by its time, a limit written in the README. */
function moveTimeOf(lock, time) {
  let fd;
  try {
    fd = fs.openSync(lock, 'r');
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
  const { isPipestate } = readHolder(fd);
  if (isPipestate) fs.futimesSync(fd, time, time);
  fs.closeSync(fd);
  return isPipestate;
}
