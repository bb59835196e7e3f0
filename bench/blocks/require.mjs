// Prints how many milliseconds `require('pipestate')` takes in a fresh process.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const since = performance.now();
require('../../index.js');
console.log(performance.now() - since);
