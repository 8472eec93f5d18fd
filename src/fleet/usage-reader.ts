/**
 * Reads the usage on other hosts from the shared store: the changes since the last time, or all of it, some
 * owners at a time.
 *
 * If the store has lost the usage of a host, its last known usage counts until the host reports again or is
 * forgotten.
 */

import { SoftquotaError } from '../errors.ts';
import type { UsageShares } from '../ledger/index.ts';
import { inSlices } from '../slices.ts';
import { placeIn, type SharedStore, type ToldShare } from '../store/index.ts';

interface UsageReaderOptions {
  readonly shares: Pick<UsageShares, 'lookThrough' | 'takeShares'>;
  readonly store: Pick<SharedStore, 'usage' | 'usageAfter'>;
  readonly host: string;
}

/** A read of all usage on a host, as far as it has come. */
interface Reading {
  readonly place: string;
  readonly pages: AsyncIterator<readonly ToldShare[]>;
  /** Owners whose usage was read already. */
  readonly seen: Set<string>;
}

export class UsageReader {
  readonly #options: UsageReaderOptions;
  /** Position up to which the usage on each other host is known. */
  readonly #known = new Map<string, string>();
  readonly #readings = new Map<string, Reading>();
  /** Some changes of a host are still to be read. */
  #isBehind = false;

  constructor(options: UsageReaderOptions) {
    this.#options = options;
  }

  /** Tells whether some usage is still to be read. */
  get isReading(): boolean {
    return this.#readings.size > 0 || this.#isBehind;
  }

  /**
   * Reads the usage of the hosts up to these positions, until the deadline on the monotonic clock; the rest
   * is left to the next time. Usage that cannot be read keeps no other host's from being read. Rejects with
   * `store_away` or `store_refused`.
   */
  async sync(places: ReadonlyMap<string, string>, deadline: number): Promise<void> {
    this.#isBehind = false;
    // A read continues only while the host is listed.
    for (const host of this.#readings.keys()) if (!places.has(host)) this.#readings.delete(host);
    let refused: SoftquotaError | null = null;
    for (const [host, place] of places) {
      if (host === this.#options.host) continue;
      try {
        // A restored store may be at the known position again, while another one is being read.
        if (this.#known.get(host) === place) this.#readings.delete(host);
        else if (place === 'forgotten') await this.#end(host, { place, seen: new Set() });
        else await this.#follow(host, place, deadline);
      } catch (error) {
        if (!(error instanceof SoftquotaError && error.code === 'store_refused')) throw error;
        refused = error;
      }
    }
    if (refused !== null) throw refused;
  }

  /** Begins anew with reads that another server has answered in part. */
  lost(): void {
    this.#readings.clear();
  }

  async #follow(host: string, place: string, deadline: number): Promise<void> {
    const [known, now] = [placeIn(this.#known.get(host) ?? ''), placeIn(place)];
    if (known !== null && known.epoch === now?.epoch && known.number < now.number) {
      this.#readings.delete(host);
      return this.#goOn(host, known, deadline);
    }
    const reading = this.#readings.get(host) ?? this.#begin(host, place);
    // Reads at least one page, so that earlier hosts do not keep later ones from being read.
    do {
      const { done, value } = await reading.pages.next().catch((error: unknown) => {
        // An iterator that has thrown would seem to be at its end.
        this.#readings.delete(host);
        throw error;
      });
      if (done === true) return this.#end(host, reading);
      const said = value.map(({ share }) => [share.ownerKey, share] as const);
      this.#options.shares.takeShares(host, said);
      for (const [ownerKey] of said) reading.seen.add(ownerKey);
    } while (performance.now() < deadline);
  }

  #begin(host: string, place: string): Reading {
    const pages = this.#options.store.usage(host)[Symbol.asyncIterator]();
    const reading = { place, pages, seen: new Set<string>() };
    this.#readings.set(host, reading);
    return reading;
  }

  /** Ends a read: deletes the usage of owners that it did not find. Later changes come after its position. */
  async #end(host: string, { place, seen }: Pick<Reading, 'place' | 'seen'>): Promise<void> {
    this.#readings.delete(host);
    const { shares } = this.#options;
    const gone: string[] = [];
    await shares.lookThrough(share => {
      if (share.host === host && !seen.has(share.ownerKey)) gone.push(share.ownerKey);
    });
    await inSlices(gone, ownerKey => shares.takeShares(host, [[ownerKey, null]]));
    this.#known.set(host, place);
  }

  async #goOn(
    host: string,
    { epoch, number: from }: { readonly epoch: string; readonly number: number },
    deadline: number,
  ): Promise<void> {
    let number = from;
    let isMore: boolean;
    do {
      const changes = await this.#options.store.usageAfter(host, number);
      this.#options.shares.takeShares(host, changes.shares);
      ({ number, isMore } = changes);
    } while (isMore && performance.now() < deadline);
    if (isMore) this.#isBehind = true;
    this.#known.set(host, `${epoch} ${number}`);
  }
}
