// The script that a project writes for itself before it looks for a tool: a lock created exclusively, read, merge, write
// beside, rename. No sync, no proof of who lives.
//
//   echo PATCH | node plain-writer.mjs FILE
import fs from 'node:fs';

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

export function merge(target, patch) {
  if (!isObject(target) || !isObject(patch)) return patch;
  for (const [key, value] of Object.entries(patch)) target[key] = merge(target[key], value);
  return target;
}

export function sleep(milliseconds) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function acquire(lock) {
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline) {
    try {
      fs.writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    try {
      const pid = Number.parseInt(fs.readFileSync(lock, 'utf8'), 10);
      if (pid > 0 && !isAlive(pid)) fs.unlinkSync(lock);
    } catch {
      // released meanwhile
    }
    sleep(5 + Math.random() * 20);
  }
  throw new Error(`${lock} is held by another writer`);
}

export function write(file, patch) {
  const lock = `${file}.lock`;
  acquire(lock);
  try {
    const state = merge(JSON.parse(fs.readFileSync(file, 'utf8')), patch);
    const temporary = `${file}.${process.pid}.tmp`;
    fs.writeFileSync(temporary, `${JSON.stringify(state, null, 2)}\n`);
    fs.renameSync(temporary, file);
  } finally {
    fs.unlinkSync(lock);
  }
}

if (process.argv[1] === import.meta.filename) {
  write(process.argv[2], JSON.parse(fs.readFileSync(0, 'utf8')));
}
