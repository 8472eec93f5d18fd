/** A way to a TCP server on this host, which can be made a bad one. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Test } from 'tap';

/**
 * `passes`: all goes through at once. `swallows`: connections open, and nothing comes through. `cuts`: each
 * connection ends before the piece that brings more than so many bytes back. `delays`: each piece comes so
 * much later. `refuses`: connections are ended at once. `says`: where an answer has certain words, others of
 * the same length come in their place.
 */
export type Way =
  | { readonly does: 'passes' | 'swallows' | 'refuses' }
  | { readonly does: 'cuts'; readonly afterBytes: number }
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
    if (way.does === 'refuses') this.#endAll();
  }

  #join(here: Socket, port: number): void {
    if (this.#way.does === 'refuses') {
      here.destroy();
      return;
    }
    const there = connect(port, '127.0.0.1');
    this.#carry(here, there, () => true);
    let back = 0;
    this.#carry(there, here, bytes => {
      back += bytes;
      if (this.#way.does !== 'cuts' || back <= this.#way.afterBytes) return true;
      here.resetAndDestroy();
      return false;
    });
  }

  #carry(from: Socket, to: Socket, mayPass: (bytes: number) => boolean): void {
    this.#open.add(from);
    from.on('error', () => {});
    from.on('close', () => {
      this.#open.delete(from);
      to.destroy();
    });
    from.on('data', (came: Buffer) => {
      if (this.#way.does === 'swallows' || !mayPass(came.length)) return;
      const piece = this.#way.does === 'says' ? altered(came, this.#way) : came;
      const pass = () => {
        if (to.writable) to.write(piece);
      };
      if (this.#way.does === 'delays') setTimeout(pass, this.#way.ms);
      else pass();
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
