// Compiled, never run: CommonJS sees the same types.
import pipestate = require('pipestate');
import { writeStateSync, type WriteResult } from 'pipestate';

const result: WriteResult = writeStateSync('a.json', { a: 1 });
export const same: WriteResult = pipestate.writeStateSync('a.json', { rev: result.rev });
