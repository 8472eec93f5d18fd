/**
 * The store that several hosts share: Redis, alone, with TLS, or behind Sentinels.
 *
 * An acknowledged change has been written to the master; a change of policy also by as many replicas as
 * WAIT_REPLICAS says. While Redis is away everything fails with `store_away`, within about 1.5 s at first and
 * then at once, and it is looked for until it is back. See keys.ts for what is kept where.
 */

import { SerialQueue } from '../../serial-queue.ts';
import type { RecordChanges, ShareRecord } from '../record-store.ts';
import type { SharedStore } from '../shared.ts';
import { readAdvice } from './advice.ts';
import { createContext, type RedisContext, type RedisSettings } from './context.ts';
import { readEvents, readLevels } from './events.ts';
import { away } from './faults.ts';
import { Follower } from './follow.ts';
import { claimHost, forgetHost, leaveTask, readHosts, releaseHost, takeTask } from './hosts.ts';
import { changesAfter, markOf } from './log.ts';
import { nextNumber } from './order.ts';
import { readPolicy, readState, readVolatile } from './policy.ts';
import * as changes from './policy-changes.ts';
import { editsOf, sharePages, sharesOf, writeShares } from './shares.ts';
import { mustBeRecords } from './values.ts';
import { leaveWalk, readWalkers, takeWalk } from './walkers.ts';

/** The most that may wait in a queue; more is a sign that nobody looks at the answers. */
const mostWaiting = 2000;

/**
 * Rejects with `store_refused` where what lies there is another program's, or of a newer softquota, or not
 * for us.
 */
export async function openRedis(settings: RedisSettings): Promise<SharedStore> {
  const context = createContext(settings, () => follower.tell());
  const follower = new Follower(context);
  const store = storeOn(context, follower);
  const fault = await context.connection.opened();
  if (fault?.code !== 'store_refused') return store;
  await store.close();
  throw fault;
}

function storeOn(context: RedisContext, follower: Follower): SharedStore {
  const full = () => away(context.connection.where, 'too much waits for it already');
  /** Two, so that a policy does not wait for the shares of a hundred thousand owners. */
  const policyQueue = new SerialQueue({ most: mostWaiting, full });
  const shareQueue = new SerialQueue({ most: mostWaiting, full });
  /** When each began, in Redis's numbers. */
  const lives = new Map<string, number>();
  let closed: Promise<void> | null = null;

  const opened = (): RedisContext => {
    if (closed === null) return context;
    throw away(context.connection.where, 'the store has been closed');
  };
  /** Does something after all that waits in a queue, if these are records. */
  const inTurn = async <Result>(
    queue: SerialQueue,
    act: (on: RedisContext) => Promise<Result>,
    records: RecordChanges = {},
  ): Promise<Result> => {
    const on = opened();
    mustBeRecords(records);
    return queue.run(() => act(on));
  };

  return {
    load: async () => {
      const [{ policy }, shares] = await bothEnded(
        inTurn(policyQueue, readPolicy),
        inTurn(shareQueue, async on => {
          const all: ShareRecord[] = [];
          for await (const page of sharePages(on)) all.push(...page.shares);
          return all;
        }),
      );
      return { ...policy, shares };
    },
    events: query => inTurn(policyQueue, on => readEvents(on, query)),
    levels: () => inTurn(policyQueue, readLevels),
    write: async written => {
      opened();
      mustBeRecords(written);
      const { shares, goneShares, ...others } = written;
      const edits = editsOf(written);
      const isAbout = (part: unknown) => (Array.isArray(part) ? part.length > 0 : part !== undefined);
      await bothEnded(
        Object.values(others).some(isAbout)
          ? inTurn(policyQueue, on => changes.writeRecords(on, others))
          : undefined,
        edits.length > 0 ? inTurn(shareQueue, on => writeShares(on, edits)) : undefined,
      );
    },
    state: async () => readState(opened()),
    policy: async () => readPolicy(opened()),
    commit: (change, basis, mark, server = null) =>
      inTurn(policyQueue, on => changes.commit(on, change, basis, mark, server), change),
    writeVolatile: async change => {
      const on = opened();
      mustBeRecords(change);
      await changes.writeVolatile(on, change);
    },
    volatile: async names => readVolatile(opened(), names),
    restore: (change, basis, positions) =>
      inTurn(policyQueue, on => changes.restore(on, change, basis, positions), change),
    replace: (whole, basis, next, supersedes) =>
      inTurn(policyQueue, on => changes.replace(on, whole, basis, next, supersedes), whole),
    enroll: owners => inTurn(policyQueue, on => changes.enroll(on, owners), { owners }),
    changesAfter: async (number, limit) => changesAfter(opened(), number, limit),
    markOf: async version => markOf(opened(), version),
    sharesOf: async ownerKeys => sharesOf(opened(), [...new Set(ownerKeys)]),
    async *sharePages() {
      const on = await inTurn(shareQueue, async on => on);
      yield* sharePages(on);
    },
    follow: told => follower.follow(told),
    claim: async claim => {
      const on = opened();
      // Asked for before the name is taken for the first time, so that of two lives it tells which is the
      // later one.
      const since = lives.get(claim.life) ?? (await nextNumber(on));
      lives.set(claim.life, since);
      return claimHost(on, claim, since);
    },
    release: async claim => releaseHost(opened(), claim),
    takeTask: async (task, host) => takeTask(opened(), task, host),
    leaveTask: async (task, host) => leaveTask(opened(), task, host),
    walkers: async () => readWalkers(opened()),
    takeWalk: async (name, host) => takeWalk(opened(), name, host),
    leaveWalk: async (name, host) => leaveWalk(opened(), name, host),
    say: async text => {
      const { connection, keys } = opened();
      await connection.run(client => client.publish(keys.said, text));
    },
    listen: heard => follower.listen(heard),
    hosts: async () => readHosts(opened()),
    forgetHost: host => inTurn(shareQueue, on => forgetHost(on, host)),
    advice: async (lacksPolicy = false) => readAdvice(opened(), lacksPolicy),
    close: () => {
      closed ??= close();
      return closed;
    },
  };

  async function close(): Promise<void> {
    follower.close();
    await Promise.all([policyQueue.idle(), shareQueue.idle()]);
    context.connection.close();
    context.policyConnection.close();
  }
}

/** Waits for both. When this rejects, the other has ended, too. */
async function bothEnded<A, B>(
  a: Promise<A> | undefined,
  b: Promise<B> | undefined,
): Promise<[Awaited<A>, Awaited<B>]> {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]) as Promise<[Awaited<A>, Awaited<B>]>;
}
