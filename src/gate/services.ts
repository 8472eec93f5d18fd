/** Types of what the gate is given, and of what its parts give each other. */

import type { IncomingMessage } from 'node:http';
import type { Claimed } from '../identity/index.ts';
import type { LargeBlobsLook, Quarantine, QuarantineLook, Upload, UploadRoute } from '../layout/index.ts';
import type { Ledger, OwnerUsage } from '../ledger/index.ts';
import type {
  Decision,
  DiskFull,
  FullDisk,
  Leaf,
  QuotaSettings,
  RefusalRecord,
  RuleScope,
  Subject,
  UnaskedRecord,
} from '../quota/index.ts';
import type { Synchronization } from '../wire/index.ts';
import type { Nested, Parameters, Reply } from './request.ts';
import type { WorkerLink } from './worker.ts';

export interface Decided {
  readonly owner: OwnerUsage;
  readonly decision: Decision | DiskFull;
}

export interface Health {
  /** Reasons for administrators why the daemon is not ready; empty if it is. */
  readonly reasons: readonly string[];
  /** Notes for administrators that do not make the daemon less ready. */
  readonly notes: readonly string[];
}

export interface UploadSettings {
  readonly routes: readonly UploadRoute[];
  readonly headers: 'original' | 'forwarded';
  readonly onError: 'allow' | 'deny';
  readonly lfs: {
    /** Server whose batch endpoint the gate asks; null if none. */
    readonly upstream: URL | null;
    readonly batchRoutes: readonly UploadRoute[];
    /** Path below which clients see that server; the server itself does not know it. */
    readonly base: string;
  };
  /** Returns the paths at which the storage templates expect the repository of an upload. */
  repositoryPathsOf(upload: Upload): readonly string[];
}

interface DecisionCounts {
  decided(
    result: 'allowed' | 'refused' | 'would_refuse',
    subject: Subject,
    per: RuleScope,
    settings: Pick<QuotaSettings, 'enabled' | 'mode'>,
  ): void;
  /** Notes how many milliseconds a check from memory took. */
  took(milliseconds: number): void;
}

export interface GateServices {
  /** Null if metrics are switched off. */
  readonly metrics: DecisionCounts | null;
  readonly ledger: Ledger;
  /**
   * Finds the unit that an unknown path is, lies in, or would be. It also recognizes another mount of the
   * same directory (by device and inode) and linked worktrees. Rejects with `unknown_path` if no template
   * matches, and with `not_ready` if the disk does not answer in time. If another host walks the storage,
   * `exists` is always true, because only that host knows what existed.
   */
  locate(path: string): Promise<LocatedUnit & { readonly exists: boolean }>;
  /**
   * Looks up in the forge who has this name now, and renames the owner accordingly. Returns null if no lookup
   * is needed: known names are looked up only for a push. Never rejects.
   */
  settleOwner(name: string, isPush: boolean): Promise<void> | null;
  measureSoon(unitPath: string): void;
  /** Returns the disk that is too full for this to grow; null if there is enough space. Costs a lookup. */
  fullDisk(unitPath: string | null, subject: Subject): FullDisk | null;
  /** Notes that something was allowed into this unit, which may not exist yet; it is walked later. */
  letThrough(unitPath: string): void;
  /**
   * Applies claims. Rejects with `not_found` if the user or source does not exist, with `conflict` if the
   * source is not active.
   */
  synchronize(claimed: Claimed): Promise<Synchronization>;
  /**
   * Returns the contact for refused pushers: `[hooks] CONTACT`, otherwise the page My usage; null if there is
   * none.
   */
  contact(): string | null;
  /** Returns true if strangers may see this owner's figures: proxies ask before any sign-in. */
  showsFigures(owner: string): boolean;
  /** Returns the address of the page My usage; null if the web UI's address is unknown. */
  myUsage(): string | null;
  /** Returns the configured routes for reverse proxies. */
  uploads(): UploadSettings;
  /** Reports that a proxy's request cannot be understood. */
  notUnderstood(why: string): void;
  /** Records a refusal. `unitPath` is the repository of a push. */
  refused(record: RefusalRecord, unitPath?: string): void;
  /** Records a limit that could not be checked. */
  unasked(record: UnaskedRecord): void;
  readonly worker: PushWorker;
  readonly pushes: PushServices;
  /** Answers the body of `POST /v1/push`. Rejects with `bad_parameter` or `not_ready`. */
  readonly pushQuestions: { answer(body: Buffer): Promise<PushAnswer> };
  health(): Health;
  unforeseen(error: unknown): void;
}

export interface PushAnswer {
  /** 200: go on; 202: ask again; 404: not managed; 413: refused. */
  readonly status: 200 | 202 | 404 | 413;
  readonly text: string;
}

export interface AllowedPush {
  readonly unit: LocatedUnit;
  /** Null if there is no quarantine, or if it cannot be read. */
  readonly quarantine: Quarantine | null;
  /** Name of the quarantine; null if there is none. */
  readonly name: string | null;
  /** git's lines `OLD NEW REF`. */
  readonly lines: string;
}

/** Access to the pushes that are under way, and to their repositories. */
export interface PushServices {
  /** Measures the unit's quarantine of this name, on a thread or by the git user's worker. Never rejects. */
  look(unit: string, name: string, deadlineMs: number): Promise<QuarantineLook>;
  /** Searches that quarantine for files over a size, in the same ways. Never rejects. */
  largeFiles(unit: string, name: string, overBytes: number, deadlineMs: number): Promise<LargeBlobsLook>;
  /** Counts a push until a walk that began after its end. It replaces an earlier push of this name. */
  begin(push: AllowedPush): void;
  /** Stops counting a push that is decided anew. */
  withdraw(unit: string, name: string): void;
  /** Notes that post-receive ran and these refs were written. The unit is walked soon. */
  arrived(unit: string, lines: string): void;
  /**
   * Resolves when a new unit has been walked for the first time, or if this takes too long. Never rejects.
   */
  firstWalk(unit: string): Promise<void>;
  /** Walks a unit at once, because nothing shows the end of its push. */
  measure(unit: string): void;
  /**
   * Returns the names that exist in the unit, each as a ref (loose or packed), or as a directory or file
   * below it. It serves to find refs that would make a folder a repository. Rejects with `not_ready` if the
   * disk does not answer.
   */
  existingNames(unit: string, prefixes: readonly string[]): Promise<readonly string[]>;
  /** Returns true if the repository has a ref, or if this cannot be read. Never rejects. */
  hasRefs(unit: string): Promise<boolean>;
  /** Returns true if the repository refuses --force; false if this cannot be read. Never rejects. */
  deniesForce(unit: string): Promise<boolean>;
}

/** When deleted data makes room. Times are milliseconds since 1970; null if unknown. */
export interface Room {
  /** True if deleted data no longer counts once it has been measured. */
  readonly isForgiving: boolean;
  /** Time at which enough is collected for pushes to pass again. */
  readonly passesAt: number | null;
  /** Time at which data that is deleted now is collected. */
  readonly freedAt: number | null;
}

export const noRoom: Room = { isForgiving: false, passesAt: null, freedAt: null };

/** The git user's worker, in the form that pushes need. */
export interface PushWorker {
  readonly link: Pick<WorkerLink, 'ask' | 'connection' | 'isClosed' | 'isHere' | 'take'>;
  /** True if a worker is connected. */
  readonly isHere: boolean;
  /** Notes that a push used the git with this exec path. */
  gitUsed(execPath: string): void;
  /** Notes that a push may write refs: no data of the unit is forgiven until it is measured again. */
  letThrough(unit: string): void;
  changed(unit: string): void;
  /** Notes that a receive-pack hook asks before the upload: its refused pushes leave nothing behind. */
  askedEarly(): void;
  /** Measures a quarantine with the git user's rights; null if that is impossible. */
  quarantine(unit: string, name: string, deadlineMs: number): Promise<Quarantine | null>;
  /** Searches a quarantine for files over a size with the git user's rights; null if that is impossible. */
  largeFiles(
    unit: string,
    name: string,
    overBytes: number,
    deadlineMs: number,
  ): Promise<LargeBlobsLook | null>;
  /**
   * Returns when a refused owner gets room by collections. `unit` is the repository of the push; null if
   * unknown.
   */
  roomFor(owner: string, unit: string | null, decision: Decided['decision']): Room;
  /** Returns lines about the space in this unit, for its readers; empty if nothing is known. */
  spaceLines(unit: string): readonly string[];
}

/** A unit that is known, or was found on the disk, or is about to be created. */
export interface LocatedUnit {
  readonly path: string;
  /** Null if unknown. */
  readonly owner: string | null;
  readonly leaf: Leaf;
  /** Null if it was never measured. */
  readonly bytes: number | null;
  /** True if another host measures it. */
  readonly isElsewhere?: boolean;
}

/** The handling of an address of a socket. */
export interface GateRoute {
  readonly methods: readonly string[];
  readonly handle: (
    services: GateServices,
    parameters: Parameters,
    request: IncomingMessage,
  ) => Reply | Promise<Reply>;
  /** Parameters that may be whole JSON values; absent: none. */
  readonly nested?: Nested;
  /** Limit of the body in bytes; absent: the usual one. */
  readonly mostBodyBytes?: number;
  /** True if the handler itself reads the body of a PUT, which may be long and slow. */
  readonly isStreamed?: true;
  readonly shown?: string;
}
