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
import type { LargeUnit, ShareRecord, UnitRecord, WriteBehind } from '../store/index.ts';
import type { Account } from './account.ts';
import { unitCountIn } from './source-share.ts';
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
  /**
   * In milliseconds since 1970. Of a unit of another host: when the oldest there was walked; null without
   * any.
   */
  readonly measuredAt: number | null;
}

/** The usage on a host, as far as it is known here. */
interface StoredOnHost {
  readonly owners: number;
  readonly bytes: number;
  /**
   * The newest that was said of when something was walked there, in milliseconds since 1970; null: nothing
   * was.
   */
  readonly measuredAt: number | null;
}

interface UsageSharesOptions {
  readonly usage: UsageIndex;
  readonly writeBehind: Pick<WriteBehind, 'note'>;
  readonly host: string;
  /** An owner's units in what sources put, the largest `most` of each source. */
  sourceUnits(account: Account, leaves: readonly Leaf[], most: number): Promise<readonly SourceUnit[]>;
}

export class UsageShares {
  readonly #options: UsageSharesOptions;
  #isStale: () => boolean = () => false;

  constructor(options: UsageSharesOptions) {
    this.#options = options;
  }

  /** From now on what others store may be out of date where `isStale` says so. */
  shareWith({ isStale }: { isStale(): boolean }): void {
    this.#isStale = isStale;
  }

  /** This host has its quota for itself: what is stored on others counts no more. */
  standAlone(): void {
    const told = [...this.#options.usage.accountsWithMore].map(({ ownerKey }) => ownerKey);
    for (const ownerKey of told) this.takeShares(ownerKey, [], () => false);
  }

  get isStale(): boolean {
    return this.#isStale();
  }

  get ownerKeys(): readonly string[] {
    return [...this.#options.usage.owners.all].map(({ key }) => key);
  }

  /**
   * Gives what this host has to say of these owners, in their order; null: it stores nothing here, or more
   * than can be added up. The units that sources put are read for it.
   */
  async sharesOf(ownerKeys: readonly string[]): Promise<readonly (ShareRecord | null)[]> {
    const { usage } = this.#options;
    const reported = new Map<string, readonly LargeUnit[]>();
    for (const ownerKey of ownerKeys) {
      const account = usage.accountByKey(ownerKey);
      if (account === undefined || account.sources.length === 0) continue;
      reported.set(ownerKey, await this.#options.sourceUnits(account, leaves, mostUnitsTold));
    }
    const shares: (ShareRecord | null)[] = [];
    await inSlices(ownerKeys, ownerKey => shares.push(this.#shareOf(ownerKey, reported.get(ownerKey) ?? [])));
    return shares;
  }

  #shareOf(ownerKey: string, reported: readonly LargeUnit[]): ShareRecord | null {
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
      largest: largestOf([...account.units, ...reported]),
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
    const { shares, sources } = account;
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
      units: ofLeaves(account.units, reported, shares, of),
      more: beyond.reduce((sum, units) => sum + units, 0),
    };
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
      const own = this.#shareOf(ownerKey, []);
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
    for (const { shares } of this.#options.usage.accountsWithMore) yield* shares;
  }

  /** The other hosts that count here. */
  get others(): ReadonlySet<string> {
    const hosts = new Set<string>();
    for (const { shares } of this.#options.usage.accountsWithMore)
      for (const { host } of shares) hosts.add(host);
    return hosts;
  }

  /** All that other hosts say of an owner now; what `isHeld` hosts said before stays. */
  takeShares(ownerKey: string, shares: readonly ShareRecord[], isHeld: (host: string) => boolean): void {
    const { usage, writeBehind, host: ownHost } = this.#options;
    const account = shares.length > 0 ? this.#openedAccount(ownerKey) : usage.accountByKey(ownerKey);
    if (account === undefined) return;
    const present = new Map(shares.map(share => [share.host, share]));
    present.delete(ownHost);
    const goneShares: { ownerKey: string; host: string }[] = [];
    for (const before of [...account.shares]) {
      const now = present.get(before.host);
      if (isDeepStrictEqual(before, now)) present.delete(before.host);
      if (now !== undefined || isHeld(before.host)) continue;
      account.takeShare(before.host);
      goneShares.push({ ownerKey, host: before.host });
    }
    for (const share of present.values()) account.putShare(share);
    if (present.size > 0 || goneShares.length > 0) {
      writeBehind.note({ shares: [...present.values()], goneShares });
    }
  }

  /** Undefined: there is no such owner. */
  #openedAccount(ownerKey: string): Account | undefined {
    const { usage } = this.#options;
    const owner = usage.owners.byKey(ownerKey);
    return owner === undefined ? undefined : usage.open(owner);
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
  of: readonly Leaf[],
): Generator<KnownUnit> {
  for (const unit of units) if (of.includes(unit.leaf)) yield { ...unit, source: null };
  yield* reported;
  for (const { host, largest, partial, measuredAt } of shares) {
    for (const unit of largest) {
      if (of.includes(unit.leaf)) yield { ...unit, host, source: null, files: null, partial, measuredAt };
    }
  }
}
