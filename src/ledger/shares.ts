/**
 * Usage if several hosts share one quota: reports this host's usage, and holds the usage of the other hosts.
 *
 * A report of another host counts at once, and is written behind into this host's own store. So the next
 * start knows it, even if the shared store cannot be reached.
 */

import { isDeepStrictEqual } from 'node:util';
import { SoftquotaError } from '../errors.ts';
import { type Leaf, leaves, type Usage } from '../quota/index.ts';
import type {
  LargeUnit,
  SharedStore,
  ShareRecord,
  ToldShare,
  UnitRecord,
  WriteBehind,
} from '../store/index.ts';
import { inSlices } from '../turns.ts';
import { type Account, unitCountIn } from './account.ts';
import type { Clock } from './options.ts';
import type { SourceUnit } from './unit-sources.ts';
import type { UsageIndex } from './usage-index.ts';

/** Number of an owner's units that are reported to other hosts. */
const mostUnitsTold = 20;

/** A unit on this host or another one. */
export interface KnownUnit extends LargeUnit {
  readonly host: string;
  /** The name of the source whose set has the unit; null: the unit is not from a set. */
  readonly source: string | null;
  /** Null for a unit of another host. */
  readonly files: number | null;
  /**
   * True if not measured completely. Unit of another host: true if this holds for any of the owner's there.
   */
  readonly partial: boolean;
  /** Milliseconds since 1970. Unit of another host: the owner's oldest walk there; null: none. */
  readonly measuredAt: number | null;
}

/** The usage on a host, as far as this host knows. */
interface StoredOnHost {
  readonly owners: number;
  readonly bytes: number;
  /** The latest of the owners' measuring times there, in milliseconds since 1970; null: none. */
  readonly measuredAt: number | null;
}

/** The usage of an owner that this host reports to others. */
interface ToldUsage {
  readonly share: ShareRecord;
  readonly largest: readonly LargeUnit[];
}

interface SharedWith {
  /** Tells whether the usage of the others may be out of date here. */
  isStale(): boolean;
  /** Counts the hosts that are cut off from each other. */
  countApart(): number;
  /** Reads the largest units that others have reported. Rejects with `store_away`. */
  readonly elsewhere: Pick<SharedStore, 'allLargest' | 'largestUnits'>;
}

interface UsageSharesOptions {
  readonly usage: UsageIndex;
  readonly writeBehind: Pick<WriteBehind, 'note'>;
  readonly host: string;
  readonly clock: Clock;
  /** Reads an owner's units in the sets of sources, the largest `most` of each source. */
  sourceUnits(account: Account, leaves: readonly Leaf[], most: number): Promise<readonly SourceUnit[]>;
}

export class UsageShares {
  readonly #options: UsageSharesOptions;
  /** Null: no quota is shared. */
  #sharedWith: SharedWith | null = null;

  constructor(options: UsageSharesOptions) {
    this.#options = options;
  }

  /** Sets how this host learns about the others. */
  shareWith(sharedWith: SharedWith): void {
    this.#sharedWith = sharedWith;
  }

  /** Drops the usage of other hosts, since this host no longer shares its quota. */
  standAlone(): void {
    for (const { ownerKey, host } of [...this.everyShareOfOthers()])
      this.takeShares(host, [[ownerKey, null]]);
  }

  get isStale(): boolean {
    return this.#sharedWith?.isStale() ?? false;
  }

  /** The number of hosts while they are cut off from each other; 1 while they are not. */
  get hostsApart(): number {
    return this.#sharedWith?.countApart() ?? 1;
  }

  /**
   * Returns the usage that this host reports for these owners, in their order; null: the owner stores nothing
   * here, or the bytes cannot be added up. Reads the units of sources from the store.
   */
  async toldOf(ownerKeys: readonly string[]): Promise<readonly (ToldUsage | null)[]> {
    const { usage, sourceUnits } = this.#options;
    const told: (ToldUsage | null)[] = [];
    for (const ownerKey of ownerKeys) {
      const account = usage.accountByKey(ownerKey);
      const share = this.#shareOf(ownerKey);
      if (account === undefined || share === null) {
        told.push(null);
        continue;
      }
      const reported = account.sources.length === 0 ? [] : await sourceUnits(account, leaves, mostUnitsTold);
      told.push({ share, largest: largestOf([...account.units, ...reported]) });
    }
    return told;
  }

  #shareOf(ownerKey: string): ShareRecord | null {
    const { usage: index, host } = this.#options;
    const account = index.accountByKey(ownerKey);
    if (account === undefined) return null;
    const usage = usageOf(account);
    const units = account.ownUnitCount;
    if (usage === null || (units === 0 && usage.every(bytes => bytes === 0))) return null;
    const unreachable = account.ownUnreachable;
    return {
      ownerKey,
      host,
      bytes: byLeaf(usage),
      ...(unreachable.some(bytes => bytes > 0) ? { unreachable: byLeaf(unreachable) } : {}),
      units,
      partial: account.ownPartial,
      measuredAt: account.ownMeasuredAt,
    };
  }

  /**
   * Returns an owner's units of the leaves `of`, unordered: this host's own, the largest `most` of each
   * source, and the largest on other hosts. `more` is the number of units of sources that are left out.
   */
  async someUnitsOf(
    ownerName: string,
    { of = leaves, most }: { readonly of?: readonly Leaf[]; readonly most: number },
  ): Promise<{ readonly units: Iterable<KnownUnit>; readonly more: number }> {
    const { usage, host, sourceUnits } = this.#options;
    const account = usage.account(ownerName);
    if (account === undefined) return { units: [], more: 0 };
    const { sources } = account;
    const shares = [...account.shares].filter(({ bytes }) => of.some(leaf => (bytes[leaf] ?? 0) > 0));
    const elsewhere = await this.#largestOn(account.ownerKey, shares);
    const reported = (await sourceUnits(account, of, most)).map(({ source, ...unit }) => ({
      ...unit,
      host,
      source: source.name,
      files: 0,
      partial: false,
      measuredAt: source.reportedAt,
    }));
    const beyond = sources.map(share => Math.max(0, unitCountIn(share, of) - most));
    return {
      units: ofLeaves(account.units, reported, shares, elsewhere, of),
      more: beyond.reduce((sum, units) => sum + units, 0),
    };
  }

  /** Returns no units while the store is away. */
  async #largestOn(
    ownerKey: string,
    shares: readonly ShareRecord[],
  ): Promise<ReadonlyMap<string, readonly LargeUnit[]>> {
    if (this.#sharedWith === null || shares.length === 0) return new Map();
    const hosts = shares.map(({ host }) => host);
    return this.#sharedWith.elsewhere.largestUnits(ownerKey, hosts).catch((error: unknown) => {
      if (error instanceof SoftquotaError && error.code === 'store_away') return new Map();
      throw error;
    });
  }

  /** Yields the largest units of all owners on other hosts, in pages. Rejects with `store_away`. */
  async *largestOfOthers(): AsyncGenerator<
    readonly { readonly ownerKey: string; readonly host: string; readonly units: readonly LargeUnit[] }[]
  > {
    if (this.#sharedWith === null) return;
    for (const host of this.others) {
      for await (const page of this.#sharedWith.elsewhere.allLargest(host)) {
        yield page.map(([ownerKey, units]) => ({ ownerKey, host, units }));
      }
    }
  }

  /** Returns the units that `someUnitsOf` finds, largest first. */
  async unitsOf(ownerName: string, asked: { readonly most: number }): Promise<readonly KnownUnit[]> {
    const { units } = await this.someUnitsOf(ownerName, asked);
    return [...units].sort((a, b) => b.bytes - a.bytes);
  }

  /** Returns for each host the number of owners who store something there, and the sum of their bytes. */
  async storedByHost(): Promise<ReadonlyMap<string, StoredOnHost>> {
    const { usage } = this.#options;
    const stored = new Map<string, { owners: number; bytes: number; measuredAt: number | null }>();
    await inSlices(usage.accounts, ({ ownerKey, shares }) => {
      const own = this.#shareOf(ownerKey);
      for (const { host, bytes, measuredAt } of own === null ? shares : [own, ...shares]) {
        const sum = stored.get(host) ?? { owners: 0, bytes: 0, measuredAt: null };
        sum.owners += 1;
        if (measuredAt !== null) sum.measuredAt = Math.max(measuredAt, sum.measuredAt ?? measuredAt);
        for (const leaf of leaves) sum.bytes += bytes[leaf] ?? 0;
        stored.set(host, sum);
      }
    });
    return stored;
  }

  /** Yields the usage of all owners on other hosts. */
  *everyShareOfOthers(): Generator<ShareRecord> {
    for (const { shares } of this.#options.usage.accounts) yield* shares;
  }

  /** Calls `look` with each usage on another host, in slices. */
  async lookThrough(look: (share: ShareRecord) => void): Promise<void> {
    await inSlices(this.#options.usage.accounts, ({ shares }) => {
      for (const share of shares) look(share);
    });
  }

  /** The other hosts with usage of an owner. */
  get others(): ReadonlySet<string> {
    const hosts = new Set<string>();
    for (const { host } of this.everyShareOfOthers()) hosts.add(host);
    return hosts;
  }

  /** Tells whether some usage on another host counts here. */
  countsFrom(host: string): boolean {
    for (const share of this.everyShareOfOthers()) if (share.host === host) return true;
    return false;
  }

  /** Replaces the usage that another host reported for owners; null: it stores nothing of the owner. */
  takeShares(host: string, said: Iterable<ToldShare>): void {
    const { usage, writeBehind, host: ownHost } = this.#options;
    if (host === ownHost) return;
    const shares: ShareRecord[] = [];
    const goneShares: Pick<ShareRecord, 'ownerKey' | 'host'>[] = [];
    for (const [ownerKey, share, ownerName] of said) {
      const account =
        share === null ? usage.accountByKey(ownerKey) : this.#openedAccount(ownerKey, ownerName);
      const before = account?.shares.find(one => one.host === host);
      if (account === undefined || isDeepStrictEqual(before ?? null, share)) continue;
      if (share === null) {
        account.takeShare(host);
        goneShares.push({ ownerKey, host });
      } else {
        account.putShare(share);
        shares.push(share);
      }
    }
    if (shares.length + goneShares.length > 0) writeBehind.note({ shares, goneShares });
  }

  /** Returns the owner's account. Adds an unknown owner, with the key as name if the name is not known. */
  #openedAccount(ownerKey: string, ownerName = ownerKey): Account {
    const { usage, clock, writeBehind } = this.#options;
    const known = usage.owners.byKey(ownerKey);
    if (known !== undefined) return usage.open(known);
    const name = usage.owners.keyOf(ownerName) === ownerKey ? ownerName : ownerKey;
    const owner = usage.owners.add(usage.owners.expect(name, clock.wall()));
    writeBehind.note({ owners: [owner] });
    return usage.open(owner);
  }
}

/** Returns bytes by leaf, without leaves of 0 bytes. */
function byLeaf(usage: Usage): ShareRecord['bytes'] {
  return Object.fromEntries(leaves.flatMap((leaf, index) => (usage[index] ? [[leaf, usage[index]]] : [])));
}

function usageOf(account: Account): Usage | null {
  try {
    return account.ownUsage;
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'sum_too_large') return null;
    throw error;
  }
}

function largestOf(units: readonly LargeUnit[]): readonly LargeUnit[] {
  return units
    .toSorted((a, b) => b.bytes - a.bytes)
    .slice(0, mostUnitsTold)
    .map(({ kind, name, leaf, bytes }) => ({ kind, name, leaf, bytes }));
}

/** Yields the units of the leaves `of`; `reported` has only such units already. */
function* ofLeaves(
  units: Iterable<UnitRecord>,
  reported: readonly KnownUnit[],
  shares: Iterable<ShareRecord>,
  elsewhere: ReadonlyMap<string, readonly LargeUnit[]>,
  of: readonly Leaf[],
): Generator<KnownUnit> {
  for (const unit of units) if (of.includes(unit.leaf)) yield { ...unit, source: null };
  yield* reported;
  for (const { host, partial, measuredAt } of shares) {
    for (const unit of elsewhere.get(host) ?? []) {
      if (of.includes(unit.leaf)) yield { ...unit, host, source: null, files: null, partial, measuredAt };
    }
  }
}
