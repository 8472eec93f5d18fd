/**
 * Logs and counts offline decisions: what hooks decided without the daemon.
 *
 * Anybody may report them, as often as they like. So the daemon accepts one report of a unit in ten seconds,
 * and reports of a limited number of units. A hook whose report is not accepted keeps its record until the
 * next push.
 */

import type { OfflineReport } from '../gate/index.ts';
import type { OfflineTally } from '../health/index.ts';
import type { Log } from '../log.ts';

export interface OfflineDecisionsOptions {
  readonly log: Pick<Log, 'info'>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** The least time between two reports of one unit. */
const restMs = 10_000;
/** The number of units whose reports are accepted within that time. */
const mostUnits = 1000;

export class OfflineDecisions {
  readonly #options: OfflineDecisionsOptions;
  /** The time of each unit's last report, the oldest first. */
  readonly #heard = new Map<string, number>();
  #tally: OfflineTally | null = null;

  constructor(options: OfflineDecisionsOptions) {
    this.#options = options;
  }

  /** Null before the first report. */
  get tally(): OfflineTally | null {
    return this.#tally;
  }

  /** Returns false if the report comes too soon and is not accepted. */
  record({ unit, decisions, notUnderstood, passedOver }: OfflineReport): boolean {
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
    // A forged time in the future must not stay the last one.
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
