/**
 * Sends server-sent events to clients that follow.
 *
 * A client follows for hours, and may disappear without notice. So the number of clients is limited, an empty
 * line is sent now and then, and nothing is stored for a client that does not read. The stream ends when the
 * token is no longer valid, and when the daemon ends.
 */

import type { Request, Response } from 'express';
import { SoftquotaError } from '../errors.ts';
import type { EventStream } from './route.ts';

export interface StreamLimits {
  /** How many are followed at a time. */
  readonly most: number;
  /** Between two looks at whether a follower is still to be told. */
  readonly lookEveryMs: number;
  /** After so long without a word a comment is sent; who does not take even that is left. */
  readonly quietMs: number;
}

const usualLimits: StreamLimits = { most: 64, lookEveryMs: 1000, quietMs: 15_000 };

export class Streams {
  readonly #limits: StreamLimits;
  /** Each ends one. */
  readonly #open = new Set<() => void>();
  #isClosed = false;

  constructor(limits: StreamLimits = usualLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * Sends what is followed until the asker leaves, `stillAllowed` rejects, or `close` is called; a HEAD gets
   * the headers only. Throws `busy`.
   */
  open(
    request: Request,
    response: Response,
    { follow }: EventStream,
    stillAllowed: () => Promise<unknown>,
  ): void {
    // The asker may have left before it was known who it is: nobody would ever end that.
    if (response.destroyed) return;
    const { most, lookEveryMs, quietMs } = this.#limits;
    if (this.#open.size >= most) {
      throw new SoftquotaError('busy', `${most} clients already follow, which is the limit; try again later`);
    }
    response.status(200).set({
      'Content-Type': 'text/event-stream',
      // A proxy that gathers what comes would tell it late.
      'X-Accel-Buffering': 'no',
      // Nothing else is to come that the daemon's end would have to wait for.
      Connection: 'close',
    });
    if (request.method === 'HEAD' || this.#isClosed) {
      response.end();
      return;
    }
    response.flushHeaders();
    let wroteAt = performance.now();
    const write = (text: string): boolean => {
      if (response.writableNeedDrain) return false;
      response.write(text);
      wroteAt = performance.now();
      return true;
    };
    const leave = follow(({ event, id, data }) =>
      write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`),
    );
    const look = () => {
      if (performance.now() - wroteAt >= quietMs && !write(':\n\n')) response.destroy();
      stillAllowed().catch(end);
    };
    const timer = setInterval(look, lookEveryMs);
    const stop = () => {
      clearInterval(timer);
      leave();
      this.#open.delete(end);
    };
    const end = () => {
      stop();
      response.end();
    };
    this.#open.add(end);
    response.on('close', stop);
  }

  /** Ends all, and what is opened from now on. */
  close(): void {
    this.#isClosed = true;
    for (const end of this.#open) end();
  }
}
