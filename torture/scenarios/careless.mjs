// The same with JavaScript writers that remove the locks of the dead carelessly, and so of the living (L11).

export const name = 'careless';
export const share = 20;
export const needs = ['strace'];
export const options = { lossless: false };
export const checked =
  'the file whole at every look, nobody stuck, the fence, and every loss follows from a lock that a foreign tool removed under its holder';

export async function run(rig, milliseconds) {
  rig.startCrew('a', {
    writers: { program: 8, addon: [3], javascript: 5 },
    slowCalls: 0.8,
    killsPerSecond: 20,
    orphansPerSecond: 100,
  });
  await rig.watch(milliseconds);
}
