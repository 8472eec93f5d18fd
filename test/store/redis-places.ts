/** Stores in the Redis servers of tests, and everything that a store is asked. */

import { openRedisStore, type SharedStore } from '../../src/store/index.ts';
import { commit } from './commit.ts';
import { event, owner, share } from './records.ts';
import { comes } from './redis-servers.ts';
import { position, rule, type SharedPlace } from './shared-place.ts';

let prefixes = 0;

export function placeIn(address: string, prefix = `place-${++prefixes}`): SharedPlace {
  return { prefix, open: settings => openRedisStore({ address, prefix, ...settings }) };
}

/**
 * Keys of a store besides those of the policy, `{PREFIX}:NAME` each; there are more of walkers and of
 * hosts.
 */
export const usageKeys = [
  'owners',
  'events',
  'event-places',
  'levels',
  'measured',
  'log',
  'order',
  'hosts',
] as const;

/** Everything that a store is asked. */
export const questions: Readonly<Record<string, (store: SharedStore) => Promise<unknown>>> = {
  load: store => store.load(),
  events: store => store.events({ limit: 1 }),
  levels: store => store.levels(),
  'write of policy': store => store.write({ documents: [rule('r')] }),
  'write of events': store => store.write({ events: [event('e', 1)] }),
  'write of shares': store => store.write({ shares: [share('a', 'one')] }),
  state: store => store.state(),
  policy: store => store.policy(),
  commit: store => commit(store, {}, position(1), position(2)),
  writeVolatile: store => store.writeVolatile({}),
  volatile: store => store.volatile(null),
  replace: store => store.replace({ owners: [], documents: [] }, null, position(1), []),
  enroll: store => store.enroll([owner('a')]),
  changesAfter: store => store.changesAfter(0, 1),
  sharesOf: store => store.sharesOf(['a']),
  sharePages: store => store.sharePages()[Symbol.asyncIterator]().next(),
  claim: store => store.claim({ host: 'a', token: 'a', life: 'a', version: '1' }),
  release: store => store.release({ host: 'a', token: 'a', life: 'a', version: '1' }),
  walkers: store => store.walkers(),
  takeWalk: store => store.takeWalk('nas', 'a'),
  leaveWalk: store => store.leaveWalk('nas', 'a'),
  say: store => store.say('a'),
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
