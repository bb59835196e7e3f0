// `listRuns`, `doctor`, `renderReport` and `guardToolUse` answer as the program does, now and later.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import * as pipestate from 'pipestate';
import { folder, root } from './support.mjs';

const program = join(root, process.platform === 'win32' ? 'pipestate.exe' : 'pipestate');
const NOW = '2026-07-01T12:30:00Z';

function state(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  const modified = new Date('2026-07-01T12:00:00Z');
  utimesSync(path, modified, modified);
  return path;
}

function printed(...args) {
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, PIPESTATE_LOGS_DIR: '' } });
  return { ...JSON.parse(stdout), exitCode: status };
}

const twins = (name) => [pipestate[name], async (...args) => pipestate[`${name}Sync`](...args)];

test('runs and tasks are listed as the program lists them', async (t) => {
  const at = folder(t);
  state(join(at, 'w/.superpipelines/temp/p/r/pipeline-state.json'), '{"pipeline_name":"p","status":"running"}');
  state(join(at, 'logs/web/3/agent-state.json'), '{"taskId":3,"currentPhase":');
  const home = join(at, 'home');
  const expected = printed('list', '--json', '--now', NOW, '--home', home, '--logs-dir', join(at, 'logs'), join(at, 'w'));
  assert.deepEqual([expected.exitCode, expected.runs.length], [3, 2]);
  for (const listRuns of twins('listRuns')) {
    const options = { workspaces: [join(at, 'w')], home, logsDir: join(at, 'logs'), now: NOW };
    assert.deepEqual(await listRuns(options), expected);
    await assert.rejects(listRuns({ ...options, logs: 'x' }), TypeError);
    await assert.rejects(listRuns({ workspaces: [join(at, 'none')] }), { code: 'ERR_PIPESTATE_IO' });
  }
});

test('a diagnosis is the one that the program prints, and a proposal lies beside the file', async (t) => {
  for (const doctor of twins('doctor')) {
    const at = folder(t);
    const file = state(join(at, 'agent-state.json'), '\ufeff{"currentPhase":1,"phases":{}');
    assert.deepEqual(await doctor(file), printed('doctor', '--json', file));
    const { files: [{ repair, path }], exitCode } = await doctor(at, { propose: true });
    assert.deepEqual([path, exitCode, existsSync(`${file}.proposed-1`)], [file, 3, true]);
    assert.equal(readFileSync(repair.proposal, 'utf8'), '{"currentPhase":1,"phases":{}}\n');
    await assert.rejects(doctor(join(at, '..', 'none-of-these')).then(({ files }) => Promise.reject(files[0].findings[0])), {
      code: 'missing',
    });
    await assert.rejects(doctor(file, { propose: 1 }), TypeError);
  }
});

test('a page is the one that the program writes', async () => {
  const path = join(root, '__test__/fixtures/report/pipeline');
  const { stdout } = spawnSync(program, ['report', '--now', NOW, path], { encoding: 'utf8' });
  for (const renderReport of twins('renderReport')) {
    const page = await renderReport(path, { now: NOW });
    assert.equal(page.replaceAll(join(path, 'pipeline-state.json'), ''), stdout.replaceAll(join(path, 'pipeline-state.json'), ''));
    await assert.rejects(renderReport(join(path, 'none.json')), { code: 'ERR_PIPESTATE_IO' });
  }
});

test('the guard denies an edit and lets a look pass', async () => {
  for (const guardToolUse of twins('guardToolUse')) {
    const event = (command) => ({ hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command } });
    assert.equal(await guardToolUse(event('jq . agent-state.json')), null);
    const denial = await guardToolUse(JSON.stringify(event('jq . x > agent-state.json')));
    assert.equal(denial.file, 'agent-state.json');
    assert.match(denial.reason, /pipestate write agent-state\.json/);
    await assert.rejects(guardToolUse('{'), { code: 'ERR_PIPESTATE_INVALID' });
    await assert.rejects(guardToolUse(undefined), { message: /^event must be an object/ });
  }
});
