/** Queues work on repositories, one job at a time on each disk: two at once only make its heads jump. */

import { stat } from 'node:fs/promises';
import { SoftquotaError } from '../../errors.ts';
import { encodePath } from '../../layout/index.ts';

type DiskJob = () => Promise<void>;

export class DiskQueues {
  readonly #waiting = new Map<number, DiskJob[]>();
  readonly #running = new Map<number, Promise<void>>();
  #isClosed = false;

  /**
   * Runs the work after all other work on the path's disk, or before it with `first`. Rejects with
   * `not_ready` once this is closed.
   */
  async run<Result>(path: string, work: () => Promise<Result>, first = false): Promise<Result> {
    const disk = await stat(encodePath(path)).then(
      ({ dev }) => dev,
      () => 0,
    );
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const job: DiskJob = async () => {
      if (this.#isClosed) reject(new SoftquotaError('not_ready', 'the worker has stopped'));
      else await work().then(resolve, reject);
    };
    const waiting = this.#waiting.get(disk) ?? [];
    this.#waiting.set(disk, waiting);
    if (first) waiting.unshift(job);
    else waiting.push(job);
    if (!this.#running.has(disk)) this.#running.set(disk, this.#drain(disk, waiting));
    return promise;
  }

  /** Resolves once running work has ended, and waiting work is rejected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running.values());
  }

  async #drain(disk: number, waiting: DiskJob[]): Promise<void> {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await job();
    this.#running.delete(disk);
  }
}
