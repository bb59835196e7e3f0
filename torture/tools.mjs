// What the scenarios need of the machine.
import { spawnSync } from 'node:child_process';

const succeeds = (command, ...parameters) => spawnSync(command, parameters, { stdio: 'ignore' }).status === 0;
const isRoot = () => process.getuid() === 0;

/** The library that moves a process's clock; `undefined` when it is not installed. */
export function findFaketime() {
  const { stdout } = spawnSync('sh', ['-c', 'ls /usr/lib/*/faketime/libfaketime.so.1'], { encoding: 'utf8' });
  return stdout.split('\n')[0] || undefined;
}

const TOOLS = {
  root: isRoot,
  strace: () => succeeds('strace', '-V') || install('strace'),
  faketime: () => findFaketime() !== undefined || install('faketime'),
};

function install(name) {
  return isRoot() && succeeds('apt-get', 'update') && succeeds('apt-get', 'install', '-y', name);
}

/** Those of `needs` that cannot be had here. */
export const missing = (needs = []) => needs.filter((name) => !TOOLS[name]());
