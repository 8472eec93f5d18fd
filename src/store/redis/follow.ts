/** Being told of changes and of what others say, as far as messages arrive: only the state misses none. */

import type { Redis } from 'ioredis';
import type { ServerAdvice } from '../shared.ts';
import { Connection } from './connection.ts';
import type { RedisContext } from './context.ts';
import { failureOf } from './faults.ts';

/** Asking again tells a connection that has died silently from one where nothing happens. */
const renewMs = 5000;

export class Follower {
  readonly #context: RedisContext;
  /** The server refuses to send messages. */
  #refused: ServerAdvice | null = null;
  readonly #told = new Set<() => void>();
  readonly #heard = new Set<(text: string) => void>();
  #connection: Connection | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** Makes a connection of its own: one that follows can ask nothing else. */
  constructor(context: RedisContext) {
    this.#context = context;
  }

  get advice(): readonly ServerAdvice[] {
    return this.#refused === null ? [] : [this.#refused];
  }

  follow(told: () => void): () => void {
    // Each call gets a function of its own, as one may follow twice.
    return this.#add(this.#told, () => told());
  }

  listen(heard: (text: string) => void): () => void {
    return this.#add(this.#heard, text => heard(text));
  }

  #add<T>(listeners: Set<T>, one: T): () => void {
    listeners.add(one);
    if (!this.#isClosed) this.#connection ??= this.#connect();
    return () => listeners.delete(one);
  }

  tell(): void {
    for (const told of [...this.#told]) told();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#connection?.close();
    this.#told.clear();
    this.#heard.clear();
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
    if (!text.startsWith('{')) this.tell();
    else for (const heard of [...this.#heard]) heard(text);
  }
}
