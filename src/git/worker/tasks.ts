/** The tasks that the daemon asks for, as long as the connection lasts on which it did. */

import { messageOf } from '../../errors.ts';
import type { Fields } from './connection.ts';

/** Does a task; rejects with the reason where it cannot be done. */
export type TaskRunner = (kind: string, task: Fields, signal: AbortSignal) => Promise<object>;

const longestFault = 2000;

export class Tasks {
  readonly #run: TaskRunner;
  readonly #send: (message: object) => boolean;
  readonly #running = new Map<string, { readonly stop: AbortController; readonly ended: Promise<void> }>();

  constructor(run: TaskRunner, send: (message: object) => boolean) {
    this.#run = run;
    this.#send = send;
  }

  begin(task: Fields): void {
    const id = textField(task, 'id');
    const stop = new AbortController();
    const ended = this.#do(id, task, stop.signal).finally(() => this.#running.delete(id));
    this.#running.set(id, { stop, ended });
  }

  cancel(id: string): void {
    this.#running.get(id)?.stop.abort();
  }

  /** The connection has ended: nobody waits for anything any more. */
  cancelAll(): void {
    for (const { stop } of this.#running.values()) stop.abort();
  }

  /** Resolves once nothing is under way any more. */
  async close(): Promise<void> {
    this.cancelAll();
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  async #do(id: string, task: Fields, signal: AbortSignal): Promise<void> {
    try {
      const value = await this.#run(textField(task, 'kind'), task, signal);
      if (!signal.aborted && !this.#send({ result: { id, value } }))
        this.#send({ fault: { id, why: 'the answer is too long' } });
    } catch (error) {
      if (!signal.aborted) this.#send({ fault: { id, why: messageOf(error).slice(0, longestFault) } });
    }
  }
}

/** A text of a message; empty where there is none. */
export function textField(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

/** The texts of a list of a message. */
export function textFields(fields: Fields, name: string): readonly string[] {
  const value = fields[name];
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : [];
}
