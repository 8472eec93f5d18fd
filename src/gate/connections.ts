/**
 * The connections of a gate: bounded in number, and when there are too many, the one that has been
 * without a request for longest makes room.
 *
 * Whoever connects and asks at once is answered, however many others only hold connections.
 */

import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export class Connections {
  readonly #most: number;
  /** In the order in which they were last asked something. */
  readonly #idle = new Set<Socket>();
  /** With how many requests are under way on each. */
  readonly #busy = new Map<Socket, number>();
  #draining = false;

  constructor(server: Server, most: number) {
    this.#most = most;
    server.on('connection', socket => this.#opened(socket));
  }

  /** A request has come on this connection, and this will be its answer. */
  asked(socket: Socket, response: ServerResponse): void {
    this.#idle.delete(socket);
    this.#busy.set(socket, (this.#busy.get(socket) ?? 0) + 1);
    response.once('close', () => this.#answered(socket));
    if (this.#draining) response.shouldKeepAlive = false;
  }

  /** From now on each connection ends with the answers that are under way on it. */
  drain(): void {
    this.#draining = true;
  }

  #opened(socket: Socket): void {
    this.#idle.add(socket);
    socket.once('close', () => {
      this.#idle.delete(socket);
      this.#busy.delete(socket);
    });
    if (this.#idle.size + this.#busy.size <= this.#most) return;
    for (const longest of this.#idle) {
      longest.destroy();
      this.#idle.delete(longest);
      return;
    }
  }

  #answered(socket: Socket): void {
    const left = (this.#busy.get(socket) ?? 1) - 1;
    if (left > 0) {
      this.#busy.set(socket, left);
      return;
    }
    this.#busy.delete(socket);
    if (socket.destroyed) return;
    if (this.#draining) socket.destroySoon();
    else this.#idle.add(socket);
  }
}
