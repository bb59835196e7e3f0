// One run of a scenario: a folder of its own, crews at work in it, and the reader that checks the ledger at every look.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Broken, newState, now, plainPatch, sleep } from './common.mjs';
import { Ledger } from './ledger.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CREW = fileURLToPath(new URL('crew.mjs', import.meta.url));

/** The program, as `npm run build` leaves it. */
export const PROGRAM = process.env.PIPESTATE ?? path.join(ROOT, 'pipestate');

/** Big enough that merging and writing take a while, which is when holders die. */
const BALLAST_BYTES = 64 * 1024;
/** How long a writer may go without any event, and a crew without ending, before it counts as stuck. */
const STUCK_MS = 40_000;
/** What a foreign writer that was killed may leave: nothing of it is pipestate's to remove (A5). */
const FOREIGN_LEFTOVER = /^state\.json\.\d+\.tmp$/;

const NO_MISHAPS = { fatalCalls: 0, slowCalls: 0, stoppers: 0, nodeKills: 0.1 };

/** A process-id namespace, whose first process waits for the dead as an init does. What is in it dies with it. */
export function namespace(preparation = ':') {
  const init = ['sh', '-c', `${preparation}; "$@"; exit $?`, 'sh'];
  return ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', ...init];
}

export class Rig {
  constructor({ seed, lossless = true, mayTimeOut = false }) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pipestate-torture-'));
    this.state = path.join(this.folder, 'state');
    const beside = (name) => path.join(this.folder, name);
    Object.assign(this, { seed, log: beside('events'), stop: beside('stop'), removed: beside('removed') });
    this.traces = beside('traces');
    this.file = path.join(this.state, 'state.json');
    for (const folder of [this.state, this.removed, this.traces]) fs.mkdirSync(folder);
    const start = newState(BALLAST_BYTES);
    fs.writeFileSync(this.file, `${JSON.stringify(start, null, 2)}\n`);
    fs.writeFileSync(this.log, '');
    this.events = fs.openSync(this.log, 'r');
    this.unread = '';
    this.ledger = new Ledger({ start, lossless, mayTimeOut });
    this.crews = [];
    this.careless = !lossless;
  }

  /** Starts a crew; `prefix` is a command that runs it somewhere, such as `unshare`. */
  startCrew(id, options, prefix = []) {
    const { file, log, stop, removed, traces, careless } = this;
    const usual = { program: PROGRAM, windows: [10_000], prefixes: [[]], ...NO_MISHAPS };
    const all = { ...usual, file, log, stop, removed, traces, careless, ...options };
    Object.assign(all, { id, seed: `${this.seed}/${id}`, witness: path.join(this.folder, 'witness') });
    return this.start(id, [...prefix, process.execPath, CREW, JSON.stringify(all)]);
  }

  /** Starts something that ends at `stop`, or when its stdin closes because this process has died. */
  start(id, [command, ...parameters]) {
    const child = spawn(command, parameters, { stdio: ['pipe', 'ignore', 'pipe'] });
    const crew = { id, child, stderr: '' };
    child.stdin.on('error', () => {}); // it has ended
    child.stderr.setEncoding('utf8').on('data', (text) => (crew.stderr += text));
    crew.ended = new Promise((resolve) => child.on('close', (code, signal) => resolve((crew.end = code ?? signal))));
    this.crews.push(crew);
    return crew;
  }

  /** Kills a crew with all that are in its namespace. */
  async killCrew(crew, report) {
    report({ event: 'killed', id: crew.id, how: 'namespace' });
    crew.child.kill('SIGKILL');
    crew.expected = true;
    await crew.ended;
    report({ event: 'gone', id: crew.id });
    this.look();
    this.ledger.forgetWriters(crew.id);
  }

  /** Reads what was logged, then the file, and checks. */
  look() {
    const chunk = Buffer.alloc(1 << 16);
    for (let size; (size = fs.readSync(this.events, chunk)) > 0; ) this.unread += chunk.toString('utf8', 0, size);
    const lines = this.unread.split('\n');
    this.unread = lines.pop();
    for (const line of lines) this.ledger.record(JSON.parse(line), now());
    const fd = fs.openSync(this.file, 'r');
    this.text = fs.readFileSync(fd, 'utf8');
    this.ledger.look(this.text, fs.fstatSync(fd).ctimeMs);
    fs.closeSync(fd);
  }

  checkProgress() {
    for (const [writer, at] of this.ledger.progress) {
      if (now() - at > STUCK_MS) throw new Broken(`${writer} has been stuck for ${Math.round(now() - at)} ms`);
    }
    for (const { id, end, stderr, expected } of this.crews) {
      if (end !== undefined && end !== 0 && !expected) throw new Error(`crew ${id} ended with ${end}: ${stderr}`);
    }
  }

  /** Looks until the time is over, or `until` resolves. */
  async watch(milliseconds, until) {
    const end = now() + milliseconds;
    let over = false;
    until?.then(() => (over = true));
    while (now() < end && !over) {
      this.look();
      this.checkProgress();
      await sleep(2);
    }
    return over || !until;
  }

  /** Lets the crews come to their end, and checks what they leave. */
  async end() {
    fs.writeFileSync(this.stop, '');
    for (const writer of this.ledger.progress.keys()) this.ledger.progress.set(writer, now());
    const allEnded = Promise.all(this.crews.map(({ ended }) => ended));
    if (!(await this.watch(STUCK_MS, allEnded))) throw new Broken('the crews do not come to an end');
    this.checkProgress();
    this.look();
    const losses = this.ledger.end(this.readRemovals());
    this.checkSuccession();
    return losses;
  }

  /** One more writer: it goes on at once, whatever the last ones left, and leaves nothing. */
  checkSuccession() {
    const patch = JSON.stringify(plainPatch('rig', 1));
    const started = now();
    const { status, stderr } = spawnSync(PROGRAM, ['write', this.file], { input: patch, encoding: 'utf8' });
    if (status !== 0) throw new Broken(`the next writer: exit ${status}: ${stderr}`);
    if (now() - started > 3500) throw new Broken(`the next writer took ${Math.round(now() - started)} ms`);
    this.look();
    const left = fs.readdirSync(this.state).filter((name) => name !== 'state.json' && !FOREIGN_LEFTOVER.test(name));
    if (left.length > 0) throw new Broken(`left behind: ${left.join(', ')}`);
  }

  /** What careless tools removed, as they left it. */
  readRemovals() {
    return fs.readdirSync(this.removed).map((name) => {
      const path_ = path.join(this.removed, name);
      const lines = fs.readFileSync(path_, 'utf8');
      const own = name.startsWith(`${lines.split('\n')[1]?.replaceAll('/', '-')}-`);
      return { lines, own, time: fs.statSync(path_).ctimeMs };
    });
  }

  /** Keeps what shows how an invariant broke. */
  keepEvidence(error) {
    fs.writeFileSync(path.join(this.folder, 'broken.txt'), `${error.stack}\n`);
    if (this.text !== undefined) fs.writeFileSync(path.join(this.folder, 'seen.json'), this.text);
    try {
      fs.copyFileSync(`${this.file}.lock`, path.join(this.folder, 'lock'));
    } catch (missing) {
      if (missing.code !== 'ENOENT') throw missing;
    }
    return this.folder;
  }

  forget() {
    fs.closeSync(this.events);
    fs.rmSync(this.folder, { recursive: true });
  }
}
