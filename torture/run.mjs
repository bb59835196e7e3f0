// npm run torture -- [--minutes N] [--seed N] [--only NAME]
//
// Tortures the real program and the addon, mixed with tools that know nothing of them, and exits 1 with the evidence
// kept when an invariant breaks. What is checked stands in ledger.mjs and at the top of every scenario.
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Broken, Random } from './common.mjs';
import { Run } from './rig.mjs';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    only: { type: 'string' },
  },
});

const names = readdirSync(new URL('scenarios', import.meta.url));
let scenarios = await Promise.all(names.map((name) => import(`./scenarios/${name}`)));
scenarios.sort((a, b) => b.share - a.share);
if (values.only !== undefined) {
  scenarios = scenarios.filter(({ name }) => name === values.only);
  if (scenarios.length === 0) throw new Error(`there is no scenario ${values.only}`);
}
const shares = scenarios.reduce((sum, { share }) => sum + share, 0);

const totals = {};
let current;

const milliseconds = (number) => `${Math.round(number)} ms`;
const longest = (list) => (list.length > 0 ? milliseconds(Math.max(...list)) : 'none');

function print(name, { ledger }, losses) {
  const { counts, successors, longestWait, looks } = ledger;
  const figures = { looks, ...counts, takeOvers: successors.pipestate.length + successors.foreign.length };
  for (const [name, figure] of Object.entries(figures)) totals[name] = (totals[name] ?? 0) + figure;
  const told = Object.entries(figures).filter(([, figure]) => figure > 0);
  console.log(`${name}: ${told.map(([name, figure]) => `${name} ${figure}`).join(', ')}`);
  console.log(`  longest successor of a pipestate ${longest(successors.pipestate)}, of a foreign tool ${longest(successors.foreign)}`);
  console.log(`  longest wait of a pipestate ${milliseconds(longestWait.pipestate)}, of a foreign tool ${milliseconds(longestWait.foreign)}`);
  if (losses) console.log(`  ${JSON.stringify(losses)}`);
}

for (const scenario of scenarios) {
  const seed = `${values.seed}/${scenario.name}`;
  const share = (values.minutes * 60_000 * scenario.share) / shares;
  const rig = {
    random: new Random(seed),
    milliseconds: share,
    print,
    async run(options, work) {
      current = new Run({ seed, ...options });
      await work(current, share);
      const losses = await current.end();
      print(scenario.name, current, losses);
      current.forget();
    },
  };
  try {
    await scenario.run(rig);
  } catch (error) {
    current.abandon();
    const what = error instanceof Broken ? error.message : error.stack;
    console.log(`${scenario.name}: BROKEN: ${what}`);
    console.log(`  evidence: ${current.keepEvidence(error)}, seed ${values.seed}`);
    process.exit(1);
  }
}
console.log(`total: ${Object.entries(totals).map(([name, figure]) => `${name} ${figure}`).join(', ')}, seed ${values.seed}`);
