// `recover` and `scanRuns` decide as `pipestate recover` does: same objects, now and later.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { recover, recoverSync, scanRuns, scanRunsSync } from 'pipestate';
import { folder, root } from './support.mjs';
import * as shapes from './types/shapes.mjs';

const program = join(root, process.platform === 'win32' ? 'pipestate.exe' : 'pipestate');
const MODIFIED = new Date('2026-07-01T12:00:00Z');
const AFTER_HALF_AN_HOUR = new Date('2026-07-01T12:30:00Z');

function state(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  utimesSync(path, MODIFIED, MODIFIED);
  return path;
}

/** What the program prints. */
function printed(...args) {
  const { status, stdout } = spawnSync(program, ['recover', '--json', ...args], { encoding: 'utf8' });
  return { ...JSON.parse(stdout), exitCode: status };
}

const twins = (later, now) => [later, async (...args) => now(...args)];

test('a decision is the one that the program prints', async (t) => {
  const at = folder(t);
  const files = {
    'a/pipeline-state.json': '{"status":"done"}',
    'b/agent-state.json': '{"currentPhase":4,"updatedAt":"2026-07-01"}',
    'c/pipeline-state.json': '{"status":"running","phases":[{"status":"done"}]}',
    'd/agent-state.json': '{"status":"paused","haltReason":"4:x"}',
    'e/state.json': '{"status":null}',
    'f/pipeline-state.json': '{"status":',
  };
  for (const decide of twins(recover, recoverSync)) {
    for (const [name, content] of Object.entries(files)) {
      const file = state(join(at, name), content);
      const decision = await decide(file, { now: AFTER_HALF_AN_HOUR });
      const { files: [expected], exitCode } = printed('--now', AFTER_HALF_AN_HOUR.toISOString(), file);
      assert.deepEqual(decision, expected);
      assert.equal(decision.exitCode, exitCode);
    }
    const missing = join(at, 'missing.json');
    const decision = await decide(missing);
    assert.deepEqual(decision, printed(missing).files[0]);
    assert.deepEqual(Object.keys(decision).sort(), Object.keys(shapes.decision).sort());
  }
});

test('the hour and the clock are options', async (t) => {
  const file = state(join(folder(t), 'pipeline-state.json'), '{"status":"running"}');
  const action = async (options) => {
    const decisions = [await recover(pathToFileURL(file), options), recoverSync(Buffer.from(file), options)];
    assert.deepEqual(decisions[0], decisions[1]);
    return decisions[0].action;
  };
  assert.equal(await action({ now: '2026-07-01T12:59:59' }), 'refuse');
  assert.equal(await action({ now: new Date('2026-07-01T13:00:00Z') }), 'ask');
  assert.equal(await action({ now: '2026-07-01T12:00:10Z', staleAfterMs: 10_000 }), 'ask');
  assert.equal(await action({ now: '2030-01-01', staleAfterMs: Infinity }), 'refuse');
  assert.equal(recoverSync(file).action, 'ask');
});

test('a scan finds what the program finds', async (t) => {
  const at = folder(t);
  const below = (root, content) => state(join(at, root, 'p/run-1/pipeline-state.json'), content);
  below('w/.superpipelines/temp', '{"status":"running"}');
  below('w/.agents/codex/superpipelines/temp', '\ufeff{}');
  below('other/.claude/superpipelines/temp', '{"status":"completed"}');
  below('home/.codex/superpipelines/temp', '{"status":"failed"}');
  state(join(at, 'w/.superpipelines/temp/p/edit-1/pipeline-state.json'), '{');
  const [w, other, home] = ['w', 'other', 'home'].map((name) => join(at, name));
  const options = { workspaces: [w, other], home, now: AFTER_HALF_AN_HOUR };
  const expected = printed('--now', AFTER_HALF_AN_HOUR.toISOString(), '--home', home, '--scan', w, other);
  assert.deepEqual(expected.files.map(({ action }) => action), ['refuse', 'escalate', 'skip', 'stop']);
  assert.equal(expected.exitCode, 3);
  for (const scan of twins(scanRuns, scanRunsSync)) {
    const found = await scan(options);
    assert.deepEqual(found, expected);
    assert.deepEqual(Object.keys(found).sort(), Object.keys(shapes.scan).sort());
    const one = await scan({ workspaces: [pathToFileURL(other)], home: false });
    assert.deepEqual([one.ok, one.exitCode, one.files.length], [true, 0, 1]);
    assert.deepEqual(await scan({ workspaces: [], home: false }), { ok: true, files: [], exitCode: 0 });
    await assert.rejects(scan({ workspaces: [join(at, 'nowhere')], home: false }), {
      code: 'ERR_PIPESTATE_IO',
      exitCode: 3,
      path: join(at, 'nowhere'),
    });
  }
});

test('without options the working directory and the home folder are looked through', (t) => {
  const at = folder(t);
  state(join(at, 'w/.superpipelines/temp/p/r/pipeline-state.json'), '{"status":"completed"}');
  state(join(at, 'h/.superpipelines/temp/p/r/pipeline-state.json'), '{"status":"completed"}');
  const script = `console.log(JSON.stringify(require(${JSON.stringify(join(root, 'index.js'))}).scanRunsSync().files.map(({ path }) => path)))`;
  const env = { ...process.env, HOME: join(at, 'h') };
  const { stdout } = spawnSync(process.execPath, ['-e', script], { cwd: join(at, 'w'), env, encoding: 'utf8' });
  assert.deepEqual(JSON.parse(stdout), [
    './.superpipelines/temp/p/r/pipeline-state.json',
    join(at, 'h/.superpipelines/temp/p/r/pipeline-state.json'),
  ]);
});

test('wrong options are named', async () => {
  const wrong = { name: 'TypeError', code: 'ERR_PIPESTATE_USAGE', exitCode: 64 };
  for (const [options, message] of [
    [{ staleAfter: 1 }, /options\.staleAfter is not an option here: home, staleAfterMs, now$/],
    [{ staleAfterMs: -1 }, /options\.staleAfterMs must be a number, 0 or more/],
    [{ now: 5 }, /options\.now must be a valid Date or a string/],
    [{ now: new Date(NaN) }, /options\.now must be a valid Date or a string/],
    [{ now: 'yesterday' }, /options\.now must be a time in ISO 8601/],
    [{ workspaces: ['.'] }, /options\.workspaces is not an option here/],
  ]) {
    await assert.rejects(recover('f', options), { ...wrong, message });
    assert.throws(() => recoverSync('f', options), { ...wrong, message });
  }
  for (const [options, message] of [
    [{ workspaces: '.' }, /options\.workspaces must be an array of paths/],
    [{ workspaces: [1] }, /file must be a string, a Buffer or a file: URL/],
    [{ home: true }, /options\.home must be a path or false/],
  ]) {
    await assert.rejects(scanRuns(options), { ...wrong, message });
    assert.throws(() => scanRunsSync(options), { ...wrong, message });
  }
});
