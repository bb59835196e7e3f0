// A small orchestrator that survives kill -9: started again, it goes on with the phase that it died in.
//   node orchestrator.mjs WORKSPACE
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { finalizePipeline, initPipeline, lockState, readState, resumePipeline, scanRuns, setPipelinePhase } from 'pipestate';

const workspace = resolve(process.argv[2] ?? '.');
const name = 'release-notes';
const tier = 'tier_1';
const out = join(workspace, 'out');
mkdirSync(out, { recursive: true });

/** The phases. Each may be done twice, as any phase may that its orchestrator can die in. */
const work = {
  async collect() {
    await sleep(30); // an agent would be at work here
    writeFileSync(join(out, 'changes.txt'), 'added: a lock\nfixed: torn files\n');
    return ['out/changes.txt'];
  },
  async write() {
    await sleep(30);
    const changes = readFileSync(join(out, 'changes.txt'), 'utf8');
    writeFileSync(join(out, 'notes.md'), `# Notes\n\n${changes.replace(/^(?=.)/gm, '- ')}`);
    return ['out/notes.md'];
  },
  async review() {
    await sleep(30);
    writeFileSync(join(out, 'review.txt'), 'approved\n');
    return ['out/review.txt'];
  },
};

// One orchestrator in a workspace. The kernel says whether the holder of this lock lives, so whoever has it knows that
// a run which says "running" has nobody at work on it, however short a time ago that was written.
const alone = await lockState(join(workspace, 'orchestrator.json'), { lockTimeoutMs: 0 });

const { files } = await scanRuns({ workspaces: [workspace], home: false, staleAfterMs: 0 });
const crashed = files.find(({ rule }) => rule === 'R2');
const file = crashed?.path ?? (await initPipeline({ name, pattern: '1', tier, workspace, phases: Object.keys(work) })).path;
if (crashed) {
  await resumePipeline(file, { tier, confirm: true, staleAfterMs: 0 });
  console.log(`resumed ${relative(workspace, file)}`);
}

const { state } = await readState(file);
for (const [index, phase] of state.phases.entries()) {
  if (phase.status === 'done') continue;
  await setPipelinePhase(file, index, { status: 'running' });
  try {
    const outputs = await work[phase.name]();
    await setPipelinePhase(file, index, { status: 'done', outputs });
    console.log(`${phase.name}: done`);
  } catch (error) {
    await setPipelinePhase(file, index, { status: 'failed', error: error.message });
    throw error;
  }
}
await finalizePipeline(file);
console.log(`completed ${relative(workspace, file)}`);
await alone.release();
