/** The configuration as the other rooms see it: typed, complete, frozen to its bottom. */

import type { ForgeSettings } from '../forge/index.ts';
import type { StorageSettings, UploadRoute } from '../layout/index.ts';
import type { ValuesOf } from './key.ts';
import type { gate, lfs } from './keys-gate.ts';
import type { mail, webhookKeys } from './keys-notices.ts';
import type { events, hooks, quota, quotaDefault, reclaim, requests, users } from './keys-policy.ts';
import type { disk, log, metrics, security, server, store } from './keys-server.ts';
import type { scan } from './keys-storage.ts';

/** Each section has the values of its keys; all paths are absolute. */
export interface Config {
  /** Null where only the environment spoke. */
  readonly file: string | null;
  readonly server: ValuesOf<typeof server> & {
    readonly socket: string;
    readonly trustedSocket: string;
    readonly adminSocket: string;
  };
  readonly quota: ValuesOf<typeof quota> & ValuesOf<typeof quotaDefault>;
  readonly store: ValuesOf<typeof store>;
  /** The `[storage.*]` sections with a PATH, in the order of `storageKinds`. */
  readonly storages: readonly StorageSettings[];
  /** Null: no forge's database is read. */
  readonly forge: ForgeSettings | null;
  readonly users: ValuesOf<typeof users>;
  readonly scan: ValuesOf<typeof scan> & { readonly workers: number };
  readonly requests: ValuesOf<typeof requests>;
  readonly hooks: ValuesOf<typeof hooks>;
  readonly reclaim: ValuesOf<typeof reclaim>;
  /** `routes`: the `[gate.NAME]` sections, in the order in which they are asked. */
  readonly gate: ValuesOf<typeof gate> & { readonly routes: readonly UploadRoute[] };
  readonly lfs: ValuesOf<typeof lfs>;
  readonly events: ValuesOf<typeof events>;
  readonly security: ValuesOf<typeof security>;
  readonly disk: ValuesOf<typeof disk>;
  readonly metrics: ValuesOf<typeof metrics>;
  /** The `[webhook.NAME]` sections, by name. */
  readonly webhooks: readonly WebhookSettings[];
  /** Null: no mail is sent. */
  readonly mail: MailSettings | null;
  readonly log: ValuesOf<typeof log>;
}

export type WebhookSettings = ValuesOf<ReturnType<typeof webhookKeys>> & {
  readonly name: string;
  readonly url: string;
};

export type MailSettings = ValuesOf<typeof mail> & { readonly host: string; readonly from: string };
