/** Does what the daemon asks for, as long as it is there. */

import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import { type AskedTask, nextTasks, sendResult, type Tasks } from './connection.ts';
import type { Reclaim } from './reclaim.ts';

const retryMs = 2000;

export class TaskLoop {
  readonly #socket: string;
  readonly #reclaim: Reclaim;
  readonly #stop = new AbortController();
  readonly #doing = new Set<Promise<void>>();
  #ended: Promise<void> = Promise.resolve();

  constructor(socket: string, reclaim: Reclaim) {
    this.#socket = socket;
    this.#reclaim = reclaim;
  }

  start(): void {
    this.#ended = this.#go();
  }

  /** Resolves once what was asked for is done, or was stopped. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    await Promise.all(this.#doing);
  }

  async #go(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        this.#take(await nextTasks(this.#socket, signal));
      } catch {
        // The reports tell if the daemon is there.
        await delay(retryMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  #take({ mark, pushed, asked }: Tasks): void {
    this.#reclaim.mark = mark;
    for (const path of pushed) this.#reclaim.pushed(path);
    for (const task of asked) {
      const doing = this.#do(task).finally(() => this.#doing.delete(doing));
      this.#doing.add(doing);
    }
  }

  async #do({ id, ...task }: AskedTask): Promise<void> {
    try {
      await sendResult(this.#socket, id, { result: await this.#resultOf(task) });
    } catch (error) {
      const fault = messageOf(error);
      await sendResult(this.#socket, id, { fault: fault.slice(0, 2000) });
    }
  }

  async #resultOf({ kind, path, ...task }: Omit<AskedTask, 'id'>): Promise<object> {
    if (kind === 'space') return this.#reclaim.explain(path, task);
    if (kind !== 'reclaim') throw new Error('the worker is of another version than the daemon');
    const { freedBytes, unreachableBytes } = await this.#reclaim.collectNow(path);
    return { freed_bytes: freedBytes, unreachable_bytes: unreachableBytes };
  }
}
