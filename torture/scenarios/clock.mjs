// Clocks that jump by years while writers wait and hold: theirs, by libfaketime, and the time of the lock file. Some run
// in a time namespace, where the machine seems to have started at another time.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

export const name = 'clock';
export const share = 8;

function libfaketime() {
  const find = () => execFileSync('sh', ['-c', 'ls /usr/lib/*/faketime/libfaketime.so.1'], { encoding: 'utf8' }).trim();
  try {
    return find();
  } catch {
    execFileSync('sh', ['-c', 'apt-get update && apt-get install -y faketime'], { stdio: 'ignore' });
    return find();
  }
}

export async function run(rig) {
  await rig.run({}, async (run, milliseconds) => {
    const clocks = ['clock-1', 'clock-2', 'clock-3'].map((name) => path.join(run.folder, name));
    const environments = clocks.map((clock) => {
      fs.writeFileSync(clock, '+0');
      const preload = libfaketime();
      // A step of the clock leaves the monotonic one alone, and so does this.
      return {
        LD_PRELOAD: preload, FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1',
      };
    });
    run.startCrew('a', {
      writers: { program: 8, addon: [2], javascript: 1 },
      killsPerSecond: 20,
      clocks,
      environments: [{}, ...environments],
      prefixes: [[], [], ['unshare', '--time', '--boottime', '1000000'], ['unshare', '--time', '--boottime', '-1000']],
    });
    await run.watch(milliseconds);
  });
}
