// Folders, processes and handshakes for the tests. Every test has a folder of its own, and ends what it starts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** A folder that is gone after the test. */
export function folder(t) {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'pipestate-')));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The path of a script in `fixtures`. */
export const fixture = (name) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** Starts `node ...args`; killed after the test if it still runs. Lines are awaited with `line()`, its end with `end()`. */
export function start(t, args, options = {}) {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (data) => (stderr += data));
  const exited = once(child, 'close');
  return {
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    say: (line) => child.stdin.write(`${line}\n`),
    line: async () => (await lines.next()).value,
    end: async () => {
      const [code, signal] = await exited;
      return { code, signal, stderr };
    },
  };
}

/** Runs a program to its end. */
export async function run(command, args, { input = '', ...options } = {}) {
  const child = spawn(command, args, { stdio: 'pipe', ...options });
  const output = { stdout: [], stderr: [] };
  child.stdout.on('data', (data) => output.stdout.push(data));
  child.stderr.on('data', (data) => output.stderr.push(data));
  child.stdin.on('error', () => {}); // it may end without having read all
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  const text = (parts) => Buffer.concat(parts).toString('latin1');
  return { code, stdout: text(output.stdout), stderr: text(output.stderr) };
}

/** A process that holds the lock of `file` until it is told to `release`. */
export async function holder(t, file) {
  const process = start(t, [fixture('holder.mjs'), file]);
  if ((await process.line()) !== 'held') throw new Error(`the holder failed: ${(await process.end()).stderr}`);
  return {
    ...process,
    release: async () => {
      process.say('release');
      await process.end();
    },
  };
}
