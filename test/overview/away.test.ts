/** A daemon that starts while its store cannot be read tells what it has to tell later, and nothing twice. */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { Events } from '../../src/overview/index.ts';
import { leaves } from '../../src/quota/index.ts';
import { silentLog, World, walk } from '../ledger/world.ts';

t.test('thresholds are told from what was told last, as soon as that can be read', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/app', 9500);
  walk(ledger, 'bob/app', 9500);
  const alice = ledger.documents.owners.named('alice')?.id ?? 0;
  ledger.eventLog.enqueue({
    levels: [{ ownerId: alice, text: JSON.stringify(Object.fromEntries(leaves.map(leaf => [leaf, 90]))) }],
  });
  await ledger.kept();
  const { eventLog } = ledger;
  const [events, levels] = [eventLog.events.bind(eventLog), eventLog.levels.bind(eventLog)];
  const away = () => Promise.reject(new SoftquotaError('store_away', 'not now'));
  Object.assign(eventLog, { events: away, levels: away });
  const errors: string[] = [];
  const log = { ...silentLog, error: (_: object, message: string) => errors.push(message) };
  const record = await Events.open({ ledger, host: 'here', keepMs: 1e9, log, now: Date.now, pauseMs: 1 });
  record.start();
  await record.kept();
  Object.assign(eventLog, { events, levels });
  t.strictSame((await record.list({ limit: 9 })).events, [], 'nothing is told without');
  await record.kept();
  await record.kept();
  const told = (await record.list({ limit: 9 })).events;
  t.match(told, [{ kind: 'threshold', owner: 'bob', to: 90 }]);
  t.equal(told.length, 1, 'of alice it was told before');
  t.strictSame(errors, []);
  await record.close();
});
