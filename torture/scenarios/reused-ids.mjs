// Process ids that are used again: a storm where there are so few that they come round every few seconds, and beside it
// rounds in which the id of a dead holder is given to somebody on purpose (impostors.mjs).
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM, namespace } from '../rig.mjs';

export const name = 'reused ids';
export const share = 10;

/** The kernel starts again at 300. */
const MOST_IDS = 800;
const IMPOSTORS = fileURLToPath(new URL('../impostors.mjs', import.meta.url));

export async function run(rig) {
  await rig.run({}, async (run, milliseconds) => {
    run.startCrew('a', {
      writers: { program: 6, addon: [2], javascript: 2 },
      fatalCalls: 0.3,
      killsPerSecond: 20,
      orphansPerSecond: 5,
    }, namespace(`echo ${MOST_IDS} > /proc/sys/kernel/pid_max`));

    const folder = path.join(run.folder, 'impostors');
    fs.mkdirSync(folder);
    const { log, stop, seed } = run;
    const options = { folder, log, stop, seed: `${seed}/impostors`, program: PROGRAM };
    run.start('impostors', [...namespace(), process.execPath, IMPOSTORS, JSON.stringify(options)]);
    await run.watch(milliseconds);
  });
}
