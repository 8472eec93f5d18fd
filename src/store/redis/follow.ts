/**
 * Receives messages about changes and from other hosts. Some may be lost; only the state of the store misses
 * nothing.
 */

import type { Redis } from 'ioredis';
import type { Listener, ServerAdvice } from '../shared.ts';
import { Connection } from './connection.ts';
import type { RedisContext } from './context.ts';
import { failureOf } from './faults.ts';

/** Milliseconds between two subscriptions: subscribing again detects a connection that has died silently. */
const renewMs = 5000;

export class Follower {
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
