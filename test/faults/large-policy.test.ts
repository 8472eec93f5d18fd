/** A policy as large as they are: it holds up nobody who asks while it is read and looked through. */

import t from 'tap';
import { wholePolicyOf } from '../../src/api/whole-policy.ts';
import { DocumentsInForce } from '../../src/documents/index.ts';
import { createUser, editUser, identityKinds } from '../../src/identity/index.ts';
import { lintIn, Policy, policyKinds, readInForce } from '../../src/policy/index.ts';
import { workInSlices } from '../../src/turns.ts';
import { World } from '../ledger/world.ts';
import { longestTurn } from '../own-time.ts';
import { plainSettings } from '../quota/arbitraries.ts';

const members = 100_000;
const manyGroups = 1000;
const rulesOfGroup = 10;
const longestTurnMs = 30;

const record = (kind: string, key: string, document: object) => ({
  kind,
  key,
  text: JSON.stringify(document),
});

function largePolicy(groups = manyGroups): DocumentsInForce {
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
  const names = (group: number) => numbers(rulesOfGroup).map(at => `rule-${group * rulesOfGroup + at}`);
  return new DocumentsInForce(policyKinds, [
    ...numbers(groups * rulesOfGroup).map(place =>
      record('rule', `rule-${place}`, { place, limitBytes: place + 1, subjects: ['size:all'] }),
    ),
    ...numbers(groups).map(place => record('group', `group-${place}`, { place, rules: names(place) })),
    ...numbers(members).map(place =>
      record('assignment', `${place + 1}`, [{ group: `group-${place % groups}`, place }]),
    ),
  ]);
}

for (const groups of [manyGroups, 1]) {
  const size = `${members} members in ${groups === 1 ? 'one group' : `${groups} groups`}`;
  t.test(`reading a policy of ${size} holds the event loop ${longestTurnMs} ms at most`, async t => {
    const snapshot = largePolicy(groups);
    const owners = { byId: (id: number) => ({ name: `owner-${id}` }) };
    const ledger = () => ({ policy: new Policy(snapshot), documents: { version: 0, owners } });
    const settings = { ...plainSettings, defaultGroups: [] };
    for (const [what, act] of [
      ['lint', () => workInSlices(lintIn(new Policy(snapshot), settings))],
      ['the whole policy', () => wholePolicyOf(ledger())],
    ] as const) {
      const turn = await longestTurn(longestTurnMs, act);
      t.ok(turn < longestTurnMs, `${what}: ${turn} ms`);
    }
  });
}

t.test('a policy that changes while it is read is read again, and at last in one step', async t => {
  const snapshot = new DocumentsInForce(policyKinds, []);
  const ledger = { policy: new Policy(snapshot), documents: { version: 0 } };
  const read: Policy[] = [];
  const readDuring = (changes: number) =>
    readInForce(ledger, function* (policy) {
      read.push(policy);
      if (read.length <= changes) {
        ledger.policy = new Policy(snapshot);
        ledger.documents.version += 1;
      }
      yield;
      return policy;
    });
  t.equal(await readDuring(1), ledger.policy);
  t.equal(read.splice(0).length, 2);
  await readDuring(9);
  t.equal(read.length, 4, 'it ends');
});

t.test('an owner who is renamed while a policy is read has one name in all of it', async t => {
  const ledger = await new World(t, { kinds: identityKinds }).open();
  const { documents } = ledger;
  const { id } = await documents.transact(transaction => createUser(transaction, { name: 'alice' }));
  let isRenamed = false;
  const rename = async () => {
    await documents.transact(transaction => editUser(transaction, 'alice', { name: 'anna' }));
    isRenamed = true;
  };
  const names = await readInForce(ledger, function* () {
    const first = documents.owners.byId(id)?.name;
    if (!isRenamed) void rename();
    while (!isRenamed) yield;
    return [first, documents.owners.byId(id)?.name];
  });
  t.strictSame(names, ['anna', 'anna']);
});
