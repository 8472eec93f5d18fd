/**
 * The usage of owners on other hosts, as this host knows it: what a host told since, or all of it, some
 * owners at a time.
 *
 * A host whose word the store has lost counts as it last told, until it tells anew or is forgotten.
 */

import type { UsageShares } from '../ledger/index.ts';
import { inSlices } from '../slices.ts';
import { placeIn, type SharedStore, type ToldShare } from '../store/index.ts';

interface UsageReaderOptions {
  readonly shares: Pick<UsageShares, 'lookThrough' | 'takeShares'>;
  readonly store: Pick<SharedStore, 'usage' | 'usageAfter'>;
  /** This host. */
  readonly host: string;
}

/** A reading of all that a host told, as far as it has come. */
interface Reading {
  readonly place: string;
  readonly pages: AsyncIterator<readonly ToldShare[]>;
  /** Owners whose usage there is known here as the store has it. */
  readonly seen: Set<string>;
}

export class UsageReader {
  readonly #options: UsageReaderOptions;
  /** Place up to which each other host's word is known. */
  readonly #known = new Map<string, string>();
  readonly #readings = new Map<string, Reading>();
  /** Changes of a host are left to be read. */
  #isBehind = false;

  constructor(options: UsageReaderOptions) {
    this.#options = options;
  }

  /** Usage is left to be read. */
  get isReading(): boolean {
    return this.#readings.size > 0 || this.#isBehind;
  }

  /**
   * Takes what the hosts told up to these places, until the deadline on the monotonic clock: then the rest is
   * left to the next time. What was read in part of another server is read anew. Rejects with `store_away`.
   */
  async sync(places: ReadonlyMap<string, string>, deadline: number, isOtherServer: boolean): Promise<void> {
    this.#isBehind = false;
    // A reading goes on only where it began, and as long as there is something to be read.
    for (const host of this.#readings.keys())
      if (isOtherServer || !places.has(host)) this.#readings.delete(host);
    for (const [host, place] of places) {
      if (host === this.#options.host) continue;
      // A store that was put back may have what is known again, while another place is being read.
      if (this.#known.get(host) === place) this.#readings.delete(host);
      else if (place === 'forgotten') await this.#end(host, { place, seen: new Set() });
      else await this.#follow(host, place, deadline);
    }
  }

  async #follow(host: string, place: string, deadline: number): Promise<void> {
    const [known, now] = [placeIn(this.#known.get(host) ?? ''), placeIn(place)];
    if (known !== null && known.epoch === now?.epoch && known.number < now.number) {
      this.#readings.delete(host);
      return this.#goOn(host, known, deadline);
    }
    const reading = this.#readings.get(host) ?? this.#begin(host, place);
    // One page at least: hosts that come before must not keep the others from being read.
    do {
      const { done, value } = await reading.pages.next().catch((error: unknown) => {
        // It would pass for ended.
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

  /** Takes away who was not seen, at the end of a reading; later changes are told after its place. */
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
