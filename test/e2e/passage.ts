/** A way to a TCP server on this host, which can be made a bad one. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
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

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** Ends with the test. */
  static async to(t: Test, port: number): Promise<Passage> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address() as AddressInfo; // as it is of every TCP server that listens
    const passage = new Passage(server, address.port);
    server.on('connection', socket => passage.#join(socket, port));
    t.teardown(() => passage.#close());
    return passage;
  }

  /** From now on, also on connections that are open. */
  become(way: Way): void {
    this.#way = way;
  }

  #join(here: Socket, port: number): void {
    const there = connect(port, '127.0.0.1');
    this.#carry(here, there);
    this.#carry(there, here);
  }

  #carry(from: Socket, to: Socket): void {
    this.#open.add(from);
    from.on('error', () => {});
    from.on('close', () => {
      this.#open.delete(from);
      to.destroy();
    });
    from.on('data', (came: Buffer) => {
      if (this.#way.does === 'swallows') return;
      const piece = this.#way.does === 'says' ? altered(came, this.#way) : came;
      const pass = () => {
        if (to.writable) to.write(piece);
      };
      if (this.#way.does === 'delays') setTimeout(pass, this.#way.ms);
      else pass();
    });
  }

  async #close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
    await closed;
  }
}

function altered(piece: Buffer, { of, instead }: { readonly of: string; readonly instead: string }): Buffer {
  return Buffer.from(piece.toString('latin1').replace(of, instead), 'latin1');
}
