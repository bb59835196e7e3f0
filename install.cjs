'use strict';

// After the installation: puts the native program of this platform's package in the place of bin/pipestate, so that
// `pipestate` starts without Node. It never fails: bin/pipestate starts the same program, only later.

const { execFileSync } = require('node:child_process');
const { copyFileSync, linkSync, renameSync, rmSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { optionalDependencies, version } = require('./package.json');

/** The program of an installed package that runs here. */
function findProgram() {
  for (const name of Object.keys(optionalDependencies)) {
    try {
      const program = join(dirname(require.resolve(`${name}/package.json`)), 'bin/pipestate');
      if (execFileSync(program, ['--version'], { encoding: 'utf8' }).trim() === `pipestate ${version}`) return program;
    } catch {
      // Not installed, or of another C library.
    }
  }
  return undefined;
}

/** A link costs no space; where it is not possible, as between file systems, a copy does. */
function replace(program, file) {
  const fresh = `${file}.new`;
  rmSync(fresh, { force: true });
  try {
    linkSync(program, fresh);
  } catch {
    copyFileSync(program, fresh);
  }
  renameSync(fresh, file);
}

// Windows starts commands of packages through scripts that call Node, and so does Yarn.
const startsByNode = process.platform === 'win32' || process.env.npm_config_user_agent?.startsWith('yarn');
if (!startsByNode) {
  try {
    const program = findProgram();
    if (program) replace(program, join(__dirname, 'bin/pipestate'));
  } catch (error) {
    console.warn(`pipestate: the command will start by way of Node, for the native program cannot be put in place: ${error.message}`);
  }
}
