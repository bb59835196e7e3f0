#!/usr/bin/env node
// `pipestate validate` without the program: arguments in, exit code out. Rust reads stdin and writes the streams itself.
import { createRequire } from 'node:module';

let native;
try {
  native = createRequire(import.meta.url)('./native.js');
} catch (error) {
  process.stderr.write(`pipestate: ${error.message.split('\n', 1)[0]}\n`);
  process.exit(70);
}
process.exit(native.main('validate-state', 'validate', process.argv.slice(2)));
