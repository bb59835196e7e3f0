// The lock as tools take it that know nothing of pipestate: the file is created exclusively, and waited for.
import fs from 'node:fs';
import { pause } from '../common.mjs';

/** Takes the lock, with `lines` in it. Between two tries it calls `meanwhile`, and sleeps. Returns the lock, open for
 * reading, to be known again. */
export function acquire(lock, lines, meanwhile = () => {}) {
  for (;;) {
    try {
      const fd = fs.openSync(lock, 'wx');
      fs.writeSync(fd, lines);
      const same = fs.openSync(`/proc/self/fd/${fd}`, 'r');
      fs.closeSync(fd);
      return same;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    meanwhile();
    pause(1 + Math.random() * 5);
  }
}

/** What has become of a lock that was taken: `intact`, `gone`, or `overwritten` by another holder. Closes `fd`. */
export function fateOf(lock, lines, fd) {
  const mine = fs.fstatSync(fd);
  const text = Buffer.alloc(lines.length + 1);
  const isWhole = text.toString('utf8', 0, fs.readSync(fd, text, 0, text.length, 0)) === lines;
  const named = fs.statSync(lock, { throwIfNoEntry: false });
  fs.closeSync(fd);
  if (!isWhole) return 'overwritten';
  return named?.ino === mine.ino ? 'intact' : 'gone';
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
