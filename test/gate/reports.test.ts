/** Reports of hooks and trusted programs to the gate, the gate's state, and an owner's usage. */

import t from 'tap';
import { assign, createGroup } from '../../src/policy/index.ts';
import { subjects } from '../../src/quota/index.ts';
import { asText, form, json, locatedOf, openWorld } from './world.ts';

t.test('a changed unit is measured again soon, whichever path inside it is named', async t => {
  const { ask, askTrusted, walk, told } = await openWorld(t);
  walk('/srv/git/alice/app.git', 'alice', 1);
  const { status, text } = await ask('/v1/changed', form({ path: '/srv/git/alice/app.git/refs' }));
  t.equal(status, 202);
  t.strictSame(JSON.parse(text), { unit: '/srv/git/alice/app.git' });
  t.equal((await askTrusted('/v1/changed?path=/srv/git/alice/app.git', { method: 'POST' })).status, 202);
  t.equal((await ask('/v1/changed?owner=x&path=/srv/git/alice/app.git', { method: 'POST' })).status, 202);
  t.strictSame(told.measured, Array(3).fill('/srv/git/alice/app.git'));
});

t.test('of a unit that nobody knew yet the disk decides whether there is one', async t => {
  const { ask, told } = await openWorld(t);
  t.equal((await ask('/v1/changed', form({ path: '/etc' }))).status, 404);
  told.locate = locatedOf('a', { exists: false });
  t.equal((await ask('/v1/changed', form({ path: '/srv/git/a/new.git' }))).status, 404);
  told.locate = locatedOf('a');
  t.equal((await ask('/v1/changed', form({ path: '/srv/git/a/new.git' }))).status, 202);
  t.strictSame(told.measured, ['/srv/git/a/new.git']);
});

t.test('a delta counts at once, with the next question', async t => {
  const { ask, askTrusted, walk } = await openWorld(t);
  walk('/srv/git/alice/app.git', 'alice', 1000);
  const used = async () => JSON.parse((await ask('/v1/check?owner=alice&subject=size:all')).text).used;
  const fields = { owner: 'ALICE', subject: 'size:repos:private' };
  t.equal((await askTrusted('/v1/changed', json({ ...fields, delta: 24 }))).status, 202);
  t.equal(await used(), 1024);
  t.equal((await askTrusted('/v1/changed', form({ ...fields, delta: '-25' }))).status, 202);
  t.equal(await used(), 999);
  t.equal((await askTrusted('/v1/changed', form({ ...fields, delta: '-9007199254740991' }))).status, 202);
  t.equal(await used(), 0);
  t.equal((await askTrusted('/v1/changed', form({ ...fields, delta: '-0' }))).status, 202);
});

t.test('a delta needs an owner, a leaf and a whole number', async t => {
  const { askTrusted, ledger } = await openWorld(t);
  const good = { owner: 'alice', subject: 'size:git:lfs', delta: '5' };
  for (const [faulty, why] of [
    [{ owner: '' }, /owner is missing/],
    [{ owner: '..' }, /which stands for a directory/],
    [{ subject: '' }, /subject is missing/],
    [{ subject: 'size:git:all' }, /where a leaf is expected: size:repos:public, /],
    [{ delta: '' }, /delta is missing/],
    [{ delta: '1.5' }, /delta is "1\.5"/],
    [{ delta: '-9007199254740992' }, /from -\(2\^53 - 1\) to 2\^53 - 1/],
  ] as const) {
    const { status, text } = await askTrusted('/v1/changed', form({ ...good, ...faulty }));
    t.equal(status, 400);
    t.match(JSON.parse(text), { code: 'bad_parameter', message: why });
  }
  t.strictSame([...ledger.owners()], []);
});

t.test('a reported unit has the size that was said last, and 0 takes it out', async t => {
  const { askTrusted, ledger } = await openWorld(t);
  const fields = { owner: 'alice', subject: 'size:assets:packages:all', unit: 'npm/left-pad' };
  for (const bytes of [10, 7]) {
    const { status, text } = await askTrusted('/v1/units', json({ ...fields, bytes }));
    t.equal(status, 200);
    t.strictSame(JSON.parse(text), { ...fields, bytes });
  }
  t.match(ledger.units.unitsOf('alice'), [{ name: 'npm/left-pad', kind: 'reported', bytes: 7 }]);
  t.equal((await askTrusted('/v1/units', form({ ...fields, bytes: '0' }))).status, 200);
  t.strictSame(ledger.units.unitsOf('alice'), []);
  for (const faulty of [
    { unit: '' },
    { unit: 'a\nb' },
    { bytes: '-1' },
    { bytes: '' },
    { subject: 'size:all' },
  ]) {
    t.equal((await askTrusted('/v1/units', form({ ...fields, bytes: '1', ...faulty }))).status, 400);
  }
});

t.test('what would pass 2^53 - 1 bytes is refused and not counted', async t => {
  const { askTrusted, walk, ledger } = await openWorld(t);
  walk('/srv/git/alice/app.git', 'alice', Number.MAX_SAFE_INTEGER);
  const fields = { owner: 'alice', subject: 'size:git:lfs' };
  t.equal((await askTrusted('/v1/changed', form({ ...fields, delta: '1' }))).status, 422);
  t.equal((await askTrusted('/v1/units', form({ ...fields, unit: 'x', bytes: '1' }))).status, 422);
  t.equal(ledger.ownerUsage('alice').usage[2], 0);
});

t.test('usage tells what an owner has, and what would be decided about each subject', async t => {
  const { askTrusted, walk, ledger } = await openWorld(t);
  walk('/srv/git/alice/app.git', 'alice', 11_000_000_000);
  const { status, text } = await askTrusted('/v1/usage?owner=ALICE');
  t.equal(status, 200);
  const usage = JSON.parse(text);
  t.match(usage, {
    owner: 'alice',
    used: { size: { repos: { public: 0, private: 11_000_000_000 }, git: { LFS: 0 }, assets: { wiki: 0 } } },
    measured_at: '2026-11-21T09:14:03.000Z',
    partial: true,
    stale: false,
    groups: [],
  });
  t.strictSame(Object.keys(usage.decisions), subjects);
  t.match(usage.decisions['size:git:lfs'], { allowed: false, used: 11_000_000_000, limit: 10_000_000_000 });
  const stranger = await askTrusted('/v1/usage?owner=stranger');
  t.match(JSON.parse(stranger.text), {
    owner: 'stranger',
    used: { size: { git: { LFS: 0 } } },
    measured_at: null,
  });
  t.equal(ledger.ownerUsage('stranger').id, null);
  t.equal((await askTrusted('/v1/usage')).status, 400);
});

t.test('usage tells the assigned groups with their rules, or else those of DEFAULT_GROUPS', async t => {
  const { askTrusted, ledger, walk } = await openWorld(t, { defaultGroups: ['free', 'gone'] });
  walk('/srv/git/alice/app.git', 'alice', 1);
  await ledger.documents.transact(transaction => {
    createGroup(transaction.changes, {
      name: 'free',
      rules: [{ name: 'ten', limitBytes: 10, subjects: ['size:all'] }],
    });
    createGroup(transaction.changes, { name: 'paid', rules: [] });
    assign(transaction.changes, transaction.createOwner('bob').id, 'paid');
  });
  const groupsOf = async (owner: string) =>
    JSON.parse((await askTrusted(`/v1/usage?owner=${owner}`)).text).groups;
  const free = { name: 'free', rules: [{ name: 'ten', limit: 10, subjects: ['size:all'] }] };
  t.strictSame(await groupsOf('BOB'), [{ name: 'paid', rules: [] }]);
  t.strictSame(await groupsOf('alice'), [free], 'those of DEFAULT_GROUPS that exist');
  t.strictSame(
    await groupsOf('stranger'),
    [free],
    'also for an owner never heard of: they decide there, too',
  );
  t.equal(ledger.ownerUsage('stranger').id, null, 'whom asking does not create');
});

t.test('the gate is alive while it answers, and ready while nothing makes its answers doubtful', async t => {
  const { ask, told } = await openWorld(t);
  t.match(await ask('/readyz', asText), { status: 200, text: 'ok\n' });
  told.notes = ['a walk gets on'];
  t.match(await ask('/readyz', asText), { status: 200, text: 'ok\na walk gets on\n' });
  t.strictSame(JSON.parse((await ask('/readyz')).text), { status: 'ok', reasons: [], notes: told.notes });
  told.notes = [];
  told.reasons = ['nothing can be kept', 'a storage root is away'];
  t.match(await ask('/readyz', asText), {
    status: 503,
    text: 'nothing can be kept\na storage root is away\n',
  });
  t.strictSame(JSON.parse((await ask('/readyz')).text), {
    status: 'not ready',
    reasons: told.reasons,
    notes: [],
  });
  t.match(await ask('/healthz', asText), { status: 200, text: 'ok\n' });
  t.match(await ask('/readyz', { method: 'HEAD' }), { status: 503, text: '' });
  t.match(await ask('/readyz', { method: 'POST' }), { status: 405, headers: { allow: 'GET, HEAD' } });
});
