/** The limit of a repository holds for each one by itself, with its LFS objects and what is on its way. */

import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { assign, createGroup, createRule } from '../../src/policy/index.ts';
import { lfs, repos, settings, World, walk } from './world.ts';

const path = '/srv/git/alice/app.git';

async function open(t: Test) {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/app', 60);
  walk(ledger, 'alice/site', 900);
  walk(ledger, 'bob/app', 900);
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    createRule(changes, { name: 'each', limitBytes: 100, subjects: ['size:all'], per: 'repository' });
    createGroup(changes, { name: 'lab', rules: [{ name: 'each' }] });
    assign(changes, transaction.mustBeOwner('alice').id, 'lab');
  });
  const ask = (repository: string | null, adding = 0) =>
    ledger.decide('alice', repos, adding, { repository }).decision;
  return { ledger, ask };
}

t.test('each repository has a limit of its own, and one that is not known none', async t => {
  const { ledger, ask } = await open(t);
  t.ok(ask(path).allowed);
  t.match(ask('/srv/git/alice/site.git'), {
    allowed: false,
    per: 'repository',
    unit: 'alice/site',
    used: 900,
    limit: 100,
  });
  t.match(ask('/srv/git/alice/new.git'), { allowed: true });
  t.notMatch(ask('/srv/git/alice/new.git'), { unasked: ['repository'] });
  t.match(ask(null), { allowed: true, unasked: ['repository'] });
  t.match(ask('/srv/git/bob/app.git'), { allowed: true, unasked: ['repository'] }, 'another one has it now');
  walk(ledger, 'alice/app', 101);
  t.match(ask(path), { allowed: false, used: 101 });
  t.ok(ledger.decide('bob', repos, 0, { repository: '/srv/git/bob/app.git' }).decision.allowed);
});

t.test('LFS objects count where their place names the repository', async t => {
  const { ledger, ask } = await open(t);
  walk(ledger, 'alice/app', 30, { path: `${path}/lfs`, leaf: lfs });
  t.ok(ask(path).allowed);
  walk(ledger, 'alice/app', 7, { path: '/srv/lfs/alice/App', leaf: lfs });
  await ledger.reports.reportUnit('alice', lfs, 'alice/app', 5);
  t.match(ask(path), { allowed: false, used: 102 });
  for (const other of ['alice/site', 'alice/app2', 'app']) {
    await ledger.reports.reportUnit('alice', lfs, other, 5);
  }
  walk(ledger, 'alice/app', 50, { path: '/srv/git/alice/app.wiki.git', leaf: 'size:assets:wiki' });
  t.match(ask(path), { used: 102 }, 'a wiki is a repository of its own');
  t.ok(ask('/srv/git/alice/app.wiki.git').allowed);
});

t.test('a check takes one short look at LFS objects of other repositories', async t => {
  const { ledger, ask } = await open(t);
  const others = 1000;
  for (let n = 0; n < others; n++)
    walk(ledger, 'alice/lfs', 1, { path: `/srv/lfs/alice/all/of/team/App-${n}.git`, leaf: lfs });
  walk(ledger, 'alice/lfs', 7, { path: '/srv/lfs/alice/Team/App.git', leaf: lfs });
  walk(ledger, 'alice/lfs', 7, { path: '/srv/lfs/alice/app', leaf: lfs });
  walk(ledger, 'alice/team', 100, { path: '/srv/git/alice/team/app.git' });
  const { mock: keyOf } = mock.method(ledger.documents.owners, 'keyOf');
  t.match(ask('/srv/git/alice/team/app.git'), { allowed: false, used: 107 });
  t.ok(keyOf.callCount() < 1.5 * others, `${keyOf.callCount()} looks at names`);
  keyOf.restore();
});

t.test('a repository whose path has no owner has its own bytes', async t => {
  const { ledger, ask } = await open(t);
  const hashed = '/srv/@hashed/ab/cd/abcd.git';
  walk(ledger, 'alice/hashed', 200, { path: hashed });
  await ledger.reports.reportUnit('alice', lfs, 'abcd', 5);
  t.match(ask(hashed), { allowed: false, unit: 'alice/abcd', used: 200 });
});

t.test('what is reserved for a repository counts, and an earlier try of the same does not', async t => {
  const { ledger } = await open(t);
  ledger.settings = { ...settings, precise: true };
  const admit = (id: string, bytes: number, unit = path) => {
    const parts = [{ id, bytes }];
    const action = { ownerName: 'alice', subject: repos, parts, isReported: true, seconds: 60 };
    return ledger.admit({ ...action, unit, things: { repository: unit } }).decision;
  };
  t.ok(admit('elsewhere', 90, '/srv/git/alice/new.git').allowed);
  t.ok(admit('first', 40).allowed);
  t.ok(admit('first', 40).allowed, 'again');
  t.match(admit('second', 1), { allowed: false, per: 'repository', used: 100, reserved: 40, incoming: 1 });
});

t.test('of what is forgiven, a repository has its own part', async t => {
  const { ledger, ask } = await open(t);
  ledger.settings = { ...settings, garbage: 'forgive' };
  const unreachable = (of: string, unreachableBytes: number, reachableBytes: number) =>
    ledger.reach.measured(of, { unreachableBytes, reachableBytes }, ledger.reach.number);
  walk(ledger, 'alice/app', 150);
  unreachable('/srv/git/alice/site.git', 600, 300);
  t.notOk(ask(path).allowed);
  unreachable(path, 60, 90);
  t.ok(ask(path).allowed);
});

t.test('the title of a repository is looked up only where a rule is about repositories', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/app', 100);
  const asked: string[] = [];
  ledger.titleOf = path => {
    asked.push(path);
    return null;
  };
  const things = { repository: '/srv/git/alice/app.git' };
  t.ok(ledger.decide('alice', 'size:repos:private', 0, things).decision.allowed);
  t.strictSame(asked, []);
});
