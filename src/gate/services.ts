/** The parts of the daemon that the gate needs. */

import type { Upload, UploadRoute } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Claimed, Synchronization } from '../oauth/index.ts';
import type { Decision, DiskFull, FullDisk, QuotaSettings, Subject } from '../quota/index.ts';
import type { LocatedUnit } from './located-unit.ts';
import type { PushAnswer, PushServices, PushWorker } from './push/services.ts';

export interface RefusalRecord {
  readonly owner: string;
  readonly subject: Subject;
  /** Empty where nobody said. */
  readonly actor: string;
  readonly decision: Decision | DiskFull;
  readonly mode: QuotaSettings['mode'];
}

export interface Health {
  /** Empty: ready. Each says what is wrong, in words for an administrator. */
  readonly reasons: readonly string[];
  /** Notes that an administrator may want to know, though it makes nothing less ready. */
  readonly notes: readonly string[];
}

export interface UploadSettings {
  /** In the order in which they are asked. */
  readonly routes: readonly UploadRoute[];
  readonly headers: 'original' | 'forwarded';
  readonly onError: 'allow' | 'deny';
  readonly lfs: {
    /** The server whose batch endpoint is asked; null: none. */
    readonly upstream: URL | null;
    /** The addresses of batch endpoints. */
    readonly batchRoutes: readonly UploadRoute[];
    /** The path below which clients see that server; it does not know it. */
    readonly base: string;
  };
  /** Where the storage templates expect the repository of an upload. */
  repositoryPathsOf(upload: Upload): readonly string[];
}

/** How the git user's worker stands, as it says. */
export interface WorkerState {
  readonly version: string;
  readonly pid: number;
  readonly uid: number;
  /** The programs of git that it can run. */
  readonly gits: readonly {
    readonly path: string;
    readonly version: string;
    /** Where its programs are, as hooks have it in GIT_EXEC_PATH. */
    readonly execPaths: readonly string[];
  }[];
  /** Quarantines of pushes: those that it removed since its last report, and those whose receive-pack lives. */
  readonly quarantines: {
    readonly removed: readonly { readonly unit: string; readonly name: string; readonly bytes: number }[];
    readonly held: readonly ReportedQuarantine[];
  };
  /** Null where it does not keep the hooks. */
  readonly hooks: {
    readonly repositories: number;
    /** Repositories without a guard; `first` are the first of them. */
    readonly unguarded: {
      readonly count: number;
      readonly first: readonly { readonly path: string; readonly why: string }[];
    };
    /** Guards that were taken out or replaced, and put back. */
    readonly putBack: { readonly count: number; readonly last: string | null };
  } | null;
  /** Those whose figures are new. */
  readonly repositories: readonly ReportedRepository[];
}

export interface ReportedQuarantine {
  readonly unit: string;
  readonly name: string;
  readonly bytes: number;
  /** When it was made, in milliseconds since 1970. */
  readonly since: number;
}

/** The reachable bytes of a repository, by the worker. Times are milliseconds since 1970. */
export interface ReportedRepository {
  readonly path: string;
  readonly at: number;
  /** The daemon's mark that was known when measuring began; empty: none was. */
  readonly mark: string;
  /** Null: it could not be measured. */
  readonly measured: {
    readonly objectBytes: number;
    readonly reachableBytes: number;
    readonly unreachableBytes: number;
    /** Other repositories use its objects, also those that none of its own refs reaches. */
    readonly isLent: boolean;
  } | null;
  readonly fault: string | null;
  /** The last collection of garbage since the worker started. */
  readonly collected: {
    readonly at: number;
    readonly freedBytes: number;
    readonly fault: string | null;
  } | null;
}

/** A task about the repository at `path`. */
export type WorkerTask =
  | { readonly kind: 'reclaim'; readonly path: string }
  | {
      readonly kind: 'space';
      readonly path: string;
      /** Somebody waits for it. */
      readonly urgent: boolean;
    }
  /** A refused push: whether it makes the repository smaller, or brings back what nothing reached. */
  | (PushTask & { readonly kind: 'judge'; readonly manner: 'any' | 'less' })
  | (PushTask & { readonly kind: 'brings_back' })
  /** A judged push goes on: which of its lines were done when it has ended. `sample` is of its judgement. */
  | (PushTask & { readonly kind: 'outcome'; readonly sample: string | null })
  | { readonly kind: 'quarantine'; readonly path: string; readonly name: string; readonly measure: string };

/** See `JudgeTask`. */
interface PushTask {
  readonly path: string;
  readonly quarantine: string | null;
  readonly lines: string;
  readonly hidden: readonly string[];
  readonly exec_path: string;
}

export type TaskOutcome =
  | { readonly is: 'done'; readonly result: Readonly<Record<string, unknown>> }
  | { readonly is: 'fault'; readonly why: string };

/** The connection to a worker. */
export interface WorkerChannel {
  /** Sends a message; none once the connection has ended. */
  send(message: object): void;
  /** Tells the worker why, and ends the connection. */
  close(why: string): void;
}

/** Takes what comes from one connection of a worker. */
export interface WorkerPeer {
  reported(state: WorkerState): void;
  ended(id: string, outcome: TaskOutcome): void;
  /**
   * The largest LFS objects that the repository at this path has alone, by the forge's database; null: no
   * forge is named. Rejects with `not_ready` where that cannot be read.
   */
  lfsObjects(path: string): Promise<readonly { readonly oid: string; readonly bytes: number }[] | null>;
  closed(): void;
}

/** The git user's worker, as the gate meets it. */
export interface WorkerLink extends PushWorker {
  /** A worker has connected. It takes the place of an earlier one. */
  connected(channel: WorkerChannel): WorkerPeer;
}

/** Counts decisions. */
export interface DecisionCounts {
  decided(
    result: 'allowed' | 'refused' | 'would_refuse',
    subject: Subject,
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
    | 'admissions'
    | 'decide'
    | 'documents'
    | 'ownerUsage'
    | 'policy'
    | 'reports'
    | 'reservations'
    | 'settings'
    | 'sources'
    | 'units'
    | 'walks'
  >;
  /**
   * The unit that an unknown path is or lies in, or would. Rejects with `unknown_path` where no template
   * matches, with `not_ready` where the disk does not answer in time. Where another host walks, only that
   * one knows what was there: then whatever a template matches is said to exist.
   */
  locate(path: string): Promise<LocatedUnit & { readonly exists: boolean }>;
  /** The unit at this path is walked again soon. */
  measureSoon(unitPath: string): void;
  /** The disk with too little free space for this to grow; null: there is enough. Costs a look-up. */
  fullDisk(unitPath: string | null, subject: Subject): FullDisk | null;
  /**
   * A check let something through into the unit at this path, which need not be there yet: it is walked when
   * that may have come, also where nobody says so. Costs no more than a look-up.
   */
  letThrough(unitPath: string): void;
  /**
   * The synchronisation of a sign-in. Rejects with `not_found` where there is no such user or source, with
   * `conflict` where the source is not active.
   */
  synchronize(claimed: Claimed): Promise<Synchronization>;
  /** Whom a refused pusher turns to: `[hooks] CONTACT`, else the page My usage. */
  contact(): string | null;
  /** The address of the page My usage; null: nobody said where the web UI is. */
  myUsage(): string | null;
  /** What a reverse proxy may ask about, as configured now. */
  uploads(): UploadSettings;
  /** A proxy asks in a way that cannot be answered. */
  notUnderstood(why: string): void;
  /** For the record. `unitPath`: the repository of a push. */
  refused(record: RefusalRecord, unitPath?: string): void;
  readonly worker: WorkerLink;
  /** The pushes under way. */
  readonly pushes: PushServices;
  /** `POST /v1/push`, by the body of a request. Rejects with what is wrong with it, or away. */
  readonly pushQuestions: { answer(body: Buffer): Promise<PushAnswer> };
  health(): Health;
  /** A mistake of ours. */
  unforeseen(error: unknown): void;
}
