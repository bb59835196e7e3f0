// Clocks that jump by years while writers wait and hold: theirs, by libfaketime, and the time of the lock file. Some run
// in a time namespace, where the machine seems to have started at another time.
import fs from 'node:fs';
import path from 'node:path';
import { findFaketime } from '../tools.mjs';

export const name = 'clock';
export const share = 8;
export const needs = ['root', 'faketime'];
export const checked = 'as in the storm';

const STARTED_LATER = ['unshare', '--time', '--boottime', '-1000'];
const STARTED_EARLIER = ['unshare', '--time', '--boottime', '1000000'];

export async function run(rig, milliseconds) {
  const clocks = ['clock-1', 'clock-2', 'clock-3'].map((name) => path.join(rig.folder, name));
  const environments = clocks.map((clock) => {
    fs.writeFileSync(clock, '+0');
    return {
      LD_PRELOAD: findFaketime(),
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: '1',
      // A step of the clock leaves the monotonic one alone, and so does this.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  });
  rig.startCrew('a', {
    writers: { program: 8, addon: [2], javascript: 1 },
    killsPerSecond: 20,
    clocks,
    environments: [{}, ...environments],
    prefixes: [[], [], STARTED_LATER, STARTED_EARLIER],
  });
  await rig.watch(milliseconds);
}
