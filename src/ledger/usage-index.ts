/**
 * The usage of every owner, and every unit, and the ways to find them.
 *
 * Only memory: nothing here knows the store, a clock, or a rule. Who the owners are is known to the registry.
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
import { filterMapInSlices, inSlices } from '../slices.ts';
import type { OwnerRecord, UnitRecord } from '../store/index.ts';
import { Account } from './account.ts';

/** The name of the source that has a forge's figures, which only the daemon itself puts. */
export const forgeSource = 'forge';

export interface OwnerSize {
  readonly owner: OwnerRecord;
  readonly bytes: number;
}

/** Bytes by leaf. What walks found is all the rest, with what programs said of it since. */
interface Origins {
  /** By programs: units with their bytes, and whole sets. */
  readonly reported: Usage;
  readonly forge: Usage;
  /** Stored on other hosts, however these know it. */
  readonly otherHosts: Usage;
}

export class UsageIndex {
  readonly owners: OwnerRegistry;
  readonly #host: string;
  readonly #onChange: (ownerKey: string) => void;
  /** By owner's key; an owner without one has no usage. */
  readonly #accounts = new Map<string, Account>();
  readonly #units = new Map<string, UnitRecord>();
  /** Accounts of which a unit spelled the owner's name otherwise than the key. */
  readonly #spelled = new Set<Account>();
  /** Number of names in the path of a walked unit, at most. */
  #deepest = 0;
  readonly #unowned = { count: 0, bytes: 0 };
  readonly #unmeasured = new Set<string>();

  /** `onChange` is called, in the midst of it, when an owner's units or reported bytes have changed. */
  constructor(owners: OwnerRegistry, host: string, onChange: (ownerKey: string) => void) {
    this.#host = host;
    this.owners = owners;
    this.#onChange = onChange;
  }

  /** All accounts, in no order; some may come and go meanwhile. */
  get accounts(): Iterable<Account> {
    return { [Symbol.iterator]: () => this.#accounts.values() };
  }

  /** Every unit, in no order; some may come and go meanwhile. */
  get units(): Iterable<UnitRecord> {
    return { [Symbol.iterator]: () => this.#units.values() };
  }

  get unitCount(): number {
    return this.#units.size;
  }

  /** Goes through all units and accounts, in slices. */
  async origins(): Promise<Origins> {
    const [reported, forge, otherHosts] = [[...noUsage], [...noUsage], [...noUsage]];
    await inSlices(this.units, ({ kind, owner, leaf, bytes }) => {
      if (kind === 'reported' && owner !== null) addAt(reported, leafIndex(leaf), bytes);
    });
    await inSlices(this.accounts, ({ sources, shares }) => {
      for (const { source, bytes } of sources) {
        const sums = source.name === forgeSource ? forge : reported;
        for (const [index, each] of bytes.entries()) addAt(sums, index, each);
      }
      for (const { bytes } of shares) {
        for (const [index, leaf] of leaves.entries()) addAt(otherHosts, index, bytes[leaf] ?? 0);
      }
    });
    return { reported, forge, otherHosts };
  }

  /** Bytes below a mask of owners with this in the key, if they fit; null: see `filterMapInSlices`. */
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

  /** The paths of some walked units of an owner and subject, among the first `mostLookedAt` of the owner. */
  walkedOf(ownerName: string, subject: Subject, most: number, mostLookedAt: number): readonly string[] {
    const found: string[] = [];
    let lookedAt = 0;
    for (const { kind, leaf, name } of this.account(ownerName)?.units ?? []) {
      if (found.length === most || ++lookedAt > mostLookedAt) break;
      if (kind === 'walked' && leaf === subject) found.push(name);
    }
    return found;
  }

  /** The units whose reachable bytes are known, among the first `mostLookedAt` of an owner. */
  *measuredOf(ownerName: string, mostLookedAt: number): Generator<UnitRecord> {
    let lookedAt = 0;
    for (const unit of this.account(ownerName)?.units ?? []) {
      if (++lookedAt > mostLookedAt) return;
      if (unit.reach !== undefined) yield unit;
    }
  }

  /** All units below a mask of leaves with this part in their ids. null: see `filterMapInSlices`. */
  unitsBelow(mask: number, idPart: string): Generator<UnitRecord | null> {
    return filterMapInSlices(this.units, unit =>
      (mask & leafMask(unit.leaf)) !== 0 && unit.id.includes(idPart) ? unit : undefined,
    );
  }

  /** Walked units whose last walk began before `seq`; what is changed meanwhile may be among them. */
  *walkedBefore(seq: number): Generator<UnitRecord> {
    for (const unit of this.#units.values()) if (unit.kind === 'walked' && unit.seq < seq) yield unit;
  }

  /** Names that are the same owner's, though directories spell them differently. */
  spellings(): readonly (readonly string[])[] {
    return [...this.#spelled]
      .map(account => account.spellings)
      .filter(({ size }) => size > 1)
      .map(names => [...names].sort());
  }

  /** The owner's account, opened if there is none; the owner is put on record unless one of that key is. */
  open(owner: OwnerRecord): Account {
    const { key } = this.owners.add(owner);
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    const account = new Account(key, this.owners, this.#onChange);
    this.#accounts.set(key, account);
    return account;
  }

  get unowned(): { readonly count: number; readonly bytes: number } {
    return { ...this.#unowned };
  }

  /** The paths of units that no walk could read anything of, so that they count nothing. */
  get unmeasured(): ReadonlySet<string> {
    return this.#unmeasured;
  }

  /** Forgets the account of an owner who has gone, and has no usage. */
  close(ownerKey: string): void {
    const account = this.#accounts.get(ownerKey);
    if (account?.isEmpty !== true) return;
    this.#accounts.delete(ownerKey);
    this.#spelled.delete(account);
  }

  /** Puts a unit in, instead of the one with its id. Its owner's account must be open. */
  put(given: UnitRecord): void {
    const unit = this.#withSharedTexts(given);
    const before = this.#units.get(unit.id);
    this.#units.set(unit.id, unit);
    if (isUnmeasured(unit)) this.#unmeasured.add(unit.id);
    else this.#unmeasured.delete(unit.id);
    if (unit.kind === 'walked') this.#deepest = Math.max(this.#deepest, unit.id.split('/').length);
    if (before !== undefined && (before.owner === null || before.owner !== unit.owner)) this.#leave(before);
    if (unit.owner === null) {
      this.#unowned.count += 1;
      this.#unowned.bytes += unit.bytes;
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
   * The walked unit that this path is, or lies in; the innermost where units continue one another. However
   * long the path is, no more of its directories are looked up than a unit has.
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

  /** The paths of the walked units at or below a directory. */
  *pathsBelow(directory: string): Generator<string> {
    const prefix = directory === '/' ? directory : `${directory}/`;
    for (const { kind, id } of this.#units.values()) {
      if (kind === 'walked' && (id === directory || id.startsWith(prefix))) yield id;
    }
  }

  /** Texts that many units have are in memory once. */
  #withSharedTexts({ id, kind, host, name, owner, leaf, reach, ...figures }: UnitRecord): UnitRecord {
    const { bytes, files, partial, measuredAt, seq } = figures;
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
    return reach === undefined ? unit : { ...unit, reach };
  }

  /** A unit is its owner's no more. */
  #leave(unit: UnitRecord): void {
    if (unit.owner !== null) {
      this.account(unit.owner)?.take(unit);
      return;
    }
    this.#unowned.count -= 1;
    this.#unowned.bytes -= unit.bytes;
  }
}

/** A unit that was only pushed into has no place in the order yet: its first walk follows. */
function isUnmeasured({ kind, bytes, partial, seq }: UnitRecord): boolean {
  return kind === 'walked' && partial && bytes === 0 && seq > 0;
}

function addAt(sums: number[], index: number, bytes: number): void {
  sums[index] = Math.min((sums[index] ?? 0) + bytes, Number.MAX_SAFE_INTEGER);
}
