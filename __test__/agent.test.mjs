// Tasks and agents' runs across the border: objects as the program prints them, errors, alerts, threads.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import * as pipestate from 'pipestate';
import { folder, run, start } from './support.mjs';

const { appendHandoff, checkResult, createTask, findTask, halt, latestHandoff, listTasks } = pipestate;
const { nextAttempt, phaseFiles, planResume, setPhase, startResume } = pipestate;

/** A task with this state, below the test's own logs root. */
async function task(t, state) {
  const logsDir = join(folder(t), 'logs');
  const made = await createTask('P-1', { project: 'p', logsDir, durability: 'fast' });
  if (state) writeFileSync(made.state, JSON.stringify(state));
  return { logsDir, made, file: made.state };
}

const read = (file) => JSON.parse(readFileSync(file, 'utf8'));

test('tasks are made, found and listed', async (t) => {
  const { logsDir, made } = await task(t);
  const at = join(logsDir, 'p', '1');
  assert.deepEqual(made, {
    taskId: 1,
    project: 'p',
    ticket: 'P-1',
    status: null,
    currentPhase: 0,
    folder: at,
    state: join(at, 'agent-state.json'),
    log: join(at, 'agent-log.md'),
  });
  const repositories = [{ repoPath: '/src/web', worktreePath: '.worktrees/P-2', branch: 'P-2' }];
  const second = pipestate.createTaskSync('P-2', { logsDir, project: 'p', repositories });
  assert.equal(read(second.state).worktreePath, '/src/web/.worktrees/P-2');
  for (const name of ['#1', '1', 1, 'P-1']) assert.deepEqual(await findTask(name, { logsDir }), made);
  assert.deepEqual(await listTasks({ logsDir }), [made, second]);
  const numbers = Array.from({ length: 20 }, (_, index) => index + 1);
  const at20 = { logsDir, project: 'q', durability: 'fast' };
  const crowd = await Promise.all(numbers.map((number) => createTask(`Q-${number}`, at20)));
  assert.deepEqual(crowd.map(({ taskId }) => taskId).sort((a, b) => a - b), numbers);
  const { ticket } = read(join(logsDir, 'q', '1', 'agent-state.json'));
  const candidates = ['p #1 P-1', `q #1 ${ticket}`];
  await assert.rejects(findTask('#1', { logsDir }), { code: 'ERR_PIPESTATE_REFUSED', exitCode: 1, candidates });
  await assert.rejects(findTask('#99', { logsDir }), { code: 'ERR_PIPESTATE_REFUSED', path: logsDir });
});

test('a run is taken through its phases, halted and resumed', async (t) => {
  const { file } = await task(t);
  const step = await setPhase(pathToFileURL(file), 3, { status: 'running', subStep: 'red', files: ['a.ts'], retryCount: 1 });
  assert.deepEqual([step.phase, step.status, step.changed], [3, 'running', true]);
  assert.deepEqual(read(file).phases[3], {
    status: 'running',
    files: ['a.ts'],
    retryCount: 1,
    subStep: 'red',
    subSteps: { red: { files: ['a.ts'] } },
  });
  await setPhase(file, 4, { status: 'failed', log: false });
  const plan = await planResume(file);
  assert.deepEqual([plan.ok, plan.exitCode, plan.phase, plan.phases], [true, 0, 4, [4, 5, 6, 7]]);
  assert.deepEqual(plan, { ...pipestate.planResumeSync(file), decision: plan.decision });
  const started = await startResume(file);
  assert.deepEqual([started.phase, started.changed, read(file).status], [4, true, 'running']);
  await assert.rejects(startResume(file), { code: 'ERR_PIPESTATE_REFUSED', exitCode: 1 });
  assert.equal((await startResume(file, { staleAfterMs: 0, lockTimeoutMs: Infinity })).phase, 4);
  assert.deepEqual(await phaseFiles(file, 3), [{ path: 'a.ts', exists: null }]);
});

test('an unsafe state is an answer', async (t) => {
  const { file } = await task(t, { currentPhase: 9 });
  const { ok, exitCode, message, phase } = await planResume(file);
  assert.deepEqual(
    { ok, exitCode, message, phase },
    {
      ok: false,
      exitCode: 1,
      message: "ERR: agent-state.json is unsafe to resume; inspect it or 'kill #N' and restart.",
      phase: undefined,
    },
  );
  await assert.rejects(startResume(file), { code: 'ERR_PIPESTATE_REFUSED', pointer: '/currentPhase' });
  writeFileSync(file, '{');
  assert.equal((await planResume(file)).exitCode, 3);
});

test('a halt and a fourth attempt are told on stderr', async (t) => {
  const { file } = await task(t, { taskId: 12, currentPhase: 5 });
  const script = `
    import { halt, nextAttempt } from 'pipestate'
    const { line } = await halt(process.argv[1], { phase: 5, cause: 'x' })
    console.log(line)
    for (const n of [1, 2, 3]) console.log((await nextAttempt(process.argv[1], 'fix', { reflection: 'try ' + n })).attempt)
    await nextAttempt(process.argv[1], 'fix', { reflection: 'try 4' }).catch(({ code }) => console.log(code))`;
  const ran = await run(process.execPath, ['--input-type=module', '-e', script, file], { cwd: import.meta.dirname });
  const line = 'HALT phase 5: x - resume with /multi-agent:resume #12';
  assert.deepEqual(ran, {
    code: 0,
    stdout: `${line}\n1\n2\n3\nERR_PIPESTATE_REFUSED\n`,
    stderr: `${line}\nHALT phase 5: loop fix has used its 3 attempts - resume with /multi-agent:resume #12\n`,
  });
  assert.equal(read(file).haltReason, '5:loop fix has used its 3 attempts');
  assert.equal((await nextAttempt(file, 'fix', { reset: true })).attempt, 0);
});

test('handoffs are appended and read back', async (t) => {
  const { file, made } = await task(t);
  assert.equal((await latestHandoff(file)).kind, 'section');
  const handoff = { phase: 3, name: 'dev', done: ['a', 'b'], openFindings: ['c'], next: 'Phase 4' };
  const { path, lines } = await appendHandoff(file, handoff);
  assert.deepEqual([path, lines], [made.log, 8]);
  const { text, at, line, ...latest } = await latestHandoff(made.log);
  assert.deepEqual(latest, { kind: 'handoff', ...handoff, remaining: [], decisions: [] });
  await assert.rejects(appendHandoff(file, { ...handoff, decisions: Array(8).fill('x') }), /the handoff has 16 lines/);
});

test('a result is checked', async () => {
  const good = '{"status":"complete","findings":[],"files_changed":[],"blocking":false}';
  assert.equal((await checkResult(good)).ok, true);
  const { ok, text, findings } = await checkResult(Buffer.from(`Here: ${good}`));
  assert.deepEqual([ok, text, findings.map(({ code }) => code)], [false, good, ['result-prose']]);
});

test('what is misspelt or of another type is a TypeError', async (t) => {
  const { file } = await task(t);
  const before = readFileSync(file, 'utf8');
  for (const call of [
    () => setPhase(file, 3, { status: 'done', subSteps: 'x' }),
    () => setPhase(file, 3, { status: 'sleeping' }),
    () => setPhase(file, 'three', { status: 'done' }),
    () => setPhase(file, 8, { status: 'done' }),
    () => setPhase(file, 3),
    () => setPhase(7, 3, { status: 'done' }),
    () => halt(file, { phase: 3 }),
    () => planResume(file, { now: 'yesterday' }),
    () => startResume(file, null),
    () => createTask('../x', { project: 'p' }),
    () => checkResult(7),
  ]) {
    await assert.rejects(call, { name: 'TypeError', code: 'ERR_PIPESTATE_USAGE', exitCode: 64 });
  }
  assert.equal(readFileSync(file, 'utf8'), before);
});

test('waiting calls keep no other call from going on, and a process ends in the midst of them', async (t) => {
  const { file } = await task(t, { currentPhase: 1 });
  const lock = await pipestate.lockState(file);
  const waiting = Array.from({ length: 8 }, (_, n) => nextAttempt(file, `loop-${n}`));
  await lock.write({ held: true });
  await lock.release();
  assert.deepEqual((await Promise.all(waiting)).map(({ attempt }) => attempt), Array(8).fill(1));
  const script = `
    import { lockState, setPhase } from 'pipestate'
    await lockState(process.argv[1])
    setPhase(process.argv[1], 2, { status: 'done' })
    console.log('waiting')
    setTimeout(() => process.exit(0), 50)`;
  const child = start(t, ['--input-type=module', '-e', script, file], { cwd: import.meta.dirname });
  assert.equal(await child.line(), 'waiting');
  assert.equal((await child.end()).code, 0);
  assert.equal(read(file).currentPhase, 1);
});
