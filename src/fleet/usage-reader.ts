/**
 * Reads the usage on other hosts from the shared store: the changes since the last time, or all of it, some
 * owners at a time.
 *
 * If the store has lost the usage of a host, its last known usage counts until the host reports again or is
 * forgotten.
 */

import { SoftquotaError } from '../errors.ts';
import type { UsageShares } from '../ledger/index.ts';
import { SerialQueue } from '../serial-queue.ts';
import { inSlices } from '../slices.ts';
import { placeIn, type SharedState, type SharedStore } from '../store/index.ts';

interface UsageReaderOptions {
  readonly shares: Pick<UsageShares, 'lookThrough' | 'takeShares'>;
  readonly store: Pick<SharedStore, 'state' | 'usage' | 'usageBetween'>;
  readonly host: string;
}

type Reported = Pick<SharedState, 'server' | 'usage'>;

export class UsageReader {
  readonly #options: UsageReaderOptions;
  /** Position up to which the usage on each other host is known. */
  readonly #known = new Map<string, string>();
  readonly #readings = new SerialQueue();
  /** A reading that has not begun yet, and what it will read. */
  #next: Promise<void> | null = null;
  #reported: Reported = { server: null, usage: new Map() };
  #isClosed = false;

  constructor(options: UsageReaderOptions) {
    this.#options = options;
  }

  /**
   * Reads the usage of the hosts up to the positions of this state of the store, after the reading under way.
   * Usage that cannot be read keeps no other host's from being read. Rejects with `store_away` or
   * `store_refused`.
   */
  sync(reported: Reported): Promise<void> {
    this.#reported = reported;
    this.#next ??= this.#readings.run(() => {
      this.#next = null;
      return this.#read(this.#reported);
    });
    return this.#next;
  }

  /** Ends the reading under way after its next owners. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#readings.idle();
  }

  async #read({ server, usage }: Reported): Promise<void> {
    let refused: SoftquotaError | null = null;
    for (const [host, place] of usage) {
      if (host === this.#options.host || this.#known.get(host) === place) continue;
      try {
        await this.#readHost(host, place, server);
      } catch (error) {
        if (!(error instanceof SoftquotaError && error.code === 'store_refused')) throw error;
        refused = error;
      }
    }
    if (refused !== null) throw refused;
  }

  async #readHost(host: string, place: string, server: string | null): Promise<void> {
    const { shares, store } = this.#options;
    const [known, now] = [placeIn(this.#known.get(host) ?? ''), placeIn(place)];
    const goesOn = known !== null && known.epoch === now?.epoch && known.number < now.number;
    const seen = new Set<string>();
    const pages = goesOn ? store.usageBetween(host, known.number, now.number) : store.usage(host);
    for await (const page of pages) {
      if (this.#isClosed) return;
      shares.takeShares(host, page);
      if (!goesOn) for (const [ownerKey] of page) seen.add(ownerKey);
    }
    if (!goesOn) {
      // Another server, or a store that was emptied meanwhile, seems to have less: the next sync reads it all.
      const after = await store.state();
      const isSame = placeIn(after.usage.get(host) ?? '')?.epoch === now?.epoch;
      if (!isSame || after.server !== server) return;
      await this.#dropOthers(host, seen);
    }
    this.#known.set(host, place);
  }

  /** Deletes the usage on a host of all owners but these. Later changes come after the known position. */
  async #dropOthers(host: string, seen: ReadonlySet<string>): Promise<void> {
    const { shares } = this.#options;
    const gone: string[] = [];
    await shares.lookThrough(share => {
      if (share.host === host && !seen.has(share.ownerKey)) gone.push(share.ownerKey);
    });
    await inSlices(gone, ownerKey => shares.takeShares(host, [[ownerKey, null]]));
  }
}
