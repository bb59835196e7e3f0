'use strict';

// Loads the native addon: the one beside this file, or the one that npm has installed for this platform.

const { platform, arch } = process;
const abis = { linux: ['-gnu', '-musl'], win32: ['-msvc'] }[platform] ?? [''];
const names = abis.map((abi) => `${platform}-${arch}${abi}`);
const failures = [];

function load(id) {
  try {
    const native = require(id);
    native.file = require.resolve(id);
    return native;
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') failures.push(error.message);
    return undefined;
  }
}

for (const name of names) {
  module.exports = load(`./pipestate.${name}.node`) ?? load(`pipestate-${name}`);
  if (module.exports) break;
}

if (!module.exports) {
  const isMusl = platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;
  const reason = failures.length ? `cannot be loaded: ${failures.join('; ')}` : 'is not here';
  throw new Error(
    `the native addon for ${platform}-${arch} ${reason}; install the package pipestate-${names.at(isMusl ? -1 : 0)} ` +
      '(npm leaves it out with --omit=optional, and with a lock file made on another platform), ' +
      'or build it with `npm run build` in a checkout of pipestate (which takes Rust)',
  );
}
