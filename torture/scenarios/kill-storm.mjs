// Writers of all kinds, killed at random moments: most while they have the lock.

export const name = 'kill storm';
export const share = 30;

export async function run(rig) {
  await rig.run({}, async (run, milliseconds) => {
    run.startCrew('a', {
      writers: { program: 8, addon: [3, 2], javascript: 3 },
      fatalCalls: 0.5,
      slowCalls: 0.1,
      killsPerSecond: 40,
      orphansPerSecond: 10,
      terminationsPerSecond: 1,
    });
    await run.watch(milliseconds);
  });
}
