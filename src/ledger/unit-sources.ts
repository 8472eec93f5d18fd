/**
 * Sources: programs that report units in whole sets. Each set replaces the source's earlier one.
 *
 * A set is written first, and then counts, one owner after the other. Only sums are in memory; the units stay
 * in the store. The source states how old its set may become; a set older than that makes the figures of its
 * owners stale.
 */

import { SoftquotaError } from '../errors.ts';
import { type Leaf, leafIndex, noUsage, totalOf, type Usage } from '../quota/index.ts';
import type { LargeUnit, UnitSetRecord, UnitSourceStore, UnitSum } from '../store/index.ts';
import { printable } from '../text.ts';
import { inSlices, SerialQueue } from '../turns.ts';
import { type Account, type SourceShare, type UnitSource, unitCountIn } from './account.ts';
import type { LedgerParts } from './options.ts';
import { mustFit } from './reports.ts';
import { forgeSource } from './usage-index.ts';

export interface SourceUnit extends LargeUnit {
  readonly source: UnitSource;
}

/** A source with the totals of its set. */
export interface SourceReport extends UnitSource {
  readonly units: number;
  readonly owners: number;
  /** At most 2^53 - 1. */
  readonly bytes: number;
  /** True if the set is older than its source allows. */
  readonly isStale: boolean;
}

/** The names of an owner before and after. */
export interface OwnerRename {
  readonly from: string;
  readonly to: string;
}

type SourceState = Omit<SourceReport, 'isStale'>;

interface UnitSourcesOptions extends LedgerParts {
  /** Undefined: every set is refused. */
  readonly store: UnitSourceStore | undefined;
  readonly foldCase: boolean;
  /** Returns the owner's account; adds it, and an unknown owner, if missing. */
  accountFor(ownerName: string): Account;
}

/** Limited, since each source takes room in every answer that lists them. */
const mostSources = 100;
/** Most units in a set. The forge's set has no limit, since it has a few units for each owner. */
const mostUnits = 100_000;

export class UnitSources {
  readonly #options: UnitSourcesOptions;
  readonly #held = new Map<string, SourceState>();
  /** The sources that are being changed, by name, with the time at which the change began. */
  readonly #busy = new Map<string, number>();
  /** Complete sets take effect one after the other. */
  readonly #changes = new SerialQueue();

  constructor(options: UnitSourcesOptions) {
    this.#options = options;
  }

  /** Loads the sets of the store. Rejects with `store_refused`. */
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

  /** True if a set is older than its source allows. */
  get isStale(): boolean {
    return this.list.some(({ isStale }) => isStale);
  }

  /** Tells whether an owner has figures that are older than their source allows. */
  makesStale({ sources }: Account): boolean {
    return sources.some(({ source }) => this.#isStale(source));
  }

  usageOf(name: string, ownerName: string): Usage {
    return this.#options.usage.account(ownerName)?.sourceShare(name)?.bytes ?? noUsage;
  }

  /** Reads an owner's units in all sets, the largest `most` of each; leaves out sets that cannot be read. */
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
   * Replaces the source's set; `body` has the lines of the new one. Rejects with `bad_parameter` (naming the
   * line), `too_large`, `sum_too_large`, `conflict` (another set of this source is under way, or there are
   * too many sources), `not_ready` (no store), `store_away`, or as the body does: then nothing is changed.
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

  /** Moves figures of a source to renamed owners, until its next set comes. Two owners may swap names. */
  move(name: string, renames: readonly OwnerRename[]): void {
    const moved = renames.flatMap(({ from, to }) => {
      const account = this.#options.usage.account(from);
      const share = account?.sourceShare(name);
      return account === undefined || share === undefined ? [] : [{ account, share, to }];
    });
    for (const { account, share } of moved) account.takeSource(share);
    for (const { share, to } of moved) this.#options.accountFor(to).putSource(share);
  }

  /** Removes a source and its set. Rejects with `not_found`, `conflict`, `not_ready` or `store_away`. */
  remove(name: string): Promise<void> {
    return this.#alone(name, async store => {
      if (!this.#held.has(name))
        throw new SoftquotaError('not_found', `there is no source ${printable(name)}`);
      await this.#changes.run(async () => {
        await store.remove(name);
        this.#held.delete(name);
        await this.#sweep(name, null);
      });
    });
  }

  /** Resolves once all complete sets are in effect. */
  async close(): Promise<void> {
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

  /** Adds up the sums by owner key; names that the store has apart may have one key now. */
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

  /** Throws `sum_too_large` if an owner's usage would pass 2^53 - 1 bytes. */
  async #mustFit(name: string, { shares }: NewShares): Promise<void> {
    await inSlices(shares.values(), ({ owner, bytes }) => {
      const account = this.#options.usage.account(owner);
      const before = account?.sourceShare(name)?.bytes ?? noUsage;
      const growth = bytes.reduce((sum, each, leaf) => sum + each - (before[leaf] ?? 0), 0);
      mustFit(
        account,
        growth,
        `with what is reported of ${printable(owner)} the usage would pass 2^53 - 1 bytes`,
      );
    });
  }

  async #bringIntoForce({ source, shares }: NewShares): Promise<SourceState> {
    let [units, bytes] = [0, 0];
    await inSlices(shares.values(), share => {
      this.#options.accountFor(share.owner).putSource(share);
      units += unitCountIn(share);
      bytes = Math.min(bytes + totalOf(share.bytes), Number.MAX_SAFE_INTEGER);
    });
    await this.#sweep(source.name, source);
    const held: SourceState = { ...source, units, owners: shares.size, bytes };
    this.#held.set(source.name, held);
    return held;
  }

  /** Removes the source's figures that are not from the set of `present`. */
  async #sweep(name: string, present: UnitSource | null): Promise<void> {
    await inSlices(this.#options.usage.accounts, account => {
      const share = account.sourceShare(name);
      if (share !== undefined && share.source !== present) account.takeSource(share);
    });
  }

  #isStale({ reportedAt, staleAfterMs }: UnitSource): boolean {
    return this.#options.clock.wall() - reportedAt > staleAfterMs;
  }

  #reportOf(held: SourceState): SourceReport {
    return { ...held, isStale: this.#isStale(held) };
  }
}

interface NewShares {
  readonly source: UnitSource;
  readonly shares: ReadonlyMap<string, SourceShare & { readonly owner: string }>;
}
