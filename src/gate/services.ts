/** The parts of the daemon that the gate needs. */

import type { Upload, UploadRoute } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Claimed } from '../oauth/index.ts';
import type { Decision, DiskFull, FullDisk, QuotaSettings, Subject } from '../quota/index.ts';
import type { Synchronization } from '../wire/index.ts';
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
  /** Returns the paths at which the storage templates expect the repository of an upload. */
  repositoryPathsOf(upload: Upload): readonly string[];
}

/** Counts decisions. */
interface DecisionCounts {
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
    | 'admit'
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
  /** Contact for a refused pusher: `[hooks] CONTACT`, else the page My usage. */
  contact(): string | null;
  /** The address of the page My usage; null: nobody said where the web UI is. */
  myUsage(): string | null;
  /** Routes that a reverse proxy may ask about, as configured now. */
  uploads(): UploadSettings;
  /** A proxy asks in a way that cannot be answered. */
  notUnderstood(why: string): void;
  /** For the record. `unitPath`: the repository of a push. */
  refused(record: RefusalRecord, unitPath?: string): void;
  readonly worker: PushWorker;
  /** The pushes under way. */
  readonly pushes: PushServices;
  /** `POST /v1/push`, by the body of a request. Rejects with what is wrong with it, or away. */
  readonly pushQuestions: { answer(body: Buffer): Promise<PushAnswer> };
  health(): Health;
  /** A mistake of ours. */
  unforeseen(error: unknown): void;
}
