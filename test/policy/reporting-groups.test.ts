/** Groups that the release before had put in report mode: they never come into force. */

import t from 'tap';
import {
  assign,
  createRule,
  endGroupModes,
  groupKind,
  groupsIn,
  replacePolicy,
  rulesIn,
} from '../../src/policy/index.ts';
import type { Rule } from '../../src/quota/index.ts';
import { runToEnd } from '../../src/turns.ts';
import { lfs, silentLog, World, walk } from '../ledger/world.ts';

const own: Rule = { name: 'own', limitBytes: 10, subjects: ['size:all'] };
const shared: Rule = { name: 'shared', limitBytes: 20, subjects: ['size:all'] };
const tried: Rule = { name: 'tried', limitBytes: 30, subjects: ['size:all'], mode: 'report' };
const taken: Rule = { name: 'shared (held)', limitBytes: -1, subjects: [] };

/** alice is in a group in report mode that would refuse, and bob in another one, which is in force. */
async function open(world: World) {
  const ledger = await world.open();
  walk(ledger, 'alice/app', 100);
  walk(ledger, 'bob/app', 5);
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    for (const rule of [own, shared, tried, taken]) createRule(changes, rule);
    changes.put(groupKind, 'held', { place: 1, rules: ['own', 'shared', 'tried'], mode: 'report' });
    changes.put(groupKind, 'free', { place: 2, rules: ['shared'] });
    assign(changes, transaction.mustBeOwner('alice').id, 'held');
    assign(changes, transaction.mustBeOwner('bob').id, 'free');
  });
  return ledger;
}

const heldBack = { allowed: true, step: 'builtin', reported: { allowed: false, group: 'held' } };

t.test('its rules become rules in report mode, or copies where another group has them', async t => {
  const world = new World(t);
  await open(world);
  const ledger = await world.open();
  t.match(ledger.decide('alice', lfs).decision, { ...heldBack, reported: { rule: 'own' } });

  const told: object[] = [];
  const log = { warn: (fields: object) => void told.push(fields) };
  await endGroupModes(ledger.documents, log);
  await endGroupModes(ledger.documents, log);

  const copy: Rule = { ...shared, name: 'shared (held) 2', mode: 'report' };
  t.strictSame(told, [{ groups: [{ group: 'held', rules: ['own', copy.name, 'tried'] }] }]);
  const { snapshot } = ledger.documents;
  t.strictSame(rulesIn(snapshot), [{ ...own, mode: 'report' }, shared, tried, taken, copy]);
  t.strictSame(groupsIn(snapshot), [
    { name: 'held', rules: [{ ...own, mode: 'report' }, copy, tried] },
    { name: 'free', rules: [shared] },
  ]);
  t.match(ledger.decide('alice', lfs).decision, { ...heldBack, reported: { rule: 'own' } });
  t.match(ledger.decide('bob', lfs).decision, { allowed: true, rule: 'shared', limit: 20 });

  const events = await ledger.eventLog.events({ limit: 3 });
  t.strictSame(
    events.map(({ text }) => JSON.parse(text)).map(({ by, action, what, name }) => [by, action, what, name]),
    [
      [null, 'edited', 'group', 'held'],
      [null, 'created', 'rule', copy.name],
      [null, 'edited', 'rule', 'own'],
    ],
  );
});

t.test('before that, no other policy in place of it brings it into force', async t => {
  const ledger = await open(new World(t));
  const groups = [{ name: 'held', rules: [{ name: 'own' }] }];
  await ledger.documents.transact(({ changes }) =>
    runToEnd(replacePolicy(changes, { rules: [own], groups })),
  );
  t.match(ledger.decide('alice', lfs).decision, heldBack);
  await endGroupModes(ledger.documents, silentLog);
  t.strictSame(rulesIn(ledger.documents.snapshot), [{ ...own, mode: 'report' }]);
});
