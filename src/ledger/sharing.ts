/**
 * The ledger's part where several machines share one quota: what it says of this machine's usage, what it takes over
 * from others, and where it then rules and remembers.
 *
 * What is taken over counts at once and is written behind into this machine's own store, so that it is known at the
 * next start whether or not the shared one can be reached.
 */

import { isDeepStrictEqual } from 'node:util';
import { SoftquotaError } from '../errors.ts';
import { type Leaf, leaves, type Usage } from '../quota/index.ts';
import type {
  DocumentRecord,
  LargeUnit,
  OwnerRecord,
  PolicyChange,
  Policy as PolicyRecords,
  Position,
  Register,
  ShareRecord,
} from '../store/index.ts';
import type { Account } from './account.ts';
import type { Book } from './book.ts';
import { differenceBetween, type InForce, isSameOwner } from './difference.ts';
import type { Governing, SharedPolicy } from './governing.ts';
import type { Keeper } from './keeper.ts';
import { inSlices } from './slices.ts';
import { unitCountIn } from './source-share.ts';
import type { SourceUnit } from './unit-sources.ts';

/** How many of an owner's units are told to others. */
const mostUnitsTold = 20;

/** A unit as far as it is known here. */
export interface KnownUnit extends LargeUnit {
  readonly host: string;
  /** The name of the source that reported it with its whole set; null for all others. */
  readonly source: string | null;
  /** Null for a unit of another machine. */
  readonly files: number | null;
  /** Of a unit of another machine: whether any there is. */
  readonly partial: boolean;
  /** In milliseconds since 1970. Of a unit of another machine: when the oldest there was walked; null without any. */
  readonly measuredAt: number | null;
}

/** What a machine stores, as far as it is known here. */
export interface StoredOnHost {
  readonly owners: number;
  readonly bytes: number;
  /** The newest that was said of when something was walked there, in milliseconds since 1970; null: nothing was. */
  readonly measuredAt: number | null;
}

/** What leads from an older policy to the one in force. */
export interface Lacked {
  readonly change: Omit<PolicyChange, 'events'>;
  /** Those that it leads through, the one in force last. */
  readonly positions: readonly Position[];
}

/** What several machines have in common. */
export interface Shared {
  readonly policy: SharedPolicy;
  /** Where events and levels are. */
  readonly register: Pick<Register, 'events' | 'levels' | 'write'>;
  /** What others changed may be unknown here. */
  isStale(): boolean;
}

export interface SharingOptions {
  readonly book: Book;
  readonly keeper: Keeper;
  readonly governing: Governing;
  readonly host: string;
  /** An owner's units in what sources put, the largest `most` of each source. */
  sourceUnits(account: Account, leaves: readonly Leaf[], most: number): Promise<readonly SourceUnit[]>;
  /** Makes what writes behind into a register. */
  keeperFor(register: Pick<Register, 'write'>): Keeper;
}

export class Sharing {
  readonly #options: SharingOptions;
  #shared: Shared | null = null;
  #keeper: Keeper | null = null;

  constructor(options: SharingOptions) {
    this.#options = options;
  }

  /** Where events and levels are; null: this machine has its quota for itself. */
  get register(): Pick<Register, 'events' | 'levels'> | null {
    return this.#shared?.register ?? null;
  }

  /** What writes events and levels behind. */
  get keeper(): Keeper {
    return this.#keeper ?? this.#options.keeper;
  }

  /** Writes what waits. */
  async close(): Promise<void> {
    await this.#keeper?.close();
  }

  /** From now on what is ruled, and what happened, is written there. */
  join(shared: Shared): void {
    this.#shared = shared;
    this.#keeper = this.#options.keeperFor(shared.register);
    this.#options.governing.shareWith(shared.policy);
  }

  /** This machine has its quota for itself: what is stored on others counts no more. */
  standAlone(): void {
    for (const ownerKey of this.ownerKeys) this.takeShares(ownerKey, [], () => false);
  }

  get isStale(): boolean {
    return this.#shared?.isStale() ?? false;
  }

  /** Where the policy in force stands; null: none was ever taken over. */
  get position(): Position | null {
    return this.#options.governing.position;
  }

  /** Nothing is laid down, whatever is passing. */
  get isPolicyEmpty(): boolean {
    return this.#options.governing.isEmpty;
  }

  /** The policy in force, to be put into a shared store. */
  async policy(): Promise<PolicyRecords> {
    const { owners, documents } = this.#inForce;
    const records: DocumentRecord[] = [];
    await inSlices(documents, document => records.push(document));
    return { owners: [...owners], documents: records };
  }

  /**
   * Whether somebody else's policy lays down the same as the one in force, whoever the owners are: what is passing, such
   * as sessions, does not count, nor does what there is nothing to tell of, such as when a token was last used.
   * Rejects with `store_refused` where it cannot be read.
   */
  async isLaidDown(policy: PolicyRecords): Promise<boolean> {
    const { governing } = this.#options;
    const inForce = { owners: this.owners(), documents: governing.recordsToKeep() };
    const { documents, goneDocuments } = await differenceBetween(inForce, policy);
    return goneDocuments.length === 0 && documents.every(document => governing.changesNothing(document));
  }

  /** Every owner, in no order; may be gone through without haste. */
  *owners(): Generator<OwnerRecord> {
    for (const { owner } of this.#options.book.accounts) yield owner;
  }

  get ownerKeys(): readonly string[] {
    return [...this.#options.book.accounts].map(({ owner }) => owner.key);
  }

  owner(ownerKey: string): OwnerRecord | undefined {
    return this.#options.book.accountByKey(ownerKey)?.owner;
  }

  /**
   * What this machine has to say of these owners, in their order; null: it stores nothing here, or more than can be added up.
   * The units that sources put are read for it.
   */
  async sharesOf(ownerKeys: readonly string[]): Promise<readonly (ShareRecord | null)[]> {
    const { book } = this.#options;
    const reported = new Map<string, readonly LargeUnit[]>();
    for (const ownerKey of ownerKeys) {
      const account = book.accountByKey(ownerKey);
      if (account === undefined || account.sources.length === 0) continue;
      reported.set(ownerKey, await this.#options.sourceUnits(account, leaves, mostUnitsTold));
    }
    const shares: (ShareRecord | null)[] = [];
    await inSlices(ownerKeys, ownerKey => shares.push(this.#shareOf(ownerKey, reported.get(ownerKey) ?? [])));
    return shares;
  }

  #shareOf(ownerKey: string, reported: readonly LargeUnit[]): ShareRecord | null {
    const { book, host } = this.#options;
    const account = book.accountByKey(ownerKey);
    if (account === undefined) return null;
    const usage = usageOf(account);
    const units = account.ownUnitCount;
    if (usage === null || (units === 0 && usage.every(bytes => bytes === 0))) return null;
    return {
      ownerKey,
      host,
      bytes: Object.fromEntries(
        leaves.flatMap((leaf, index) => (usage[index] ? [[leaf, usage[index]]] : [])),
      ),
      units,
      largest: largestOf([...account.units, ...reported]),
      partial: account.ownPartial,
      measuredAt: account.ownMeasuredAt,
    };
  }

  /**
   * An owner's units of these leaves, as they come: all that this machine knows of, the largest `most` of each source, and
   * the larger ones of other machines. `more`: how many the sources have besides.
   */
  async someUnitsOf(
    ownerName: string,
    { of = leaves, most }: { readonly of?: readonly Leaf[]; readonly most: number },
  ): Promise<{ readonly units: Iterable<KnownUnit>; readonly more: number }> {
    const { book, host, sourceUnits } = this.#options;
    const account = book.account(ownerName);
    if (account === undefined) return { units: [], more: 0 };
    const reported = (await sourceUnits(account, of, most)).map(({ source, ...unit }) => ({
      ...unit,
      host,
      source: source.name,
      files: 0,
      partial: false,
      measuredAt: source.reportedAt,
    }));
    const beyond = account.sources.map(share => Math.max(0, unitCountIn(share, of) - most));
    return { units: ofLeaves(account, reported, of), more: beyond.reduce((sum, units) => sum + units, 0) };
  }

  /** The same, largest first. */
  async unitsOf(ownerName: string, asked: { readonly most: number }): Promise<readonly KnownUnit[]> {
    const { units } = await this.someUnitsOf(ownerName, asked);
    return [...units].sort((a, b) => b.bytes - a.bytes);
  }

  /** How many units an owner has, on all machines. */
  unitCountOf(ownerName: string): number {
    return this.#options.book.account(ownerName)?.unitCount ?? 0;
  }

  /** How many owners store something on each machine, and how much altogether. */
  async storedByHost(): Promise<ReadonlyMap<string, StoredOnHost>> {
    const { book } = this.#options;
    const stored = new Map<string, { owners: number; bytes: number; measuredAt: number | null }>();
    await inSlices(book.accounts, ({ owner, shares }) => {
      const own = this.#shareOf(owner.key, []);
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

  /** A change that others made. Throws `store_refused` where it cannot be read, and then nothing is changed. */
  takeOver(change: Omit<PolicyChange, 'events'>, position: Position): void {
    this.#options.governing.takeOver(change, position);
  }

  /**
   * A policy in place of the one in force, unless what is in force has come as far meanwhile. What is the same stays as it
   * is. Rejects as `takeOver` throws.
   */
  async takeOverWhole(policy: PolicyRecords, position: Position): Promise<void> {
    const { governing } = this.#options;
    for (;;) {
      const at = governing.position;
      if (at?.generation === position.generation && at.version >= position.version) return;
      const change = await differenceBetween(this.#inForce, policy);
      if (governing.position !== at) continue;
      if (await governing.takeOverInSlices(change, position)) return;
    }
  }

  /** Whether this machine has somebody of this name, or knows this one by any name. */
  knows({ key, id }: OwnerRecord): boolean {
    const { book } = this.#options;
    return book.accountByKey(key) !== undefined || book.owner(id) !== undefined;
  }

  /** The mark that a version of the policy had which led to the one in force; null: it is not known to. */
  markOf(version: number): string | null {
    return this.#options.governing.lineage.markOf(version);
  }

  /**
   * What a stored policy lacks of the one in force, where it stands at a version that this one came from; null: what is
   * in force has become another meanwhile. Owners whom others put on record since stay there.
   */
  async lackedBy({ version }: Position, stored: PolicyRecords): Promise<Lacked | null> {
    const { lineage, position } = this.#options.governing;
    const change = await differenceBetween(stored, await this.policy());
    if (this.position !== position) return null;
    const hasDeparted = lineage.departedSince(version);
    const ids = new Map(stored.owners.map(({ key, id }) => [key, id]));
    const goneOwners = change.goneOwners.filter(key => hasDeparted({ key, id: ids.get(key) ?? 0 }));
    return { change: { ...change, goneOwners }, positions: lineage.since(version) };
  }

  /** What was told of the last changes that were asked for here is told again: the store may have lost it. */
  tellAgain(): void {
    this.keeper.note({ events: this.#options.governing.recentEvents });
  }

  /** What other machines have said, as far as it is known here. */
  get sharesOfOthers(): readonly ShareRecord[] {
    return [...this.#options.book.accounts].flatMap(({ shares }) => [...shares]);
  }

  /** The other machines that count here. */
  get others(): ReadonlySet<string> {
    const hosts = new Set<string>();
    for (const { shares } of this.#options.book.accounts) for (const { host } of shares) hosts.add(host);
    return hosts;
  }

  /** Owners whom others put on record, in place of those of the same keys. */
  takeOwners(owners: readonly OwnerRecord[]): void {
    const { book, keeper } = this.#options;
    for (const owner of owners) {
      const known = book.accountByKey(owner.key)?.owner;
      if (known !== undefined && isSameOwner(owner, known)) continue;
      book.setOwner(owner);
      keeper.owner(owner);
    }
  }

  /** All that other machines say of an owner now; what `isHeld` machines said before stays. */
  takeShares(ownerKey: string, shares: readonly ShareRecord[], isHeld: (host: string) => boolean): void {
    const { book, keeper, host: ownHost } = this.#options;
    const account = book.accountByKey(ownerKey);
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
      keeper.takenOver({ shares: [...present.values()], goneShares });
    }
  }

  get #inForce(): InForce {
    return { owners: this.owners(), documents: this.#options.governing.records() };
  }
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
  account: Account,
  reported: readonly KnownUnit[],
  of: readonly Leaf[],
): Generator<KnownUnit> {
  for (const unit of account.units) if (of.includes(unit.leaf)) yield { ...unit, source: null };
  yield* reported;
  for (const { host, largest, partial, measuredAt } of account.shares) {
    for (const unit of largest) {
      if (of.includes(unit.leaf)) yield { ...unit, host, source: null, files: null, partial, measuredAt };
    }
  }
}
