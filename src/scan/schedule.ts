/**
 * Begins sweeps by a schedule.
 *
 * Each check of the clock looks for a tick of a pattern since the last check. So a clock that is set forward,
 * or a host that slept, brings one sweep and not all that were missed; and a clock that is set back by a day
 * does not stop sweeps for a day.
 */

import { Cron } from 'croner';
import { messageOf, SoftquotaError } from '../errors.ts';
import { type AlarmClock, monotonicClock } from '../within.ts';
import type { ScanRun, SweepKind } from './run.ts';

export interface Patterns {
  /** Cron pattern of the sweeps; null for none. */
  readonly sweep: string | null;
  /** Cron pattern of the walks that report drift; null for none. */
  readonly verify: string | null;
}

export interface Schedule {
  /** Milliseconds from the next sweep of a kind to the one after it; null if there are not two. */
  interval(kind: SweepKind): number | null;
  close(): void;
}

/** The pattern of the walks that report drift: Sundays at 3. */
export const verifyPattern = '0 3 * * 0';

const longestRestMs = 15_000;

/** Tells milliseconds since 1970. */
const systemClock: AlarmClock = { ...monotonicClock, now: Date.now };

/**
 * Calls `tick` at the times of the patterns, in the host's time zone; a verify before a sweep that is due at
 * the same time. Throws `configuration` for an invalid pattern. `clock` tells milliseconds since 1970.
 */
export function startSchedule(
  patterns: Patterns,
  tick: (kind: SweepKind) => void,
  clock: AlarmClock = systemClock,
): Schedule {
  const crons = (['verify', 'sweep'] as const).map(kind => ({ kind, cron: cronOf(patterns[kind]) }));
  let last = clock.now();
  let cancel = rest();

  function rest(): () => void {
    const dues = crons.map(({ cron }) => nextAfter(cron, last)).filter(due => due !== null);
    const nearest = Math.min(longestRestMs, ...dues.map(due => due - last));
    return clock.after(Math.max(1, nearest), look);
  }

  function look(): void {
    const now = clock.now();
    const since = Math.min(last, now);
    last = now;
    const due = crons.filter(({ cron }) => (nextAfter(cron, since) ?? Number.POSITIVE_INFINITY) <= now);
    cancel = rest();
    for (const { kind } of due) tick(kind);
  }

  return {
    interval: kind => {
      const cron = crons.find(one => one.kind === kind)?.cron;
      const [first, second] = cron?.nextRuns(2, new Date(clock.now())) ?? [];
      return first === undefined || second === undefined ? null : second.getTime() - first.getTime();
    },
    close: () => cancel(),
  };
}

function cronOf(pattern: string | null): Cron | null {
  if (pattern === null) return null;
  try {
    return new Cron(pattern, { paused: true });
  } catch (error) {
    const reason = messageOf(error);
    throw new SoftquotaError(
      'configuration',
      `[scan] SCHEDULE = ${pattern}: not a cron pattern (${reason}). Write five fields, such as */15 * * * *.`,
    );
  }
}

function nextAfter(cron: Cron | null, time: number): number | null {
  return cron?.nextRun(new Date(time))?.getTime() ?? null;
}

/** Tells whether a tick can be skipped: a run that covers it is running or waits already. */
export function isCovered(
  kind: SweepKind,
  runs: Iterable<Pick<ScanRun, 'kind' | 'owners' | 'state'>>,
): boolean {
  return [...runs].some(
    run =>
      (run.state === 'waiting' || run.state === 'running') &&
      run.owners === null &&
      (run.kind === kind || run.kind === 'verify'),
  );
}
