/**
 * Begins sweeps by a schedule, and verifications on Sundays at 3.
 *
 * Each check of the clock looks for a tick since the last check. So a clock that is set forward, or a host
 * that slept, brings one sweep and not all that were missed; and a clock that is set back by a day does not
 * stop sweeps for a day.
 */

import { Cron } from 'croner';
import { type AlarmClock, monotonicClock } from '../turns.ts';
import type { SweepKind } from './run.ts';

export interface Schedule {
  /** Milliseconds from a sweep that ended `agoMs` ago until three have been missed and another one is due. */
  lateAfterMs(agoMs: number): number;
  close(): void;
}

const verifications = '0 3 * * 0';

const longestRestMs = 15_000;

/** One missed sweep is a slow disk; three missed sweeps are a fault. */
const sweepsMissed = 3;

/** Tells milliseconds since 1970. */
const systemClock: AlarmClock = { ...monotonicClock, now: Date.now };

/**
 * Calls `tick` at the times of the cron pattern `sweeps` and of verifications, in the host's time zone; a
 * verify before a sweep that is due at the same time. `clock` tells milliseconds since 1970.
 */
export function startSchedule(
  sweeps: string,
  tick: (kind: SweepKind) => void,
  clock: AlarmClock = systemClock,
): Schedule {
  const sweep = new Cron(sweeps, { paused: true });
  const crons = { verify: new Cron(verifications, { paused: true }), sweep };
  let last = clock.now();
  let cancel = rest();

  function nextAfter(kind: SweepKind, time: number): number {
    return crons[kind].nextRun(new Date(time))?.getTime() ?? Number.POSITIVE_INFINITY;
  }

  function rest(): () => void {
    const due = Math.min(nextAfter('verify', last), nextAfter('sweep', last));
    return clock.after(Math.max(1, Math.min(longestRestMs, due - last)), look);
  }

  function look(): void {
    const now = clock.now();
    const since = Math.min(last, now);
    last = now;
    const due = (['verify', 'sweep'] as const).filter(kind => nextAfter(kind, since) <= now);
    cancel = rest();
    for (const kind of due) tick(kind);
  }

  return {
    lateAfterMs: agoMs => {
      const ended = clock.now() - agoMs;
      let due = ended;
      for (let missed = 0; missed <= sweepsMissed; missed += 1) due = nextAfter('sweep', due);
      return due - ended;
    },
    close: () => cancel(),
  };
}
