/**
 * Sources: programs that report units in whole sets, each set in place of the one before.
 *
 * A set is kept first and counts then, an owner at a time, each owner's figures at once. Only sums are in
 * memory; the units themselves stay in the store. A set that becomes older than its source said it may makes
 * the figures of its owners stale.
 */

import { SoftquotaError } from '../errors.ts';
import { type Leaf, leafIndex, noUsage, type Usage } from '../quota/index.ts';
import { SerialQueue } from '../serial-queue.ts';
import { inSlices } from '../slices.ts';
import type { LargeUnit, UnitSetRecord, UnitSourceStore, UnitSum } from '../store/index.ts';
import { printable } from '../text/index.ts';
import { type Account, type SourceShare, type UnitSource, unitCountIn } from './account.ts';
import type { LedgerParts } from './options.ts';
import { mustFit } from './reports.ts';
import { forgeSource } from './usage-index.ts';

export interface SourceUnit extends LargeUnit {
  readonly source: UnitSource;
}

/** A source with what it reported. */
export interface SourceReport extends UnitSource {
  readonly units: number;
  readonly owners: number;
  /** At most 2^53 - 1. */
  readonly bytes: number;
  /** It is older than it may become. */
  readonly isStale: boolean;
}

/** The names of an owner before and after. */
export interface OwnerRename {
  readonly from: string;
  readonly to: string;
}

type SourceState = Omit<SourceReport, 'isStale'>;

interface UnitSourcesOptions extends LedgerParts {
  /** Undefined: no program can put anything. */
  readonly store: UnitSourceStore | undefined;
  readonly foldCase: boolean;
  /** The owner's account; where there is none it is opened, and kept. */
  accountFor(ownerName: string): Account;
}

/** Each takes room in every answer that lists them. */
const mostSources = 100;
/** Units of a set that a program puts; a forge has a few for each of its owners. */
const mostUnits = 100_000;
const lookEveryMs = 5000;

export class UnitSources {
  readonly #options: UnitSourcesOptions;
  readonly #held = new Map<string, SourceState>();
  /** Names of sources that are being changed, and since when. */
  readonly #busy = new Map<string, number>();
  /** Names of those that were told to be stale. */
  readonly #stale = new Set<string>();
  /** Sets that are whole come into force one after the other. */
  readonly #changes = new SerialQueue();
  readonly #look: NodeJS.Timeout;

  constructor(options: UnitSourcesOptions) {
    this.#options = options;
    this.#look = setInterval(() => this.#tellStale(), lookEveryMs).unref();
  }

  /** Takes what the store kept. Rejects with `store_refused`. */
  async load(): Promise<void> {
    for (const { set, sums } of (await this.#options.store?.load()) ?? []) {
      await this.#bringIntoForce(await this.#sharesOf(set, sums));
    }
  }

  get list(): readonly SourceReport[] {
    const reports = [...this.#held.values()].map(held => this.#reportOf(held));
    return reports.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  report(name: string): SourceReport | undefined {
    const held = this.#held.get(name);
    return held === undefined ? undefined : this.#reportOf(held);
  }

  /** Tells whether some set is older than its source said it may become. */
  get isStale(): boolean {
    return this.list.some(({ isStale }) => isStale);
  }

  /** Tells whether some of an owner's figures are older than their source said they may become. */
  makesStale({ sources }: Account): boolean {
    return sources.some(({ source }) => this.#isStale(source));
  }

  usageOf(name: string, ownerName: string): Usage {
    return this.#options.usage.account(ownerName)?.sourceShare(name)?.bytes ?? noUsage;
  }

  /** An owner's units in all sets, the largest `most` of each; what cannot be read is left out. */
  async unitsOf(
    { ownerKey, sources }: Account,
    leaves: readonly Leaf[],
    most: number,
  ): Promise<readonly SourceUnit[]> {
    const { store, foldCase, log } = this.#options;
    const found: SourceUnit[] = [];
    for (const { source } of sources) {
      try {
        const query = { source: source.name, ownerKey, foldCase, leaves, most };
        for (const unit of (await store?.units(query)) ?? []) found.push({ ...unit, source });
      } catch (error) {
        log.warn({ err: error, source: source.name }, 'the units that a source reported cannot be read');
      }
    }
    return found;
  }

  /**
   * Puts a set in place of all that the source ever reported; `body` is its lines. Rejects with
   * `bad_parameter` (naming the line), `too_large`, `sum_too_large`, `conflict` while another set of this
   * source is under way, `store_away`, or as the body does: then nothing is changed.
   */
  put(name: string, staleAfterMs: number, body: AsyncIterable<Uint8Array>): Promise<SourceReport> {
    return this.#alone(name, async store => {
      if (!this.#held.has(name) && this.#held.size >= mostSources) {
        const message = `there are ${mostSources} sources already: delete one that no longer reports`;
        throw new SoftquotaError('conflict', message);
      }
      const most = name === forgeSource ? Number.POSITIVE_INFINITY : mostUnits;
      const writer = await store.begin({ source: name, foldCase: this.#options.foldCase, most });
      try {
        for await (const chunk of body) await writer.take(chunk);
        const sums = await writer.finish();
        const set = { source: name, reportedAt: this.#options.clock.wall(), staleAfterMs };
        return await this.#changes.run(async () => {
          const shares = await this.#sharesOf(set, sums);
          await this.#mustFit(name, shares);
          await writer.keep(set);
          return this.#reportOf(await this.#bringIntoForce(shares));
        });
      } catch (error) {
        await writer.discard();
        throw error;
      }
    });
  }

  /** Has figures of a source count under other names until its next set comes; names may be exchanged. */
  move(name: string, renames: readonly OwnerRename[]): void {
    const moved = renames.flatMap(({ from, to }) => {
      const account = this.#options.usage.account(from);
      const share = account?.sourceShare(name);
      return account === undefined || share === undefined ? [] : [{ account, share, to }];
    });
    for (const { account, share } of moved) account.takeSource(share);
    for (const { share, to } of moved) this.#options.accountFor(to).putSource(share);
  }

  /** Takes a source out with all that it reported. Rejects with `not_found`, `conflict` or `store_away`. */
  remove(name: string): Promise<void> {
    return this.#alone(name, async store => {
      if (!this.#held.has(name))
        throw new SoftquotaError('not_found', `there is no source ${printable(name)}`);
      await this.#changes.run(async () => {
        await store.remove(name);
        this.#held.delete(name);
        this.#stale.delete(name);
        await this.#sweep(name, null);
      });
    });
  }

  /** Ends once what is whole is in force. */
  async close(): Promise<void> {
    clearInterval(this.#look);
    await this.#changes.idle();
  }

  async #alone<T>(name: string, act: (store: UnitSourceStore) => Promise<T>): Promise<T> {
    const { store, clock } = this.#options;
    if (store === undefined)
      throw new SoftquotaError('not_ready', 'there is no store for the reports of sources');
    const since = this.#busy.get(name);
    if (since !== undefined) {
      const when = new Date(since).toISOString();
      const message = `${printable(name)} is being changed since ${when}: try again later`;
      throw new SoftquotaError('conflict', message);
    }
    this.#busy.set(name, clock.wall());
    try {
      return await act(store);
    } finally {
      this.#busy.delete(name);
    }
  }

  /** Adds up sums by the owners' keys, as names compare now. */
  async #sharesOf(set: UnitSetRecord, sums: readonly UnitSum[]): Promise<NewShares> {
    const source = { name: set.source, reportedAt: set.reportedAt, staleAfterMs: set.staleAfterMs };
    const shares = new Map<string, { owner: string; source: UnitSource; bytes: number[]; units: number[] }>();
    await inSlices(sums, ({ owner, leaf, units, bytes }) => {
      const key = this.#options.usage.owners.keyOf(owner);
      const share = shares.get(key) ?? { owner, source, bytes: [...noUsage], units: [...noUsage] };
      shares.set(key, share);
      const index = leafIndex(leaf);
      share.bytes[index] = (share.bytes[index] ?? 0) + bytes;
      share.units[index] = (share.units[index] ?? 0) + units;
    });
    return { source, shares };
  }

  /** Throws `sum_too_large` where an owner's usage would become too large to be told. */
  async #mustFit(name: string, { shares }: NewShares): Promise<void> {
    await inSlices(shares.values(), ({ owner, bytes }) => {
      const account = this.#options.usage.account(owner);
      const growth = totalOf(bytes) - totalOf(account?.sourceShare(name)?.bytes ?? noUsage);
      mustFit(
        account,
        growth,
        `with what is reported of ${printable(owner)} the usage would pass 2^53 - 1 bytes`,
      );
    });
  }

  async #bringIntoForce({ source, shares }: NewShares): Promise<SourceState> {
    const { log } = this.#options;
    let [units, bytes] = [0, 0];
    await inSlices(shares.values(), share => {
      this.#options.accountFor(share.owner).putSource(share);
      units += unitCountIn(share);
      bytes = Math.min(bytes + totalOf(share.bytes), Number.MAX_SAFE_INTEGER);
    });
    await this.#sweep(source.name, source);
    const held: SourceState = { ...source, units, owners: shares.size, bytes };
    this.#held.set(source.name, held);
    if (this.#stale.delete(source.name)) log.info({ source: source.name }, 'a source reports again');
    return held;
  }

  /** Takes out what is not of this set. */
  async #sweep(name: string, present: UnitSource | null): Promise<void> {
    await inSlices(this.#options.usage.accounts, account => {
      const share = account.sourceShare(name);
      if (share !== undefined && share.source !== present) account.takeSource(share);
    });
  }

  #isStale({ reportedAt, staleAfterMs }: UnitSource): boolean {
    return this.#options.clock.wall() - reportedAt > staleAfterMs;
  }

  #tellStale(): void {
    for (const source of this.#held.values()) {
      if (this.#stale.has(source.name) || !this.#isStale(source)) continue;
      this.#stale.add(source.name);
      const reportedAt = new Date(source.reportedAt).toISOString();
      this.#options.log.warn(
        { source: source.name, reportedAt },
        'what a source reported is older than it may become: its figures are stale',
      );
    }
  }

  #reportOf(held: SourceState): SourceReport {
    return { ...held, isStale: this.#isStale(held) };
  }
}

interface NewShares {
  readonly source: UnitSource;
  readonly shares: ReadonlyMap<string, SourceShare & { readonly owner: string }>;
}

function totalOf(bytes: Usage): number {
  return bytes.reduce((sum, each) => sum + each, 0);
}
