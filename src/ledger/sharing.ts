/**
 * The ledger's part where several machines share one quota: what it says of this machine's usage, what it takes over
 * from others, and where it then rules and remembers.
 *
 * What is taken over counts at once and is written behind into this machine's own store, so that it is known at the
 * next start whether or not the shared one can be reached.
 */

import { SoftquotaError } from '../errors.ts';
import { leaves, type Usage } from '../quota/index.ts';
import type {
  LargeUnit,
  OwnerRecord,
  PolicyChange,
  Policy as PolicyRecords,
  Position,
  Register,
  ShareRecord,
  UnitRecord,
} from '../store/index.ts';
import type { Account } from './account.ts';
import type { Book } from './book.ts';
import type { Governing, SharedPolicy } from './governing.ts';
import type { Keeper } from './keeper.ts';

/** How many of an owner's units are told to others. */
const mostUnitsTold = 20;

/** A unit as far as it is known here. */
export interface KnownUnit extends LargeUnit {
  readonly host: string;
  /** Null for a unit of another machine. */
  readonly files: number | null;
  /** Of a unit of another machine: whether any there is. */
  readonly partial: boolean;
  /** In milliseconds since 1970. Of a unit of another machine: when the oldest there was walked; null without any. */
  readonly measuredAt: number | null;
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
    const { book } = this.#options;
    this.takeShares(
      [...book.accounts].map(({ owner }) => owner.key),
      [],
    );
  }

  get isStale(): boolean {
    return this.#shared?.isStale() ?? false;
  }

  /** Where the policy in force stands; null: none was ever taken over. */
  get position(): Position | null {
    return this.#options.governing.position;
  }

  /** Nothing is laid down. */
  get isPolicyEmpty(): boolean {
    return this.#options.governing.isEmpty;
  }

  /** The policy in force, to be put into a shared store. */
  get policy(): PolicyRecords {
    const { book, governing } = this.#options;
    return { owners: [...book.accounts].map(({ owner }) => owner), documents: governing.records };
  }

  owner(ownerKey: string): OwnerRecord | undefined {
    return this.#options.book.accountByKey(ownerKey)?.owner;
  }

  /** What this machine has to say of an owner; null: it stores nothing here, or more than can be added up. */
  shareOf(ownerKey: string): ShareRecord | null {
    const { book, host } = this.#options;
    const account = book.accountByKey(ownerKey);
    if (account === undefined) return null;
    const units = [...account.units];
    const usage = usageOf(account);
    if (usage === null || (units.length === 0 && usage.every(bytes => bytes === 0))) return null;
    return {
      ownerKey,
      host,
      bytes: Object.fromEntries(
        leaves.flatMap((leaf, index) => (usage[index] ? [[leaf, usage[index]]] : [])),
      ),
      units: units.length,
      largest: largestOf(units),
      partial: account.ownPartial,
      measuredAt: account.ownMeasuredAt,
    };
  }

  /** An owner's units, largest first: all of this machine, and the larger ones of the others. */
  unitsOf(ownerName: string): readonly KnownUnit[] {
    const account = this.#options.book.account(ownerName);
    if (account === undefined) return [];
    const elsewhere = [...account.shares].flatMap(({ host, largest, partial, measuredAt }) =>
      largest.map(unit => ({ ...unit, host, files: null, partial, measuredAt })),
    );
    return [...account.units, ...elsewhere].sort((a, b) => b.bytes - a.bytes);
  }

  /** How many owners store something on each machine, and how much altogether. */
  storedByHost(): ReadonlyMap<string, { readonly owners: number; readonly bytes: number }> {
    const { book } = this.#options;
    const stored = new Map<string, { owners: number; bytes: number }>();
    for (const { owner, shares } of book.accounts) {
      const own = this.shareOf(owner.key);
      for (const { host, bytes } of own === null ? shares : [own, ...shares]) {
        const sum = stored.get(host) ?? { owners: 0, bytes: 0 };
        sum.owners += 1;
        for (const leaf of leaves) sum.bytes += bytes[leaf] ?? 0;
        stored.set(host, sum);
      }
    }
    return stored;
  }

  /** A change that others made. Throws `store_refused` where it cannot be read, and then nothing is changed. */
  takeOver(change: Omit<PolicyChange, 'events'>, position: Position): void {
    this.#options.governing.takeOver(change, position);
  }

  /** A policy in place of the one in force. Throws as `takeOver`. */
  takeOverWhole(policy: PolicyRecords, position: Position): void {
    const before = this.policy;
    this.takeOver({ ...documentsBetween(before, policy), ...ownersBetween(before, policy) }, position);
  }

  /** Whether this machine has somebody of this name, or knows this one by any name. */
  knows({ key, id }: OwnerRecord): boolean {
    const { book } = this.#options;
    return book.accountByKey(key) !== undefined || book.owner(id) !== undefined;
  }

  /** What other machines have said, as far as it is known here. */
  get sharesOfOthers(): readonly ShareRecord[] {
    return [...this.#options.book.accounts].flatMap(({ shares }) => [...shares]);
  }

  /** Owners whom others put on record, in place of those of the same keys. */
  takeOwners(owners: readonly OwnerRecord[]): void {
    const { book, keeper } = this.#options;
    for (const owner of owners) {
      if (isSame(owner, book.accountByKey(owner.key)?.owner)) continue;
      book.setOwner(owner);
      keeper.owner(owner);
    }
  }

  /** All that other machines say of these owners now; what `isHeld` machines said before stays. */
  takeShares(
    ownerKeys: readonly string[],
    shares: readonly ShareRecord[],
    isHeld: (host: string) => boolean = () => false,
  ): void {
    const { book, keeper, host } = this.#options;
    const byOwner = Map.groupBy(shares, ({ ownerKey }) => ownerKey);
    const goneShares: { ownerKey: string; host: string }[] = [];
    const taken: ShareRecord[] = [];
    for (const ownerKey of ownerKeys) {
      const account = book.accountByKey(ownerKey);
      if (account === undefined) continue;
      const present = (byOwner.get(ownerKey) ?? []).filter(share => share.host !== host);
      const hosts = new Set(present.map(share => share.host));
      for (const before of [...account.shares]) {
        if (hosts.has(before.host) || isHeld(before.host)) continue;
        account.takeShare(before.host);
        goneShares.push({ ownerKey, host: before.host });
      }
      for (const share of present) account.putShare(share);
      taken.push(...present);
    }
    keeper.takenOver({ shares: taken, goneShares });
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

function largestOf(units: readonly UnitRecord[]): readonly LargeUnit[] {
  return units
    .toSorted((a, b) => b.bytes - a.bytes)
    .slice(0, mostUnitsTold)
    .map(({ kind, name, leaf, bytes }) => ({ kind, name, leaf, bytes }));
}

function documentsBetween(
  before: PolicyRecords,
  after: PolicyRecords,
): Pick<PolicyChange, 'documents' | 'goneDocuments'> {
  const nameOf = ({ kind, key }: { kind: string; key: string }) => JSON.stringify([kind, key]);
  const texts = new Map(before.documents.map(document => [nameOf(document), document.text]));
  const present = new Set(after.documents.map(nameOf));
  return {
    documents: after.documents.filter(document => texts.get(nameOf(document)) !== document.text),
    goneDocuments: before.documents
      .filter(document => !present.has(nameOf(document)))
      .map(({ kind, key }) => ({ kind, key })),
  };
}

function ownersBetween(
  before: PolicyRecords,
  after: PolicyRecords,
): Pick<PolicyChange, 'owners' | 'goneOwners'> {
  const known = new Map(before.owners.map(owner => [owner.key, owner]));
  const present = new Set(after.owners.map(({ key }) => key));
  return {
    owners: after.owners.filter(owner => !isSame(owner, known.get(owner.key))),
    goneOwners: before.owners.map(({ key }) => key).filter(key => !present.has(key)),
  };
}

function isSame(owner: OwnerRecord, known: OwnerRecord | undefined): boolean {
  return known?.id === owner.id && known.name === owner.name && known.type === owner.type;
}
