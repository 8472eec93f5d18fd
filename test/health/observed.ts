/** A daemon as it is observed, for tests. */

import type { Test } from 'tap';
import { findings, type Observed } from '../../src/health/index.ts';
import { World } from '../ledger/world.ts';

export const none = { first: [], count: 0 };
export const idle: Pick<
  Observed['worker'],
  'collects' | 'isForgiving' | 'leavesBroken' | 'otherGits' | 'unreachableBytes' | 'failing'
> = {
  collects: false,
  isForgiving: false,
  leavesBroken: false,
  otherGits: [],
  unreachableBytes: 0,
  failing: none,
};

export async function observed(t: Test, differing: Partial<Observed> = {}): Promise<Observed> {
  const ledger = await new World(t).open();
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 0 }, [], () => true);
  return {
    ledger,
    forge: null,
    fleet: null,
    policyFaults: [],
    storages: 1,
    rootsAway: [],
    rootsUnused: [],
    shortDisks: [],
    outlook: { promised: 0, size: 0, full_at: null },
    keepsFree: false,
    hangs: [],
    walking: [],
    unread: none,
    faults: none,
    leftovers: none,
    sweptAgoMs: 0,
    sweepLateMs: 2_700_000,
    unpublished: null,
    unmanagedPushes: [],
    unaskedLimits: [],
    worker: { isWanted: false, ...idle, state: null, silentMs: 0 },
    notices: [],
    sweepError: null,
    configWrittenAt: null,
    configRefused: null,
    missingKeys: [],
    restartKeys: [],
    lostSecrets: [],
    trustedSocket: '/run/softquota/trusted.sock',
    pid: 4711,
    uid: 1000,
    now: Date.now(),
    ...differing,
  };
}

export const codes = (seen: Observed) => findings(seen).map(({ code }) => code);

/** The findings of these codes. */
export const toldOf = (seen: Observed, ...wanted: readonly string[]) =>
  findings(seen).filter(({ code }) => wanted.includes(code));

type Fleet = NonNullable<Observed['fleet']>;

/** Hosts with one quota, of which nothing is known but this. */
export function fleet(differing: Partial<Fleet> = {}, state: Partial<Fleet['state']> = {}): Fleet {
  const well = { away: null, untold: null, divergence: null, nameTaken: null };
  const nothing = { advice: [], hosts: [] };
  return { state: { ...well, ...state }, ...nothing, ...differing };
}
