/** Being told of changes as they are made, as far as messages arrive: whoever must not miss any reads the log too. */

import type { Address, Client } from './address.ts';
import { Connection } from './connection.ts';

/** Asking anew tells a connection that has died silently from one where nothing happens. */
const renewMs = 5000;

export class Follower {
  readonly #address: Address;
  readonly #channel: string;
  readonly #told = new Set<() => void>();
  #connection: Connection | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(address: Address, channel: string) {
    this.#address = address;
    this.#channel = channel;
  }

  follow(told: () => void): () => void {
    // Of its own, as the same function may follow twice.
    const one = () => told();
    this.#told.add(one);
    if (!this.#isClosed) this.#connection ??= this.#connect();
    return () => this.#told.delete(one);
  }

  tell(): void {
    for (const told of [...this.#told]) told();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#connection?.close();
    this.#told.clear();
  }

  #connect(): Connection {
    const heard = new WeakSet<Client>();
    const connection = new Connection({
      address: this.#address,
      ready: client => {
        if (!heard.has(client)) client.on('message', () => this.tell());
        heard.add(client);
        void this.#subscribe(connection).then(() => this.tell());
      },
    });
    this.#timer = setInterval(() => void this.#subscribe(connection), renewMs);
    return connection;
  }

  /** Where it fails, the connection is made anew, or the next time is another chance. */
  async #subscribe(connection: Connection): Promise<void> {
    await connection.run(client => client.subscribe(this.#channel)).catch(() => undefined);
  }
}
