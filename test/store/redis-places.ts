/** Stores in the Redis servers of tests, and everything that a store is asked. */

import { openRedisStore, type SharedStore } from '../../src/store/index.ts';
import { event, share } from './records.ts';
import { comes } from './redis-servers.ts';
import { commit, position, type SharedPlace, sharesOf, tell } from './shared-place.ts';

let prefixes = 0;

export function placeIn(address: string, prefix = `place-${++prefixes}`): SharedPlace {
  return { prefix, open: settings => openRedisStore({ address, prefix, ...settings }) };
}

/** Names of a store's keys that those who only measure write, too. */
export const measuringKeys = ['usage', 'events', 'events:times', 'levels', 'hosts', 'fences'] as const;

/** Names of those that they only read. */
export const policyKeys = [
  'policy',
  'documents',
  'owners',
  'changes',
  'volatile',
  'volatile:changes',
] as const;

/** Everything that a store is asked. */
export const questions: Readonly<Record<string, (store: SharedStore) => Promise<unknown>>> = {
  state: store => store.state(),
  policy: store => store.policy(),
  policySince: store => store.policySince({ version: 1 }),
  commit: store => commit(store, {}, position(1), position(2)),
  replace: store => store.replace({ owners: [], documents: [] }, null, [position(1)], []),
  writeVolatile: store => store.writeVolatile({}),
  volatile: store => store.volatile(),
  volatileAfter: store => store.volatileAfter(0),
  tellUsage: store => tell(store, 'one', [share('a', 'one')]),
  usage: store => sharesOf(store, 'one'),
  usageAfter: store => store.usageAfter('one', 0),
  largestUnits: store => store.largestUnits('a', ['one']),
  events: store => store.events({ limit: 1 }),
  levels: store => store.levels(),
  'write of events': store => store.write({ events: [event('e', 1)] }),
  claim: store => store.claim({ host: 'a', token: 'a', life: 'a', version: '1' }),
  release: store => store.release({ host: 'a', token: 'a', life: 'a', version: '1' }),
  say: store => store.say('{}'),
  hosts: store => store.hosts(),
  forgetHost: store => store.forgetHost('never there'),
  advice: store => store.advice(),
};

export const succeeds = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => true,
    () => false,
  );

/** Resolves when the store answers again, by itself. */
export async function isBack(store: SharedStore): Promise<void> {
  await comes('the store', () => succeeds(store.state()));
}
