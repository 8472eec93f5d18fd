/** The members of a group together: their sum is theirs after every change. */

import { mock } from 'node:test';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { Pools } from '../../src/ledger/pools.ts';
import { assign, createGroup, createRule, deleteGroup, unassign } from '../../src/policy/index.ts';
import { bytesUnder, leafMask } from '../../src/quota/index.ts';
import { isLong } from '../run-length.ts';
import { lfs, repos, SetClock, settings, World, walk } from './world.ts';

const names = ['alice', 'bob', 'carol'] as const;
const pool = { name: 'together', limitBytes: 100, subjects: ['size:all'], per: 'group' } as const;

async function openWithPool(t: Test) {
  const clock = new SetClock();
  const world = new World(t, { clock });
  const ledger = await world.open();
  for (const name of names) walk(ledger, `${name}/app`, 10);
  await ledger.documents.transact(({ changes }) => {
    createRule(changes, pool);
    createGroup(changes, { name: 'lab', rules: [{ name: pool.name }] });
  });
  const join = (name: string, isIn: boolean) =>
    ledger.documents.transact(transaction => {
      const { id } = transaction.mustBeOwner(name);
      (isIn ? assign : unassign)(transaction.changes, id, 'lab');
    });
  return { clock, ledger, join, world };
}

const decided = (ledger: Ledger, name: string) => ledger.decide(name, repos).decision;

t.test('a group is full for all its members at once, and for nobody else', async t => {
  const { ledger, join } = await openWithPool(t);
  await join('alice', true);
  await join('bob', true);
  t.ok(decided(ledger, 'alice').allowed);
  walk(ledger, 'bob/app', 95);
  t.match(decided(ledger, 'alice'), { allowed: false, per: 'group', group: 'lab', used: 105, share: 10 });
  t.ok(decided(ledger, 'carol').allowed);
  await join('bob', false);
  t.ok(decided(ledger, 'alice').allowed, 'who leaves takes their bytes along');
  await join('bob', true);
  t.notOk(decided(ledger, 'alice').allowed);
  await ledger.documents.transact(({ changes }) => deleteGroup(changes, 'lab'));
  t.ok(decided(ledger, 'alice').allowed);
});

/** Pools that call `look` before they read an owner's bytes. */
function poolsOf(ledger: Ledger, look: (name: string) => void): Pools {
  return new Pools({
    get policy() {
      return ledger.policy;
    },
    settings,
    graces: ledger.graces,
    ownerById: id => ledger.ownerById(id),
    ownerUsage: name => {
      look(name);
      return ledger.ownerUsage(name);
    },
  });
}

t.test('a member whose bytes cannot be added up is counted once they can', async t => {
  const { ledger, join } = await openWithPool(t);
  await join('alice', true);
  const { id } = ledger.ownerUsage('alice');
  let isTooLarge = true;
  const pools = poolsOf(ledger, () => {
    if (isTooLarge) throw new SoftquotaError('sum_too_large', 'too large');
  });
  for (const _ of [1, 2]) t.throws(() => pools.of('lab', { id, reserved: null }), { code: 'sum_too_large' });
  isTooLarge = false;
  t.equal(bytesUnder(pools.of('lab', { id, reserved: null }).usage, leafMask('size:all')), 10);
});

t.test('only those are added up anew who have come, left or changed', async t => {
  const { ledger, join } = await openWithPool(t);
  await ledger.documents.transact(({ changes }) => {
    createGroup(changes, { name: 'other', rules: [{ name: pool.name }] });
  });
  for (const name of names) await join(name, true);
  const added: string[] = [];
  const pools = poolsOf(ledger, name => void added.push(name));
  const change = async (change: Parameters<typeof ledger.documents.transact>[0], ids: number[]) => {
    await ledger.documents.transact(change);
    pools.policyChanged(new Set(ids));
    return [sumOf(pools), added.splice(0)];
  };
  const [alice = 0, bob = 0] = names.map(name => ledger.ownerUsage(name).id ?? 0);
  t.strictSame([sumOf(pools), added.splice(0)], [30, [...names]]);
  t.strictSame(await change(({ changes }) => assign(changes, bob, 'other'), [bob]), [30, ['bob']]);
  t.strictSame(await change(({ changes }) => deleteGroup(changes, 'other'), [bob]), [30, ['bob']]);
  t.strictSame(await change(({ changes }) => unassign(changes, alice, 'lab'), [alice]), [20, []]);
  t.strictSame(await change(({ changes }) => assign(changes, alice, 'lab'), [alice]), [30, ['alice']]);
});

t.test(
  'no check adds up a whole group after a start, a first sweep or a reload of other settings',
  async t => {
    const { join, world } = await openWithPool(t);
    for (const name of names) await join(name, true);
    const ledger = await world.open();
    const { mock: asked } = mock.method(ledger, 'ownerById');
    const isSummed = () => {
      asked.resetCalls();
      t.match(decided(ledger, 'alice'), { allowed: true });
      return asked.callCount() > 0;
    };
    t.notOk(isSummed());
    ledger.walks.recordSweep({ startedAt: 0, finishedAt: 0, units: 3 }, [], () => true);
    t.notOk(isSummed());
    ledger.settings = { ...settings, warnAt: [50] };
    t.notOk(isSummed());
    ledger.settings = { ...settings, garbage: 'forgive' };
    t.ok(isSummed(), 'what each member is forgiven has changed');
  },
);

t.test('a member who is renamed has what the new name has', async t => {
  const { ledger, join } = await openWithPool(t);
  for (const name of names) await join(name, true);
  const rename = (from: string, to: string) =>
    ledger.documents.transact(transaction => transaction.renameOwner(from, to, () => true));
  t.equal(sumOf(ledger.pools), 30);
  await rename('alice', 'alicia');
  t.equal(sumOf(ledger.pools), 20, 'units have the old name until they are found under the new one');
  walk(ledger, 'alicia/app', 7);
  t.equal(sumOf(ledger.pools), 27);
  walk(ledger, 'robert/app', 3);
  await rename('bob', 'robert');
  t.equal(sumOf(ledger.pools), 20);
});

const sumOf = (pools: Pools) => bytesUnder(pools.of('lab', null).usage, leafMask('size:all'));

t.test('what any member reserves changes the state of none', async t => {
  const { ledger, join } = await openWithPool(t);
  await join('alice', true);
  await join('bob', true);
  const parts = [{ id: 'one', bytes: 85 }];
  ledger.admit({ ownerName: 'bob', subject: lfs, parts, isReported: true, unit: null, seconds: 9 });
  t.notOk(decided(ledger, 'alice').allowed);
  t.match(ledger.stateDeciderFor(ledger.ownerUsage('alice'))(repos), { allowed: true, near: undefined });
  walk(ledger, 'bob/app', 95);
  t.match(ledger.stateDeciderFor(ledger.ownerUsage('alice'))(repos), { allowed: false, used: 105 });
});

t.test('the sum of a group is that of its members after any changes', async t => {
  const { clock, ledger, join } = await openWithPool(t);
  const name = fc.constantFrom(...names);
  const step = fc.oneof(
    fc.record({ does: fc.constant('walk' as const), name, bytes: fc.nat(50) }),
    fc.record({ does: fc.constant('reserve' as const), name, bytes: fc.nat(50) }),
    fc.record({ does: fc.constant('join' as const), name, isIn: fc.boolean() }),
    fc.record({ does: fc.constant('wait' as const), seconds: fc.nat(20) }),
  );
  const members = () => {
    const { policy, documents } = ledger;
    return policy.membersOf('lab').flatMap(id => documents.owners.byId(id)?.name ?? []);
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async steps => {
      for (const [at, one] of steps.entries()) {
        if (one.does === 'walk') walk(ledger, `${one.name}/app`, one.bytes);
        if (one.does === 'wait') clock.pass(one.seconds * 1000);
        if (one.does === 'join') await join(one.name, one.isIn).catch(() => {});
        if (one.does === 'reserve') {
          const parts = [{ id: `${at}`, bytes: one.bytes }];
          ledger.admit({
            ownerName: one.name,
            subject: lfs,
            parts,
            isReported: true,
            unit: null,
            seconds: 9,
          });
        }
        const sum = members().reduce((bytes, member) => {
          const { usage, reserved } = ledger.ownerUsage(member);
          const held = (reserved ?? []).reduce((all, each) => all + each.bytes, 0);
          return bytes + bytesUnder(usage, leafMask('size:all')) + held;
        }, 0);
        for (const member of members()) {
          const [bound] = ledger.explain(member, repos).bounds ?? [];
          if (bound?.used !== sum) {
            t.equal(bound?.used, sum, `${member} after ${JSON.stringify(one)}`);
            return false;
          }
        }
      }
      return true;
    }),
    { numRuns: isLong ? 1000 : 60 },
  );
});
