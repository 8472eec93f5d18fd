/**
 * What hooks decided without the daemon, put on record: logged, and counted.
 *
 * Anybody may say it, as often as they like. So a unit is heard once in some seconds, and of units only so
 * many: a hook whose record is not taken keeps it until its next push.
 */

import type { UnaskedReport } from '../gate/index.ts';
import type { UnaskedTally } from '../health/index.ts';

export interface UnaskedOptions {
  readonly log: { info(details: object, message: string): void };
  /** Milliseconds since 1970. */
  now(): number;
}

/** Between two reports of one unit. */
const restMs = 10_000;
/** Units that are heard within that time. */
const mostUnits = 1000;

export class Unasked {
  readonly #options: UnaskedOptions;
  /** When units were last heard, the first of them first. */
  readonly #heard = new Map<string, number>();
  #tally: UnaskedTally | null = null;

  constructor(options: UnaskedOptions) {
    this.#options = options;
  }

  /** Null before the first. */
  get tally(): UnaskedTally | null {
    return this.#tally;
  }

  /** False: it comes too soon, and is not taken. */
  record({ unit, decisions, notUnderstood, passedOver }: UnaskedReport): boolean {
    const now = this.#options.now();
    if (!this.#isTime(unit, now)) return false;
    const letThrough = decisions.filter(({ allowed }) => allowed).length;
    const refused = decisions.length - letThrough;
    const shown = decisions.map(({ at, ...decision }) => ({ at: new Date(at).toISOString(), ...decision }));
    this.#options.log.info(
      { unit, letThrough, refused, notUnderstood, passedOver, decisions: shown },
      'pushes were decided without the daemon',
    );
    if (decisions.length === 0) return true;
    const before = this.#tally ?? { letThrough: 0, refused: 0, lastAt: 0 };
    // Whoever made it up does not make it last from now on.
    const lastAt = decisions.reduce((last, { at }) => Math.max(last, Math.min(at, now)), before.lastAt);
    this.#tally = { letThrough: before.letThrough + letThrough, refused: before.refused + refused, lastAt };
    return true;
  }

  #isTime(unit: string, now: number): boolean {
    for (const [heard, at] of this.#heard) {
      // The clock may have been set back.
      if (at <= now && now < at + restMs) break;
      this.#heard.delete(heard);
    }
    if (this.#heard.has(unit) || this.#heard.size === mostUnits) return false;
    this.#heard.set(unit, now);
    return true;
  }
}
