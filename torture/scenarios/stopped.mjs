// Writers that stand still (SIGSTOP) and go on, some only after the windows of those who wait, and some to be killed.

export const name = 'stopped';
export const share = 15;
export const options = { mayTimeOut: true };
export const checked =
  'as in the storm; lock and file stay as they are while a holder stands still; no window ends early';

/** Stops longer than any window are only for runs that are longer still. */
const LONG_RUN = 30_000;

export async function run(rig, milliseconds) {
  rig.startCrew('a', {
    writers: { program: 8, addon: [2], javascript: 2 },
    windows: [300, 2000, 10_000],
    killsPerSecond: 1,
    stoppers: 4,
    longStops: milliseconds > LONG_RUN ? 0.02 : 0,
  });
  await rig.watch(milliseconds);
}
