/** The records that hosts share, in a Redis. */

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
import { mustBeRecords } from './values.ts';
import { readVolatile, volatileNamesAfter, writeVolatile } from './volatile.ts';

/** The most that may wait in a queue; more is a sign that nobody looks at the answers. */
const mostWaiting = 2000;

/** Rejects with `store_refused` where all is another program's, a newer softquota's, or not for us. */
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
  /** So that the end waits for what was asked for before. */
  const writes = new SerialQueue({
    most: mostWaiting,
    full: () => away(context.connection.where, 'too much waits for it already'),
  });
  let closed: Promise<void> | null = null;

  const on = (): RedisContext => {
    if (closed === null) return context;
    throw away(context.connection.where, 'the store has been closed');
  };
  const writing = async <Result>(
    act: (on: RedisContext) => Promise<Result>,
    records = {},
  ): Promise<Result> => {
    const opened = on();
    mustBeRecords(records);
    return writes.run(() => act(opened));
  };

  return {
    state: async () => readState(on()),
    policy: async () => readPolicy(on()),
    compareOwners: async known => compareOwners(on(), known),
    policySince: async version => readSince(on(), version),
    commit: (change, basis, mark, server = null) =>
      writing(on => commit(on, change, basis, mark, server), change),
    replace: (policy, basis, positions, supersedes) =>
      writing(on => replace(on, policy, basis, positions, supersedes), policy),
    writeVolatile: async change => {
      mustBeRecords(change);
      await writeVolatile(on(), change);
    },
    volatile: async names => readVolatile(on(), names),
    volatileNamesAfter: async number => volatileNamesAfter(on(), number),
    tellUsage: async (host, usage) => tellUsage(on(), host, usage),
    usage: host => usageOnHost(on(), host),
    usageAfter: async (host, number) => usageAfter(on(), host, number),
    largestUnits: async (ownerKey, hosts) => largestUnits(on(), ownerKey, hosts),
    allLargest: host => allLargest(on(), host),
    events: async query => readEvents(on(), query),
    levels: async () => readLevels(on()),
    write: changes => writing(on => writeEvents(on, changes), changes),
    follow: told => follower.follow(told),
    claim: async claim => claimHost(on(), claim),
    release: async claim => releaseHost(on(), claim),
    takeTask: async (task, host) => takeTask(on(), task, host),
    leaveTask: async (task, host) => leaveTask(on(), task, host),
    say: async text => {
      const { connection, keys } = on();
      await connection.run(client => client.publish(keys.news, text));
    },
    listen: heard => follower.listen(heard),
    hosts: async () => readHosts(on()),
    forgetHost: async (host, isKnown = false) => forgetHost(on(), host, isKnown),
    advice: async (lacksPolicy = false) => [...(await readAdvice(on(), lacksPolicy)), ...follower.advice],
    close: () => {
      closed ??= close();
      return closed;
    },
  };

  async function close(): Promise<void> {
    follower.close();
    await writes.idle();
    context.connection.close();
    context.policyConnection.close();
  }
}
