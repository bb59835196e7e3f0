// Two process-id namespaces over one folder, of which now and then one dies as a whole. Only pipestates: what a bare
// process id means in another namespace nobody can tell, which is a limit written in the README.
import { now, reporter } from '../common.mjs';
import { namespace } from '../rig.mjs';

export const name = 'namespaces';
export const share = 10;
export const needs = ['root'];
export const checked = 'as in the storm';

export async function run(rig, milliseconds, random) {
  const report = reporter(rig.log);
  const options = { writers: { program: 4, addon: [2] }, killsPerSecond: 20, terminationsPerSecond: 0.5 };
  rig.startCrew('a', options, namespace());
  const end = now() + milliseconds;
  for (let life = 1; now() < end; life += 1) {
    const crew = rig.startCrew(`b${life}`, options, namespace());
    await rig.watch(Math.min(random.between(2000, 8000), end - now()));
    if (now() < end) await rig.killCrew(crew, report);
  }
}
