/**
 * Usage where several hosts share one quota: what this host says of its own, and what it knows of the
 * others'.
 *
 * The word of others counts at once and is written behind into this host's own store, so that it is known at
 * the next start whether or not the shared one can be reached.
 */

import { isDeepStrictEqual } from 'node:util';
import { SoftquotaError } from '../errors.ts';
import { type Leaf, leaves, type Usage } from '../quota/index.ts';
import { inSlices } from '../slices.ts';
import type { LargeUnit, SharedStore, ShareRecord, UnitRecord, WriteBehind } from '../store/index.ts';
import { type Account, unitCountIn } from './account.ts';
import type { Clock } from './options.ts';
import type { SourceUnit } from './unit-sources.ts';
import type { UsageIndex } from './usage-index.ts';

/** Number of an owner's units that are reported to other hosts. */
const mostUnitsTold = 20;

/** A unit as far as it is known here. */
export interface KnownUnit extends LargeUnit {
  readonly host: string;
  /** The name of the source that reported it with its whole set; null for all others. */
  readonly source: string | null;
  /** Null for a unit of another host. */
  readonly files: number | null;
  /** Tells whether there is such a unit on another host. */
  readonly partial: boolean;
  /** Milliseconds since 1970. Another host's unit: the oldest walk there; null without any. */
  readonly measuredAt: number | null;
}

/** The usage on a host, as far as it is known here. */
interface StoredOnHost {
  readonly owners: number;
  readonly bytes: number;
  /** When something was walked there last, by what was said, in milliseconds since 1970; null: never. */
  readonly measuredAt: number | null;
}

/** The largest units of owners on other hosts, as far as these told. Rejects with `store_away`. */
type UnitsElsewhere = Pick<SharedStore, 'allLargest' | 'largestUnits'>;

/** This host's word on an owner. */
interface ToldUsage {
  readonly share: ShareRecord;
  readonly largest: readonly LargeUnit[];
}

interface SharedWith {
  isStale(): boolean;
  countApart(): number;
  readonly elsewhere: UnitsElsewhere;
}

interface UsageSharesOptions {
  readonly usage: UsageIndex;
  readonly writeBehind: Pick<WriteBehind, 'note'>;
  readonly host: string;
  readonly clock: Clock;
  /** An owner's units in what sources put, the largest `most` of each source. */
  sourceUnits(account: Account, leaves: readonly Leaf[], most: number): Promise<readonly SourceUnit[]>;
}

export class UsageShares {
  readonly #options: UsageSharesOptions;
  #isStale: () => boolean = () => false;
  #countApart: () => number = () => 1;
  #elsewhere: UnitsElsewhere | null = null;

  constructor(options: UsageSharesOptions) {
    this.#options = options;
  }

  /**
   * From now on what others store may be out of date where `isStale` says so, `countApart` counts those that
   * do not hear of each other, and they are asked for their largest units.
   */
  shareWith({ isStale, countApart, elsewhere }: SharedWith): void {
    this.#isStale = isStale;
    this.#countApart = countApart;
    this.#elsewhere = elsewhere;
  }

  /** This host has its quota for itself: what is stored on others counts no more. */
  standAlone(): void {
    for (const { ownerKey, host } of [...this.everyShareOfOthers()])
      this.takeShares(host, [[ownerKey, null]]);
  }

  get isStale(): boolean {
    return this.#isStale();
  }

  /** The number of hosts while they do not hear of each other; 1 while they do. */
  get hostsApart(): number {
    return this.#countApart();
  }

  /**
   * Gives what this host has to say of these owners, in their order; null: it stores nothing here, or more
   * than can be added up. The units that sources put are read for it.
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
   * An owner's units of these leaves, as they come: all that this host knows of, the largest `most` of each
   * source, and the larger ones of other hosts. `more`: how many the sources have besides.
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

  /** None while the store is away. */
  async #largestOn(
    ownerKey: string,
    shares: readonly ShareRecord[],
  ): Promise<ReadonlyMap<string, readonly LargeUnit[]>> {
    if (this.#elsewhere === null || shares.length === 0) return new Map();
    const hosts = shares.map(({ host }) => host);
    return this.#elsewhere.largestUnits(ownerKey, hosts).catch((error: unknown) => {
      if (error instanceof SoftquotaError && error.code === 'store_away') return new Map();
      throw error;
    });
  }

  /** The largest units of all owners on other hosts, some at a time. Rejects with `store_away`. */
  async *largestOfOthers(): AsyncGenerator<
    readonly { readonly ownerKey: string; readonly host: string; readonly units: readonly LargeUnit[] }[]
  > {
    if (this.#elsewhere === null) return;
    for (const host of this.others) {
      for await (const page of this.#elsewhere.allLargest(host)) {
        yield page.map(([ownerKey, units]) => ({ ownerKey, host, units }));
      }
    }
  }

  /** Units of an owner, largest first. */
  async unitsOf(ownerName: string, asked: { readonly most: number }): Promise<readonly KnownUnit[]> {
    const { units } = await this.someUnitsOf(ownerName, asked);
    return [...units].sort((a, b) => b.bytes - a.bytes);
  }

  /** Number of units of an owner, on all hosts. */
  unitCountOf(ownerName: string): number {
    return this.#options.usage.account(ownerName)?.unitCount ?? 0;
  }

  /** Number of owners who store something on each host, and the sum of their bytes. */
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

  /** Gives the usage on other hosts, as far as it is known here. */
  *everyShareOfOthers(): Generator<ShareRecord> {
    for (const { shares } of this.#options.usage.accounts) yield* shares;
  }

  /** Calls with all usage on other hosts, in slices. */
  async lookThrough(look: (share: ShareRecord) => void): Promise<void> {
    await inSlices(this.#options.usage.accounts, ({ shares }) => {
      for (const share of shares) look(share);
    });
  }

  /** The other hosts that count here. */
  get others(): ReadonlySet<string> {
    const hosts = new Set<string>();
    for (const { host } of this.everyShareOfOthers()) hosts.add(host);
    return hosts;
  }

  /** Takes what another host says of owners now; null: it stores nothing of that one. */
  takeShares(host: string, said: Iterable<readonly [ownerKey: string, share: ShareRecord | null]>): void {
    const { usage, writeBehind, host: ownHost } = this.#options;
    if (host === ownHost) return;
    const shares: ShareRecord[] = [];
    const goneShares: Pick<ShareRecord, 'ownerKey' | 'host'>[] = [];
    for (const [ownerKey, share] of said) {
      const account = share === null ? usage.accountByKey(ownerKey) : this.#openedAccount(ownerKey);
      const before = account === undefined ? undefined : [...account.shares].find(one => one.host === host);
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

  /** An owner whom nobody put on record yet is known by the key until then. */
  #openedAccount(ownerKey: string): Account {
    const { usage, clock, writeBehind } = this.#options;
    const known = usage.owners.byKey(ownerKey);
    if (known !== undefined) return usage.open(known);
    const owner = usage.owners.add(usage.owners.expect(ownerKey, clock.wall()));
    writeBehind.note({ owners: [owner] });
    return usage.open(owner);
  }
}

/** Without the leaves that have nothing. */
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

/** `reported` are of these leaves; all others are looked at. */
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
