/** The shared store in a Redis. */

import { SerialQueue } from '../../serial-queue.ts';
import type { SharedStore } from '../shared.ts';
import { readAdvice } from './advice.ts';
import { createContext, type RedisContext, type RedisSettings } from './context.ts';
import { readEvents, readLevels, writeEvents } from './events.ts';
import { examineServer } from './examine.ts';
import { away } from './faults.ts';
import { Follower } from './follow.ts';
import { claimHost, leaveTask, readHosts, releaseHost, takeTask } from './hosts.ts';
import { compareOwners, readPolicy, readSince, readState } from './policy.ts';
import { commit, replace } from './policy-changes.ts';
import { allLargest, forgetHost, largestUnits, tellUsage, usageAfter, usageOnHost } from './usage.ts';
import { readVolatile, volatileNamesAfter, writeVolatile } from './volatile.ts';

/** Limit of waiting writes: more are a sign that nobody waits for the answers. */
const mostWaiting = 2000;

/**
 * Opens the store. Rejects with `store_refused` if the content belongs to another program or a newer
 * softquota, or access is denied.
 */
export async function openRedis(settings: RedisSettings): Promise<SharedStore> {
  const context = createContext(settings, examineServer, () => follower.tell());
  const follower = new Follower(context);
  const store = storeOn(context, follower);
  const fault = await context.connection.opened();
  if (fault?.code !== 'store_refused') return store;
  await store.close();
  throw fault;
}

function storeOn(context: RedisContext, follower: Follower): SharedStore {
  const { connection, policyConnection, keys } = context;
  /** Queue of writes, so that `close` waits for earlier ones. */
  const writes = new SerialQueue({
    most: mostWaiting,
    full: () => away(connection.where, 'too much waits for it already'),
  });
  return {
    state: () => readState(context),
    policy: () => readPolicy(context),
    compareOwners: known => compareOwners(context, known),
    policySince: version => readSince(context, version),
    commit: (...all) => writes.run(() => commit(context, ...all)),
    replace: (...all) => writes.run(() => replace(context, ...all)),
    writeVolatile: change => writeVolatile(context, change),
    volatile: names => readVolatile(context, names),
    volatileNamesAfter: number => volatileNamesAfter(context, number),
    tellUsage: (host, usage) => tellUsage(context, host, usage),
    usage: host => usageOnHost(context, host),
    usageAfter: (host, number) => usageAfter(context, host, number),
    largestUnits: (ownerKey, hosts) => largestUnits(context, ownerKey, hosts),
    allLargest: host => allLargest(context, host),
    events: query => readEvents(context, query),
    levels: () => readLevels(context),
    write: changes => writes.run(() => writeEvents(context, changes)),
    follow: listener => follower.follow(listener),
    claim: claim => claimHost(context, claim),
    release: claim => releaseHost(context, claim),
    takeTask: (task, host) => takeTask(context, task, host),
    leaveTask: (task, host) => leaveTask(context, task, host),
    say: async text => {
      await connection.run(client => client.publish(keys.news, text));
    },
    hosts: () => readHosts(context),
    forgetHost: (host, isKnown = false) => forgetHost(context, host, isKnown),
    advice: async (lacksPolicy = false) => [...(await readAdvice(context, lacksPolicy)), ...follower.advice],
    close: async () => {
      follower.close();
      await writes.idle();
      connection.close();
      policyConnection.close();
    },
  };
}
