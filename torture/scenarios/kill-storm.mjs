// Writers of all kinds, killed at random moments and at random system calls, most while they have the lock; workers that
// are terminated; writers that dawdle at a call; locks that a dead foreign tool has left.

export const name = 'kill storm';
export const share = 40;
export const needs = ['strace'];
export const checked =
  'no write lost and none made up, the file whole at every look, never two holders, succession in time, nothing left behind';

export async function run(rig, milliseconds) {
  rig.startCrew('a', {
    writers: { program: 8, addon: [3, 2], javascript: 3 },
    fatalCalls: 0.45,
    slowCalls: 0.35,
    killsPerSecond: 60,
    orphansPerSecond: 10,
    terminationsPerSecond: 1,
  });
  await rig.watch(milliseconds);
}
