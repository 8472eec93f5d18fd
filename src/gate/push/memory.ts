/**
 * The questions of the last minutes: the same question gets the same answer, also where the connection broke
 * before the hook had it.
 */

import type { AllowedPush, PushAnswer } from './services.ts';
import type { Timing } from './timing.ts';

export interface AskedPush {
  /**
   * Stays equal as long as the quarantine, its bytes, the fields and the lines do. An inode alone would not do:
   * file systems give the next quarantine the inode of the one just gone.
   */
  readonly identity: string;
  /** Rejects where nothing could be decided. */
  readonly answer: Promise<PushAnswer>;
  /** Set while the push counts because of this answer. */
  allowed: AllowedPush | null;
  /** Aborted where it is asked anew, so that nobody waits for this answer. */
  readonly over: AbortController;
}

interface Remembered {
  readonly asked: AskedPush;
  readonly unit: string;
  readonly linesBytes: number;
  readonly at: number;
}

/** A hook asks for at most 90 s. */
const rememberedMs = 120_000;
const mostInUnit = 100;
const mostInAll = 10_000;
const mostLinesBytes = 32 * 1024 * 1024;

export class AskedPushes {
  readonly #timing: Timing;
  /** The oldest first. */
  readonly #all = new Map<string, Remembered>();
  readonly #units = new Map<string, Set<string>>();
  #linesBytes = 0;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  /** The last question about this push. */
  find(unit: string, push: string): AskedPush | null {
    const found = this.#all.get(keyOf(unit, push));
    return found === undefined || this.#timing.now() - found.at > rememberedMs ? null : found.asked;
  }

  remember(unit: string, push: string, asked: AskedPush, linesBytes: number): void {
    const key = keyOf(unit, push);
    this.#forget(key);
    const ofUnit = this.#units.get(unit) ?? new Set<string>();
    const [oldest] = ofUnit;
    if (ofUnit.size >= mostInUnit && oldest !== undefined) this.#forget(oldest);
    const now = this.#timing.now();
    this.#all.set(key, { asked, unit, linesBytes, at: now });
    this.#units.set(unit, ofUnit.add(key));
    this.#linesBytes += linesBytes;
    for (const [first, { at }] of this.#all) {
      const isTooMuch = this.#all.size > mostInAll || this.#linesBytes > mostLinesBytes;
      if (first === key || (!isTooMuch && now - at <= rememberedMs)) break;
      this.#forget(first);
    }
  }

  /** Nothing could be decided: the next question begins anew. */
  forget(unit: string, push: string, asked: AskedPush): void {
    const key = keyOf(unit, push);
    if (this.#all.get(key)?.asked === asked) this.#forget(key);
  }

  #forget(key: string): void {
    const known = this.#all.get(key);
    if (known === undefined) return;
    this.#all.delete(key);
    this.#linesBytes -= known.linesBytes;
    const ofUnit = this.#units.get(known.unit);
    ofUnit?.delete(key);
    if (ofUnit?.size === 0) this.#units.delete(known.unit);
  }
}

function keyOf(unit: string, push: string): string {
  return `${unit}\0${push}`;
}
