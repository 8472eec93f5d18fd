/** The list of repositories with limits of their own says what decisions say, and holds up nobody. */

import t, { type Test } from 'tap';
import { pageOf } from '../../src/api/pages.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { type LimitedRepository, limitedRepositories } from '../../src/overview/index.ts';
import { assign, createGroup, createRule } from '../../src/policy/index.ts';
import { lfs, repos, settings, World, walk } from '../ledger/world.ts';
import { longestTurn } from '../own-time.ts';

t.setTimeout(240_000);

const byFullness = (a: LimitedRepository, b: LimitedRepository) => b.fullness - a.fullness;

async function limited(t: Test, wanted: { readonly defaultGroups: readonly string[] }): Promise<Ledger> {
  const ledger = await new World(t).open();
  ledger.settings = { ...settings, ...wanted };
  walk(ledger, 'alice/app', 60);
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    const each = { subjects: ['size:git:all' as const], per: 'repository' as const };
    createRule(changes, { name: 'each', limitBytes: 100, ...each });
    createRule(changes, { name: 'more', limitBytes: 1000, ...each });
    createGroup(changes, { name: 'all', rules: [{ name: 'each' }] });
    createGroup(changes, { name: 'lab', rules: [{ name: 'more' }] });
    assign(changes, transaction.mustBeOwner('alice').id, 'lab');
  });
  return ledger;
}

t.test('a repository is over its limit where nothing that grows it may start', async t => {
  const ledger = await limited(t, { defaultGroups: ['all'] });
  for (const [place, bytes] of [
    ['alice/app', 900],
    ['alice/site', 40],
    ['alice/old', 1001],
    ['bob/app', 99],
    ['bob/Site', 60],
    ['bob/full', 100],
  ] as const) {
    walk(ledger, place, bytes);
  }
  walk(ledger, 'bob/app', 2, { path: '/srv/git/bob/app.git/lfs', leaf: lfs });
  walk(ledger, 'bob/app', 30, { path: '/srv/git/bob/app.wiki.git', leaf: 'size:assets:wiki' });
  await ledger.reports.reportUnit('bob', lfs, 'bob/site', 10);
  const found = [...limitedRepositories(ledger, ledger.owners())].filter(each => each !== null);
  t.strictSame(
    Object.fromEntries(found.map(({ unit, decision, state }) => [unit, `${decision.used} ${state}`]).sort()),
    {
      'alice/app': '900 near',
      'alice/old': '1001 over',
      'alice/site': '40 ok',
      'bob/Site': '70 ok',
      'bob/app': '101 over',
      'bob/full': '100 near',
    },
    'a wiki has no limit here',
  );
  for (const { unit, owner, state, decision } of found) {
    const repository = `/srv/git/${unit}.git`;
    const asked = ledger.decide(owner, repos, 0, { repository }).decision;
    t.equal(asked.allowed, state !== 'over', unit);
    if (!asked.allowed) t.strictSame(asked, decision);
  }
});

t.test('20,000 repositories of one owner, or of many, hold the event loop 50 ms at most', async t => {
  const ledger = await limited(t, { defaultGroups: ['all'] });
  for (let n = 0; n < 10_000; n++) {
    walk(ledger, `alice/${n}`, n % 1200);
    walk(ledger, `alice/${n}`, 5, { path: `/srv/git/alice/${n}.git/lfs`, leaf: lfs });
    walk(ledger, `o${n}/app`, n % 120);
  }
  let total = 0;
  const turn = await longestTurn(50, async () => {
    const page = { page: 1, limit: 50 };
    ({ total } = await pageOf(limitedRepositories(ledger, ledger.owners()), page, byFullness));
  });
  t.equal(total, 20_001);
  t.ok(turn < 50, `${turn} ms`);
});
