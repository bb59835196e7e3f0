// Kill, clear-logs and purge across the border: plans with their tokens, errors, twins.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as pipestate from 'pipestate';
import { folder, root, run } from './support.mjs';

const { confirm, confirmSync, createTask, planClearLogs, planKill, planKillSync, planPurge } = pipestate;

/** A repository with a worktree on `f/P-1`, and the task `#1` whose run was at work a day ago. */
async function ground(t) {
  const at = folder(t);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=n@example.com', ...args], {
      cwd: at,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  git('init', '-q', '-b', 'main', 'r');
  git('-C', 'r', 'commit', '-q', '--allow-empty', '-m', 'first');
  git('-C', 'r', 'worktree', 'add', '-q', '../w', '-b', 'f/P-1');
  const logsDir = join(at, 'logs');
  const repositories = [{ repoPath: join(at, 'r'), worktreePath: join(at, 'w'), branch: 'f/P-1' }];
  const task = await createTask('P-1', { logsDir, repositories });
  const dayAgo = new Date(Date.now() - 86_400_000);
  utimesSync(task.state, dayAgo, dayAgo);
  return { at, git, logsDir, task };
}

test('a kill is planned, confirmed once, and told', async (t) => {
  const { at, git, logsDir, task } = await ground(t);
  writeFileSync(join(at, 'w', 'dirty'), 'x');
  const plan = await planKill(1, { logsDir });
  assert.deepEqual([plan.command, plan.kept, plan.groups.length], ['kill', [], 1]);
  const [worktree, branch] = plan.groups[0].items;
  assert.deepEqual([worktree.kind, worktree.path, worktree.exists], ['worktree', join(at, 'w'), true]);
  assert.deepEqual(worktree.uncommitted, { count: 1, more: false, names: ['dirty'] });
  assert.deepEqual([branch.kind, branch.name, branch.lost], ['branch', 'f/P-1', { count: 0, named: [] }]);
  assert.equal(plan.confirm, `pipestate kill '#1' --project r --logs-dir ${logsDir} --confirm ${plan.token}`);
  const minutes = (Date.parse(plan.expiresAt) - Date.now()) / 60_000;
  assert.ok(minutes > 8 && minutes <= 10, plan.expiresAt);
  assert.ok(existsSync(join(at, 'w', 'dirty')));

  // Both doors have one plan each; what they list is the same.
  const program = await run(join(root, 'pipestate'), ['kill', '#1', '--logs-dir', logsDir, '--json']);
  assert.deepEqual(JSON.parse(program.stdout).groups, plan.groups);
  assert.deepEqual(planKillSync('P-1', { logsDir }).groups, plan.groups);

  const done = await confirm(plan.token, { logsDir });
  const line = `Task #1 killed (logs preserved at ${task.folder})`;
  assert.deepEqual(done, { done: true, command: 'kill', line, removed: done.removed });
  assert.equal(done.removed.length, 2);
  assert.deepEqual([existsSync(join(at, 'w')), git('-C', 'r', 'branch').trim()], [false, '* main']);
  assert.match(readFileSync(task.log, 'utf8'), /Task #1 killed/);
  const audit = readFileSync(join(logsDir, 'audit.ndjson'), 'utf8').trim().split('\n').map((text) => JSON.parse(text));
  assert.deepEqual(audit.map(({ result, token }) => [result, token]), [['started', plan.token], ['done', plan.token]]);
  const refused = { name: 'PipestateError', code: 'ERR_PIPESTATE_REFUSED', exitCode: 1, path: logsDir };
  await assert.rejects(confirm(plan.token, { logsDir }), refused);
  assert.throws(() => confirmSync('kill', { logsDir }), refused);
});

test('a purge asks for a second token', async (t) => {
  const { at, logsDir } = await ground(t);
  const { token } = await planPurge({ logsDir, project: 'r' });
  const question = await confirm(token, { logsDir });
  assert.deepEqual([question.done, question.question, question.command], [false, 'Purge permanently', 'purge']);
  assert.ok(existsSync(join(at, 'w')) && question.confirm.endsWith(question.token));
  const done = confirmSync(question.token, { logsDir });
  assert.equal(done.line, 'Purged permanently: 1 worktree, 1 branch, 1 log folder, 1 counter deleted');
  assert.deepEqual([existsSync(join(at, 'w')), existsSync(join(logsDir, 'r'))], [false, false]);
  assert.equal((await planPurge({ logsDir })).token, null);
});

test('what is left is in the error', async (t) => {
  const { at, logsDir } = await ground(t);
  const { token } = await planKill('#1', { logsDir });
  mkdirSync(join(at, 'r/.git/refs/heads/f'), { recursive: true });
  writeFileSync(join(at, 'r/.git/refs/heads/f/P-1.lock'), '');
  const error = await confirm(token, { logsDir }).then(assert.fail, (error) => error);
  assert.deepEqual([error.code, error.exitCode, error.removed.length, error.left.length], ['ERR_PIPESTATE_IO', 3, 1, 1]);
  assert.match(error.left[0], /^branch f\/P-1 of .*git says: /);
});

test('runs at work keep their logs, and misspelt options are told', async (t) => {
  const { logsDir, task } = await ground(t);
  await pipestate.setPhase(task.state, 1, { status: 'running' });
  const { token, kept } = await planClearLogs({ logsDir });
  assert.deepEqual([token, kept.length, kept[0].path], [null, 1, task.folder]);
  const all = await planClearLogs({ logsDir, includeActive: true });
  assert.equal((await confirm(all.token, { logsDir, lockTimeoutMs: 1000 })).line, '2 files deleted; the counters stay');
  for (const call of [
    () => planKill('#1', { logsDir, force: true }),
    () => planKill({}, { logsDir }),
    () => planClearLogs({ logsDir, remote: true }),
    () => planPurge({ logsDir, remote: 'yes' }),
    () => confirm(undefined, { logsDir }),
    () => confirm('x', { logsDir, durability: 'fast' }),
  ]) {
    await assert.rejects(call(), { name: 'TypeError', code: 'ERR_PIPESTATE_USAGE' });
  }
});
