// What the scripts share: commands are shown, run in the package's folder, and end the script when they fail.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs `command` and returns what it prints, if `capture` is set. */
export function run(command, args, { capture = false, env = {} } = {}) {
  if (!capture) console.log(`$ ${[command, ...args].join(' ')}`);
  const stdio = ['ignore', capture ? 'pipe' : 'inherit', 'inherit'];
  const { status, error, stdout } = spawnSync(command, args, { cwd: root, stdio, encoding: 'utf8', env: { ...process.env, ...env } });
  if (error) {
    const hint = ['cargo', 'rustc'].includes(command) ? ' (building takes Rust: see rust-version in Cargo.toml)' : '';
    console.error(`${command}: ${error.message}${hint}`);
    process.exit(1);
  }
  if (status !== 0) {
    if (capture) console.error(stdout);
    process.exit(status ?? 1);
  }
  return stdout;
}

/** Whether `command` can be run. */
export function has(command, args) {
  return spawnSync(command, args, { cwd: root, stdio: 'ignore' }).status === 0;
}

/** Runs a binary of a development dependency. */
export function npx(name, script, args, options) {
  return run(process.execPath, [`node_modules/${name}/${script}`, ...args], options);
}
