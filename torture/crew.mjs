// A crew: the parent of writers, which starts them, kills or stops them at random moments and starts others. It is a
// process of its own, so that a scenario can put it into a namespace. Only its own children ever get a signal from it.
//
//   node crew.mjs OPTIONS    ends when the file `stop` appears, or when its stdin closes because the rig has died
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Random, now, readHolder, reporter, sleep } from './common.mjs';
import { writeByProgram } from './writers/program.mjs';

const options = JSON.parse(process.argv[2]);
const { file, log, stop, witness, removed, careless } = options;
const lock = `${file}.lock`;
const random = new Random(options.seed);
const report = reporter(log);
/** Children that have not been waited for, by process id: while they are here, the id is theirs. */
const children = new Map();
let lastDead;
const isStopping = () => fs.existsSync(stop);

/** Shortest time between two looks at what is waited for. */
const LOOK = 2;
/** What a look takes beyond this is the machine's doing: this process was not scheduled, and could not see. */
const MOST_LOOK = 20;

const crew = {
  ...options,
  random,
  report,
  isStopping,
  fate,
  environment: () => (options.environments ? random.pick(options.environments) : {}),

  /** Takes a child into the crew; `id` names it in the log. */
  enlist(child, id, kind) {
    const member = { child, id, kind, pid: child.pid };
    children.set(child.pid, member);
    child.on('exit', (_, signal) => {
      children.delete(child.pid);
      lastDead = child.pid;
      if (signal !== 'SIGKILL') return;
      if (!member.killed) noteKill(member, 'strace');
      report({ event: 'gone', id });
      followOrphan(member);
    });
    return member;
  },
};

/** For how long a writer dawdles at most, in milliseconds. */
const MOST_DELAY = 40;
/** Calls of the program, between which everything that matters happens, and which of each: the first ones load it. */
const CALLS = {
  openat: [5, 14], flock: [1, 4], fstat: [1, 6], fchmod: [1, 3], pwrite64: [1, 2], linkat: [1, 3], newfstatat: [5, 10],
  pread64: [3, 9], writev: [1, 1], fsync: [1, 2], renameat: [1, 1], unlinkat: [1, 2], close: [5, 13],
};

/** How a writer is run: to die or to dawdle at some call, or in a time namespace, or just so. */
function fate() {
  const fate = random.next();
  if (fate < options.fatalCalls) return atSomeCall('signal=SIGKILL');
  if (fate < options.fatalCalls + options.slowCalls) {
    return atSomeCall(`delay_enter=${Math.floor(random.between(0, MOST_DELAY * 1000))}`);
  }
  return { prefix: random.pick(options.prefixes) };
}

let traces = 0;

function atSomeCall(fault) {
  const call = random.pick(Object.keys(CALLS));
  const [first, last] = CALLS[call];
  const inject = `inject=${call}:${fault}:when=${Math.floor(random.between(first, last + 1))}`;
  const trace = `${options.traces}/${crew.id}-${(traces += 1)}`;
  // -D: the writer stays our child, with the process id that stands in its lock.
  const strace = ['strace', '-D', '-qqq', '-ttt', '-o', trace, '-e', `trace=openat,renameat,unlinkat,${call}`, '-e', inject];
  return { call, trace, prefix: strace };
}

function noteKill(member, how) {
  member.killed = now();
  report({ event: 'killed', id: member.id, how, holder: readHolder(lock)?.pid === member.pid });
}

function kill(member) {
  // Killed before its tracer has attached, a traced one would leave the tracer waiting for ever.
  if (member.killed || member.isTraced) return;
  noteKill(member, 'SIGKILL');
  member.child.kill('SIGKILL');
}

/** Whether the lock is one that a dead member of the crew left. */
function isLeftBy(holder, member) {
  if (holder === null) return false;
  // A foreign writer that died between creating its lock and writing into it leaves an empty one.
  return holder.pid === member.pid || (member.kind === 'javascript' && holder.lines === '');
}

/** Measures how long the lock of a dead member stays, if it left one. */
async function followOrphan(member) {
  const orphan = readHolder(lock);
  if (isLeftBy(orphan, member)) await follow(orphan, member.killed, member.id);
}

async function follow(orphan, since, id) {
  let last = now();
  let unseen = 0;
  let holder = orphan;
  while (holder !== null && holder.lines === orphan.lines && !isStopping()) {
    await sleep(LOOK);
    unseen += Math.max(0, now() - last - MOST_LOOK);
    last = now();
    holder = readHolder(lock);
  }
  if (holder !== null && holder.lines === orphan.lines) return; // the run ends
  const of = orphan.isPipestate ? 'pipestate' : 'foreign';
  report({ event: 'successor', of, id, took: last - since, unseen, orphan: orphan.lines });
}

/** Creates the lock exclusively, unless somebody has it. */
function leaves(lines) {
  try {
    fs.writeFileSync(lock, lines, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

/** Leaves locks as a foreign tool that has died does: with the process id of one of our dead. */
async function leaveOrphansNowAndThen() {
  while (!isStopping()) {
    await sleep(-Math.log(1 - random.next()) * (1000 / options.orphansPerSecond));
    if (lastDead === undefined) continue;
    const lines = String(lastDead);
    while (!leaves(lines) && !isStopping()) await sleep(random.between(0, LOOK));
    if (isStopping()) return;
    report({ event: 'orphan' });
    await follow({ lines, isPipestate: false }, now(), `process ${lines}`);
  }
}

/** The member that takes the lock next; `undefined` when none does for a while. */
function nextHolder() {
  return new Promise((resolve) => {
    const look = () => {
      const member = children.get(readHolder(lock)?.pid);
      if (member) finish(member);
    };
    const finish = (member) => {
      clearTimeout(timer);
      watcher.close();
      resolve(member);
    };
    const timer = setTimeout(finish, 50);
    const watcher = fs.watch(path.dirname(file), look);
  });
}

/** Kills at random moments: whoever has the lock, or anybody. Node processes are slow to start, and so mostly spared. */
async function killNowAndThen() {
  while (!isStopping()) {
    await sleep(-Math.log(1 - random.next()) * (1000 / options.killsPerSecond));
    const member = random.chance(0.7) ? await nextHolder() : random.pick([...children.values()]);
    if (member && random.chance(member.isNode ? options.nodeKills : 1)) kill(member);
  }
}

const stateOf = (pid) => {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat[stat.lastIndexOf(')') + 2];
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null;
    throw error;
  }
};

/** Stops members and lets them go on later. While a holder stands still, lock and file must stay as they are. */
async function stopNowAndThen() {
  while (!isStopping()) {
    await sleep(random.between(0, 300));
    const member = random.chance(0.7) ? await nextHolder() : random.pick([...children.values()]);
    if (!member || member.killed || member.stopped || member.isTraced) continue;
    member.stopped = true;
    report({ event: 'stopped', id: member.id });
    member.child.kill('SIGSTOP');
    while (![null, 'T', 'Z'].includes(stateOf(member.pid))) await sleep(LOOK);
    const before = readHolder(lock);
    const holds = before?.pid === member.pid && stateOf(member.pid) === 'T';
    const text = holds && fs.readFileSync(file, 'utf8');
    const duration = random.chance(options.longStops) ? 12_000 : random.between(0, 2000);
    const until = now() + duration;
    while (now() < until && !isStopping()) await sleep(50);
    if (holds && !member.killed) {
      const same = readHolder(lock)?.lines === before.lines && fs.readFileSync(file, 'utf8') === text;
      report({ event: 'stood still', id: member.id, kind: member.kind, duration, same });
    }
    if (random.chance(0.2)) kill(member);
    member.child.kill('SIGCONT');
    member.stopped = false;
  }
}

/** Moves the clocks that the writers see (libfaketime reads the file each time), and the lock's own time. */
async function moveClocks() {
  while (!isStopping()) {
    for (const clock of options.clocks) fs.writeFileSync(clock, `${random.pick(['+', '-'])}${Math.floor(random.between(0, 1e8))}`);
    moveLockTime();
    await sleep(random.between(0, 100));
  }
}

function moveLockTime() {
  let fd;
  try {
    fd = fs.openSync(lock, 'r');
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  // Only a pipestate's: that of a bare process id is judged by it, which is a limit written in the README.
  if (fs.readFileSync(fd, 'utf8').includes('\n{"pipestate":')) {
    const time = Date.now() / 1000 + random.between(-1e8, 1e8);
    fs.futimesSync(fd, time, time);
    report({ event: 'clock moved' });
  }
  fs.closeSync(fd);
}

/** Keeps one Node process at work, and starts another when it has been killed. */
async function keepAtWork(name, kind, script, more) {
  for (let life = 1; !isStopping(); life += 1) {
    const id = `${crew.id}/${name}/${life}`;
    const seed = `${options.seed}/${id}`;
    const parameters = JSON.stringify({ file, log, stop, witness, removed, careless, id, seed, ...more });
    const script_ = fileURLToPath(new URL(`writers/${script}`, import.meta.url));
    const environment = { ...process.env, ...crew.environment() };
    const child = spawn(process.execPath, [script_, parameters], { stdio: ['ignore', 'ignore', 'pipe'], env: environment });
    const member = Object.assign(crew.enlist(child, id, kind), { isNode: true });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    const [code, signal] = await new Promise((resolve) => child.on('close', (...how) => resolve(how)));
    if (code !== 0 && !member.killed) report({ event: 'failed', id, how: `exit ${code ?? signal}: ${stderr}` });
  }
}

const name = (kind, number) => `${crew.id}-${kind}${number}`;
const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1);
const { program = 0, addon = [], javascript = 0 } = options.writers;
const work = [
  ...numbers(program).map((number) => writeByProgram(crew, name('program', number))),
  ...numbers(javascript).map((number) =>
    keepAtWork(`javascript${number}`, 'javascript', 'javascript.mjs', { writer: name('javascript', number) }),
  ),
  ...addon.map((workers, index) => {
    const writers = numbers(workers).map((number) => name(`addon${index + 1}.`, number));
    const { terminationsPerSecond } = options;
    return keepAtWork(`addon${index + 1}`, 'pipestate', 'addon.mjs', { writers, terminationsPerSecond });
  }),
  ...(options.killsPerSecond ? [killNowAndThen()] : []),
  ...(options.orphansPerSecond ? [leaveOrphansNowAndThen()] : []),
  ...numbers(options.stoppers).map(stopNowAndThen),
  ...(options.clocks ? [moveClocks()] : []),
];

process.stdin.resume().on('end', () => {
  for (const { child } of children.values()) child.kill('SIGKILL');
  process.exit(1);
});
await Promise.all(work);
process.exit(0);
