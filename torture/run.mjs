// npm run torture -- [--minutes N] [--seed N] [--only NAME]
//
// Tortures the real program and the addon, mixed with tools that know nothing of them, and exits 1 with the evidence
// kept when an invariant breaks. What is checked stands at the top of ledger.mjs and losses.mjs, and what is done at
// the top of every scenario. For Linux. Some scenarios need root, strace or faketime, which root installs when missing.
//
// The seed repeats who does what with which delays; when the machine lets whom run, no seed repeats.
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Broken, Random } from './common.mjs';
import { Figures } from './figures.mjs';
import { Rig } from './rig.mjs';
import { missing } from './tools.mjs';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    only: { type: 'string' },
  },
});

const files = readdirSync(new URL('scenarios', import.meta.url));
const all = await Promise.all(files.map((file) => import(`./scenarios/${file}`)));
const asked = all.filter(({ name }) => name === (values.only ?? name)).sort((a, b) => b.share - a.share);
if (!(values.minutes > 0) || asked.length === 0) {
  console.error(`usage: npm run torture -- [--minutes N] [--seed N] [--only ${all.map(({ name }) => `'${name}'`).join('|')}]`);
  process.exit(64);
}

const scenarios = asked.filter(({ name, needs }) => {
  const lacking = missing(needs);
  if (lacking.length > 0) console.log(`${name}: left out, for want of ${lacking.join(' and ')}`);
  return lacking.length === 0;
});

/** Runs one scenario and gives its figures. */
async function torture({ name, run, options, checked }, milliseconds) {
  const seed = `${values.seed}/${name}`;
  const rig = new Rig({ seed, ...options });
  try {
    await run(rig, milliseconds, new Random(seed));
    const figures = new Figures(rig.ledger, await rig.end());
    console.log(`${name}\n${figures}  checked: ${checked}`);
    rig.forget();
    return figures;
  } catch (error) {
    console.log(`${name}: BROKEN: ${error instanceof Broken ? error.message : error.stack}`);
    console.log(`  evidence: ${rig.keepEvidence(error)}, seed ${values.seed}`);
    process.exit(1); // which closes the stdin of all crews, and so ends them
  }
}

const total = new Figures();
const shares = scenarios.reduce((sum, { share }) => sum + share, 0);
for (const scenario of scenarios) {
  total.add(await torture(scenario, (values.minutes * 60_000 * scenario.share) / shares));
}
console.log(`total of ${scenarios.length} scenarios in ${values.minutes} minutes, seed ${values.seed}\n${total}`.trimEnd());
