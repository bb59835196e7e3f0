// The examples keep their promise: killed at any moment and started again, they come to their end, and no work is lost.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { scanRuns } from '../index.js';
import { folder, root, run } from './support.mjs';

const examples = [
  ['in Node', process.execPath, ['examples/orchestrator.mjs'], {}],
  ['in bash', 'bash', ['examples/orchestrator.sh'], { skip: process.platform !== 'linux' && 'flock is from util-linux' }],
];

for (const [name, command, args, options] of examples) {
  test(`the orchestrator ${name} survives kill -9`, options, async (t) => {
    const workspace = folder(t);
    let kills = 0;
    const orchestrate = async (milliseconds) => {
      const env = { ...process.env, PIPESTATE: join(root, 'pipestate') };
      const child = spawn(command, [...args, workspace], { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'] });
      t.after(() => child.kill('SIGKILL'));
      let stderr = '';
      child.stderr.on('data', (data) => (stderr += data));
      const timer = milliseconds && setTimeout(() => child.kill('SIGKILL'), milliseconds);
      const [code, signal] = await once(child, 'close');
      clearTimeout(timer);
      if (signal) kills += 1;
      else assert.equal(code, 0, stderr);
    };
    const runs = async () => (await scanRuns({ workspaces: [workspace], home: false })).files;
    const isEnded = async () => (await runs()).some(({ status }) => status === 'completed');

    // Later and later, so that it dies in every phase, also where it takes long to start.
    for (let life = 20; !(await isEnded()); life += 20) await orchestrate(life);
    await orchestrate();
    assert.ok(kills >= 2, `${kills} kills`);
    const all = await runs();
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set(['completed']), 'no run is left behind');
    for (const { path } of all) {
      const { phases } = JSON.parse(readFileSync(path, 'utf8'));
      assert.deepEqual(phases.map(({ name, status }) => [name, status]), [['collect', 'done'], ['write', 'done'], ['review', 'done']]);
      for (const file of phases.flatMap(({ outputs }) => outputs)) assert.ok(existsSync(join(workspace, file)), file);
    }
    assert.equal(readFileSync(join(workspace, 'out/notes.md'), 'utf8'), '# Notes\n\n- added: a lock\n- fixed: torn files\n');
    // What died while it made its run leaves a folder without a state, which nobody enters any more.
    const isOfRun = (name) => !name.includes('release-notes') || existsSync(join(workspace, name, '../pipeline-state.json'));
    const left = readdirSync(workspace, { recursive: true }).filter((name) => /\.(lock|tmp)$/.test(name) && isOfRun(name));
    assert.deepEqual(left, name === 'in bash' ? ['orchestrator.lock'] : []);
  });
}

test("the guide's blocks do what it says", { skip: process.platform === 'win32' }, async (t) => {
  const path = folder(t);
  const blocks = [...readFileSync(join(root, 'docs/guide.md'), 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)];
  assert.ok(blocks.length > 4);
  const script = blocks.map(([, text]) => text).join('\n');
  const env = { ...process.env, PATH: `${root}${delimiter}${process.env.PATH}` };
  const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: path, env });
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(stdout.split('\n')[0], '4');
  const { notes, ...state } = JSON.parse(readFileSync(join(path, 'agent-state.json'), 'utf8'));
  assert.deepEqual(notes.sort(), ['first', 'second']);
  const phases = { 3: { status: 'done' } };
  assert.deepEqual(state, { taskId: 1, status: 'paused', currentPhase: 4, phases, haltReason: 'he said "no"', lastTool: 'Edit' });
});
