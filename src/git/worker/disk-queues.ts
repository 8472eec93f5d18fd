/**
 * Work on repositories, one at a time on each disk: two at once would only make the heads of the disk jump.
 */

import { stat } from 'node:fs/promises';
import { encodePath } from '../../layout/index.ts';

interface DiskJob {
  readonly path: string;
  run(): Promise<void>;
  /** Called instead of `run` where the queues are closed before. */
  dropped?(): void;
}

export class DiskQueues {
  readonly #waiting = new Map<number, DiskJob[]>();
  readonly #running = new Map<number, Promise<void>>();
  #isClosed = false;

  /**
   * Runs the work once all before it on that disk is done; `first`: before what waits. Its faults are its
   * own.
   */
  async add(job: DiskJob, first = false): Promise<void> {
    const disk = await stat(encodePath(job.path)).then(
      ({ dev }) => dev,
      () => 0,
    );
    if (this.#isClosed) {
      job.dropped?.();
      return;
    }
    const waiting = this.#waiting.get(disk) ?? [];
    if (first) waiting.unshift(job);
    else waiting.push(job);
    this.#waiting.set(disk, waiting);
    if (!this.#running.has(disk)) this.#running.set(disk, this.#drain(disk, waiting));
  }

  /** Resolves once what runs has ended; what waits is dropped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiting of this.#waiting.values()) for (const job of waiting.splice(0)) job.dropped?.();
    await Promise.all(this.#running.values());
  }

  async #drain(disk: number, waiting: DiskJob[]): Promise<void> {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await job.run().catch(() => {});
    this.#running.delete(disk);
  }
}
