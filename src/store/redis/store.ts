/** The shared store in a Redis. */

import type { Redis } from 'ioredis';
import { SerialQueue } from '../../turns.ts';
import type { ServerAdvice } from '../shared.ts';
import { readAdvice } from './advice.ts';
import { Connection, createContext, type RedisContext, type RedisSettings } from './connection.ts';
import { readEvents, readLevels, writeEvents } from './events.ts';
import { examineServer } from './examine.ts';
import { away, failureOf } from './faults.ts';
import { claimHost, leaveTask, readHosts, releaseHost, takeTask } from './hosts.ts';
import { compareOwners, readPolicy, readSince, readState } from './policy.ts';
import { commit, replace } from './policy-changes.ts';
import {
  allLargest,
  forgetHost,
  largestUnits,
  tellUsage,
  usageAfter,
  usageOnHost,
  usageTexts,
} from './usage.ts';
import { readVolatile, volatileAfter, writeVolatile } from './volatile.ts';

/** Limit of waiting writes: more are a sign that nobody waits for the answers. */
const mostWaiting = 2000;

/** The store that several hosts share. */
export type SharedStore = Awaited<ReturnType<typeof openRedis>>;

/**
 * Opens the store. Rejects with `store_refused` if the content belongs to another program or a newer
 * softquota, or access is denied.
 */
export async function openRedis(settings: RedisSettings) {
  const context = createContext(settings, examineServer, () => follower.tell());
  const follower = new Follower(context);
  const store = storeOn(context, follower);
  const fault = await context.connection.opened();
  if (fault?.code !== 'store_refused') return store;
  await store.close();
  throw fault;
}

/**
 * All functions reject with `store_away`, and with `store_refused` if the content is not valid or access is
 * denied.
 */
function storeOn(context: RedisContext, follower: Follower) {
  const { connection, policyConnection, keys } = context;
  /** Queue of writes, so that `close` waits for earlier ones. */
  const writes = new SerialQueue({
    most: mostWaiting,
    full: () => away(connection.where, 'too much waits for it already'),
  });
  const on =
    <Args extends unknown[], Result>(act: (context: RedisContext, ...args: Args) => Result) =>
    (...args: Args): Result =>
      act(context, ...args);
  const inTurn =
    <Args extends unknown[], Result>(act: (context: RedisContext, ...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> =>
      writes.run(() => act(context, ...args));
  return {
    state: on(readState),
    policy: on(readPolicy),
    compareOwners: on(compareOwners),
    policySince: on(readSince),
    commit: inTurn(commit),
    replace: inTurn(replace),
    writeVolatile: on(writeVolatile),
    volatile: on(readVolatile),
    volatileAfter: on(volatileAfter),
    tellUsage: on(tellUsage),
    usage: on(usageOnHost),
    usageTexts: on(usageTexts),
    usageAfter: on(usageAfter),
    largestUnits: on(largestUnits),
    allLargest: on(allLargest),
    events: on(readEvents),
    levels: on(readLevels),
    write: inTurn(writeEvents),
    /** Calls this listener, and no earlier one, until the store is closed. */
    follow: (listener: Listener): void => follower.follow(listener),
    claim: on(claimHost),
    release: on(releaseHost),
    takeTask: on(takeTask),
    leaveTask: on(leaveTask),
    /** Sends a JSON object to all hosts that listen at this moment, this one included; it is not stored. */
    say: async (text: string): Promise<void> => {
      await connection.run(client => client.publish(keys.news, text));
    },
    hosts: on(readHosts),
    forgetHost: on(forgetHost),
    /** `lacksPolicy`: the server is known to have lost a policy that it had. */
    advice: async (lacksPolicy = false): Promise<readonly ServerAdvice[]> => [
      ...(await readAdvice(context, lacksPolicy)),
      ...follower.advice,
    ],
    /** Ends after the writes under way; later calls reject with `store_away`. */
    close: async (): Promise<void> => {
      follower.close();
      await writes.idle();
      connection.close();
      policyConnection.close();
    },
  };
}

/** Gets the messages of a shared store, as far as they arrive. */
interface Listener {
  /** Called when there may be news, or the connection is back. */
  changed(): void;
  /** Called with the message of a host. */
  said(text: string): void;
}

/** Milliseconds between two subscriptions: subscribing again detects a connection that has died silently. */
const renewMs = 5000;

/**
 * Receives messages about changes and from other hosts. Some may be lost; only the state of the store misses
 * nothing.
 */
class Follower {
  readonly #context: RedisContext;
  /** The server refuses to send messages. */
  #refused: ServerAdvice | null = null;
  #listener: Listener = { changed: () => {}, said: () => {} };
  #connection: Connection | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** Uses a connection of its own, since one that is subscribed takes no other commands. */
  constructor(context: RedisContext) {
    this.#context = context;
  }

  get advice(): readonly ServerAdvice[] {
    return this.#refused === null ? [] : [this.#refused];
  }

  follow(listener: Listener): void {
    this.#listener = listener;
    this.#connection ??= this.#connect();
  }

  tell(): void {
    this.#listener.changed();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#connection?.close();
    this.#listener = { changed: () => {}, said: () => {} };
  }

  #connect(): Connection {
    const heard = new WeakSet<Redis>();
    const connection = new Connection({
      address: this.#context.address,
      ready: client => {
        if (!heard.has(client)) client.on('message', (_, text) => this.#hear(text));
        heard.add(client);
        void this.#subscribe(connection).then(() => this.tell());
      },
    });
    this.#timer = setInterval(() => void this.#subscribe(connection), renewMs);
    return connection;
  }

  /** Subscribes. If that fails, the connection is made again, or the next attempt follows. */
  async #subscribe(connection: Connection): Promise<void> {
    const { news } = this.#context.keys;
    try {
      await connection.run(client => client.subscribe(news));
      this.#refused = null;
    } catch (error) {
      const { code, message } = failureOf(this.#context.connection.where, error);
      if (code !== 'store_refused') return;
      this.#refused = {
        code: 'no_messages',
        message: `changes of other hosts are seen a second later: ${message}`,
        mend: `ACL SETUSER NAME &${news} +subscribe (NAME: the user in [store] HOST), and the same in the ACL file`,
      };
    }
  }

  #hear(text: string): void {
    if (text.startsWith('{')) this.#listener.said(text);
    else this.tell();
  }
}
