/** Parts of the daemon that the API uses. */

import type { Documents } from '../documents/index.ts';
import type { Fleet } from '../fleet/index.ts';
import type { Identity, SecretKeys, SignInFlow } from '../identity/index.ts';
import type { Backup, Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import type { Notices } from '../notices/index.ts';
import type { Events, History, Totals } from '../overview/index.ts';
import type { AutoGrant } from '../policy/index.ts';
import type { Scanner } from '../scan/index.ts';
import type { Finding, Overview, ReclaimRun, RepositoryFigures, SpaceAnswer } from '../wire/index.ts';

/** Reports of the worker about repositories, which are named by their paths. */
export interface SpaceService {
  /** Returns null if nothing is known. */
  figures(path: string): RepositoryFigures | null;
  /**
   * Returns the last report, and makes the worker inspect the repository unless the report is recent and
   * newer than `newerThan` (milliseconds since 1970). Throws `not_ready` if there is no worker and no report.
   */
  explain(path: string, newerThan: number): Pick<SpaceAnswer, 'message' | 'report' | 'reported_at' | 'state'>;
  /** Unreachable bytes that the worker may delete, as far as it has measured them. */
  collectableBytes(path: string): number;
  /** Throws `not_ready` unless there is a worker, and it has measured repositories. */
  checkMeasured(): void;
  /** Makes the worker collect garbage. Throws `not_ready` if there is no worker. */
  reclaim(path: string, repository: string): ReclaimRun;
  /** Recent collections, the newest first. */
  runs(): readonly ReclaimRun[];
}

export interface ApiServices {
  /** Ends with a slash. */
  baseUrl(): string;
  /** Reports an unexpected error, which is a bug in softquota. */
  unforeseen(error: unknown): void;
  /** Null if metrics are switched off. */
  readonly metrics: {
    /** The token for programs of other hosts. */
    readonly token: string | null;
    text(): Promise<{ readonly contentType: string; readonly text: string }>;
  } | null;
  readonly documents: Documents;
  readonly ledger: Ledger;
  readonly scanner: Scanner;
  /** Returns a function that makes names of units readable, with the storage roots of this moment. */
  unitNames(): (unit: { readonly kind: 'walked' | 'reported'; readonly name: string }) => string;
  /**
   * Finds the repository in the forge's database by a path that does not contain its name; null if it is
   * unknown.
   */
  placed(path: string): { readonly title: string | null; readonly isInherited: boolean } | null;
  /** Accepts that most rows of the forge's database have been deleted, if they have. */
  acceptGone(): void;
  readonly identity: Identity;
  readonly events: Pick<Events, 'list' | 'listOf' | 'refusalsByDay'>;
  readonly notices: Pick<Notices, 'deliveries' | 'forgotten' | 'places' | 'sendAgain' | 'test'>;
  readonly space: SpaceService;
  readonly history: Pick<History, 'of'>;
  readonly totals: Pick<Totals, 'figures' | 'lately' | 'nearnessOf'>;
  /** The current `[hooks] CONTACT`. */
  contact(): string | null;
  /** The current `[requests]`. */
  asking(): { readonly enabled: boolean; readonly autoGrant: AutoGrant | null };
  readonly secretKeys: SecretKeys;
  readonly signIn: SignInFlow;
  readonly log: Pick<Log, 'warn'>;
  /** Null if this host does not share its quota. */
  readonly fleet: Pick<Fleet, 'forgetHost' | 'hosts' | 'repair' | 'state'> | null;
  readonly host: string;
  /** `[users] AUTO_CREATE`. */
  readonly autoCreate: boolean;
  /** Problems of this installation that the daemon knows. */
  findings(): Promise<readonly Finding[]>;
  shortDisks(): readonly { readonly path: string; readonly state: 'full' | 'low' }[];
  /** Bytes in quarantine directories that count and belong to no running push. */
  strays(): { readonly bytes: number; readonly oldestMs: number | null };
  unowned(): Overview['nobody']['kinds'];
  worker(): Overview['worker'];
  /** Data that cannot be measured again. */
  backup(): Promise<Backup>;
}
