/** Bounds the memory that bodies of requests take. */

import type { IncomingMessage } from 'node:http';
import { SoftquotaError } from '../errors.ts';
import { bodyOf } from './request.ts';

/** Nearly all requests are shorter; these never wait. */
const shortBytes = 16 * 1024;
/** Number of long requests that are held at the same time. */
const mostLong = 64;

/** Limits the memory for long requests: when too many are held, further ones wait unread. */
export class BodyRoom {
  #long = 0;
  readonly #waiting = new Set<() => void>();

  /**
   * Reads a body, and keeps its place until it is used. Rejects as `bodyOf` and `use` do, or if the client
   * disconnects while it waits.
   */
  async read<Answer>(
    request: IncomingMessage,
    mostBytes: number | undefined,
    use: (body: Buffer) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const leave = await this.#enter(request);
    try {
      return await use(await bodyOf(request, mostBytes));
    } finally {
      leave();
    }
  }

  /** Resolves with a function that frees the place. */
  async #enter(request: IncomingMessage): Promise<() => void> {
    const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    if (length <= shortBytes) return () => {};
    if (this.#long >= mostLong) await this.#turn(request);
    else this.#long++;
    return () => this.#leave();
  }

  /** Waits until another request hands over its place. */
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
