/**
 * Holds the accounts of all owners and all units, and finds them.
 *
 * This is memory only, without the store, a clock or rules. The registry of owners is separate.
 */

import type { OwnerRegistry } from '../documents/index.ts';
import {
  bytesUnder,
  leafIndex,
  leafMask,
  leaves,
  noUsage,
  type Subject,
  type Usage,
} from '../quota/index.ts';
import type { OwnerRecord, UnitRecord } from '../store/index.ts';
import { filterMapInSlices, inSlices } from '../turns.ts';
import { Account } from './account.ts';

/** The name of the source with a forge's figures. Only the daemon itself reports them. */
export const forgeSource = 'forge';

export interface OwnerSize {
  readonly owner: OwnerRecord;
  readonly bytes: number;
}

/** Bytes by leaf and origin. All other bytes come from walks, corrected by deltas. */
interface Origins {
  /** Reported by programs: single units, and whole sets. */
  readonly reported: Usage;
  readonly forge: Usage;
  /** Stored on other hosts, whatever the origin is there. */
  readonly otherHosts: Usage;
}

export class UsageIndex {
  readonly owners: OwnerRegistry;
  readonly #host: string;
  readonly #onChange: (ownerKey: string) => void;
  /** By the owner's key; an owner without an account has no usage. */
  readonly #accounts = new Map<string, Account>();
  readonly #units = new Map<string, UnitRecord>();
  /** Accounts with a unit that spells the owner's name differently from the key. */
  readonly #spelled = new Set<Account>();
  /** The largest number of parts that the path of a walked unit has had, as `split('/')` counts them. */
  #deepest = 0;
  readonly #unowned = { count: 0, bytes: 0 };
  readonly #unmeasured = new Set<string>();

  /** Calls `onChange` during each change of an owner's units or reported bytes. */
  constructor(owners: OwnerRegistry, host: string, onChange: (ownerKey: string) => void) {
    this.#host = host;
    this.owners = owners;
    this.#onChange = onChange;
  }

  /** All accounts, unordered. The index may change during the iteration. */
  get accounts(): Iterable<Account> {
    return { [Symbol.iterator]: () => this.#accounts.values() };
  }

  /** All units, unordered. The index may change during the iteration. */
  get units(): Iterable<UnitRecord> {
    return { [Symbol.iterator]: () => this.#units.values() };
  }

  get unitCount(): number {
    return this.#units.size;
  }

  /** Adds up the bytes by origin, in slices. */
  async origins(): Promise<Origins> {
    const [reported, forge, otherHosts] = [[...noUsage], [...noUsage], [...noUsage]];
    await inSlices(this.units, ({ kind, owner, leaf, bytes }) => {
      if (kind === 'reported' && owner !== null) addCapped(reported, leafIndex(leaf), bytes);
    });
    await inSlices(this.accounts, ({ sources, shares }) => {
      for (const { source, bytes } of sources) {
        const sums = source.name === forgeSource ? forge : reported;
        for (const [index, each] of bytes.entries()) addCapped(sums, index, each);
      }
      for (const { bytes } of shares) {
        for (const [index, leaf] of leaves.entries()) addCapped(otherHosts, index, bytes[leaf] ?? 0);
      }
    });
    return { reported, forge, otherHosts };
  }

  /**
   * Yields the bytes of the leaves in `mask` for each owner with `keyPart` in the key, but skips owners whose
   * bytes cannot be added up. Yields nulls as `filterMapInSlices` does.
   */
  ownerSizes(mask: number, keyPart: string): Generator<OwnerSize | null> {
    return filterMapInSlices(this.owners.all, owner => {
      if (!owner.key.includes(keyPart)) return undefined;
      const account = this.#accounts.get(owner.key);
      if (account?.fits === false) return undefined;
      return { owner, bytes: bytesUnder(account?.usage ?? noUsage, mask) };
    });
  }

  account(ownerName: string): Account | undefined {
    return this.accountByKey(this.owners.keyOf(ownerName));
  }

  accountByKey(ownerKey: string): Account | undefined {
    return this.#accounts.get(ownerKey);
  }

  hasUsage(ownerKey: string): boolean {
    return this.accountByKey(ownerKey)?.isEmpty === false;
  }

  /** Number of units of an owner, on all hosts. */
  unitCountOf(ownerKey: string): number {
    return this.accountByKey(ownerKey)?.unitCount ?? 0;
  }

  unit(id: string): UnitRecord | undefined {
    return this.#units.get(id);
  }

  unitsOf(ownerName: string): readonly UnitRecord[] {
    return [...(this.account(ownerName)?.units ?? [])].sort((a, b) => b.bytes - a.bytes);
  }

  /** Returns at most `most` paths of walked units of a leaf, among the owner's first `mostLookedAt` units. */
  walkedOf(ownerName: string, subject: Subject, most: number, mostLookedAt: number): readonly string[] {
    const found: string[] = [];
    let lookedAt = 0;
    for (const { kind, leaf, name } of this.account(ownerName)?.units ?? []) {
      if (found.length === most || ++lookedAt > mostLookedAt) break;
      if (kind === 'walked' && leaf === subject) found.push(name);
    }
    return found;
  }

  /** Yields the units with known reachable bytes, among the owner's first `mostLookedAt` units. */
  *measuredOf(ownerName: string, mostLookedAt: number): Generator<UnitRecord> {
    let lookedAt = 0;
    for (const unit of this.account(ownerName)?.units ?? []) {
      if (++lookedAt > mostLookedAt) return;
      if (unit.reach !== undefined) yield unit;
    }
  }

  /** Yields the units of the leaves in `mask` that are meant, and nulls as `filterMapInSlices` does. */
  unitsBelow(mask: number, isMeant: (unit: UnitRecord) => boolean): Generator<UnitRecord | null> {
    return filterMapInSlices(this.units, unit =>
      (mask & leafMask(unit.leaf)) !== 0 && isMeant(unit) ? unit : undefined,
    );
  }

  /** Yields walked units whose last walk began before `seq`. The index may change during the iteration. */
  *walkedBefore(seq: number): Generator<UnitRecord> {
    for (const unit of this.#units.values()) if (unit.kind === 'walked' && unit.seq < seq) yield unit;
  }

  /** Lists the spellings of each owner whose name is spelled in several ways. */
  spellings(): readonly (readonly string[])[] {
    return [...this.#spelled]
      .map(account => account.spellings)
      .filter(({ size }) => size > 1)
      .map(names => [...names].sort());
  }

  /** Returns the owner's account. Adds the account, and the owner to the registry, if they are missing. */
  open(owner: OwnerRecord): Account {
    const { key } = this.owners.add(owner);
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    const account = new Account(key, this.owners, this.#onChange);
    this.#accounts.set(key, account);
    return account;
  }

  /** Units without a known owner; replicas that another storage counts are left out. */
  get unowned(): { readonly count: number; readonly bytes: number } {
    return { ...this.#unowned };
  }

  /** The paths of units that count 0 bytes because no walk could read anything of them. */
  get unmeasured(): ReadonlySet<string> {
    return this.#unmeasured;
  }

  /** Forgets the account of a removed owner if it is empty. */
  close(ownerKey: string): void {
    const account = this.#accounts.get(ownerKey);
    if (account?.isEmpty !== true) return;
    this.#accounts.delete(ownerKey);
    this.#spelled.delete(account);
  }

  /** Adds a unit, or replaces the one with its id. The owner must have an account. */
  put(given: UnitRecord): void {
    const unit = this.#withSharedTexts(given);
    const before = this.#units.get(unit.id);
    this.#units.set(unit.id, unit);
    if (isUnmeasured(unit)) this.#unmeasured.add(unit.id);
    else this.#unmeasured.delete(unit.id);
    if (unit.kind === 'walked') this.#deepest = Math.max(this.#deepest, unit.id.split('/').length);
    if (before !== undefined && (before.owner === null || before.owner !== unit.owner)) this.#leave(before);
    if (unit.owner === null) {
      this.#countUnowned(unit, 1);
      return;
    }
    const account = this.account(unit.owner);
    if (account === undefined) throw new Error('the account of a unit is open');
    account.put(unit);
    if (account.ownerKey !== unit.owner) this.#spelled.add(account);
  }

  remove({ id }: UnitRecord): void {
    const unit = this.#units.get(id);
    if (unit === undefined) return;
    this.#units.delete(id);
    this.#unmeasured.delete(id);
    this.#leave(unit);
  }

  /**
   * Returns the walked unit at this path or around it; of nested units, the innermost. Even for a long path
   * it looks up only as many directories as the deepest unit has.
   */
  unitAt(path: string): UnitRecord | null {
    let innermost: UnitRecord | null = null;
    let end = 0;
    for (let depth = 0; depth < this.#deepest && end < path.length; depth += 1) {
      const slash = path.indexOf('/', end + 1);
      end = slash === -1 ? path.length : slash;
      const unit = this.#units.get(path.slice(0, end));
      if (unit?.kind === 'walked') innermost = unit;
    }
    return innermost;
  }

  /** Yields the paths of the walked units at or below a directory. */
  *pathsBelow(directory: string): Generator<string> {
    const prefix = directory === '/' ? directory : `${directory}/`;
    for (const { kind, id } of this.#units.values()) {
      if (kind === 'walked' && (id === directory || id.startsWith(prefix))) yield id;
    }
  }

  /** Returns the unit with texts that many units share, so that each text is in memory once. */
  #withSharedTexts({ id, kind, host, name, owner, leaf, reach, ...figures }: UnitRecord): UnitRecord {
    const { bytes, files, partial, measuredAt, seq, isBilledElsewhere } = figures;
    const known = owner === null ? undefined : this.owners.named(owner);
    const unit: UnitRecord = {
      id,
      kind: kind === 'walked' ? 'walked' : 'reported',
      host: host === this.#host ? this.#host : host,
      name: name === id ? id : name,
      owner: known?.key === owner ? known.key : known?.name === owner ? known.name : owner,
      leaf: leaves[leafIndex(leaf)] ?? leaf,
      bytes,
      files,
      partial,
      measuredAt,
      seq,
    };
    return {
      ...unit,
      ...(reach === undefined ? {} : { reach }),
      ...(isBilledElsewhere === true ? { isBilledElsewhere } : {}),
    };
  }

  /** Subtracts a unit from its owner's account, or from the sums of units without an owner. */
  #leave(unit: UnitRecord): void {
    if (unit.owner !== null) {
      this.account(unit.owner)?.take(unit);
      return;
    }
    this.#countUnowned(unit, -1);
  }

  #countUnowned({ bytes, isBilledElsewhere }: UnitRecord, sign: 1 | -1): void {
    if (isBilledElsewhere === true) return;
    this.#unowned.count += sign;
    this.#unowned.bytes += sign * bytes;
  }
}

/** Tells whether walks could read nothing of a unit. With `seq` 0 its first walk is still to come. */
function isUnmeasured({ kind, bytes, partial, seq }: UnitRecord): boolean {
  return kind === 'walked' && partial && bytes === 0 && seq > 0;
}

/** Adds bytes to those of a leaf, up to 2^53 - 1. */
export function addCapped(sums: number[], index: number, bytes: number): void {
  sums[index] = Math.min((sums[index] ?? 0) + bytes, Number.MAX_SAFE_INTEGER);
}
