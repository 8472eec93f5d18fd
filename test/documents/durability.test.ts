/** The promise of each class of documents, and the order in which they are changed. */

import t, { type Test } from 'tap';
import type { Documents } from '../../src/documents/index.ts';
import { createToken, createUser, Identity, identityKinds } from '../../src/identity/index.ts';
import { sessionKind, useKind } from '../../src/identity/kinds.ts';
import { createRule, editRule, ruleKind } from '../../src/policy/index.ts';
import type { Changes, OwnerRecord } from '../../src/store/index.ts';
import { unlimitedMaker } from '../identity/session-world.ts';
import { openOn, silentLog, World } from '../ledger/world.ts';
import { emptyModel, storeOn } from '../store/model.ts';

/** A ledger whose writes of one kind of document wait until they are let through. */
async function holding(t: Test, held: string) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const kept = storeOn(emptyModel());
  const write = async (changes: Changes) => {
    if (changes.documents?.some(({ kind }) => kind === held) === true) await released;
    await kept.write(changes);
  };
  const ledger = await openOn({ ...kept, write }, { kinds: identityKinds });
  t.teardown(async () => {
    release();
    await ledger.close();
  });
  return { documents: ledger.documents, release };
}

const rule = { name: 'total', limitBytes: 5, subjects: [] };

function newToken(documents: Documents, owner: OwnerRecord, name: string) {
  const by = { maker: unlimitedMaker, now: Date.now() };
  return documents.transact(({ changes }) =>
    createToken(changes, owner, { name, scopes: ['all'], expiresAt: null }, by),
  );
}

t.test('a change that there is nothing to do for now waits for what is under way', async t => {
  const { documents, release } = await holding(t, 'rule');
  const creating = documents.transact(({ changes }) => createRule(changes, rule));
  const keeping = documents.transact(({ changes }) => {
    if (changes.get(ruleKind, 'total') !== undefined) editRule(changes, 'total', { limitBytes: 7 });
  });
  release();
  await Promise.all([creating, keeping]);
  t.equal(documents.snapshot.get(ruleKind, 'total')?.limitBytes, 7);
});

t.test('volatile documents are in no backup, and go with what they are about', async t => {
  const world = new World(t, { kinds: identityKinds });
  const ledger = await world.open();
  const { documents } = ledger;
  const identity = new Identity({ documents, now: Date.now, log: silentLog });
  const alice = await documents.transact(transaction => createUser(transaction, { name: 'alice' }));
  const { token } = await newToken(documents, alice, 'laptop');
  const signed = await identity.signIn({ token }, '192.0.2.1', null);
  await identity.authenticate(`token ${token}`, '192.0.2.1');
  await identity.close();
  t.match(signed, { is: 'signed in' });
  t.equal([...documents.snapshot.all(useKind)].length, 1);
  t.strictSame(new Set([...documents.records()].map(({ kind }) => kind)), new Set(['profile', 'token']));
  const again = await world.open();
  t.equal([...again.documents.volatileRecords()].length, 2, 'this host keeps them');
  await again.documents.transact(({ changes }) => {
    for (const [key] of [...changes.ofOwner(sessionKind, alice.id)]) changes.remove(sessionKind, key);
  });
  const later = new Identity({ documents: again.documents, now: Date.now, log: silentLog });
  await later.signedIn.sweep();
  t.equal([...again.documents.snapshot.all(useKind)].length, 1, 'the token is there still');
});
