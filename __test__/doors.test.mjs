// The shims and the program are the same command: same arguments, same bytes, same codes, same files (X1).
import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder, holder, root, run } from './support.mjs';

const AGENT = '{"currentPhase":1,"phases":{"0":{"status":"done"},"1":{"status":"running"}}}';

/** [what, exit code, command, arguments, stdin, the state file before]; `FILE` stands for its path. */
const cases = [
  ['a merge', 0, 'write', ['FILE'], '{"currentPhase":2}', AGENT],
  ['a merge that changes nothing', 0, 'write', ['FILE'], '{"currentPhase":1}', AGENT],
  ['a new file in new folders', 0, 'write', ['FILE/../new/state.json'], '{"a":[1,{"b":null}]}'],
  ['a replacement', 0, 'write', ['--replace', 'FILE'], ' {"a" : 1.0}\n', '{"torn'],
  ['RFC 7396', 0, 'write', ['--merge-patch', 'FILE'], '{"phases":null}', AGENT],
  ['a result as JSON', 0, 'write', ['--json', '--no-fsync', 'FILE'], '{"currentPhase":2}', AGENT],
  ['a byte order mark on stdin', 0, 'write', ['FILE'], '\ufeff{"currentPhase":2}', AGENT],
  ['if it matches', 0, 'write', ['--if-match', 'none', 'FILE'], '{}'],
  ['a safe state', 0, 'validate', ['FILE'], '', AGENT],
  ['a safe state as JSON', 0, 'validate', ['--kind', 'agent', '--json', 'FILE'], '', AGENT],
  ['help', 0, 'write', ['--help'], ''],
  ['help of the other', 0, 'validate', ['--help'], ''],
  ['JSON that is none', 1, 'write', ['FILE'], '{"a":1,\n oops}', AGENT],
  ['JSON that is none, as JSON', 1, 'write', ['--json', 'FILE'], '{"a":1,\n oops}', AGENT],
  ['JSON that is no object', 1, 'write', ['FILE'], '[1]', AGENT],
  ['no stdin', 1, 'write', ['FILE'], '', AGENT],
  ['a refused field', 1, 'write', ['FILE'], '{"a":{"7":1}}', '{"a":[]}'],
  ['an unsafe state', 1, 'validate', ['FILE'], '', '{"currentPhase":null,"phases":3}'],
  ['warnings that fail', 1, 'validate', ['--strict', 'FILE'], '', '{"currentPhase":"1"}'],
  ['a state that does not parse', 3, 'write', ['FILE'], '{}', '{"torn'],
  ['a state that does not parse, as JSON', 3, 'write', ['--json', 'FILE'], '{}', '{"torn'],
  ['a path through a file', 3, 'write', ['FILE/state.json'], '{}', '{}'],
  ['a torn state', 3, 'validate', ['FILE'], '', '{"torn'],
  ['no state', 3, 'validate', ['FILE', 'FILE'], ''],
  ['a revision that is another', 4, 'write', ['--if-match', '0', 'FILE'], '{}', AGENT],
  ['a revision that is another, as JSON', 4, 'write', ['--json', '--if-match', '0', 'FILE'], '{}', AGENT],
  ['no arguments', 64, 'write', [], '{}'],
  ['no arguments either', 64, 'validate', [], ''],
  ['an unknown option', 64, 'write', ['--fast', 'FILE'], '{}', AGENT],
  ['options that exclude each other', 64, 'write', ['--replace', '--merge-patch', 'FILE'], '{}', AGENT],
  ['a number that is none', 64, 'validate', ['--max-phase', 'x', 'FILE'], '', AGENT],
];

/** The two doors of a command. */
const doors = (command) => [
  [join(root, 'pipestate'), [command]],
  [process.execPath, [join(root, `${command}-state.mjs`)]],
];

/** What the program prints about time, the same for all. */
const timeless = (text) => text.replace(/"(waitedMs|ageMs)":\d+/g, '"$1":0').replace(/\d+\.\d s/g, '0.0 s');

/** All files below a folder, with their bytes. */
function files(path) {
  const names = readdirSync(path, { recursive: true }).sort();
  return names.map((name) => [name, statSync(join(path, name)).isFile() ? readFileSync(join(path, name), 'latin1') : '']);
}

/** Runs a command through both doors, each in a folder of the same name with the same files, and compares all. */
async function compare(t, { command, args, input, before, env }) {
  const results = [];
  const path = folder(t);
  const work = join(path, 'work');
  for (const [program, first] of doors(command)) {
    mkdirSync(work);
    const file = join(work, 'state.json');
    if (before !== undefined) writeFileSync(file, before);
    const all = [...first, ...args.map((arg) => arg.replace('FILE', file))];
    const { code, stdout, stderr } = await run(program, all, { input, cwd: work, env: { ...process.env, ...env } });
    results.push({ code, stdout: timeless(stdout), stderr: timeless(stderr), files: files(work) });
    await run('rm', ['-r', work]);
  }
  const [program, shim] = results;
  assert.deepEqual(shim, program);
  return program;
}

for (const [what, code, command, args, input, before] of cases) {
  test(`${command}: ${what} (${code})`, async (t) => {
    const result = await compare(t, { command, args, input, before });
    assert.equal(result.code, code, result.stderr);
    assert.equal(result.stderr === '', code === 0 || command === 'validate' && code !== 64, result.stderr);
  });
}

test('a lock that is held (2)', async (t) => {
  const file = join(folder(t), 'state.json');
  writeFileSync(file, AGENT);
  const other = await holder(t, file);
  const results = [];
  for (const json of [[], ['--json']]) {
    for (const [program, first] of doors('write')) {
      const { code, stdout, stderr } = await run(program, [...first, '--lock-timeout', '50', ...json, file], { input: '{}' });
      assert.equal(code, 2);
      assert.match(stderr, new RegExp(`held by process ${other.pid} \\(node holder.mjs\\)`));
      results.push([timeless(stdout), timeless(stderr)]);
    }
  }
  assert.deepEqual(results[1], results[0]);
  assert.deepEqual(results[3], results[2]);
  await other.release();
  assert.equal(readFileSync(file, 'utf8'), AGENT);
});

test('the environment’s window, and another name in the lock', async (t) => {
  const result = await compare(t, { command: 'write', args: ['FILE'], input: '{}', env: { PIPESTATE_LOCK_TIMEOUT_MS: 'x' } });
  assert.equal(result.code, 64);
});

test('a path that is not UTF-8', { skip: process.platform === 'win32' }, async (t) => {
  for (const [program, first] of doors('write')) {
    const path = folder(t);
    const script = `printf '{"a":1}' | "$@" "${path}/$(printf 'a\\377b')"`;
    const { code, stderr } = await run('sh', ['-c', script, 'sh', program, ...first]);
    assert.deepEqual([code, stderr], [0, '']);
    const [name] = readdirSync(path, { encoding: 'buffer' });
    assert.deepEqual(name, Buffer.from('a\xffb', 'latin1'));
  }
});

test('a shim without its addon, or with a broken one, prints one line and exits 70', async (t) => {
  const path = folder(t);
  for (const name of ['write-state.mjs', 'validate-state.mjs', 'pipestate-native.cjs']) cpSync(join(root, name), join(path, name));
  const [addon] = readdirSync(root).filter((name) => name.endsWith('.node'));
  for (const [prepare, reason] of [
    [() => {}, /is not here; install the package pipestate-/],
    [() => writeFileSync(join(path, addon), 'not an addon'), /cannot be loaded: /],
    [() => writeFileSync(join(path, 'pipestate-native.cjs'), 'syntax error'), /./],
  ]) {
    prepare();
    for (const shim of ['write-state.mjs', 'validate-state.mjs']) {
      const { code, stdout, stderr } = await run(process.execPath, [join(path, shim), join(path, 'state.json')], { input: '{}' });
      assert.deepEqual([code, stdout], [70, '']);
      assert.match(stderr, /^pipestate: [^\n]+\n$/);
      assert.match(stderr, reason);
    }
  }
});

test('the shims run by themselves, also through a link', { skip: process.platform === 'win32' }, async (t) => {
  const path = folder(t);
  const link = join(path, 'write-state');
  symlinkSync(join(root, 'write-state.mjs'), link);
  chmodSync(join(root, 'write-state.mjs'), 0o755);
  const { code, stderr } = await run(link, [join(path, 'state.json')], { input: '{"a":1}' });
  assert.deepEqual([code, stderr], [0, '']);
});
