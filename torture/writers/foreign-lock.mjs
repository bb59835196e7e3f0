// The lock as tools take it that know nothing of pipestate: the file is created exclusively, and waited for.
import fs from 'node:fs';
import { pause } from '../common.mjs';

/** Takes the lock, with `lines` in it. Between two tries it calls `meanwhile`, and sleeps. */
export function acquire(lock, lines, meanwhile = () => {}) {
  for (;;) {
    try {
      fs.writeFileSync(lock, lines, { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    meanwhile();
    pause(1 + Math.random() * 5);
  }
}

export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

export function replace(file, state) {
  const temporary = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(temporary, `${JSON.stringify(state, null, 2)}\n`);
  fs.renameSync(temporary, file);
}
