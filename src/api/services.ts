/** The parts of the daemon that the API works with. */

import type { Documents } from '../documents/index.ts';
import type { Fleet } from '../fleet/index.ts';
import type { Identity } from '../identity/index.ts';
import type { Backup, Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import type { Notices } from '../notices/index.ts';
import type { SecretKeys, SignInFlow } from '../oauth/index.ts';
import type { Events, History, Totals } from '../overview/index.ts';
import type { AutoGrant } from '../policy/index.ts';
import type { Scanner, WatchedDisk } from '../scan/index.ts';
import type {
  Finding,
  Overview,
  ReclaimRun,
  RepositoryFigures,
  SpaceReport,
  UnownedKind,
} from '../wire/index.ts';
import type { FaultServices } from './faults.ts';

/** The worker's reports about repositories, by their paths. */
export interface SpaceService {
  /** Null: nothing is known. */
  figures(path: string): RepositoryFigures | null;
  /**
   * Has the worker look, unless that was done lately, and after `newerThan`, in milliseconds since 1970.
   * Throws `not_ready` where there is no worker.
   */
  explain(path: string, newerThan: number): SpaceState;
  /** Has the worker collect. Throws `not_ready` where there is no worker. */
  reclaim(path: string, repository: string): ReclaimRun;
  /** The last ones, the newest first. */
  runs(): readonly ReclaimRun[];
}

/** `last`: the last report, which may be an old one. */
export type SpaceState =
  | { readonly is: 'running'; readonly last: DatedReport | null }
  | { readonly is: 'done'; readonly last: DatedReport }
  | { readonly is: 'failed'; readonly message: string; readonly last: DatedReport | null };

interface DatedReport {
  /** Milliseconds since 1970. */
  readonly at: number;
  report(): SpaceReport;
}

/** Promise of the limits beside what the disks have. */
export interface Outlook {
  readonly promisedBytes: number;
  readonly unlimitedOwners: number;
  readonly sizeBytes: number;
  readonly freeBytes: number;
  /** Milliseconds since 1970; null: not within ten years, or not known. */
  readonly fullAt: number | null;
}

/** The metrics, and the token that lets others than this host's own programs read them. */
export interface MetricsService {
  readonly token: string | null;
  text(): Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface ApiServices extends FaultServices {
  /** Null: they are off. */
  readonly metrics: MetricsService | null;
  readonly documents: Documents;
  readonly ledger: Ledger;
  readonly scanner: Scanner;
  /** Gives names of units as people read them, by the roots of this moment. */
  unitNames(): (unit: { readonly kind: 'walked' | 'reported'; readonly name: string }) => string;
  /** The repository at a path that names nobody, by the database of a forge; null: it does not know it. */
  placed(path: string): { readonly title: string | null; readonly isInherited: boolean } | null;
  /** Believes that most rows of the forge's database are gone, if they are. */
  acceptGone(): void;
  readonly identity: Identity;
  readonly events: Pick<Events, 'list' | 'listOf' | 'refusalsByDay'>;
  readonly notices: Pick<Notices, 'deliveries' | 'forgotten' | 'places' | 'sendAgain' | 'test'>;
  readonly space: SpaceService;
  readonly history: Pick<History, 'of'>;
  readonly totals: Pick<Totals, 'lately' | 'nearnessOf'>;
  /** `[hooks] CONTACT`, as it is now. */
  contact(): string | null;
  /** `[requests]`, as it is now. */
  asking(): { readonly enabled: boolean; readonly autoGrant: AutoGrant | null };
  readonly secretKeys: SecretKeys;
  readonly signIn: SignInFlow;
  readonly log: Pick<Log, 'warn'>;
  /** Null: the quota is this host's own. */
  readonly fleet: Pick<Fleet, 'forgetHost' | 'hosts' | 'repair' | 'state'> | null;
  /** This host's name. */
  readonly host: string;
  /** `[users] AUTO_CREATE`. */
  readonly autoCreate: boolean;
  /** Faults of this installation, as far as the daemon knows them. */
  findings(): Promise<readonly Finding[]>;
  outlook(disks: readonly WatchedDisk[]): Promise<Outlook>;
  shortDisks(): readonly { readonly path: string; readonly state: 'full' | 'low' }[];
  /** The quarantines that count and belong to no push. */
  strays(): { readonly bytes: number; readonly oldestMs: number | null };
  unowned(): readonly UnownedKind[];
  worker(): Overview['worker'];
  /** Milliseconds since 1970. */
  now(): number;
  /** Everything that cannot be measured again. */
  backup(): Promise<Backup>;
}
