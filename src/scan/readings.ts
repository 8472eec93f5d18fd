/**
 * Calculates from several walks of a unit that keeps changing how many bytes certainly exist.
 *
 * Bytes that git holds twice are held twice for a moment, and pushes only add. So the least that was read in
 * some seconds counts:
 *
 * - of two seconds, unless packs or loose objects became fewer meanwhile, which says that somebody still tidies up;
 * - of six seconds in any case, since pushes can start one tidying up after the other.
 *
 * Neither counts where one gc was at work all the time: its moment may last. There the bytes count that a
 * walk found beside all that this gc may be holding twice (see `Arrivals`), of two walks the fewer.
 */

import type { Walked } from './outcome.ts';

export interface SizeReading extends Pick<Walked, 'bytes' | 'certainBytes' | 'collectors' | 'objectBytes'> {
  /** Milliseconds on a clock that nobody sets. */
  readonly at: number;
}

export const shortSpanMs = 2000;
export const longSpanMs = 6000;
/** Walks that follow each other more quickly say nothing new. */
const leastApartMs = 20;

export class Readings {
  /** The oldest first: of the long span, and one before it. */
  readonly #readings: SizeReading[] = [];

  add(reading: SizeReading): void {
    const last = this.#readings.at(-1);
    if (last !== undefined && reading.at - last.at < leastApartMs) return;
    this.#readings.push(reading);
    this.#readings.splice(0, Math.max(0, this.#indexAt(reading.at - longSpanMs)));
  }

  /**
   * The bytes that are certainly there at the time of the last reading; null where that cannot be said yet.
   */
  certainBytes(): number | null {
    const short = this.#ofLast(shortSpanMs);
    const long = this.#ofLast(longSpanMs);
    const certain = [
      this.#besideCopies(),
      short === null || isOneGc(short) || becameFewer(short) ? null : leastOf(short),
      long === null || isOneGc(long) ? null : leastOf(long),
    ].filter(bytes => bytes !== null);
    return certain.length === 0 ? null : Math.max(...certain);
  }

  /** The least of the long span, whatever was going on. */
  least(): number {
    return leastOf(this.#readings);
  }

  #besideCopies(): number | null {
    const [before, last] = this.#readings.slice(-2);
    if (before === undefined || last === undefined) return null;
    if (before.collectors.length === 0 || last.collectors.length === 0) return null;
    return Math.min(before.certainBytes, last.certainBytes);
  }

  /** All readings of a span up to the last one, from one that is as old as the span; null where none is. */
  #ofLast(spanMs: number): readonly SizeReading[] | null {
    const last = this.#readings.at(-1);
    const first = last === undefined ? -1 : this.#indexAt(last.at - spanMs);
    return first < 0 ? null : this.#readings.slice(first);
  }

  /** The last one that is not younger; -1 where all are. */
  #indexAt(time: number): number {
    return this.#readings.findLastIndex(({ at }) => at <= time);
  }
}

function leastOf(readings: readonly SizeReading[]): number {
  return readings.reduce((least, { bytes }) => Math.min(least, bytes), Number.POSITIVE_INFINITY);
}

/** Tells whether one and the same was at work at each of them. */
function isOneGc([first, ...others]: readonly SizeReading[]): boolean {
  return first?.collectors.some(id => others.every(({ collectors }) => collectors.includes(id))) === true;
}

function becameFewer(readings: readonly SizeReading[]): boolean {
  return readings.some(({ objectBytes }, index) => objectBytes < (readings[index - 1]?.objectBytes ?? 0));
}
