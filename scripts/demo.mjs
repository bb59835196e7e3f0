// The main job on a real state: patch it, show what changed and nothing else, ask whether it is safe to resume.
//   npm run demo [-- STATE_FILE]      works on a copy in a temporary folder
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { root } from './run.mjs';
import './build.mjs';

const original = resolve(process.argv[2] ?? join(root, 'examples/agent-state.json'));
const folder = mkdtempSync(join(tmpdir(), 'pipestate-demo-'));
const state = join(folder, 'agent-state.json');

/** Shows a command as a user would type it, and runs it. */
function show(title, command, args, input) {
  const typed = [command, ...args].map((word) => (word.startsWith(folder) ? 'agent-state.json' : word)).join(' ');
  console.log(`\n${title}\n$ ${input ? `echo '${input}' | ` : ''}${typed}`);
  const { status } = spawnSync(command, args, { cwd: root, input, stdio: [input ? 'pipe' : 'ignore', 'inherit', 'inherit'] });
  return status;
}

try {
  copyFileSync(original, state);
  const patch = '{"currentPhase":4,"phases":{"3":{"status":"done"},"4":{"status":"running"}}}';
  const statuses = [
    show('A patch, in place of the old script:', 'node', ['write-state.mjs', state], patch),
    show('A step further, by the native program:', './pipestate', ['write', '--json', state], '{"phases":{"4":{"subStep":"red"}}}'),
    show('One value, byte for byte:', './pipestate', ['get', state, '/phases/4/status']),
  ];
  show('What changed, and nothing else did:', 'diff', ['-u', original, state]);
  statuses.push(show('Is it safe to resume?', 'node', ['validate-state.mjs', state]));
  console.log(`\nExit codes: ${statuses.join(', ')}`);
  process.exitCode = Math.max(...statuses);
} finally {
  rmSync(folder, { recursive: true });
}
