/** The hosts that count, whether or not the shared store knows them still. */

import type { Ledger } from '../ledger/index.ts';
import type { HostRecord, SharedStore } from '../store/index.ts';

interface HostsOptions {
  readonly shares: Pick<Ledger['shares'], 'storedByHost'>;
  readonly store: Pick<SharedStore, 'hosts'>;
  /** This host. */
  readonly host: string;
  /** In milliseconds since 1970. */
  readonly begunAt: number;
}

export class Hosts {
  readonly #options: HostsOptions;
  /** Records of the hosts as the store last listed them. */
  readonly #listed = new Map<string, HostRecord>();

  constructor(options: HostsOptions) {
    this.#options = options;
  }

  /**
   * Those that the store knows, and those that it has lost and whose usage counts here: they were heard of
   * last when they were last listed, or else walked something. Rejects with `store_away`.
   */
  async all(): Promise<readonly HostRecord[]> {
    const { store, shares, host: ownHost, begunAt } = this.#options;
    const listed = await store.hosts();
    for (const record of listed) this.#listed.set(record.host, record);
    const there = new Set([ownHost, ...listed.map(({ host }) => host)]);
    const stored = [...(await shares.storedByHost())].filter(([host]) => !there.has(host));
    return [
      ...listed,
      ...stored.map(([host, { measuredAt }]) => {
        const { seenAt = measuredAt ?? begunAt, version = '' } = this.#listed.get(host) ?? {};
        return { host, seenAt, isAlive: false, version, isParted: false };
      }),
    ];
  }
}
