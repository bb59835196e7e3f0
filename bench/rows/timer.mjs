// Does the event loop go on while large writes are awaited?
import fs from 'node:fs';
import path from 'node:path';
import { atMost } from '../checks.mjs';
import { block } from '../children.mjs';
import { pair, summary } from '../pairs.mjs';
import { stateText } from '../states.mjs';

export const title = '50 await writeState on 10 MB beside a 5 ms timer (ms late at most)';

export async function run({ folders, short }) {
  const file = path.join(Object.values(folders)[0], 'timer.json');
  fs.writeFileSync(file, stateText(10e6));
  let took = 1000;
  const all = await pair(short ? 3 : 7, {
    pipestate: () => {
      const written = block('timer', 'pipestate', file, 50, 0);
      took = written.took;
      return written.late;
    },
    idle: () => block('timer', 'idle', file, 0, took).late,
  });
  fs.rmSync(file);
  const more = all.pipestate.map((late, round) => late - all.idle[round]);
  return { measured: all, checks: [atMost('ms later than idle', 10, summary(more))] };
}
