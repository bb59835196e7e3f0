'use strict';

// Loads the native addon: the one beside this file, or the one that npm has installed for this platform. The first is
// opened as it is: to have it resolved as a module would take as long as to load it.

const { platform, arch } = process;
const abis = { linux: ['-gnu', '-musl'], win32: ['-msvc'] }[platform] ?? [''];
const names = abis.map((abi) => `${platform}-${arch}${abi}`);
const failures = [];

function load(open) {
  try {
    return open();
  } catch (error) {
    failures.push(error);
    return undefined;
  }
}

function open(file) {
  const addon = { exports: {} };
  process.dlopen(addon, file);
  return addon.exports;
}

function tell() {
  const { existsSync } = require('node:fs');
  const files = names.map((name) => `${__dirname}/pipestate.${name}.node`);
  const isMissing = ({ code, message }) => code === 'MODULE_NOT_FOUND' || files.some((file) => message.includes(file) && !existsSync(file));
  const told = failures.filter((error) => !isMissing(error)).map(({ message }) => message);
  const isMusl = platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;
  const reason = told.length ? `cannot be loaded: ${told.join('; ')}` : 'is not here';
  return new Error(
    `the native addon for ${platform}-${arch} ${reason}; install the package pipestate-${names.at(isMusl ? -1 : 0)} ` +
      '(npm leaves it out with --omit=optional, and with a lock file made on another platform), ' +
      'or build it with `npm run build` in a checkout of pipestate (which takes Rust)',
  );
}

for (const name of names) {
  module.exports = load(() => open(`${__dirname}/pipestate.${name}.node`)) ?? load(() => require(`pipestate-${name}`));
  if (module.exports) break;
}
if (!module.exports) throw tell();
