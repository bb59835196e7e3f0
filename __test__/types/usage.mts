// Compiled, never run: what users write, and what the compiler must not let them write.
import pipestate, {
  finalizePipeline,
  initPipeline,
  initPipelineSync,
  appendHandoff,
  checkResult,
  confirm,
  createTask,
  findTask,
  halt,
  latestHandoff,
  listTasksSync,
  nextAttempt,
  phaseFilesSync,
  planClearLogsSync,
  planKill,
  planResume,
  setPhase,
  startResumeSync,
  lockState,
  lockStateSync,
  PipestateError,
  readState,
  readStateSync,
  recover,
  recoverSync,
  resumePipeline,
  scanRuns,
  scanRunsSync,
  setPipelinePhase,
  updateState,
  updateStateSync,
  validateState,
  validateStateSync,
  writeState,
  writeStateSync,
  StateLock,
  type LockHolder,
  type PipestateErrorCode,
  type ResumePlan,
  type RunDecision,
  type State,
  type StatePatch,
  type StateReport,
  type StateSnapshot,
  type Task,
  type UnsafeState,
  type WriteOptions,
  type WriteResult,
} from 'pipestate';

interface Agent {
  currentPhase: number;
  phases?: Record<string, { status: string }>;
}

// Files and patches of every kind.
const result: WriteResult = await writeState('agent-state.json', { currentPhase: 4 });
await writeState(Buffer.from('agent-state.json'), '{"currentPhase":4}');
await writeState(new URL('file:///agent-state.json'), new TextEncoder().encode('{}'));
const agent: Agent = { currentPhase: 4 };
writeStateSync('agent-state.json', agent);
const patch: StatePatch = { phases: { 4: { status: 'done' } } };
const { rev, changed, created, path, waitedMs, warnings }: WriteResult = writeStateSync('a.json', patch);
const texts: string[] = [rev, path, ...(warnings ?? [])];
const flags: boolean[] = [changed, created];
const times: number[] = [waitedMs];

// Options of every kind.
const options: WriteOptions = {
  replace: true,
  nulls: 'delete',
  ifMatch: 'none',
  durability: 'fast',
  lockTimeoutMs: 0,
  signal: AbortSignal.timeout(100),
};
await writeState('a.json', patch, options);
await writeState('a.json', patch, {});
// @ts-expect-error a state file is no number
await writeState(1, patch);
// @ts-expect-error a patch is no number
await writeState('a.json', 1);
// @ts-expect-error the patch is missing
await writeState('a.json');
// @ts-expect-error a misspelt option
await writeState('a.json', patch, { ifmatch: 'none' });
// @ts-expect-error not one of the two
await writeState('a.json', patch, { nulls: 'keep' });
// @ts-expect-error not one of the two
await writeState('a.json', patch, { durability: 'slow' });
// @ts-expect-error not a number of milliseconds
await writeState('a.json', patch, { lockTimeoutMs: '10s' });
// @ts-expect-error nothing can be aborted while nothing else runs
writeStateSync('a.json', patch, { signal: AbortSignal.timeout(100) });

// Reading, with and without a type of one's own.
const loose: StateSnapshot = await readState('a.json');
const anything: State = loose.state;
const phase: number = (await readState<Agent>('a.json')).state.currentPhase;
const text: string = readStateSync('a.json').text;
// @ts-expect-error not in that type
readStateSync<Agent>('a.json').state.nothing;

// Validation.
const report: StateReport = await validateState('a.json', { kind: 'agent', maxPhase: 9, strict: true });
const severities: ('error' | 'warning' | 'advice' | 'info')[] = report.findings.map(({ severity }) => severity);
const exit: 0 | 1 | 3 = validateStateSync('a.json').exitCode;
// @ts-expect-error no such kind
await validateState('a.json', { kind: 'other' });

// Decisions.
const decision: RunDecision = await recover('pipeline-state.json', { staleAfterMs: 60_000, now: new Date() });
const never: false = decision.autoResume;
const codes: string[] = decision.reasons.map(({ code, pointer }) => `${code} ${pointer ?? ''}`);
if (decision.action === 'ask' && decision.choices.includes('finalize')) texts.push(decision.lastActive?.at ?? '');
const decisions: RunDecision[] = (await scanRuns({ workspaces: ['.', new URL('file:///w')], home: false, now: '2026-07-01' })).files;
decisions.push(recoverSync('agent-state.json'), ...scanRunsSync().files);
// @ts-expect-error no such action
if (decision.action === 'resume') texts.push('never');
// @ts-expect-error `true` is no home folder
await scanRuns({ home: true });
// @ts-expect-error of a scan only
await recover('a.json', { workspaces: [] });

// Pipelines.
const run = await initPipeline({ name: 'docs', pattern: '2b', tier: 'tier_1', phases: ['plan:planner', { name: 'write' }] });
texts.push(run.path, run.runId, run.pipelineId, run.scopeRoot);
const resumed = await resumePipeline(run.path, { tier: 'tier_2', confirm: true, signal: AbortSignal.timeout(1) });
texts.push(resumed.tier, resumed.previousTier ?? '', resumed.resumedAt);
texts.push((await setPipelinePhase(run.path, 0, { status: 'done', outputs: ['a.md'] }, { lockTimeoutMs: 0 })).status);
flags.push((await finalizePipeline(run.path)).changed);
await writeState(run.path, { run_id: 'x' }, { force: true });
// @ts-expect-error the tier is missing
initPipelineSync({ name: 'docs', pattern: '1' });
// @ts-expect-error no such tier
await resumePipeline(run.path, { tier: 'tier_9' });
// @ts-expect-error no such status
await setPipelinePhase(run.path, 0, { status: 'skipped' });

// Removals.
const killing = await planKill('#2', { project: 'web', remote: true });
for (const item of killing.groups.flatMap(({ items }) => items)) {
  if (item.kind === 'worktree') texts.push(item.path, ...item.uncommitted.names);
  if (item.kind === 'branch') texts.push(item.name, ...item.lost.named);
}
const outcome = await confirm(killing.token ?? '', { lockTimeoutMs: 0 });
texts.push(outcome.done ? outcome.line : outcome.token, planClearLogsSync({ includeActive: true }).confirm ?? '');
// @ts-expect-error kill leaves the logs
await planKill('#2', { includeActive: true });
// @ts-expect-error no such kind
if (killing.groups[0]?.items[0]?.kind === 'repository') texts.push('never');

// Updates.
await updateState('a.json', (state) => ({ attempt: (state.attempt ?? 0) + 1 }), { signal: AbortSignal.timeout(1) });
await updateState<Agent>('a.json', async ({ currentPhase }, read) => ({ currentPhase: currentPhase + 1, rev: read.rev }));
await updateState('a.json', () => undefined);
await updateState('a.json', () => null);
await updateState('a.json', () => {});
await updateState('a.json', () => '{"a":1}');
updateStateSync<Agent>('a.json', (state) => ({ currentPhase: state.currentPhase + 1 }));
// @ts-expect-error a function is wanted
await updateState('a.json', { attempt: 1 });
// @ts-expect-error what it returns is no patch
await updateState('a.json', () => 1);
// @ts-expect-error not in that type
await updateState<Agent>('a.json', ({ nothing }) => ({ nothing }));

// Locks.
{
  await using lock = await lockState('a.json', { lockTimeoutMs: Infinity, signal: AbortSignal.timeout(1) });
  const { state } = await lock.read<Agent>();
  const written: WriteResult = await lock.write({ currentPhase: state.currentPhase + 1 }, { ifMatch: 'none' });
  times.push(lock.waitedMs, written.waitedMs);
  texts.push(lock.path);
  await lock.release();
  // @ts-expect-error the lock is held: there is no wait
  await lock.write({}, { lockTimeoutMs: 1 });
  // @ts-expect-error what it is cannot be changed
  lock.path = '';
}
{
  using lock = lockStateSync('a.json', { lockTimeoutMs: 1 });
  lock.writeSync(lock.readSync().text);
  lock.releaseSync();
}
// @ts-expect-error made by lockState
new StateLock();

// Errors.
try {
  writeStateSync('a.json', patch);
} catch (error) {
  if (error instanceof PipestateError) {
    const code: PipestateErrorCode = error.code;
    const holder: LockHolder | undefined = error.holder;
    const exitCode: 1 | 2 | 3 | 4 | 70 = error.exitCode;
    texts.push(code, error.path ?? '', error.pointer ?? '', error.syscall ?? '', error.rev ?? '', holder?.why ?? '');
    times.push(exitCode, error.errno ?? 0, error.line ?? 0, error.column ?? 0, error.offset ?? 0, holder?.pid ?? 0);
    // @ts-expect-error no such code
    if (error.code === 'ERR_PIPESTATE_OTHER') texts.push('never');
  }
}

// One and the same by default.
const same: typeof writeState = pipestate.writeState;
export { anything, codes, decisions, exit, flags, never, phase, result, same, severities, text };

// Tasks and agents' runs.
const made: Task = await createTask('P-1', {
  repositories: [{ repoPath: '/r', worktreePath: 'w', branch: 'b' }],
  logsDir: '/l',
});
const tasks: Task[] = [await findTask(2, { project: 'p' }), ...listTasksSync()];
const plan: ResumePlan | UnsafeState = await planResume(made.state, { staleAfterMs: 0, now: new Date(), maxPhase: 9 });
if (plan.phase === undefined) throw new Error(plan.message);
const skipped: string[] = plan.skip.map(({ subStep, why }) => `${subStep}: ${why}`);
const started: ResumePlan & WriteResult = startResumeSync(made.state, { lockTimeoutMs: 0 });
await setPhase(made.state, 3, { status: 'running', subStep: 'red', files: ['a'], retryCount: 1, log: false });
const line: string = (await halt(made.state, { phase: 3, cause: 'x' })).line;
const attempt: number = (await nextAttempt(made.state, 'build-fix', { reflection: 'x' })).attempt;
const block: string = (await appendHandoff(made.log, { phase: 3, name: 'dev', done: ['x'], next: 'Phase 4' })).text;
const latest = await latestHandoff(made.log);
const next: string | null = latest?.kind === 'handoff' ? latest.next : (latest?.text ?? null);
const paths: string[] = phaseFilesSync(made.state, 4, { only: 'missing' }).map(({ path }) => path);
const blocking: boolean | null = (await checkResult('{}')).result.blocking;
// @ts-expect-error a unit is one
await setPhase(made.state, 3, { status: 'running', subSteps: ['red'] });
// @ts-expect-error a halt has a cause
await halt(made.state, { phase: 3 });
export { attempt, block, blocking, line, next, paths, skipped, started, tasks };
