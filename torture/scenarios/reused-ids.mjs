// Process ids that are used again: a storm where there are so few that they come round every few seconds, and beside it
// rounds in which the id of a dead holder is given to somebody on purpose (heirs.mjs).
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM, namespace } from '../rig.mjs';

export const name = 'reused ids';
export const share = 10;
export const needs = ['root', 'strace'];
export const checked =
  "as in the storm; an heir of a dead holder's id changes nothing for a pipestate's lock, and for a foreign one nothing beyond the margin";

/** The kernel begins again at 300. */
const FEW_IDS = 'echo 800 > /proc/sys/kernel/pid_max';
const HEIRS = fileURLToPath(new URL('../heirs.mjs', import.meta.url));

export async function run(rig, milliseconds) {
  const storm = {
    writers: { program: 6, addon: [2], javascript: 2 },
    fatalCalls: 0.3,
    killsPerSecond: 20,
    orphansPerSecond: 5,
  };
  rig.startCrew('a', storm, namespace(FEW_IDS));

  const folder = path.join(rig.folder, 'heirs');
  fs.mkdirSync(folder);
  const { log, stop, seed } = rig;
  const options = { folder, log, stop, seed: `${seed}/heirs`, program: PROGRAM };
  rig.start('heirs', [...namespace(), process.execPath, HEIRS, JSON.stringify(options)]);
  await rig.watch(milliseconds);
}
