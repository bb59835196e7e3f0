// Process ids that come to name somebody else while they stand in a lock. Runs in a process-id namespace of its own,
// whose counter is set (ns_last_pid) so that the next process gets the dead one's id: it is the kernel that gives it.
//
//   node heirs.mjs OPTIONS    many rounds side by side, because the margin of L5 has to pass in some
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Random, readHolder, reporter, sleep } from './common.mjs';

const { folder, log, stop, program, seed } = JSON.parse(process.argv[2]);
const random = new Random(seed);
const report = reporter(log);

/** By how much a process must be younger than a lock to be no holder (L5), and what the file system may round off. */
const MARGIN = 2000;
const SLACK = 300;
const ROUNDS_AT_ONCE = 16;
/** How long a writer waits for a lock that nobody can tell from a living holder's, and for one that is a dead one's. */
const SHORT_WINDOW = 1500;
const WINDOW = 10_000;
/** How long it may wait for a dead one's (L4). */
const MOST_WAIT = 1000;

const START = '{"start":1}\n';
const WRITTEN = '{"start":1,"written":2}\n';
const STDIO = { stdio: ['pipe', 'pipe', 'pipe'] };

const writing = (file, window = WINDOW) => [program, 'write', '--json', '--no-fsync', '--lock-timeout', String(window), file];

/** Who died with the lock, who has the id now, and whether that one is younger than the lock by more than the margin. */
const CASES = [
  { dead: foreign, heir: 'a stranger', isYounger: true, code: 0 },
  { dead: foreign, heir: 'the writer', isYounger: true, code: 0 },
  // Within the margin nobody can tell: the lock stays until its heir has ended.
  { dead: foreign, heir: 'a stranger', isYounger: false, code: 2 },
  { dead: foreign, heir: 'the writer', isYounger: false, code: 2 },
  // A pipestate's life is in its kernel lock, and the id says nothing.
  { dead: pipestate, heir: 'a stranger', isYounger: false, code: 0 },
  { dead: pipestate, heir: 'the writer', isYounger: false, code: 0 },
];

const ended = (child) => new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));

/** A foreign tool that dies with the lock; its process id. */
async function foreign(file) {
  const child = spawn('sh', ['-c', 'echo $$ > "$1.lock"; kill -9 $$', 'sh', file], { stdio: 'ignore' });
  await ended(child);
  return child.pid;
}

/** A pipestate that dies with the lock, just before its rename. */
async function pipestate(file) {
  const fatal = ['-D', '-qqq', '-o', '/dev/null', '-e', 'trace=renameat', '-e', 'inject=renameat:signal=SIGKILL'];
  const child = spawn('strace', [...fatal, ...writing(file)], { stdio: ['pipe', 'ignore', 'ignore'] });
  child.stdin.end('{"never":1}');
  await ended(child);
  return child.pid;
}

const COUNTER = '/proc/sys/kernel/ns_last_pid';
const TRIES = 20;

/** Starts a process that has the id `pid`, which nobody has; `null` when others always come first. */
function startAs(pid, command) {
  // All others go on from where they were, or they would come to have the ids of other rounds' dead.
  const highest = fs.readFileSync(COUNTER, 'utf8');
  for (let tries = 0; tries < TRIES; tries += 1) {
    fs.writeFileSync(COUNTER, String(pid - 1));
    const child = spawn(command[0], command.slice(1), STDIO);
    fs.writeFileSync(COUNTER, highest);
    child.stdin.on('error', () => {}); // it has ended without reading
    if (child.pid === pid) return child;
    child.kill('SIGKILL');
  }
  return null;
}

async function write(child) {
  const ran = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr']) {
    child[stream].setEncoding('utf8').on('data', (text) => (ran[stream] += text));
  }
  child.stdin.end('{"written":2}');
  const code = await ended(child);
  return { code, stderr: ran.stderr, waited: code === 0 ? JSON.parse(ran.stdout).waitedMs : 0 };
}

async function round(number) {
  const { dead, heir, isYounger, code } = random.pick(CASES);
  const file = path.join(folder, `${number}.json`);
  fs.writeFileSync(file, START);
  const pid = await dead(file);
  if (readHolder(`${file}.lock`)?.pid !== pid) throw new Error(`${file}: the dead one has not left its lock`);
  if (isYounger) await sleep(MARGIN + SLACK);

  const command = writing(file, code === 0 ? WINDOW : SHORT_WINDOW);
  const child = startAs(pid, heir === 'a stranger' ? ['sleep', '1000'] : command);
  if (child === null) return;
  const age = Date.now() - fs.statSync(`${file}.lock`).mtimeMs;
  if (code !== 0 && age > MARGIN - SLACK) return void child.kill('SIGKILL'); // a slow machine: it is much younger by now
  const stranger = heir === 'a stranger' && child;
  const ran = await write(stranger ? spawn(program, command.slice(1), STDIO) : child);
  let problem = ran.code === code ? '' : `exit ${ran.code} instead of ${code}: ${ran.stderr}`;
  if (stranger) {
    stranger.kill('SIGKILL');
    await ended(stranger);
  }
  if (code !== 0) {
    if (!ran.stderr.includes(`held by process ${pid}`)) problem ||= `it does not name ${pid}: ${ran.stderr}`;
    const next = await write(spawn(program, writing(file).slice(1), STDIO));
    if (next.code !== 0) problem ||= `the next writer: exit ${next.code}: ${next.stderr}`;
  }
  if (ran.waited > MOST_WAIT) problem ||= `it waited for ${ran.waited} ms`;
  const text = fs.readFileSync(file, 'utf8');
  if (text !== WRITTEN) problem ||= `the file is ${text}`;
  if (fs.existsSync(`${file}.lock`)) problem ||= 'the lock is still there';
  const what = `a dead ${dead.name}, its id ${heir}'s, ${isYounger ? 'much' : 'not much'} younger than the lock`;
  report({ event: 'heir', what, problem, waited: ran.waited });
  fs.rmSync(file);
}

process.stdin.resume().on('end', () => process.exit(1)); // and all in the namespace with it
let rounds = 0;
await Promise.all(
  Array.from({ length: ROUNDS_AT_ONCE }, async () => {
    while (!fs.existsSync(stop)) await round((rounds += 1));
  }),
);
process.exit(0);
