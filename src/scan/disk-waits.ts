/**
 * Tells whether walkers mostly wait for disks.
 *
 * A walker that waits for a disk leaves its processor to others, and a disk answers several questions sooner
 * than one after the other. So once walkers wanted a processor for less than half of the time between two
 * looks, it pays to have more of them.
 */

import { count, monotonic, type Shared, stuckMs } from './shared.ts';

const mostWantedShare = 0.5;
/** Walkers say it often enough for this, and not for less. */
const betweenLooksMs = 400;
/** A walker that waits so long for one answer may have met a disk that hangs, which gets no more walkers. */
const longWaitMs = 100;
/** Milliseconds without a look after which walkers may have had nothing to do. */
const oldMs = 2000;

interface Look {
  readonly at: number;
  readonly wantedMs: number;
}

export class DiskWaits {
  #areLong = false;
  #lookedAt = 0;
  #looks = new Map<Shared, Look>();

  /** It stays so until `forget`. */
  get areLong(): boolean {
    return this.#areLong;
  }

  /** Looks at the walkers that are at something; one that does not get on tells nothing. */
  look(busy: Iterable<Shared>, at: number = monotonic()): void {
    const sinceMs = at - this.#lookedAt;
    if (sinceMs < betweenLooksMs) return;
    this.#lookedAt = at;
    const before = sinceMs < oldMs ? this.#looks : new Map<Shared, Look>();
    this.#looks = new Map();
    let passedMs = 0;
    let wantedMs = 0;
    for (const shared of busy) {
      if (stuckMs(shared) >= longWaitMs) continue;
      const now = { at, wantedMs: shared.counts[count.wantedMs] ?? 0 };
      const last = before.get(shared) ?? now;
      passedMs += now.at - last.at;
      wantedMs += now.wantedMs - last.wantedMs;
      this.#looks.set(shared, now);
    }
    if (wantedMs < mostWantedShare * passedMs) this.#areLong = true;
  }

  forget(): void {
    this.#areLong = false;
    this.#looks.clear();
  }
}
