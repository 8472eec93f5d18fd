/** A way to a TCP server on this host, which can be made a bad one. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';

/**
 * `passes`: all goes through at once. `swallows`: connections open, and nothing comes through. `delays`: each
 * piece comes so much later. `says`: where an answer has certain words, others of the same length come in
 * their place.
 */
type Way =
  | { readonly does: 'passes' | 'swallows' }
  | { readonly does: 'delays'; readonly ms: number }
  | { readonly does: 'says'; readonly of: string; readonly instead: string };

export class Passage {
  readonly port: number;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #way: Way = { does: 'passes' };
  #isLosing = false;
  #target: number;

  private constructor(server: Server, port: number, target: number) {
    this.#server = server;
    this.port = port;
    this.#target = target;
  }

  /** Ends with the test. */
  static async to(t: Test, port: number): Promise<Passage> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address() as AddressInfo; // as it is of every TCP server that listens
    const passage = new Passage(server, address.port, port);
    server.on('connection', socket => passage.#join(socket));
    t.teardown(() => passage.#close());
    return passage;
  }

  /** From now on, also on connections that are open. */
  become(way: Way): void {
    this.#way = way;
  }

  /** Ends all connections; the next ones lead to this port. */
  lead(port: number): void {
    this.#target = port;
    this.#endAll();
  }

  /** The next answer is lost, and its connection with it. */
  loseAnswer(): void {
    this.#isLosing = true;
  }

  #join(here: Socket): void {
    const there = connect(this.#target, '127.0.0.1');
    this.#carry(here, there, () => true);
    this.#carry(there, here, () => {
      if (!this.#isLosing) return true;
      this.#isLosing = false;
      here.resetAndDestroy();
      return false;
    });
  }

  #carry(from: Socket, to: Socket, mayPass: () => boolean): void {
    this.#open.add(from);
    from.on('error', () => {});
    from.on('close', () => {
      this.#open.delete(from);
      to.destroy();
    });
    // Pieces keep their order, whatever the way becomes meanwhile.
    let passed = Promise.resolve();
    from.on('data', (came: Buffer) => {
      if (this.#way.does === 'swallows' || !mayPass()) return;
      const piece = this.#way.does === 'says' ? altered(came, this.#way) : came;
      const rest = this.#way.does === 'delays' ? delay(this.#way.ms) : undefined;
      passed = passed
        .then(() => rest)
        .then(() => {
          if (to.writable) to.write(piece);
        });
    });
  }

  #endAll(): void {
    for (const socket of this.#open) socket.destroy();
  }

  async #close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#endAll();
    await closed;
  }
}

function altered(piece: Buffer, { of, instead }: { readonly of: string; readonly instead: string }): Buffer {
  return Buffer.from(piece.toString('latin1').replace(of, instead), 'latin1');
}
