// Pipelines' runs from JavaScript: what crosses the border, and that it is the same run that the command line has.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  finalizePipeline,
  finalizePipelineSync,
  initPipeline,
  initPipelineSync,
  lockState,
  resumePipeline,
  resumePipelineSync,
  setPipelinePhase,
  setPipelinePhaseSync,
  validateState,
  writeState,
} from 'pipestate';
import { folder, root, run } from './support.mjs';
import * as shapes from './types/shapes.mjs';

/** A workspace with the manifest of tier 1 in it. */
function workspace(t) {
  const path = folder(t);
  mkdirSync(join(path, '.claude-plugin'));
  writeFileSync(join(path, '.claude-plugin/plugin.json'), '{"version":"1.2.3"}');
  return path;
}

const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const START = { name: 'docs', pattern: '2', tier: 'tier_1', durability: 'fast' };

/** Lets the file look as if nobody had touched it for two hours. */
function age(file) {
  const before = Date.now() / 1000 - 2 * 60 * 60;
  utimesSync(file, before, before);
}

/** A run that has crashed. */
function crashed(path, more = {}) {
  const file = join(path, '.claude/superpipelines/temp/docs/run-1/pipeline-state.json');
  mkdirSync(dirname(file), { recursive: true });
  const metadata = { source_tier: 'tier_1', runtime_tier: 'tier_1', tier_changes: [], platform_profile: { old: 1 } };
  const state = { pipeline_id: 'x', scope_root_dir: '.claude', status: 'running', current_phase: 0, phases: [], metadata };
  writeFileSync(file, JSON.stringify({ ...state, ...more }));
  age(file);
  return file;
}

for (const [name, init] of [
  ['initPipeline', initPipeline],
  ['initPipelineSync', async (options) => initPipelineSync(options)],
]) {
  test(`${name} makes a valid run and says where it is`, async (t) => {
    const path = workspace(t);
    writeFileSync(join(path, 'profile.json'), '{"n": 1.0, "degradation_warnings": ["no hooks"]}');
    const made = await init({
      ...START,
      workspace: pathToFileURL(`${path}/`),
      profile: join(path, 'profile.json'),
      phases: ['plan:planner', { name: 'write' }, { name: 'check', agent: 'plugin:checker' }],
    });
    assert.ok(Object.keys(made).every((key) => key in shapes.newRun));
    const { rev, waitedMs, ...rest } = made;
    assert.match(rev, /^[0-9a-f]{32}$/);
    assert.equal(typeof waitedMs, 'number');
    const state = read(made.path);
    assert.deepEqual(rest, {
      path: join(path, '.superpipelines/temp/docs', state.run_id, 'pipeline-state.json'),
      changed: true,
      created: true,
      runId: state.run_id,
      pipelineId: state.pipeline_id,
      scopeRoot: join(path, '.superpipelines'),
    });
    assert.deepEqual(
      state.phases.map(({ name, agent }) => [name, agent]),
      [['plan', 'planner'], ['write', null], ['check', 'plugin:checker']],
    );
    assert.equal(state.metadata.isolation_warning, 'no hooks');
    assert.match(readFileSync(made.path, 'utf8'), /"n": 1\.0/);
    const { ok, findings } = await validateState(made.path);
    assert.deepEqual([ok, findings], [true, []]);
  });
}

test('runs that are started in one second have folders of their own', async (t) => {
  const path = workspace(t);
  const runs = await Promise.all(Array.from({ length: 20 }, () => initPipeline({ ...START, workspace: path, runId: 'stamp' })));
  assert.equal(new Set(runs.map(({ runId }) => runId)).size, 20);
  assert.equal(readdirSync(join(path, '.superpipelines/temp/docs')).length, 20);
});

test('what hinders no run is in the warnings', async (t) => {
  const path = folder(t);
  const { warnings } = await initPipeline({ ...START, workspace: path });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /^plugin_version is null: the manifest .*plugin\.json tells no version: there is no such file$/);
});

test('a phase is taken from start to end, and the run with it', async (t) => {
  const path = workspace(t);
  const { path: file } = await initPipeline({ ...START, workspace: path, phases: ['plan', 'write'] });
  const { phase, status, changed } = await setPipelinePhase(file, 0, { status: 'running' }, { durability: 'fast' });
  assert.deepEqual([phase, status, changed], ['0', 'running', true]);
  await setPipelinePhase(file, '0', { status: 'completed', outputs: ['a.md'] });
  await assert.rejects(finalizePipeline(file), { code: 'ERR_PIPESTATE_REFUSED', pointer: '/phases/1', exitCode: 1 });
  assert.equal(setPipelinePhaseSync(file, 1, { status: 'failed', error: 'it broke' }).status, 'failed');
  assert.deepEqual(read(file).phases[1].error, 'it broke');
  assert.equal(read(file).status, 'failed');
  const resumed = resumePipelineSync(file, { tier: 'tier_1', confirm: true });
  assert.deepEqual([resumed.rule, resumed.tierChanged, resumed.currentPhase], ['R4', false, '1']);
  setPipelinePhaseSync(file, 1, { status: 'done', outputs: ['b.md'] }, { durability: 'fast', lockTimeoutMs: 1000 });
  assert.equal(finalizePipelineSync(file).status, 'completed');
  assert.deepEqual(
    read(file).phases.map(({ status, outputs, error }) => [status, outputs, error]),
    [['done', ['a.md'], null], ['done', ['b.md'], null]],
  );
  assert.equal((await finalizePipeline(file)).changed, false);
});

test('of two that resume one run one gets it, also in one process', async (t) => {
  const path = workspace(t);
  for (let round = 0; round < 100; round += 1) {
    const file = crashed(path);
    const tiers = round % 2 === 0 ? ['tier_1', 'tier_1'] : ['tier_1d', 'tier_2'];
    const results = await Promise.allSettled(
      tiers.map((tier) => resumePipeline(file, { tier, confirm: true, durability: 'fast' })),
    );
    const lost = results.filter(({ status }) => status === 'rejected');
    assert.equal(lost.length, 1, `round ${round}`);
    assert.equal(lost[0].reason.code, 'ERR_PIPESTATE_REFUSED');
    assert.equal(read(file).metadata.tier_changes.length, round % 2);
  }
});

test('a resume on another tier brings its profile, and says what is missing', async (t) => {
  const path = workspace(t);
  const file = crashed(path);
  writeFileSync(join(path, 'profile.json'), '{"id":"cursor"}');
  const now = new Date('2999-01-01T00:00:00Z');
  const resumed = await resumePipeline(file, { tier: 'tier_2', profile: join(path, 'profile.json'), confirm: true, now });
  assert.deepEqual(new Set([...Object.keys(resumed), 'warnings']), new Set(Object.keys(shapes.resumedRun)));
  assert.deepEqual([resumed.previousTier, resumed.tier, resumed.tierChanged], ['tier_1', 'tier_2', true]);
  assert.equal(resumed.resumedAt, '2999-01-01T00:00:00.000Z');
  const { metadata } = read(file);
  assert.deepEqual(metadata.platform_profile, { id: 'cursor' });
  assert.deepEqual(metadata.tier_changes, [{ from: 'tier_1', to: 'tier_2', at: '2999-01-01T00:00:00.000Z' }]);
  const again = await resumePipeline(crashed(path), { tier: 'tier_2', confirm: true });
  assert.deepEqual(again.warnings, ['no profile of the new tier is given, so platform_profile is null']);
});

test('an edit waits for the lock off the event loop, and its wait can be ended', async (t) => {
  const path = workspace(t);
  const file = crashed(path);
  const lock = await lockState(file);
  const controller = new AbortController();
  const resume = resumePipeline(file, { tier: 'tier_1', confirm: true, signal: controller.signal });
  const phase = setPipelinePhase(file, 0, { status: 'done' }, { lockTimeoutMs: 50 });
  await assert.rejects(phase, { code: 'ERR_PIPESTATE_LOCK_TIMEOUT' });
  controller.abort(new Error('enough'));
  await assert.rejects(resume, /^Error: enough$/);
  await lock.release();
  assert.equal(read(file).metadata.resumed_at, undefined);
});

test('what never changes is refused by name and can be forced', async (t) => {
  const path = workspace(t);
  const { path: file, runId } = await initPipeline({ ...START, workspace: path });
  await assert.rejects(writeState(file, { run_id: 'x' }), { code: 'ERR_PIPESTATE_REFUSED', pointer: '/run_id' });
  const { warnings } = await writeState(file, { run_id: 'x' }, { force: true });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], new RegExp(`^forced: /run_id: it is "${runId}" and never changes`));
  const shim = await run(process.execPath, [join(root, 'write-state.mjs'), file], { input: '{"pipeline_id":"y"}' });
  assert.equal(shim.code, 1);
  assert.match(shim.stderr, /: \/pipeline_id: /);
  const forced = await run(process.execPath, [join(root, 'write-state.mjs'), '--force', file], { input: '{"pipeline_id":"y"}' });
  assert.equal(forced.code, 0);
  assert.match(forced.stderr, /^pipestate: warning: .*: forced: \/pipeline_id: .*\n$/);
});

test('wrong arguments are type errors that say which', async (t) => {
  const path = workspace(t);
  for (const [options, message] of [
    [undefined, /options.name must be a string/],
    [{ ...START, tier: undefined }, /options.tier must be a string/],
    [{ ...START, tier: 'tier_9' }, /options.tier must be 'tier_1'/],
    [{ ...START, name: 'Docs' }, /the pipeline "Docs" is no name/],
    [{ ...START, pattern: '9' }, /the pattern "9" is none of/],
    [{ ...START, layout: 'x' }, /options.layout must be 'data' or 'legacy'/],
    [{ ...START, phases: [1] }, /options.phases must be an array/],
    [{ ...START, phase: [] }, /options.phase is not an option here/],
  ]) {
    await assert.rejects(initPipeline(options && { ...options, workspace: path }), (error) => {
      assert.ok(error instanceof TypeError, String(error));
      assert.equal(error.code, 'ERR_PIPESTATE_USAGE');
      return message.test(error.message);
    });
  }
  const file = crashed(path);
  await assert.rejects(resumePipeline(file), TypeError);
  await assert.rejects(resumePipeline(file, {}), /options.tier must be a string/);
  await assert.rejects(setPipelinePhase(file, 1.5, { status: 'done' }), /phase must be an index/);
  await assert.rejects(setPipelinePhase(file, 0, { status: 'x' }), /transition.status must be 'pending'/);
  await assert.rejects(setPipelinePhase(file, 0, { state: 'done' }), /transition.state is none of/);
  await assert.rejects(setPipelinePhase(file, 0), /transition must be an object/);
});
