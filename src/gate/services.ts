import type { LargeBlobsLook, Quarantine, QuarantineLook, Upload, UploadRoute } from '../layout/index.ts';
import type { Ledger, OwnerUsage } from '../ledger/index.ts';
import type { Claimed } from '../oauth/index.ts';
import type {
  BoundScope,
  Decision,
  DiskFull,
  FullDisk,
  Leaf,
  QuotaSettings,
  RuleScope,
  Subject,
} from '../quota/index.ts';
import type { Synchronization } from '../wire/index.ts';
import type { WorkerLink } from './worker.ts';

export interface RefusalRecord {
  readonly owner: string;
  readonly subject: Subject;
  /** Empty where nobody said. */
  readonly actor: string;
  readonly decision: Decision | DiskFull;
  readonly mode: QuotaSettings['mode'];
}

/** A limit that holds for what was let through, and that could not be asked. */
export interface UnaskedRecord extends Pick<RefusalRecord, 'actor' | 'owner' | 'subject'> {
  readonly per: BoundScope;
}

export interface Decided {
  readonly owner: OwnerUsage;
  readonly decision: Decision | DiskFull;
}

export interface Health {
  /** Empty: ready. Each says what is wrong, in words for an administrator. */
  readonly reasons: readonly string[];
  /** Notes that an administrator may want to know, though it makes nothing less ready. */
  readonly notes: readonly string[];
}

export interface UploadSettings {
  readonly routes: readonly UploadRoute[];
  readonly headers: 'original' | 'forwarded';
  readonly onError: 'allow' | 'deny';
  readonly lfs: {
    /** The server whose batch endpoint is asked; null: none. */
    readonly upstream: URL | null;
    readonly batchRoutes: readonly UploadRoute[];
    /** The path below which clients see that server; it does not know it. */
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
  /** A check was answered from memory in so many milliseconds. */
  took(milliseconds: number): void;
}

export interface GateServices {
  /** Null: nobody asks for metrics. */
  readonly metrics: DecisionCounts | null;
  readonly ledger: Pick<
    Ledger,
    | 'admit'
    | 'decide'
    | 'documents'
    | 'ownerUsage'
    | 'policy'
    | 'reports'
    | 'reservations'
    | 'settings'
    | 'sources'
    | 'standing'
    | 'units'
    | 'walks'
  >;
  /**
   * The unit that an unknown path is or lies in, or would: also by another mount of the same directory, by
   * device and inode, and from a linked worktree. Rejects with `unknown_path` where no template matches, with
   * `not_ready` where the disk does not answer in time. Where another host walks, only that one knows what
   * was there: then whatever a template matches is said to exist.
   */
  locate(path: string): Promise<LocatedUnit & { readonly exists: boolean }>;
  /**
   * Has the owner who has this name in the forge now known by it; null: nobody has to be asked. Names that are
   * known are asked about only for a push. Never rejects.
   */
  settleOwner(name: string, isPush: boolean): Promise<void> | null;
  measureSoon(unitPath: string): void;
  /** The disk with too little free space for this to grow; null: there is enough. Costs a look-up. */
  fullDisk(unitPath: string | null, subject: Subject): FullDisk | null;
  /** A check let something through into this unit, which need not be there yet: it is walked later. */
  letThrough(unitPath: string): void;
  /** Rejects with `not_found` where no such user or source is, with `conflict` where that is not active. */
  synchronize(claimed: Claimed): Promise<Synchronization>;
  /** Contact for a refused pusher: `[hooks] CONTACT`, else the page My usage. */
  contact(): string | null;
  /** Tells whether strangers may know this owner's figures: proxies ask before any sign-in. */
  showsFigures(owner: string): boolean;
  /** The address of the page My usage; null: nobody said where the web UI is. */
  myUsage(): string | null;
  /** Routes that a reverse proxy may ask about, as configured now. */
  uploads(): UploadSettings;
  /** A proxy asks in a way that cannot be answered. */
  notUnderstood(why: string): void;
  /** For the record. `unitPath`: the repository of a push. */
  refused(record: RefusalRecord, unitPath?: string): void;
  /** For the record, too. */
  unasked(record: UnaskedRecord): void;
  readonly worker: PushWorker;
  /** The pushes under way. */
  readonly pushes: PushServices;
  /** `POST /v1/push`, by the body of a request. Rejects with what is wrong with it, or away. */
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
  /** Null: nobody could read it, or git made none. */
  readonly quarantine: Quarantine | null;
  /** The name of the quarantine; null: git made none. */
  readonly name: string | null;
  /** git's lines `OLD NEW REF`. */
  readonly lines: string;
}

/** The pushes under way. */
export interface PushServices {
  /** Looks at the unit's quarantine of this name, on a thread or by the git user's worker. Never rejects. */
  look(unit: string, name: string, deadlineMs: number): Promise<QuarantineLook>;
  /** Looks for files over a size in the unit's quarantine of this name, in the same ways. Never rejects. */
  largeFiles(unit: string, name: string, overBytes: number, deadlineMs: number): Promise<LargeBlobsLook>;
  /** Counts a push until a walk that began after its end; in place of an earlier one of this name. */
  begin(push: AllowedPush): void;
  /** Takes a push back that was allowed before and is decided anew. */
  withdraw(unit: string, name: string): void;
  /** post-receive ran: these refs were written. The unit is walked soon. */
  arrived(unit: string, lines: string): void;
  /** Resolves once a unit of which nothing is known was walked, or does not end soon. Never rejects. */
  firstWalk(unit: string): Promise<void>;
  /** Walks a unit at once, whose push has nothing that could be watched. */
  measure(unit: string): void;
  /**
   * Returns those of these names that exist in the unit, each a ref (loose or packed) or a directory or file
   * below it; for refs that would make a folder a repository. Rejects with `not_ready` where the disk does
   * not answer.
   */
  existingNames(unit: string, prefixes: readonly string[]): Promise<readonly string[]>;
  /** The repository has a ref; true as well where that cannot be read. Never rejects. */
  hasRefs(unit: string): Promise<boolean>;
  /** The repository has git refuse --force; false as well where that cannot be read. Never rejects. */
  deniesForce(unit: string): Promise<boolean>;
}

/** Says when deleted data makes room, with moments in milliseconds since 1970; null: nobody knows. */
export interface Room {
  /** Deleted data does not count any more once it is measured. */
  readonly isForgiving: boolean;
  /** By then so much is collected that pushes pass again. */
  readonly passesAt: number | null;
  /** By then what is deleted now is collected. */
  readonly freedAt: number | null;
}

export const noRoom: Room = { isForgiving: false, passesAt: null, freedAt: null };

/** The git user's worker, as pushes need it. */
export interface PushWorker {
  readonly link: Pick<WorkerLink, 'ask' | 'connection' | 'isClosed' | 'isHere' | 'take'>;
  /** Tells whether a worker is connected. */
  readonly isHere: boolean;
  /** A push came by the git with this exec path. */
  gitUsed(execPath: string): void;
  /** A push may write refs there: nothing in the unit is forgiven until it is measured again. */
  letThrough(unit: string): void;
  changed(unit: string): void;
  /** A receive-pack asked before the objects of a push came: nothing of a refused one is left behind. */
  askedEarly(): void;
  /** Measures a quarantine by the git user's rights; null: it cannot. */
  quarantine(unit: string, name: string, deadlineMs: number): Promise<Quarantine | null>;
  /** Looks for files over a size in a quarantine by the git user's rights; null: it cannot. */
  largeFiles(
    unit: string,
    name: string,
    overBytes: number,
    deadlineMs: number,
  ): Promise<LargeBlobsLook | null>;
  /** When a refused owner gets room by collections. `unit`: the repository of the push; null: nobody knows it. */
  roomFor(owner: string, unit: string | null, decision: Decided['decision']): Room;
  /** The lines that tell what takes the space in this unit, for its readers; empty: nothing is known. */
  spaceLines(unit: string): readonly string[];
}

/** A unit that is known, or was found on the disk, or is about to be made. */
export interface LocatedUnit {
  readonly path: string;
  /** Null where nobody could be told. */
  readonly owner: string | null;
  readonly leaf: Leaf;
  /** Null where it was never measured. */
  readonly bytes: number | null;
  /** Another host measures it; not, unless given. */
  readonly isElsewhere?: boolean;
}
