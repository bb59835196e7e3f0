// Writers that stand still (SIGSTOP) and go on, some only after the windows of those who wait, and some to be killed.

export const name = 'stopped';
export const share = 15;

export async function run(rig) {
  await rig.run({ mayTimeOut: true }, async (run, milliseconds) => {
    run.startCrew('a', {
      writers: { program: 8, addon: [2], javascript: 2 },
      windows: [300, 2000, 10_000],
      killsPerSecond: 1,
      stoppers: 4,
      longStops: milliseconds > 30_000 ? 0.02 : 0,
    });
    await run.watch(milliseconds);
  });
}
