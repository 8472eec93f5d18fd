/** The limits of repositories, pushes and files at the doors where hooks, proxies and programs ask. */

import t, { type Test } from 'tap';
import { assign, createGroup, createRule } from '../../src/policy/index.ts';
import type { RuleSubject } from '../../src/quota/index.ts';
import { openWorld, type World } from './world.ts';

type Scope = 'file' | 'push' | 'repository';

/** A gate, and a rule for alice that limits something else than all that she has. */
async function openBounded(t: Test, per: Scope, limitBytes: number, subject: RuleSubject = 'size:all') {
  const world = await openWorld(t);
  world.walk('/srv/git/alice/app.git', 'alice', 500);
  world.walk('/srv/git/alice/site.git', 'alice', 1500);
  await world.ledger.documents.transact(transaction => {
    const { changes } = transaction;
    createRule(changes, { name: 'bound', limitBytes, subjects: [subject], per });
    createGroup(changes, { name: 'g', rules: [{ name: 'bound' }] });
    assign(changes, transaction.mustBeOwner('alice').id, 'g');
  });
  return world;
}

async function checked({ ask }: Pick<World, 'ask'>, query: string): Promise<object> {
  const { status, text } = await ask(`/v1/check?${query}`);
  return { status, ...JSON.parse(text) };
}

t.test('a check by path is about the repository there', async t => {
  const world = await openBounded(t, 'repository', 1000);
  t.match(await checked(world, 'path=/srv/git/alice/app.git'), { status: 200 });
  t.match(await checked(world, 'path=/srv/git/alice/site.git/refs'), {
    status: 413,
    per: 'repository',
    unit: 'alice/site',
    used: 1500,
    limit: 1000,
    message: 'Repository alice/site is too large: it has 1.5 kB of 1 kB.',
  });
  t.match(await checked(world, 'owner=alice&subject=size:repos:private'), { status: 200 });
  world.walk('/srv/git/alice/app.git/lfs', 'alice', 600, { leaf: 'size:git:lfs' });
  t.match(await checked(world, 'path=/srv/git/alice/app.git/lfs'), { status: 413, unit: 'alice/app' });
  const reserved = await world.ask('/v1/reservations?path=/srv/git/alice/site.git&size=1', {
    method: 'POST',
  });
  t.equal(reserved.status, 413);
});

t.test('a repository that another host walks is not judged by what is known here', async t => {
  const world = await openBounded(t, 'repository', 1000);
  const place = { owner: 'alice', leaf: 'size:repos:private', bytes: null, exists: true } as const;
  world.told.locate = async path => ({ ...place, path, isElsewhere: path.startsWith('/srv/other') });
  t.match(await checked(world, 'path=/srv/other/alice/site.git'), { status: 200 });
  t.match(await checked(world, 'path=/srv/git/alice/new.git'), { status: 200 });
});
