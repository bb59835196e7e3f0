// Builds what is stale and runs all tests: rules and programs in Rust, then the examples in its documentation, then what
// crosses into JavaScript.
import { has, run } from './run.mjs';
import './build.mjs';

if (has('cargo', ['nextest', '--version'])) {
  run('cargo', ['nextest', 'run', '--locked']);
  run('cargo', ['test', '--locked', '--doc', '--quiet']);
} else {
  run('cargo', ['test', '--locked']);
}
run(process.execPath, ['--test', '__test__/']);
