// The JSON Schemas say what the validator says, as far as a schema can say it: over documents that are made valid and
// then damaged at random, a schema accepts exactly those in which the validator finds no error of its own reach.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { validateStateSync } from 'pipestate';
import { folder, root } from './support.mjs';

/** What no schema can say: how fields go together, and what the calendar says. */
const BEYOND = {
  pipeline: ['not-a-time', 'index-differs', 'current-phase-out-of-range', 'current-phase-no-phase'],
  agent: [],
};

const ajv = new Ajv({ strict: true, allowUnionTypes: true, strictRequired: false, validateFormats: false });
const schema = (name) => JSON.parse(readFileSync(join(root, 'schemas', name), 'utf8'));
const schemas = {
  agent: ajv.compile(schema('agent-state.schema.json')),
  pipeline: ajv.compile(schema('pipeline-state.schema.json')),
};

const UUID = '0b1c2d3e-0000-4000-8000-0123456789ab';
const phase = (index, status) => ({ index, name: `phase-${index}`, status, agent: null, outputs: ['a.md'], error: null });
const pipeline = () => ({
  pipeline_id: UUID,
  pipeline_name: 'docs',
  plugin_version: '1.2.3',
  scope_root_dir: '.agents/codex',
  run_id: 'docs-20260731-134000',
  started_at: '2026-07-31T13:40:00.000Z',
  pattern: '2b',
  status: 'running',
  current_phase: 1,
  phases: [phase(0, 'done'), phase(1, 'running'), phase(2, 'pending')],
  metadata: {
    source_tier: 'tier_1d',
    runtime_tier: 'tier_2',
    platform_profile: {},
    tier_changes: [{ from: 'tier_1d', to: 'tier_2', at: '2026-07-31T13:41:00Z' }],
    source_scope_root: '.agents/codex',
    isolation_warning: null,
    resolved_models: {},
    preference_files_consulted: { user_path: '~/p', user_hash: null, workspace_path: null, workspace_hash: null },
    model_tiers_version_at_run: null,
    resumed_at: '2026-07-31T13:41:00Z',
    resumed_by: 'somebody',
    resume_confirmed: true,
  },
});
const keyed = () => ({ ...pipeline(), current_phase: '3.5', phases: { 3: { status: 'done' }, 3.5: {}, plan: phase(0, 'x') } });
const agent = () => ({
  taskId: 2,
  currentPhase: 4,
  status: 'running',
  phases: { 0: { status: 'done', files: ['a'] }, 4: { status: 'running', subStep: 'red' }, 7: 'pending' },
});
const listed = () => ({ ...agent(), phases: ['done', { status: 'running' }] });

/** Values that are right somewhere and wrong elsewhere, and some that are right nowhere. */
const VALUES = [
  null, true, 0, 1, 3, 7, 8, -1, 0.5, 1e300, '', '0', '1', '3', '01', '7', '8', '2b', '3.5', 'plan', 'done', 'running',
  'in_progress', 'x', 'Docs', 'my-docs', 'x'.repeat(48), 'x'.repeat(49), 'tier_1', 'tier_9', UUID, UUID.toUpperCase(),
  UUID.slice(1), '1.2.3', '1.2.3-rc.1+b', '1.2', 'v1.2.3', '1.02.3', 'docs-20260731-134000-2', 'docs-20260731-134000-1',
  '-20260731-134000', '.claude', '.agents/codex', '.agents\\codex\\', '/abs', '~/x', 'C:\\x', 'é:', 'a//b', './x', '..',
  'a/..', 'a b', '2026-07-31', '2026-07-31T13:40:00+02:00', '2026-02-30', 'now', [], [1], ['a'], ['a', 1], [{}], [null],
  {}, { 0: {} }, { 8: {} }, { a: 'b' }, { '': {} }, { 3: 'done' }, { 3: null }, Array(9).fill('done'),
];

const KEYS = ['pipeline_id', 'tier', 'error', 'index', 'status', 'currentPhase', 'phases', 'x', '4', '9'];

/** Changes one place in a document: which is told by numbers, so that counterexamples shrink. */
function damage(document, { place, value, how, key }) {
  const places = [];
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    for (const name of Object.keys(node)) {
      places.push([node, name]);
      visit(node[name]);
    }
  };
  visit(document);
  const [node, name] = places[place % places.length] ?? [document, 'x'];
  if (how === 'delete') Array.isArray(node) ? node.splice(name, 1) : delete node[name];
  else if (how === 'add' && !Array.isArray(node)) node[KEYS[key % KEYS.length]] = structuredClone(VALUES[value % VALUES.length]);
  else node[name] = structuredClone(VALUES[value % VALUES.length]);
}

const damages = fc.array(
  fc.record({
    place: fc.nat(80),
    value: fc.nat(VALUES.length - 1),
    key: fc.nat(KEYS.length - 1),
    how: fc.constantFrom('replace', 'replace', 'replace', 'delete', 'add'),
  }),
  { maxLength: 3 },
);

for (const [kind, name, make] of [
  ['pipeline', "a pipeline's state", pipeline],
  ['pipeline', "a pipeline's state with keyed phases", keyed],
  ['agent', "an agent's state", agent],
  ['agent', "an agent's state with listed phases", listed],
]) {
  test(`the schema of ${name} agrees with the validator`, (t) => {
    const file = join(folder(t), 'state.json');
    const valid = schemas[kind];
    let accepted = 0;
    const agrees = (document) => {
      writeFileSync(file, JSON.stringify(document));
      const errors = validateStateSync(file, { kind }).findings.filter(({ severity }) => severity === 'error');
      const within = errors.filter(({ code }) => !BEYOND[kind].includes(code));
      const isValid = valid(document);
      if (isValid) accepted += 1;
      assert.equal(isValid, within.length === 0, JSON.stringify({ document, within, schema: valid.errors }, null, 1));
    };
    agrees(make());
    assert.equal(accepted, 1, 'the document as it should be is valid');
    // Every value at every place, and then several of them at random.
    const places = JSON.stringify(make()).split(/[,{[]/).length;
    for (let place = 0; place < places; place += 1) {
      for (const how of ['replace', 'delete']) {
        for (let value = 0; value < (how === 'delete' ? 1 : VALUES.length); value += 1) {
          const document = make();
          damage(document, { place, value, how });
          agrees(document);
        }
      }
    }
    fc.assert(
      fc.property(damages, (all) => {
        const document = make();
        all.forEach((each) => damage(document, each));
        agrees(document);
      }),
      { numRuns: 1000 },
    );
    assert.ok(accepted > 500, `${accepted} of the documents were valid, enough to tell the two apart`);
  });
}

test('a property of a schema is documented or plain, and every field of the source document is in it', () => {
  const { properties, required } = schema('pipeline-state.schema.json');
  assert.deepEqual(Object.keys(properties), Object.keys(pipeline()));
  assert.deepEqual(new Set(required), new Set(Object.keys(pipeline()).filter((key) => !['plugin_version', 'scope_root_dir'].includes(key))));
  const { metadata } = schema('pipeline-state.schema.json').$defs;
  assert.deepEqual(new Set(Object.keys(metadata.properties)), new Set([...Object.keys(pipeline().metadata), 'tier']));
});
