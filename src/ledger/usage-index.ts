/**
 * The usage of every owner, and every unit, and the ways to find them.
 *
 * Only memory: nothing here knows the store, a clock, or a rule. Who the owners are is known to the registry.
 */

import { noRow } from '../columns.ts';
import type { OwnerRegistry } from '../documents/index.ts';
import type { Subject } from '../quota/index.ts';
import type { OwnerRecord, PackedUnits, UnitRecord } from '../store/index.ts';
import { Account, type AccountBook } from './account.ts';
import { type Origins, originsOf } from './origins.ts';
import { UnitTable } from './unit-table.ts';

/** The place of a unit in the table, and its bytes. */
export interface UnitSize {
  readonly row: number;
  readonly bytes: number;
}

export class UsageIndex {
  readonly owners: OwnerRegistry;
  readonly #book: AccountBook;
  /** By owner's key; an owner without one has no usage. */
  readonly #accounts = new Map<string, Account>();
  readonly #units: UnitTable;
  #accountsOpened = 0;
  #unitsVersion = 0;
  #accountsClosed = 0;
  /** The units without an owner. */
  readonly #unowned = { count: 0, bytes: 0 };

  /**
   * `onChange` is called, in the midst of it, when an owner's units or what is reported on top of them have
   * changed. Most units are those of `host`.
   */
  constructor(owners: OwnerRegistry, host: string, onChange: (ownerKey: string) => void) {
    this.owners = owners;
    this.#units = new UnitTable(host);
    this.#book = { table: this.#units, nameOf: ownerKey => this.#nameOf(ownerKey), onChange };
  }

  get accounts(): Iterable<Account> {
    return this.#accounts.values();
  }

  get units(): Iterable<UnitRecord> {
    return { [Symbol.iterator]: () => this.#records() };
  }

  /** Another number after each change of which units there are, or whose and of which leaf. */
  get unitsVersion(): number {
    return this.#unitsVersion;
  }

  /** Another number after each change of who the owners are, and which of them have accounts. */
  get version(): number {
    return this.#accountsOpened + this.#accountsClosed + this.owners.version;
  }

  get unitCount(): number {
    return this.#units.size;
  }

  /** Goes through all units and accounts, in slices. */
  origins(): Promise<Origins> {
    return originsOf(this.#units, this.accounts);
  }

  /**
   * Every owner, with the account where there is one. Accounts are mostly opened in the order in which owners
   * come, so the next account is mostly the next owner's and need not be looked up.
   */
  *ownersWithAccounts(): Generator<readonly [OwnerRecord, Account | undefined]> {
    const accounts = this.#accounts.values();
    let next = accounts.next().value;
    // The caller may pause at each owner: an account that was passed over can be closed by then.
    let isPassedOver = false;
    for (const owner of this.owners.all) {
      const isNext = next?.ownerKey === owner.key;
      yield [owner, isNext && !isPassedOver ? next : this.#accounts.get(owner.key)];
      isPassedOver = !isNext;
      if (isNext) next = accounts.next().value;
    }
  }

  account(ownerName: string): Account | undefined {
    return this.#accounts.get(this.owners.keyOf(ownerName));
  }

  accountByKey(ownerKey: string): Account | undefined {
    return this.#accounts.get(ownerKey);
  }

  /** Tells whether anything is stored or reported of an owner. */
  hasUsage(ownerKey: string): boolean {
    return this.#accounts.get(ownerKey)?.isEmpty === false;
  }

  /** How many units an owner has, on all hosts. */
  unitCountOf(ownerKey: string): number {
    return this.#accounts.get(ownerKey)?.unitCount ?? 0;
  }

  unit(id: string): UnitRecord | undefined {
    return this.#recordAt(this.#units.find(id));
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

  /** Tells whether walks of this host found units of an owner. */
  hasWalked(ownerName: string): boolean {
    for (const { kind } of this.account(ownerName)?.units ?? []) if (kind === 'walked') return true;
    return false;
  }

  /**
   * The sizes of all units, whose records `unitAtRow` makes while they are there. `q`: a part of their
   * paths.
   */
  *sizes(mask: number, q: string): Generator<UnitSize> {
    for (const row of this.#units.rows()) {
      if ((mask & (1 << this.#units.leafIndex(row))) === 0) continue;
      if (q === '' || this.#units.id(row).includes(q)) yield { row, bytes: this.#units.bytes(row) };
    }
  }

  unitAtRow(row: number): UnitRecord | undefined {
    return this.#recordAt(row);
  }

  /** Walked units whose last walk began before `seq`; what is changed meanwhile may be among them. */
  *walkedBefore(seq: number): Generator<UnitRecord> {
    for (const row of this.#units.rows()) {
      if (this.#units.isWalked(row) && this.#units.seq(row) < seq) yield this.#units.record(row);
    }
  }

  /** The units that were measured after this time, in milliseconds since 1970. */
  measuredAfter(time: number): readonly UnitRecord[] {
    const rows = [...this.#units.rows()].filter(row => this.#units.measuredAt(row) > time);
    return rows.map(row => this.#units.record(row));
  }

  /** The owners whose units together pass 2^53 - 1 bytes. */
  ownersTooLarge(): readonly string[] {
    return [...this.#accounts.values()]
      .filter(account => !account.fits)
      .map(({ ownerKey }) => this.#nameOf(ownerKey));
  }

  /** Names that are the same owner's, though directories spell them differently. */
  spellings(): readonly (readonly string[])[] {
    return [...this.#accounts.values()]
      .map(({ spellings }) => spellings)
      .filter(({ size }) => size > 1)
      .map(names => [...names].sort());
  }

  /** The owner's account, opened if there is none; the owner is put on record unless one of that key is. */
  open(owner: OwnerRecord): Account {
    const { key } = this.owners.add(owner);
    return this.#accounts.get(key) ?? this.openFirst(key);
  }

  /** Opens the account of an owner on record who has none. */
  openFirst(ownerKey: string): Account {
    const account = new Account(ownerKey, ++this.#accountsOpened, this.#book);
    this.#accounts.set(ownerKey, account);
    return account;
  }

  /** Tells that an owner has come of whom there is nothing else to tell. */
  announce(ownerKey: string): void {
    this.#book.onChange(ownerKey);
  }

  /** The units that have no owner. */
  get unowned(): { readonly count: number; readonly bytes: number } {
    return { ...this.#unowned };
  }

  /** Forgets the account of an owner who has gone, and has no usage. */
  close(ownerKey: string): void {
    if (this.hasUsage(ownerKey)) return;
    this.#accountsClosed += 1;
    this.#accounts.delete(ownerKey);
  }

  /** Puts a unit in, instead of the one with its id. Its owner's account must be open. */
  put(record: UnitRecord): void {
    const account = this.#accountOf(record);
    const unit = account === undefined ? record : account.withOwnSpelling(record);
    const row = this.#units.find(unit.id);
    const before = this.#recordAt(row);
    if (before?.owner !== unit.owner || before.leaf !== unit.leaf) this.#unitsVersion += 1;
    if (before !== undefined && before.owner === unit.owner) {
      this.#units.set(row, unit);
      account?.replaced(before, unit);
      if (unit.owner === null) this.#unowned.bytes += unit.bytes - before.bytes;
      return;
    }
    if (before !== undefined) this.#remove(row, before);
    const added = this.#units.add(unit);
    account?.put(added, unit);
    if (unit.owner === null) this.#countUnowned(1, unit.bytes);
  }

  /** Puts in units with ids of which there are none; `accountFor` opens the account of an owner. */
  append({ columns }: PackedUnits, accountFor: (ownerName: string) => Account): void {
    const { owners, ownersAt, bytes } = columns;
    const accounts = owners.map(accountFor);
    // The texts that came from the store are others for each of them.
    const names = owners.map((name, at) => (accounts[at]?.ownerKey === name ? accounts[at].ownerKey : name));
    let row = this.#units.append(columns, names);
    this.#unitsVersion += 1;
    for (let at = 0; at < ownersAt.length; at += 1, row += 1) {
      const account = accounts[ownersAt[at] ?? noRow];
      if (account === undefined) this.#countUnowned(1, bytes[at] ?? 0);
      else account.load(row);
    }
  }

  remove(unit: UnitRecord): void {
    const row = this.#units.find(unit.id);
    const before = this.#recordAt(row);
    if (before !== undefined) this.#remove(row, before);
  }

  /** The walked unit that this path is, or lies in; the innermost where units continue one another. */
  unitAt(path: string): UnitRecord | null {
    return this.#recordAt(this.#units.findWalkedAt(path)) ?? null;
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

  *#records(): Generator<UnitRecord> {
    for (const row of this.#units.rows()) yield this.#units.record(row);
  }

  #recordAt(row: number): UnitRecord | undefined {
    return row === noRow ? undefined : this.#units.record(row);
  }

  #remove(row: number, unit: UnitRecord): void {
    this.#unitsVersion += 1;
    this.#accountOf(unit)?.take(row, unit);
    this.#units.remove(row);
    if (unit.owner === null) this.#countUnowned(-1, -unit.bytes);
  }

  #countUnowned(count: number, bytes: number): void {
    this.#unowned.count += count;
    this.#unowned.bytes += bytes;
  }

  #nameOf(ownerKey: string): string {
    return this.owners.byKey(ownerKey)?.name ?? ownerKey;
  }

  #accountOf(unit: UnitRecord): Account | undefined {
    return unit.owner === null ? undefined : this.account(unit.owner);
  }
}
