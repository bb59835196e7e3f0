#!/usr/bin/env node
// `pipestate validate` without the program: arguments in, exit code out. Rust reads stdin and writes the streams itself.
import { createRequire } from 'node:module';

let code = 70; // a bug, or an addon that cannot be loaded
try {
  const native = createRequire(import.meta.url)('./pipestate-native.cjs');
  code = native.main('validate-state', 'validate', process.argv.slice(2));
} catch (error) {
  process.stderr.write(`pipestate: ${error.message.split('\n', 1)[0]}\n`);
}
process.exit(code);
