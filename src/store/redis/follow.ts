/** Being told of changes and of what others say, as far as messages arrive: only the state misses none. */

import type { Redis } from 'ioredis';
import type { Listener, ServerAdvice } from '../shared.ts';
import { Connection } from './connection.ts';
import type { RedisContext } from './context.ts';
import { failureOf } from './faults.ts';

/** Asking again tells a connection that has died silently from one where nothing happens. */
const renewMs = 5000;

export class Follower {
  readonly #context: RedisContext;
  /** The server refuses to send messages. */
  #refused: ServerAdvice | null = null;
  #listener: Listener = { changed: () => {}, said: () => {} };
  #connection: Connection | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** Makes a connection of its own: one that follows can ask nothing else. */
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

  /** Subscribes. If it fails, the connection is made again, or the next time is another chance. */
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
