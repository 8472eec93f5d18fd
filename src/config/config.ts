/** The configuration as the other rooms see it: typed, complete, frozen to its bottom. */

import type { ForgeSettings } from '../forge/index.ts';
import type { PresetName, StorageSettings, UploadRoute } from '../layout/index.ts';
import type { QuotaSettings } from '../quota/index.ts';
import type { FreeSpaceSetting } from './kinds.ts';

export interface Config {
  /** Absolute; null where only the environment spoke. */
  readonly file: string | null;
  readonly server: {
    /** This path and the sockets' are absolute. */
    readonly dataPath: string;
    readonly socket: string;
    readonly socketMode: number;
    /** A group's name or number; null leaves the daemon's own. */
    readonly socketGroup: string | null;
    readonly trustedSocket: string;
    readonly trustedMode: number;
    readonly trustedGroup: string | null;
    readonly adminSocket: string;
    readonly httpAddr: string;
    /** 0: any free one. */
    readonly httpPort: number;
    /** Ends with a slash; null: made of the address that HTTP is served on, once that is known. */
    readonly rootUrl: string | null;
    /** Addresses and networks (`10.0.0.0/8`). */
    readonly trustedProxies: readonly string[];
    /** Null: the one kept under `dataPath`. */
    readonly hostId: string | null;
  };
  readonly quota: QuotaSettings &
    Required<Pick<QuotaSettings, 'garbage' | 'garbageMostBytes' | 'graceMost' | 'graceMs'>> & {
      readonly defaultGroups: readonly string[];
    };
  readonly store: {
    readonly adapter: 'sqlite' | 'redis';
    readonly host: string;
    readonly waitReplicas: number;
    readonly prefix: string;
  };
  /** The `[storage.*]` sections with a PATH, in the order of `storageKinds`. */
  readonly storages: readonly StorageSettings[];
  /** Null: no forge's database is read. */
  readonly forge: ForgeSettings | null;
  readonly users: { readonly autoCreate: boolean; readonly foldCase: boolean };
  readonly scan: {
    readonly workers: number;
    /** Cron expressions of five fields, or a nickname such as `@daily`. */
    readonly schedule: string;
    readonly measure: 'apparent' | 'allocated';
    /** Names of directories that are left out. */
    readonly exclude: readonly string[];
  };
  /** Asking for more than the limit; `autoGrant` is null where nothing is granted by itself. */
  readonly requests: { readonly enabled: boolean; readonly autoGrant: AutoGrantSetting | null };
  /** `contact` is one line. `keep`: the worker keeps repositories guarded. */
  readonly hooks: { readonly contact: string | null; readonly keep: boolean };
  /** The worker's task with unreachable objects, and how long these stay. */
  readonly reclaim: {
    readonly run: 'never' | 'measure' | 'gc';
    readonly expireMs: number;
    /** The programs of git that the worker may run. */
    readonly gits: readonly string[];
    /** The worker sees all of git's processes. */
    readonly alone: boolean;
  };
  /** Settings for reverse proxies. */
  readonly gate: {
    readonly presets: readonly PresetName[];
    /** Begins with a slash. */
    readonly base: string;
    readonly isEarly: boolean;
    readonly headers: 'original' | 'forwarded';
    readonly onError: 'allow' | 'deny';
    readonly addr: string;
    /** Null: proxies ask on the socket only. */
    readonly port: number | null;
    /** The `[gate.NAME]` sections, in the order in which they are asked. */
    readonly routes: readonly UploadRoute[];
  };
  /** The address of an LFS server. */
  readonly lfs: { readonly upstream: string | null };
  readonly events: { readonly keepMs: number };
  /** The newest first; none: what is kept under `dataPath`. */
  readonly security: { readonly secretKeys: readonly string[] };
  /** Space that stays free on each file system; null: none has to. */
  readonly disk: { readonly minFree: FreeSpaceSetting | null };
  /** Metrics. Clients that send `token` may read them; null: only this host's own programs. */
  readonly metrics: { readonly enabled: boolean; readonly token: string | null };
  /** The `[webhook.NAME]` sections, by name. */
  readonly webhooks: readonly WebhookSettings[];
  /** Null: no mail is sent. */
  readonly mail: MailSettings | null;
  readonly log: { readonly level: LogLevel; readonly format: 'json' | 'pretty' };
}

/** Types of notices. */
export const noticeTypes = [
  'threshold',
  'grace',
  'refusal',
  'request',
  'allowance',
  'policy',
  'fault',
] as const;

export type NoticeType = (typeof noticeTypes)[number];

export interface WebhookSettings {
  readonly name: string;
  readonly url: string;
  /** Each `whsec_` and base64, or base64 alone; at least one. */
  readonly secrets: readonly string[];
  /** None: all. */
  readonly events: readonly NoticeType[];
  /** Addresses and networks (`10.0.0.0/8`). */
  readonly allowPrivate: readonly string[];
}

export interface MailSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: 'starttls' | 'tls' | 'none';
  readonly user: string | null;
  readonly password: string | null;
  readonly from: string;
  /** None: the administrators who have an address. */
  readonly admins: readonly string[];
  readonly ownerEvents: readonly NoticeType[];
  readonly adminEvents: readonly NoticeType[];
  /** A cron expression; null: never. */
  readonly digest: string | null;
  /** An absolute path; null: those of the package alone. */
  readonly templates: string | null;
}

/** `[requests] AUTO_GRANT`: so much for so long, once in so long for each owner. */
export interface AutoGrantSetting {
  readonly bytes: number;
  readonly forMs: number;
  readonly everyMs: number;
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

type LogLevel = (typeof logLevels)[number];
