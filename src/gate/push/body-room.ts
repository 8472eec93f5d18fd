/** Bounds the memory of long requests: those for which there is no room wait, and nothing of them is read. */

import type { IncomingMessage } from 'node:http';
import { SoftquotaError } from '../../errors.ts';

/** Nearly all requests are shorter, and never wait. */
const shortBytes = 16 * 1024;

export class BodyRoom {
  readonly #mostLong: number;
  #long = 0;
  readonly #waiting = new Set<() => void>();

  /** `mostLong`: the number of long requests that are read at a time. */
  constructor(mostLong = 64) {
    this.#mostLong = mostLong;
  }

  /** Resolves with what gives the place back; rejects where the asker goes away before there is one. */
  async enter(request: IncomingMessage): Promise<() => void> {
    const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    if (length <= shortBytes) return () => {};
    if (this.#long >= this.#mostLong) await this.#turn(request);
    else this.#long++;
    return () => this.#leave();
  }

  /** The place of another is handed over. */
  #turn(request: IncomingMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const enter = () => {
      request.off('close', gone);
      resolve();
    };
    const gone = () => {
      this.#waiting.delete(enter);
      reject(new SoftquotaError('bad_parameter', 'the asker has gone'));
    };
    request.once('close', gone);
    this.#waiting.add(enter);
    return promise;
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#long--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
