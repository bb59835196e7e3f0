// A writer that runs the program for every write, as shells and agents do; now and then the shim instead.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readState } from '../../index.js';
import { countedPatch, now, plainPatch, sleep } from '../common.mjs';
import { fateOf, readHold } from '../mishaps/calls.mjs';

const SHIM = [process.execPath, fileURLToPath(new URL('../../write-state.mjs', import.meta.url))];

/** Runs the program to its end. `enlisted` is called before it has its stdin, and so before it does anything. */
function run(command, stdin, environment, enlisted) {
  return new Promise((resolve, reject) => {
    const [program, ...parameters] = command;
    const child = spawn(program, parameters, { stdio: 'pipe', env: { ...process.env, ...environment } });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) {
      child[stream].setEncoding('utf8').on('data', (text) => (output[stream] += text));
    }
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...output }));
    child.stdin.on('error', () => {}); // it was killed before it had read
    enlisted?.(child);
    child.stdin.end(stdin);
  });
}

/** Writes until the crew stops. */
export async function writeByProgram(crew, writer) {
  const { random, report } = crew;
  let plain;
  for (let turn = 1; !crew.isStopping(); turn += 1) {
    const id = `${crew.id}/${writer}/${turn}`;
    const { rev, state } = await readState(crew.file);
    plain ??= state.plain[writer] ?? 0;
    const isCounted = crew.careless || random.chance(0.6);
    const patch = isCounted ? countedPatch(state, writer, id) : plainPatch(writer, (plain += 1));
    const number = isCounted ? patch.counted[writer] : plain;
    const about = { writer, id, kind: isCounted ? 'counted' : 'plain', number, stamp: id };
    const window = random.pick(crew.windows);
    const { prefix, call, trace } = fateOf(crew);
    const program = call === undefined && random.chance(0.05) ? SHIM : [crew.program, 'write'];
    const command = [...prefix, ...program, '--json', '--lock-timeout', String(window)];
    if (isCounted) command.push('--if-match', rev);
    if (random.chance(0.5)) command.push('--no-fsync');
    const started = now();
    const ran = await run([...command, crew.file], JSON.stringify(patch), crew.environment(), (child) => {
      report({ event: 'try', from: state.stamp, pid: child.pid, time: Date.now(), call, ...about });
      crew.enlist(child, id, 'pipestate').isTraced = call !== undefined;
    });
    const took = now() - started;
    const hold = trace && readHold(trace, crew.file);
    if (hold) report({ event: 'held', id, ...hold });
    if (ran.code === 0) {
      report({ event: 'done', waited: JSON.parse(ran.stdout).waitedMs, ...about });
    } else if (ran.code === 4) {
      report({ event: 'conflict', ...about });
    } else if (ran.code === 2) {
      report({ event: 'timeout', window, took, stderr: ran.stderr, ...about });
    } else if (ran.signal === null && ran.code < 128) {
      report({ event: 'failed', how: `exit ${ran.code}: ${ran.stderr}`, ...about });
    }
    await sleep(random.between(0, 10));
  }
}
