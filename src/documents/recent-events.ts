/** The last events that were written together with transactions, as many as fit. */

import type { EventRecord } from '../store/index.ts';

/** Characters of their texts. */
const mostText = 1_000_000;

export class RecentEvents {
  #events: readonly EventRecord[] = [];

  get all(): readonly EventRecord[] {
    return this.#events;
  }

  add(events: readonly EventRecord[]): void {
    const all = [...this.#events, ...events];
    let left = mostText;
    const first = all.findLastIndex(({ text }) => {
      left -= text.length + 1;
      return left < 0;
    });
    this.#events = all.slice(first + 1);
  }
}
