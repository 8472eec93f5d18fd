/** What the daemon sees of itself, and what of it makes its answers doubtful. */

import type { FleetState, NameTaken } from '../fleet/index.ts';
import { isWithin } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Away, HostRecord, ServerAdvice } from '../store/index.ts';
import { printable } from '../text/index.ts';

/** A place on the disk, and the system's code or words for what is wrong with it. */
export interface TroubledPlace {
  readonly path: string;
  readonly why: string;
}

/** A path, and for how long it has been waited for. */
export interface WaitedFor {
  readonly path: string;
  readonly milliseconds: number;
}

/** The first of many, and how many there are. */
export interface Listed<Item> {
  readonly first: readonly Item[];
  readonly count: number;
}

/** What is seen of the store that several hosts share. */
export interface ObservedFleet {
  readonly state: FleetState;
  /** None while it is away. */
  readonly advice: readonly ServerAdvice[];
  readonly hosts: readonly HostRecord[];
  /**
   * The storages that several hosts mount and this one does not walk, with the one that does; null: nobody,
   * as far as it is known.
   */
  readonly elsewhere: readonly { readonly name: string; readonly walker: string | null }[];
  /** Storage roots on file systems that other hosts may mount, for which no name is given. */
  readonly unshared: readonly { readonly path: string; readonly type: string; readonly section: string }[];
}

/** An owner who seems to have been renamed on the disk; `groups` are those that are assigned to them. */
export interface ObservedRename {
  readonly from: string;
  readonly to: string;
  readonly units: number;
  readonly groups: readonly string[];
  readonly newGroups: readonly string[];
  /** Nothing but the name is known of the new one, which the old one can be given. */
  readonly isOnlyFound: boolean;
}

export interface ObservedHang extends WaitedFor {
  /** Where its file system is mounted. */
  readonly mountedAt: string;
}

export interface Observed {
  readonly ledger: Pick<Ledger, 'documents' | 'settings' | 'sources' | 'storeAway' | 'units' | 'walks'>;
  /** Null: the quota is this host's own. */
  readonly fleet: ObservedFleet | null;
  readonly defaultGroups: readonly string[];
  /** `[storage.*]` sections with a PATH. */
  readonly storages: number;
  /** Storage roots that are missing or have become another file system, by the last sweep. */
  readonly rootsAway: readonly TroubledPlace[];
  /** Where disks do not answer, and since how many milliseconds. */
  readonly hangs: readonly ObservedHang[];
  /** The units that are being walked. */
  readonly walking: readonly WaitedFor[];
  /** Of the last sweep. */
  readonly unread: Listed<TroubledPlace>;
  readonly faults: Listed<TroubledPlace>;
  readonly leftovers: Listed<{ readonly path: string; readonly bytes: number; readonly modifiedAt: number }>;
  /** Owners who have nothing left, and whose directories are all a new owner's. */
  readonly renames: readonly ObservedRename[];
  /** How long ago the last sweep of this life ended, by a clock that nobody sets; null before it. */
  readonly sweptAgoMs: number | null;
  /** How far apart sweeps are meant to be. */
  readonly sweepEveryMs: number;
  /** Since when and why it cannot be published for hooks what is refused; null where it is. */
  readonly unpublished: Away | null;
  /** Null where there was none. */
  readonly offlineDecisions: OfflineTally | null;
  /** Why the last sweep that ended failed; null where it did not. */
  readonly sweepError: string | null;
  /** When app.ini was written, if that was since the daemon read it; milliseconds since 1970. */
  readonly configWrittenAt: number | null;
  /** `[section] KEY` of what was changed and waits for a restart. */
  readonly restartKeys: readonly string[];
  /** `[server] TRUSTED_SOCKET`. */
  readonly trustedSocket: string;
  /** Names of OAuth2 sources whose secrets none of the keys opens. */
  readonly lostSecrets: readonly string[];
  /** The daemon's own process, and whom it runs as. */
  readonly pid: number;
  readonly uid: number;
  /** The time by the host's clock, milliseconds since 1970. */
  readonly now: number;
}

/** The offline decisions that hooks have reported since the daemon started. */
export interface OfflineTally {
  readonly letThrough: number;
  readonly refused: number;
  /** The time of the last one, in milliseconds since 1970. */
  readonly lastAt: number;
}

/** Why answers cannot be relied on at the moment; none: they can. */
export function notReady({
  ledger,
  rootsAway,
  hangs,
  fleet,
}: Pick<Observed, 'ledger' | 'rootsAway' | 'hangs'> & {
  readonly fleet: Pick<ObservedFleet, 'state'> | null;
}): readonly string[] {
  const { storeAway } = ledger;
  const { lastSweep } = ledger.walks;
  const { away, divergence, nameTaken } = fleet?.state ?? { away: null, divergence: null, nameTaken: null };
  return [
    ...(lastSweep === null ? ['no sweep has ended yet, so that usage is not fully known'] : []),
    ...(storeAway === null ? [] : [notKept(storeAway)]),
    ...(away === null ? [] : [sharedAway(away)]),
    ...(divergence === null ? [] : [divergence.message]),
    ...(nameTaken === null ? [] : [sharedName(nameTaken)]),
    ...hungDisks(hangs).map(doesNotAnswer),
    ...rootsAway.map(
      root => `storage root ${printable(root.path)}: ${root.why}; its units count as last known`,
    ),
  ];
}

const longWalkMs = 30_000;

/** Walks that take longer than most, and get on. */
export function longWalks({ walking, hangs }: Pick<Observed, 'walking' | 'hangs'>): readonly WaitedFor[] {
  return walking.filter(
    ({ path, milliseconds }) => milliseconds >= longWalkMs && !hangs.some(hang => isWithin(hang.path, path)),
  );
}

/** Tells what makes no answer doubtful, for whoever wonders why figures are not new. */
export function notes(observed: Pick<Observed, 'walking' | 'hangs'>): readonly string[] {
  return longWalks(observed).map(
    ({ path, milliseconds }) =>
      `${printable(path)} has been walked since ${minuteOf(milliseconds)}, and the walk gets on`,
  );
}

function minuteOf(agoMs: number): string {
  return `${new Date(Date.now() - agoMs).toISOString().slice(0, 16)}Z`;
}

/** Of several threads that wait for one file system, the first: the one that has waited for longest. */
export function hungDisks(hangs: readonly ObservedHang[]): readonly ObservedHang[] {
  // All other file systems are below the first one, whose disks may be several.
  const byDisk = Map.groupBy(hangs, ({ path, mountedAt }) => (mountedAt === '/' ? path : mountedAt));
  return [...byDisk.values()].flatMap(waiting => waiting.slice(0, 1));
}

/**
 * The sentence is the same as long as the disk hangs, so that whoever watches it sees a change where there is
 * one.
 */
export function doesNotAnswer({ path, milliseconds }: WaitedFor): string {
  const since = minuteOf(milliseconds);
  return `the disk at ${printable(path)} does not answer since ${since}; what lies on it counts as last known`;
}

export function notKept({ since, reason }: Away): string {
  return `nothing can be kept since ${new Date(since).toISOString()}: ${printable(reason)}`;
}

export function sharedName({ since, message }: NameTaken): string {
  return `${message} (since ${new Date(since).toISOString()})`;
}

export function sharedAway({ since, reason }: Away): string {
  return `the shared store cannot be used since ${new Date(since).toISOString()}, what was known serves: ${printable(reason)}`;
}
