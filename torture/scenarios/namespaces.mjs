// Two process-id namespaces over one folder, of which now and then one dies as a whole. Only pipestates: what a bare
// process id means in another namespace nobody can tell, which is a limit written in the README.
import { reporter } from '../common.mjs';
import { namespace } from '../rig.mjs';

export const name = 'namespaces';
export const share = 10;

export async function run(rig) {
  await rig.run({}, async (run, milliseconds) => {
    const report = reporter(run.log);
    const options = { writers: { program: 4, addon: [2] }, killsPerSecond: 20, terminationsPerSecond: 0.5 };
    run.startCrew('a', options, namespace());
    const end = Date.now() + milliseconds;
    for (let life = 1; Date.now() < end; life += 1) {
      const crew = run.startCrew(`b${life}`, options, namespace());
      await run.watch(Math.min(rig.random.between(2000, 8000), Math.max(0, end - Date.now())));
      if (Date.now() < end) await run.killCrew(crew, report);
    }
  });
}
