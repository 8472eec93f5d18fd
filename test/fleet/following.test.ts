/** Records of others in the shared store are taken over from there. */

import t, { type Test } from 'tap';
import { DocumentFollower } from '../../src/fleet/document-follower.ts';
import { LogFollower } from '../../src/fleet/following.ts';
import type { FleetMessage } from '../../src/fleet/messages.ts';
import { UsageReplica } from '../../src/fleet/usage-replica.ts';
import { VolatileDocuments } from '../../src/fleet/volatile.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { ruleKind, ruleNamed } from '../../src/policy/index.ts';
import type { OwnerRecord, PolicyChange, Position, SharedStore, ShareRecord } from '../../src/store/index.ts';
import { repos, used } from '../ledger/world.ts';
import { commit } from '../store/commit.ts';
import { type Server, startSingle } from '../store/redis-servers.ts';
import { watched } from './watching.ts';
import { ledgerOf, sharedStore } from './world.ts';

t.setTimeout(120_000);

const at = (version: number, mark = `m${version}`): Position => ({ generation: 'one', version, mark });

const owner = (key: string, id: number): OwnerRecord => ({ id, key, name: key, type: 'user', since: 0 });

const share = (ownerKey: string, bytes: number): ShareRecord => ({
  ownerKey,
  host: 'elsewhere',
  bytes: { [repos]: bytes },
  units: 1,
  largest: [],
  partial: false,
  measuredAt: 0,
});

const rule = (name: string, limitBytes: number): PolicyChange => ({
  documents: [
    { kind: 'rule', key: name, text: JSON.stringify({ place: 1, limitBytes, subjects: ['size:all'] }) },
  ],
});

const limitOf = (ledger: Ledger, name: string) => ruleNamed(ledger.documents.snapshot, name)?.limitBytes;

interface Begun {
  readonly shared: SharedStore;
  readonly server: Server;
  readonly ledger: Ledger;
}

/** A store in which somebody has begun. */
async function begun(t: Test): Promise<Begun> {
  const { address, servers } = await startSingle(t);
  const shared = await sharedStore(t, address);
  await shared.replace({ owners: [owner('alice', 1)], documents: [] }, null, at(1), []);
  return { shared, server: servers[0], ledger: await ledgerOf(t, 'here') };
}

interface FollowingParts {
  readonly onFallenBack: () => void;
  readonly readingMs: number;
}

function partsOf(
  ledger: Ledger,
  store: SharedStore,
  { onFallenBack = () => {}, readingMs = 60_000 }: Partial<FollowingParts> = {},
) {
  const { replica, shares } = ledger;
  const tell = ({ is }: FleetMessage) => {
    if (is === 'store fell back') onFallenBack();
  };
  const volatile = new VolatileDocuments({ documents: ledger.documents, store });
  const documents = new DocumentFollower({ replica, volatile, store, tell });
  const usage = new UsageReplica({ shares, store, host: 'one', documents, tell });
  const membership = { mayTell: async () => true };
  return { documents, usage, following: new LogFollower({ documents, usage, store, membership, readingMs }) };
}

function followingOf(ledger: Ledger, store: SharedStore, parts: Partial<FollowingParts> = {}): LogFollower {
  return partsOf(ledger, store, parts).following;
}

t.test('what others change is taken over, and while nothing changes one question is all', async t => {
  const { shared, ledger } = await begun(t);
  const { store, asked } = watched(shared);
  const following = followingOf(ledger, store);
  t.notOk(following.isComplete);
  await following.sync();
  t.ok(following.isComplete);

  await shared.write({ shares: [share('alice', 100)] });
  await commit(shared, rule('small', 7), at(1), at(2));
  await following.sync();
  t.equal(used(ledger, 'alice'), 100);
  t.equal(limitOf(ledger, 'small'), 7);

  asked.length = 0;
  await following.sync();
  t.strictSame(asked, ['state']);
});

t.test('who missed a part of the log reads everything', async t => {
  const { shared, server, ledger } = await begun(t);
  const { store, asked } = watched(shared);
  const following = followingOf(ledger, store);
  await shared.write({ shares: [share('alice', 100)] });
  await following.sync();
  await shared.enroll([owner('bob', 2)]);
  await commit(shared, rule('small', 7), at(1), at(2));
  await shared.write({ shares: [share('bob', 5)], goneShares: [{ ownerKey: 'alice', host: 'elsewhere' }] });
  await server.cli('xtrim', '{fleet}:log', 'MAXLEN', '1');
  asked.length = 0;
  await following.sync();
  t.ok(asked.includes('policy'));
  t.equal(used(ledger, 'alice'), 0);
  t.equal(used(ledger, 'bob'), 5);
  t.equal(limitOf(ledger, 'small'), 7);
  t.ok(following.isComplete);
});

t.test('the policy is in force before all shares are read, and followed meanwhile', async t => {
  const { shared, server, ledger } = await begun(t);
  const following = followingOf(ledger, shared, { readingMs: 0 });
  const keys = Array.from({ length: 1700 }, (_, at) => `owner-${at}`);
  await shared.enroll(keys.map((key, at) => owner(key, 100 + at)));
  await shared.write({ shares: keys.map(key => share(key, 5)) });
  await commit(shared, rule('small', 7), at(1), at(2));
  await following.sync();
  t.equal(limitOf(ledger, 'small'), 7);
  t.ok(following.isReading);
  await commit(shared, rule('small', 8), at(2), at(3));
  await shared.write({ shares: [share('owner-0', 6), share('owner-1699', 6)] });
  await following.sync();
  t.equal(limitOf(ledger, 'small'), 8);
  t.strictSame([used(ledger, 'owner-0'), used(ledger, 'owner-1699')], [6, 6]);
  t.ok(following.isReading);
  while (following.isReading) await following.sync();
  const sum = () => keys.reduce((total, key) => total + (used(ledger, key) ?? 0), 0);
  t.equal(sum(), 1700 * 5 + 2);

  await shared.write({ goneShares: keys.slice(0, 900).map(ownerKey => ({ ownerKey, host: 'elsewhere' })) });
  await server.cli('xtrim', '{fleet}:log', 'MAXLEN', '0');
  await commit(shared, rule('small', 9), at(3), at(4));
  await following.sync();
  t.equal(limitOf(ledger, 'small'), 9, 'also where a part of the log was missed');
  t.notOk(following.isComplete);
  while (!following.isComplete) await following.sync();
  t.equal(sum(), 800 * 5 + 1, 'and what is gone from the store is gone');
});

t.test(
  'a change that was made too large to be told is read as a whole, and nothing else changes',
  async t => {
    const { shared, ledger } = await begun(t);
    const following = followingOf(ledger, shared);
    await commit(shared, rule('small', 7), at(1), at(2));
    await following.sync();
    const small = ledger.documents.snapshot.get(ruleKind, 'small');
    const documents = Array.from(
      { length: 1000 },
      (_, index) => rule(`rule-${index}`, index).documents ?? [],
    );
    await commit(shared, { documents: documents.flat() }, at(2), at(3));
    await following.sync();
    t.equal(limitOf(ledger, 'rule-999'), 999);
    t.equal(ledger.documents.snapshot.get(ruleKind, 'small'), small, 'the very same');
    t.strictSame(ledger.replica.position, at(3));
    await commit(shared, { goneDocuments: documents.flat() }, at(3), at(4));
    await following.sync();
    t.equal(limitOf(ledger, 'rule-999'), undefined);
    t.equal(limitOf(ledger, 'small'), 7);
  },
);

t.test('a store that fell back and went on otherwise is not trusted until somebody decides', async t => {
  const { shared, server, ledger } = await begun(t);
  let lost = 0;
  const { following, documents } = partsOf(ledger, shared, {
    onFallenBack: () => {
      lost += 1;
    },
  });
  const keys = ['policy', 'documents', 'log'];
  await commit(shared, rule('first', 1), at(1), at(2));
  for (const key of keys) await server.cli('copy', `{fleet}:${key}`, `{fleet}:old-${key}`);
  await commit(shared, rule('acknowledged', 1), at(2), at(3));
  await following.sync();
  for (const key of keys) await server.cli('copy', `{fleet}:old-${key}`, `{fleet}:${key}`, 'replace');
  await commit(shared, rule('other', 1), at(2), at(3, 'other'));
  await commit(shared, rule('another', 1), at(3, 'other'), at(4));
  for (const when of ['when it is noticed', 'a second later', 'and for ever']) {
    await following.sync();
    t.match(documents.divergence, { why: 'older' }, when);
    t.equal(limitOf(ledger, 'acknowledged'), 1, when);
    t.equal(limitOf(ledger, 'another'), undefined, when);
  }

  const { policy } = await shared.policy();
  await shared.replace(policy, at(4), { generation: 'two', version: 5, mark: 'm' }, ['one']);
  lost = 0;
  await following.sync();
  t.equal(documents.divergence, null);
  t.equal(limitOf(ledger, 'acknowledged'), undefined);
  t.equal(limitOf(ledger, 'another'), 1);
  t.equal(lost, 1, 'and what was said here meanwhile is said again');
});
