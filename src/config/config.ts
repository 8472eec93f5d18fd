/** The configuration as the other modules see it: typed, complete, frozen to its bottom. */

import type { ForgeSettings } from '../forge/index.ts';
import type { StorageSettings, UploadRoute } from '../layout/index.ts';
import type { ValuesOf } from './key.ts';
import { gate, lfs } from './keys-gate.ts';
import type { MailSettings, WebhookSettings } from './keys-notices.ts';
import { events, hooks, quota, quotaDefault, reclaim, requests, users } from './keys-policy.ts';
import { disk, log, metrics, security, server, store } from './keys-server.ts';
import { scan } from './keys-storage.ts';

/** The keys whose values a `Config` has by the names of sections. */
export const sectionKeys = {
  server,
  quota: { ...quota, ...quotaDefault },
  store,
  users,
  scan,
  requests,
  hooks,
  reclaim,
  gate,
  lfs,
  events,
  security,
  disk,
  metrics,
  log,
};

type Plain = {
  readonly [Section in keyof typeof sectionKeys]: ValuesOf<(typeof sectionKeys)[Section]>;
};

/** Each section has the values of its keys; all paths are absolute. */
export interface Config extends Plain {
  /** Null where only the environment spoke. */
  readonly file: string | null;
  readonly server: Plain['server'] & {
    readonly socket: string;
    readonly trustedSocket: string;
    readonly adminSocket: string;
  };
  /** The `[storage.*]` sections with a PATH, in the order of `storageKinds`. */
  readonly storages: readonly StorageSettings[];
  /** Null: no forge's database is read. */
  readonly forge: ForgeSettings | null;
  readonly scan: Plain['scan'] & { readonly workers: number };
  /** `routes`: the `[gate.NAME]` sections, in the order in which they are asked. */
  readonly gate: Plain['gate'] & { readonly routes: readonly UploadRoute[] };
  /** The `[webhook.NAME]` sections, by name. */
  readonly webhooks: readonly WebhookSettings[];
  /** Null: no mail is sent. */
  readonly mail: MailSettings | null;
}
