/** Hosts that do not hear of each other grant together what one of them could. */

import t from 'tap';
import type { OwnerUsage } from '../../src/ledger/index.ts';
import { RoomApart } from '../../src/ledger/reservations.ts';
import { assign, createGroup, createRule } from '../../src/policy/index.ts';
import { bytesUnder, decide, leafMask, type QuotaSettings } from '../../src/quota/index.ts';
import { repos, World, walk } from './world.ts';

const settings: QuotaSettings = {
  enabled: true,
  refuseWhen: 'exceeded',
  uncovered: 'default',
  precise: true,
  mode: 'enforce',
  warnAt: [],
  totalBytes: 1000,
};

const owner = (bytes: number, reserved: OwnerUsage['reserved'] = null): OwnerUsage => ({
  id: 1,
  name: 'alice',
  type: 'user',
  usage: [0, bytes, 0, 0, 0, 0, 0],
  unreachable: null,
  reserved,
  measuredAt: null,
  partial: false,
  allowance: null,
  stale: true,
});

/** Tells whether the owner may add so much. */
function asks(room: RoomApart, asked: OwnerUsage, adding: number): boolean {
  const reserved = room.reserved(asked, asked.usage, repos, adding);
  const standing = { exempt: [], assigned: [], all: [], defaults: [] };
  return decide({ settings, standing, ...asked, reserved, subject: repos, addingBytes: adding }).allowed;
}

t.test('of 1000 bytes with 100 used, each of three hosts grants 300, in however many actions', async t => {
  t.equal(bytesUnder(owner(1).usage, leafMask(repos)), 1, 'the leaf is the one that is asked about');
  const room = new RoomApart(() => 3);
  t.ok(asks(room, owner(100), 300));
  t.notOk(asks(room, owner(100), 301));
  t.ok(asks(room, owner(300), 100), '200 came');
  t.notOk(asks(room, owner(300), 101));
  const uploads = [{ mask: leafMask(repos), bytes: 50 }];
  t.ok(asks(room, owner(300, uploads), 50), 'uploads under way are part of it');
  t.notOk(asks(room, owner(300, uploads), 51));
  t.ok(asks(room, owner(50), 300), 'what was freed is nobody else’s');
});

t.test('where hosts hear of each other, or one is alone, all of the room is granted', async t => {
  let hosts = 3;
  const room = new RoomApart(() => hosts);
  t.notOk(asks(room, owner(100), 900));
  hosts = 1;
  t.ok(asks(room, owner(100), 900));
  t.ok(asks(room, owner(700), 300));
  hosts = 3;
  t.ok(asks(room, owner(700), 100));
  t.notOk(asks(room, owner(700), 101), 'it is divided by what is left then');
});

t.test('the room of a group is divided as well, whichever member asks', async t => {
  const ledger = await new World(t).open();
  for (const name of ['alice', 'bob']) walk(ledger, `${name}/app`, 50);
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    createRule(changes, { name: 'together', limitBytes: 1000, subjects: ['size:all'], per: 'group' });
    createGroup(changes, { name: 'lab', rules: [{ name: 'together' }] });
    for (const name of ['alice', 'bob']) assign(changes, transaction.mustBeOwner(name).id, 'lab');
  });
  ledger.settings = { ...ledger.settings, precise: true };
  const mayAdd = (name: string, bytes: number) => ledger.decide(name, repos, bytes).decision.allowed;
  t.ok(mayAdd('alice', 900));
  const elsewhere = { largestUnits: async () => new Map(), async *allLargest() {} };
  ledger.shares.shareWith({ isStale: () => true, countApart: () => 3, elsewhere });
  t.ok(mayAdd('alice', 300));
  t.notOk(mayAdd('alice', 301));
  t.equal(ledger.explain('bob', repos, 301).decision.allowed, false, 'as the reasons say');
  walk(ledger, 'alice/app', 250);
  t.ok(mayAdd('bob', 100), '200 came from another member');
  t.notOk(mayAdd('bob', 101));
});
