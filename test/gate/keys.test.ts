/** One case in all JSON of the gate: snake_case, in whatever it answers. */

import t from 'tap';
import { createGroup } from '../../src/policy/index.ts';
import { oddKeys } from '../api/keys.ts';
import { type Answer, form, json, openWorld } from './world.ts';

const path = '/srv/git/alice/app.git';
const subject = 'size:assets:packages:all';

t.test('every key of every answer is in snake_case', async t => {
  const world = await openWorld(t, { mode: 'report', defaultGroups: ['free'] });
  const { ask, askTrusted, walk, ledger, told } = world;
  walk(path, 'alice', 2000);
  const rules = [{ name: 'total', limitBytes: 900, subjects: ['size:all'] as const }];
  await ledger.documents.transact(({ changes }) => createGroup(changes, { name: 'free', rules }));
  told.reasons = ['the policy was never loaded'];
  told.notes = ['a note'];
  const unit = { owner: 'alice', subject, unit: 'npm/left-pad' };
  const set = { method: 'PUT', body: `${JSON.stringify({ ...unit, bytes: 1 })}\n` };
  const asked: readonly (readonly [what: string, status: number, answer: () => Promise<Answer>])[] = [
    ['a check that is allowed', 200, () => ask('/v1/check?owner=bob&subject=size:all')],
    ['a check that would be refused', 200, () => ask(`/v1/check?path=${path}`)],
    ['a unit that changed', 202, () => ask('/v1/changed', form({ path }))],
    ['alive', 200, () => ask('/healthz')],
    ['not ready', 503, () => ask('/readyz')],
    ['a delta', 202, () => askTrusted('/v1/changed', json({ owner: 'alice', subject, delta: 5 }))],
    ['a reported unit', 200, () => askTrusted('/v1/units', json({ ...unit, bytes: 7 }))],
    ['usage', 200, () => askTrusted('/v1/usage?owner=alice')],
    ['a set of units', 200, () => askTrusted('/v1/sources/one?stale_after=60', set)],
    ['sources', 200, () => askTrusted('/v1/sources')],
    ['a source', 200, () => askTrusted('/v1/sources/one')],
    ['a bad parameter', 400, () => ask('/v1/check?owner=bob')],
    ['an unknown path', 404, () => ask('/v1/check?path=/elsewhere')],
    ['an unknown address', 404, () => ask('/v2')],
    ['for trusted programs only', 403, () => ask('/v1/usage?owner=alice')],
  ];
  for (const [what, status, answer] of asked) {
    const answered = await answer();
    t.equal(answered.status, status, what);
    t.strictSame(oddKeys(JSON.parse(answered.text)), [], what);
  }
});
