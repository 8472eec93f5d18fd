/** The queue for walkers, ordered by urgency and by the device of each unit. */

export type Urgency = 'soon' | 'sweep';

export const urgencies = ['soon', 'sweep'] as const satisfies readonly Urgency[];

/** The next one that may be walked. */
export interface Next {
  readonly urgency: Urgency;
  readonly device: string;
}

export class Queue<Entry> {
  readonly #waiting: Readonly<Record<Urgency, Map<string, Entry[]>>> = { soon: new Map(), sweep: new Map() };

  put({ urgency, device }: Next, entry: Entry): void {
    const waiting = this.#waiting[urgency];
    const entries = waiting.get(device);
    if (entries === undefined) waiting.set(device, [entry]);
    else entries.push(entry);
  }

  count(urgency: Urgency): number {
    let count = 0;
    for (const entries of this.#waiting[urgency].values()) count += entries.length;
    return count;
  }

  /**
   * The urgent before all others, and of several devices the one at which the least is done; null where there
   * is none.
   */
  next(isOpen: (device: string) => boolean, walkersAt: (device: string) => number): Next | null {
    for (const urgency of urgencies) {
      let best: { readonly device: string; readonly walkers: number } | null = null;
      for (const device of this.#waiting[urgency].keys()) {
        if (!isOpen(device)) continue;
        const walkers = walkersAt(device);
        if (best === null || walkers < best.walkers) best = { device, walkers };
      }
      if (best !== null) return { urgency, device: best.device };
    }
    return null;
  }

  /**
   * Takes entries out: the first urgent one, or a share of a sweep's, the last ones first, since which way a
   * sweep goes does not matter, and what was handed back is there. One that is to be alone is taken alone.
   */
  take(
    { urgency, device }: Next,
    share: (waiting: number) => number,
    isAlone: (entry: Entry) => boolean,
  ): Entry[] {
    const waiting = this.#waiting[urgency].get(device) ?? [];
    const batch: Entry[] = [];
    if (urgency === 'soon') batch.push(...waiting.splice(0, 1));
    else {
      const most = share(waiting.length);
      for (let entry = waiting.at(-1); entry !== undefined && batch.length < most; entry = waiting.at(-1)) {
        if (isAlone(entry) && batch.length > 0) break;
        waiting.pop();
        batch.push(entry);
        if (isAlone(entry)) break;
      }
    }
    if (waiting.length === 0) this.#waiting[urgency].delete(device);
    return batch;
  }

  /** Takes out everything of an urgency, or only what lies on one device. */
  clear(urgency: Urgency, device?: string): Entry[] {
    const waiting = this.#waiting[urgency];
    const entries = device === undefined ? [...waiting.values()].flat() : (waiting.get(device) ?? []);
    if (device === undefined) waiting.clear();
    else waiting.delete(device);
    return entries;
  }
}
