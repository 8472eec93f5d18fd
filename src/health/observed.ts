/** The state of the daemon that findings need, and the reasons why its answers may be unreliable. */

import type { FleetState, NameTaken } from '../fleet/index.ts';
import type { ForgeFault, ForgeKind, OddRows, Unowned } from '../forge/index.ts';
import { isWithin } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import {
  type BoundScope,
  type FullDisk,
  fullDiskWords,
  type LintFinding,
  type Subject,
} from '../quota/index.ts';
import type { Away, HostRecord, ServerAdvice } from '../store/index.ts';
import { counted, printable } from '../text.ts';
import type { NoticePlace, Overview, WorkerReport } from '../wire/index.ts';

/** A path, and the system's error code or a text that says what is wrong with it. */
export interface TroubledPlace {
  readonly path: string;
  readonly why: string;
}

interface WaitedFor {
  readonly path: string;
  readonly milliseconds: number;
}

export interface Listed<Item> {
  readonly first: readonly Item[];
  readonly count: number;
}

interface ObservedFleet {
  readonly state: FleetState;
  /** Empty while the store is away. */
  readonly advice: readonly ServerAdvice[];
  readonly hosts: readonly HostRecord[];
}

interface ObservedHang extends WaitedFor {
  /** Mount point of its file system. */
  readonly mountedAt: string;
}

/** A disk with less free space than `[disk]` wants. */
interface ObservedShortage {
  readonly path: string;
  readonly state: 'full' | 'low';
  readonly disk: FullDisk;
}

/** The state of the reader of a forge's database. Times are milliseconds since 1970. */
export interface ObservedForge {
  readonly kind: ForgeKind;
  /** The reason why the last reading failed, or is not believed, and since when; null if it counts. */
  readonly fault: (Pick<ForgeFault, 'code' | 'mend' | 'message'> & { readonly since: number }) | null;
  /** The end of the last reading that did not fail; null before the first. */
  readonly readAt: number | null;
  /** Stored bytes that have no owner in the database. */
  readonly unowned: readonly Unowned[];
  /** Owners of the forge who could not become owners here. */
  readonly refused: readonly { readonly name: string; readonly why: string }[];
  /** Owners who are not in the forge any more, and are not deleted because they are so many; else 0. */
  readonly absent: number;
  /** Rows that no forge writes; see `OddRow`. */
  readonly odd: Pick<OddRows, 'count' | 'first'>;
}

export interface Observed {
  readonly ledger: Pick<Ledger, 'documents' | 'settings' | 'sources' | 'storeAway' | 'units' | 'walks'>;
  /** Null: no forge's database is read. */
  readonly forge: ObservedForge | null;
  /** Null: no other host shares the quota. */
  readonly fleet: ObservedFleet | null;
  readonly policyFaults: readonly LintFinding[];
  /** `[storage.*]` sections with a PATH. */
  readonly storages: number;
  /** Storage roots that are missing or have become another file system, by the last sweep. */
  readonly rootsAway: readonly TroubledPlace[];
  /** Storage roots that are not there, and never were; `expected`: they may come. */
  readonly rootsUnused: readonly { readonly path: string; readonly unused: 'expected' | 'doubtful' | null }[];
  readonly shortDisks: readonly ObservedShortage[];
  /** The sum of all limits, and the size of the disks; see `[disk]`. */
  readonly outlook: Pick<Overview['outlook'], 'full_at' | 'promised' | 'size'>;
  /** `[disk] MIN_FREE` is set. */
  readonly keepsFree: boolean;
  readonly hangs: readonly ObservedHang[];
  readonly walking: readonly WaitedFor[];
  /** Places that the last sweep could not read. */
  readonly unread: Listed<TroubledPlace>;
  readonly faults: Listed<TroubledPlace>;
  readonly leftovers: Listed<{ readonly path: string; readonly bytes: number; readonly modifiedAt: number }>;
  /** Milliseconds since this process's last sweep ended, on the monotonic clock; null before the first. */
  readonly sweptAgoMs: number | null;
  /** Milliseconds after that sweep at which the schedule has missed three. */
  readonly sweepLateMs: number;
  /** Start and reason of the failure to write the refused owners for hooks; null if it can be written. */
  readonly unpublished: Away | null;
  /** Pushes that passed because their directories are no units; the last ones in milliseconds since 1970. */
  readonly unmanagedPushes: readonly {
    readonly path: string;
    readonly count: number;
    readonly lastAt: number;
  }[];
  /** Limits that could not be checked in the last day; the last time in milliseconds since 1970. */
  readonly unaskedLimits: readonly {
    readonly per: BoundScope;
    readonly subject: Subject;
    /** The owner concerned at the last time. */
    readonly owner: string;
    readonly count: number;
    readonly lastAt: number;
  }[];
  readonly worker: ObservedWorker;
  readonly notices: readonly Pick<NoticePlace, 'dead' | 'last_fault' | 'name'>[];
  /** Why the last sweep failed; null if it did not. */
  readonly sweepError: string | null;
  /** The time of a change of app.ini since the daemon read it, in milliseconds since 1970; null: none. */
  readonly configWrittenAt: number | null;
  /** The reason why app.ini is not in force as it was last read; null if it is. */
  readonly configRefused: string | null;
  /** Keys that were in force and are not in app.ini any more, as `[section] KEY`. */
  readonly missingKeys: readonly string[];
  /** Changed keys that take effect after a restart, as `[section] KEY`. */
  readonly restartKeys: readonly string[];
  readonly trustedSocket: string;
  /** Names of OAuth2 sources whose secrets cannot be decrypted with any key. */
  readonly lostSecrets: readonly string[];
  readonly pid: number;
  readonly uid: number;
  /** The time by the host's clock, milliseconds since 1970. */
  readonly now: number;
}

/** The worker that keeps repositories guarded, and collects garbage. */
export interface WorkerPresence {
  /** `[hooks] KEEP`. */
  readonly isWanted: boolean;
  /** `[reclaim] RUN = gc`. */
  readonly collects: boolean;
  /** `[quota] GARBAGE = forgive`. */
  readonly isForgiving: boolean;
  /** True if this host takes pushes, and receive-pack does not ask before their objects arrive. */
  readonly leavesBroken: boolean;
  /** GIT_EXEC_PATH of hooks whose git the worker does not have. */
  readonly otherGits: readonly string[];
  /** Its last report; null if there was none. */
  readonly state: Pick<WorkerReport, 'version' | 'hooks' | 'quarantines'> | null;
  /** The time since its last report, or since the daemon started. */
  readonly silentMs: number;
}

/** The worker with what it found in all repositories. */
export interface ObservedWorker extends WorkerPresence {
  /** Bytes that the worker may delete, of all repositories that were measured. */
  readonly unreachableBytes: number;
  /** Repositories that cannot be measured or collected. */
  readonly failing: Listed<TroubledPlace>;
}

/** Returns the reasons why answers are unreliable at the moment; empty if they are reliable. */
export function notReady(
  observed: Pick<Observed, 'forge' | 'ledger' | 'rootsAway' | 'hangs'> & {
    readonly fleet: Pick<ObservedFleet, 'state'> | null;
  },
): readonly string[] {
  const { ledger, rootsAway, hangs, fleet, forge } = observed;
  const { storeAway } = ledger;
  const { lastSweep } = ledger.walks;
  const { away, divergence, nameTaken } = fleet?.state ?? { away: null, divergence: null, nameTaken: null };
  return [
    ...(lastSweep === null ? ['no sweep has finished yet, so usage is not fully known'] : []),
    ...(storeAway === null ? [] : [notKept(storeAway)]),
    ...(away === null ? [] : [sharedAway(away)]),
    ...(divergence === null ? [] : [divergence.message]),
    ...(nameTaken === null ? [] : [sharedName(nameTaken)]),
    ...(forge === null ? [] : forgeTrouble(forge)),
    ...hungDisks(hangs).map(doesNotAnswer),
    ...rootsAway.map(
      root => `storage root ${printable(root.path)}: ${root.why}; its units keep their last known bytes`,
    ),
  ];
}

function forgeTrouble({ fault, readAt }: ObservedForge): readonly string[] {
  if (fault !== null) return [forgeAway(fault)];
  return readAt === null ? ["the forge's database has not been read yet, so usage is not fully known"] : [];
}

const longWalkMs = 30_000;

/** Returns walks that take long but make progress. */
function longWalks({ walking, hangs }: Pick<Observed, 'walking' | 'hangs'>): readonly WaitedFor[] {
  return walking.filter(
    ({ path, milliseconds }) => milliseconds >= longWalkMs && !hangs.some(hang => isWithin(hang.path, path)),
  );
}

/** Returns remarks that explain old figures, but make no answer unreliable. */
export function notes(
  observed: Pick<Observed, 'walking' | 'hangs' | 'missingKeys' | 'notices' | 'shortDisks'> & {
    readonly ledger: { readonly units: Pick<Observed['ledger']['units'], 'unmeasured'> };
    readonly worker: Pick<WorkerPresence, 'isForgiving' | 'silentMs'>;
    readonly fleet: Pick<ObservedFleet, 'advice' | 'state'> | null;
  },
): readonly string[] {
  const { isForgiving, silentMs } = observed.worker;
  const unmeasured = observed.ledger.units.unmeasured.size;
  const untold = observed.fleet?.state.untold ?? null;
  return [
    ...(observed.missingKeys.length === 0 ? [] : [keysMissing(observed.missingKeys)]),
    ...(unmeasured > 0
      ? [
          `${counted(unmeasured, 'unit', 'units')} could not be measured at all, and 0 bytes count: softquota doctor names them`,
        ]
      : []),
    ...(isForgiving && silentMs > workerSilentMs ? [staleForgiveness(silentMs)] : []),
    ...observed.shortDisks.map(shortageWords),
    ...(untold === null ? [] : [sharedUntold(untold)]),
    ...(observed.fleet?.advice ?? []).flatMap(({ code, message }) =>
      code === 'no_messages' ? [printable(message)] : [],
    ),
    // Without the reason: everybody on this host may read this, and the reason may contain an address.
    ...observed.notices.filter(({ dead }) => dead > 0).map(deadNotices),
    ...longWalks(observed).map(
      ({ path, milliseconds }) =>
        `the walk of ${printable(path)} began at ${minuteOf(milliseconds)}, and makes progress`,
    ),
  ];
}

/** Number of keys that are named; others are only counted. */
const mostNamed = 20;

export function keysMissing(keys: readonly string[]): string {
  const named = printable(keys.slice(0, mostNamed).join(', '));
  return `app.ini lacks ${keys.length} of what was in force at the last start: ${named}. Units without storage keep their last known bytes`;
}

export function deadNotices({ name, dead }: Pick<NoticePlace, 'dead' | 'name'>): string {
  return `${counted(dead, 'notice', 'notices')} to ${name} could not be delivered`;
}

export function shortageWords({ path, state, disk }: ObservedShortage): string {
  const effect = state === 'full' ? '; what grows there is refused' : '';
  return `${printable(path)}: ${fullDiskWords(disk)}${effect}`;
}

/** Reports of the worker come every five seconds. */
export const workerSilentMs = 30_000;

/** Says what is still forgiven without a worker. */
export function staleForgiveness(silentMs: number): string {
  return `no worker has reported since ${minuteOf(silentMs)}: what it last measured is still forgiven, but nothing in a repository ten minutes after a push to it, and nothing at all after a day`;
}

function minuteOf(agoMs: number): string {
  return `${new Date(Date.now() - agoMs).toISOString().slice(0, 16)}Z`;
}

/** Returns one entry per file system: the thread that has waited longest. */
export function hungDisks(hangs: readonly ObservedHang[]): readonly ObservedHang[] {
  // Paths below `/` itself stay apart, because they may be on several disks.
  const byDisk = Map.groupBy(hangs, ({ path, mountedAt }) => (mountedAt === '/' ? path : mountedAt));
  return [...byDisk.values()].flatMap(waiting => waiting.slice(0, 1));
}

/** Returns a sentence that stays the same while the disk hangs, so that monitoring sees no false change. */
export function doesNotAnswer({ path, milliseconds }: WaitedFor): string {
  const since = minuteOf(milliseconds);
  return `the disk at ${printable(path)} has not answered since ${since}; its units keep their last known bytes`;
}

export function forgeAway({ code, message, since }: NonNullable<ObservedForge['fault']>): string {
  const why = code === 'gone' ? 'cannot be believed' : 'has not been readable';
  return `the forge ${why} since ${new Date(since).toISOString()}, so its last known figures are used: ${printable(message)}`;
}

export function notKept({ since, reason }: Away): string {
  return `the store has not been writable since ${new Date(since).toISOString()}: ${printable(reason)}`;
}

export function sharedName({ since, message }: NameTaken): string {
  return `${message} (since ${new Date(since).toISOString()})`;
}

export function sharedAway({ since, reason }: Away): string {
  return `the shared store has not been usable since ${new Date(since).toISOString()}, so the last known data is used: ${printable(reason)}`;
}

export function sharedUntold({ since, reason }: Away): string {
  return `the other hosts have not been told the usage on this host since ${new Date(since).toISOString()}, so they count what they knew of it: ${printable(reason)}`;
}
