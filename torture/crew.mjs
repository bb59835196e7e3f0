// A crew: the parent of writers, which starts them, lets mishaps befall them, and starts others. It is a process of its
// own, so that a scenario can put it into a namespace. Only its own children ever get a signal from it.
//
//   node crew.mjs OPTIONS    ends when the file `stop` appears, or when its stdin closes because the rig has died
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Random, reporter } from './common.mjs';
import { moveClocks } from './mishaps/clocks.mjs';
import { killNowAndThen, noteEnd } from './mishaps/deaths.mjs';
import { leaveOrphansNowAndThen } from './mishaps/orphans.mjs';
import { stopNowAndThen } from './mishaps/stops.mjs';
import { writeByProgram } from './writers/program.mjs';

const options = JSON.parse(process.argv[2]);

const crew = {
  ...options,
  lock: `${options.file}.lock`,
  random: new Random(options.seed),
  report: reporter(options.log),
  isStopping: () => fs.existsSync(options.stop),
  environment: () => (options.environments ? crew.random.pick(options.environments) : {}),

  /** Children that have not been waited for, by process id: while they are here, the id is theirs. */
  members: new Map(),
  /** The process id of one that has. */
  lastDead: undefined,

  /** Takes a child into the crew; `id` names it in the log. */
  enlist(child, id, kind) {
    const member = { child, id, kind, pid: child.pid };
    crew.members.set(child.pid, member);
    child.on('exit', (code, signal) => {
      crew.members.delete(child.pid);
      crew.lastDead = child.pid;
      noteEnd(crew, member, code, signal);
    });
    return member;
  },
};

/** Keeps one Node process at work, and starts another when it has been killed. */
async function keepAtWork(name, kind, more) {
  const script = fileURLToPath(new URL(`writers/${kind}.mjs`, import.meta.url));
  const { file, log, stop, witness, removed, careless } = options;
  for (let life = 1; !crew.isStopping(); life += 1) {
    const id = `${crew.id}/${name}/${life}`;
    const seed = `${options.seed}/${id}`;
    const parameters = JSON.stringify({ file, log, stop, witness, removed, careless, id, seed, ...more });
    const env = { ...process.env, ...crew.environment() };
    const child = spawn(process.execPath, [script, parameters], { stdio: ['ignore', 'ignore', 'pipe'], env });
    const member = Object.assign(crew.enlist(child, id, kind), { isNode: true });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    const [code, signal] = await new Promise((resolve) => child.on('close', (...how) => resolve(how)));
    if (code !== 0 && !member.killed) crew.report({ event: 'failed', id, how: `exit ${code ?? signal}: ${stderr}` });
  }
}

const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1);
const { program = 0, javascript = 0, addon = [] } = options.writers;
const { terminationsPerSecond } = options;
const work = [
  ...numbers(program).map((number) => writeByProgram(crew, `${crew.id}-program${number}`)),
  ...numbers(javascript).map((number) =>
    keepAtWork(`javascript${number}`, 'javascript', { writer: `${crew.id}-javascript${number}` }),
  ),
  ...addon.map((workers, index) => {
    const name = `addon${index + 1}`;
    const writers = numbers(workers).map((number) => `${crew.id}-${name}.${number}`);
    return keepAtWork(name, 'addon', { writers, terminationsPerSecond });
  }),
  ...numbers(options.killsPerSecond ? 1 : 0).map(() => killNowAndThen(crew)),
  ...numbers(options.orphansPerSecond ? 1 : 0).map(() => leaveOrphansNowAndThen(crew)),
  ...numbers(options.stoppers).map(() => stopNowAndThen(crew)),
  ...numbers(options.clocks ? 1 : 0).map(() => moveClocks(crew)),
];

process.stdin.resume().on('end', () => {
  for (const { child } of crew.members.values()) child.kill('SIGKILL');
  process.exit(1);
});
await Promise.all(work);

// What the last of the dead have left is judged here, where their process ids mean something: in the rig's namespace
// the same number may be somebody who lives.
const last = spawnSync(options.program, ['write', options.file], { input: '{}', encoding: 'utf8' });
if (last.status !== 0) throw new Error(`the last writer: exit ${last.status}: ${last.stderr}`);
process.exit(0);
