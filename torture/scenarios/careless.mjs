// The same with JavaScript writers that remove the locks of the dead carelessly, and so of the living (L11).

export const name = 'careless';
export const share = 20;

export async function run(rig) {
  await rig.run({ lossless: false }, async (run, milliseconds) => {
    run.startCrew('a', { writers: { program: 5, addon: [3], javascript: 5 }, slowCalls: 0.5, killsPerSecond: 20, orphansPerSecond: 100 });
    await run.watch(milliseconds);
  });
}
