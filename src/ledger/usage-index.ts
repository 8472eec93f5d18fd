/**
 * The usage of every owner, and every unit, and the ways to find them.
 *
 * Only memory: nothing here knows the store, a clock, or a rule. Who the owners are is known to the registry.
 */

import { noRow } from '../columns.ts';
import type { OwnerRegistry } from '../documents/index.ts';
import { bytesUnder, leaves, noUsage, type Subject, type Usage } from '../quota/index.ts';
import { filterMapInSlices, inSlices } from '../slices.ts';
import type { OwnerRecord, PackedUnits, UnitRecord } from '../store/index.ts';
import { Account } from './account.ts';
import { AccountTable } from './account-table.ts';
import { forgeSource } from './source-share.ts';
import { UnitTable } from './unit-table.ts';

/** The place of a unit in the table, and its bytes. */
interface UnitSize {
  readonly row: number;
  readonly bytes: number;
}

/** The bytes of an owner, whose key is in this row now. */
export interface OwnerSize {
  readonly row: number;
  readonly id: number;
  readonly bytes: number;
}

/** Bytes by leaf. What walks found is all the rest, with what programs said of it since. */
export interface Origins {
  /** By programs: units with their bytes, and whole sets. */
  readonly reported: Usage;
  /** By the forge's database. */
  readonly forge: Usage;
  /** Stored on other hosts, however these know it. */
  readonly otherHosts: Usage;
}

export class UsageIndex {
  readonly owners: OwnerRegistry;
  /** By the rows of the owners' keys; an owner without one has no usage. */
  readonly #accounts: AccountTable;
  readonly #units: UnitTable;
  /** The units without an owner. */
  readonly #unowned = { count: 0, bytes: 0 };

  /**
   * `onChange` is called, in the midst of it, when an owner's units or what is reported on top of them have
   * changed. Most units are those of `host`.
   */
  constructor(owners: OwnerRegistry, host: string, onChange: (ownerKey: string) => void) {
    this.owners = owners;
    this.#units = new UnitTable(host, row => owners.keys.key(row));
    this.#accounts = new AccountTable(owners, this.#units, onChange);
  }

  /** Prepares for about so many of them. */
  expect(owners: number, units: number): void {
    this.owners.expectMany(owners);
    this.#accounts.expect(owners);
    this.#units.expect(units);
  }

  get accounts(): Iterable<Account> {
    return { [Symbol.iterator]: () => this.#accountsIn(this.#accounts.rows()) };
  }

  /** The accounts that may have more than units: shares of other hosts, sets of sources, deltas. */
  get accountsWithMore(): Iterable<Account> {
    return { [Symbol.iterator]: () => this.#accountsIn(this.#accounts.rowsWithExtras()) };
  }

  get units(): Iterable<UnitRecord> {
    return { [Symbol.iterator]: () => this.#records() };
  }

  get unitCount(): number {
    return this.#units.size;
  }

  /** Goes through all units and accounts, in slices. */
  async origins(): Promise<Origins> {
    const [reported, forge, otherHosts] = [[...noUsage], [...noUsage], [...noUsage]];
    const units = this.#units;
    await inSlices(units.rows(), row => {
      if (units.isWalked(row) || units.accountOf(row) === noRow) return;
      addAt(reported, units.leafIndex(row), units.bytes(row));
    });
    await inSlices(this.accountsWithMore, ({ sources, shares }) => {
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

  /**
   * The bytes of every owner with this part in the key, below a mask of leaves, in no order, but of those
   * whose bytes cannot be added up exactly. null: see `filterMapInSlices`.
   */
  ownerSizes(mask: number, keyPart: string): Generator<OwnerSize | null> {
    const part = Buffer.from(keyPart);
    return filterMapInSlices(this.owners.rows(), row => {
      if (part.length > 0 && !this.owners.keys.contains(row, part)) return undefined;
      const bytes = this.#bytesUnder(row, mask);
      return bytes === null ? undefined : { row, id: this.owners.idAt(row), bytes };
    });
  }

  account(ownerName: string): Account | undefined {
    return this.accountByKey(this.owners.keyOf(ownerName));
  }

  accountByKey(ownerKey: string): Account | undefined {
    return this.#accountAt(this.owners.keys.find(ownerKey));
  }

  /** Tells whether anything is stored or reported of an owner. */
  hasUsage(ownerKey: string): boolean {
    return this.accountByKey(ownerKey)?.isEmpty === false;
  }

  /** Number of units of an owner, on all hosts. */
  unitCountOf(ownerKey: string): number {
    return this.accountByKey(ownerKey)?.unitCount ?? 0;
  }

  unit(id: string): UnitRecord | undefined {
    return this.unitAtRow(this.#units.find(id));
  }

  /** An owner's units, largest first. */
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

  /**
   * The sizes of all units below a mask of leaves with this part in their paths, whose records `unitAtRow`
   * makes while they are there. null: see `filterMapInSlices`.
   */
  sizes(mask: number, q: string): Generator<UnitSize | null> {
    return filterMapInSlices(this.#units.rows(), row => {
      if ((mask & (1 << this.#units.leafIndex(row))) === 0) return undefined;
      if (q !== '' && !this.#units.id(row).includes(q)) return undefined;
      return { row, bytes: this.#units.bytes(row) };
    });
  }

  unitAtRow(row: number): UnitRecord | undefined {
    return row === noRow ? undefined : this.#units.record(row);
  }

  /** Walked units whose last walk began before `seq`; what is changed meanwhile may be among them. */
  *walkedBefore(seq: number): Generator<UnitRecord> {
    for (const row of this.#units.rows()) {
      if (this.#units.isWalked(row) && this.#units.seq(row) < seq) yield this.#units.record(row);
    }
  }

  /** Names that are the same owner's, though directories spell them differently. */
  spellings(): readonly (readonly string[])[] {
    const rows = new Set<number>();
    for (const unit of this.#units.spelledRows()) rows.add(this.#units.accountOf(unit));
    return [...rows]
      .map(row => new Account(this.#accounts, row).spellings)
      .filter(({ size }) => size > 1)
      .map(names => [...names].sort());
  }

  /** The owner's account, opened if there is none; the owner is put on record unless one of that key is. */
  open(owner: OwnerRecord): Account {
    const { key } = this.owners.add(owner);
    return this.accountByKey(key) ?? this.openFirst(key);
  }

  /** Opens the account of an owner on record who has none. */
  openFirst(ownerKey: string): Account {
    return new Account(this.#accounts, this.#accounts.open(ownerKey));
  }

  /** The units that have no owner. */
  get unowned(): { readonly count: number; readonly bytes: number } {
    return { ...this.#unowned };
  }

  /** Forgets the account of an owner who has gone, and has no usage. */
  close(ownerKey: string): void {
    const row = this.owners.keys.find(ownerKey);
    if (this.#accountAt(row)?.isEmpty !== true) return;
    this.#accounts.close(row);
  }

  /** Puts a unit in, instead of the one with its id. Its owner's account must be open. */
  put(unit: UnitRecord): void {
    const account = this.#accountOf(unit);
    const ownerKey = unit.owner === null ? null : this.owners.keyOf(unit.owner);
    const row = this.#units.find(unit.id);
    const before = this.unitAtRow(row);
    if (before !== undefined && before.owner === unit.owner) {
      this.#units.set(row, unit, ownerKey);
      account?.replaced(before, unit);
      if (unit.owner === null) this.#unowned.bytes += unit.bytes - before.bytes;
      return;
    }
    if (before !== undefined) this.#remove(row, before);
    const added = this.#units.add(unit, ownerKey);
    account?.put(added, unit);
    if (unit.owner === null) this.#countUnowned(1, unit.bytes);
  }

  /** Puts in units with ids of which there are none; `accountFor` opens the account of an owner. */
  append({ columns }: PackedUnits, accountFor: (ownerName: string) => Account): void {
    const { owners, ownersAt, bytes } = columns;
    const accounts = owners.map(accountFor);
    const spellings = owners.map(name => (this.owners.keyOf(name) === name ? undefined : name));
    let row = this.#units.append(columns, spellings);
    for (let at = 0; at < ownersAt.length; at += 1, row += 1) {
      const account = accounts[ownersAt[at] ?? noRow];
      if (account === undefined) this.#countUnowned(1, bytes[at] ?? 0);
      else account.load(row);
    }
  }

  remove(unit: UnitRecord): void {
    const row = this.#units.find(unit.id);
    const before = this.unitAtRow(row);
    if (before !== undefined) this.#remove(row, before);
  }

  /** The walked unit that this path is, or lies in; the innermost where units continue one another. */
  unitAt(path: string): UnitRecord | null {
    return this.unitAtRow(this.#units.findWalkedAt(path)) ?? null;
  }

  /** The paths of the walked units at or below a directory. */
  *pathsBelow(directory: string): Generator<string> {
    const prefix = directory === '/' ? directory : `${directory}/`;
    for (const row of this.#units.rows()) {
      if (!this.#units.isWalked(row)) continue;
      const path = this.#units.id(row);
      if (path === directory || path.startsWith(prefix)) yield path;
    }
  }

  /** Null: they cannot be added up exactly. */
  #bytesUnder(row: number, mask: number): number | null {
    if (!this.#accounts.isOpen(row)) return 0;
    const bytes = this.#accounts.bytesUnder(row, mask);
    if (bytes !== undefined) return bytes;
    const account = new Account(this.#accounts, row);
    return account.fits ? bytesUnder(account.usage, mask) : null;
  }

  *#accountsIn(rows: Iterable<number>): Generator<Account> {
    for (const row of rows) yield new Account(this.#accounts, row);
  }

  #accountAt(row: number): Account | undefined {
    return this.#accounts.isOpen(row) ? new Account(this.#accounts, row) : undefined;
  }

  *#records(): Generator<UnitRecord> {
    for (const row of this.#units.rows()) yield this.#units.record(row);
  }

  #remove(row: number, unit: UnitRecord): void {
    this.#accountOf(unit)?.take(row, unit);
    this.#units.remove(row);
    if (unit.owner === null) this.#countUnowned(-1, -unit.bytes);
  }

  #countUnowned(count: number, bytes: number): void {
    this.#unowned.count += count;
    this.#unowned.bytes += bytes;
  }

  #accountOf(unit: UnitRecord): Account | undefined {
    return unit.owner === null ? undefined : this.account(unit.owner);
  }
}

function addAt(sums: number[], index: number, bytes: number): void {
  sums[index] = Math.min((sums[index] ?? 0) + bytes, Number.MAX_SAFE_INTEGER);
}
