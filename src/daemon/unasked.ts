/** What hooks decided without the daemon, put on record: logged one by one, and counted. */

import type { UnaskedDecision } from '../gate/index.ts';
import type { UnaskedTally } from '../health/index.ts';
import type { Logger } from '../telemetry/index.ts';

export class Unasked {
  readonly #log: Logger;
  #tally: UnaskedTally | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Null before the first. */
  get tally(): UnaskedTally | null {
    return this.#tally;
  }

  record({ at, ...decision }: UnaskedDecision): void {
    this.#log.info({ at: new Date(at).toISOString(), ...decision }, 'a push was decided without the daemon');
    const { letThrough, refused, lastAt } = this.#tally ?? { letThrough: 0, refused: 0, lastAt: 0 };
    this.#tally = {
      letThrough: letThrough + Number(decision.allowed),
      refused: refused + Number(!decision.allowed),
      // Whoever made it up does not make it last from now on.
      lastAt: Math.max(lastAt, Math.min(at, Date.now())),
    };
  }
}
