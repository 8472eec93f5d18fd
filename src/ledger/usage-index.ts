/**
 * The usage of every owner, and every unit, and the ways to find them.
 *
 * Only memory: nothing here knows the store, a clock, or a rule. Who the owners are is known to the registry.
 */

import type { OwnerRegistry } from '../documents/index.ts';
import { leafIndex, leaves } from '../quota/index.ts';
import type { OwnerRecord, UnitRecord } from '../store/index.ts';
import { Account, type AccountBook } from './account.ts';

export class UsageIndex {
  readonly owners: OwnerRegistry;
  readonly #host: string;
  readonly #book: AccountBook;
  /** By owner's key; an owner without one has no usage. */
  readonly #accounts = new Map<string, Account>();
  readonly #units = new Map<string, UnitRecord>();

  /**
   * `onChange` is called, in the midst of it, when an owner's units or what is reported on top of them have
   * changed. Most units are those of `host`.
   */
  constructor(owners: OwnerRegistry, host: string, onChange: (ownerKey: string) => void) {
    this.owners = owners;
    this.#host = host;
    this.#book = { nameOf: ownerKey => this.#nameOf(ownerKey), onChange };
  }

  get accounts(): Iterable<Account> {
    return this.#accounts.values();
  }

  get units(): Iterable<UnitRecord> {
    return this.#units.values();
  }

  get unitCount(): number {
    return this.#units.size;
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
    return this.#units.get(id);
  }

  /** An owner's units, largest first. */
  unitsOf(ownerName: string): readonly UnitRecord[] {
    return [...(this.account(ownerName)?.units ?? [])].sort((a, b) => b.bytes - a.bytes);
  }

  /** Tells whether walks of this host found units of an owner. */
  hasWalked(ownerName: string): boolean {
    for (const { kind } of this.account(ownerName)?.units ?? []) if (kind === 'walked') return true;
    return false;
  }

  /** Walked units whose last walk began before `seq`. */
  walkedBefore(seq: number): readonly UnitRecord[] {
    return [...this.#units.values()].filter(unit => unit.kind === 'walked' && unit.seq < seq);
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
      .map(account => [...new Set([...account.units].flatMap(unit => unit.owner ?? []))].sort())
      .filter(names => names.length > 1);
  }

  /** The owner's account, opened if there is none; the owner is put on record unless one of that key is. */
  open(owner: OwnerRecord): Account {
    const { key } = this.owners.add(owner);
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    const account = new Account(key, this.#book);
    this.#accounts.set(key, account);
    return account;
  }

  /** Tells that an owner has come of whom there is nothing else to tell. */
  announce(ownerKey: string): void {
    this.#book.onChange(ownerKey);
  }

  /** Forgets the account of an owner who has gone, and has no usage. */
  close(ownerKey: string): void {
    if (!this.hasUsage(ownerKey)) this.#accounts.delete(ownerKey);
  }

  /** Puts a unit in, instead of the one with its id. Its owner's account must be open. */
  put(record: UnitRecord): void {
    const unit = this.#compact(record);
    const before = this.#units.get(unit.id);
    if (before !== undefined && before.owner !== unit.owner) this.remove(before);
    this.#units.set(unit.id, unit);
    this.#accountOf(unit)?.put(unit);
  }

  remove(unit: UnitRecord): void {
    this.#units.delete(unit.id);
    this.#accountOf(unit)?.take(unit.id);
  }

  /** The walked unit that this path is, or lies in; the innermost where units continue one another. */
  unitAt(path: string): UnitRecord | null {
    for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
      const unit = this.#units.get(at);
      if (unit !== undefined && unit.kind === 'walked') return unit;
    }
    return null;
  }

  /** The paths of the walked units at or below a directory. */
  *pathsBelow(directory: string): Generator<string> {
    const prefix = directory === '/' ? directory : `${directory}/`;
    for (const unit of this.#units.values()) {
      if (unit.kind === 'walked' && (unit.name === directory || unit.name.startsWith(prefix)))
        yield unit.name;
    }
  }

  /** The same record with the texts that many units share: one that came from a thread has its own of each. */
  #compact(unit: UnitRecord): UnitRecord {
    const { id, name, host, owner, bytes, files, partial, measuredAt, seq } = unit;
    const known = owner === null ? undefined : this.owners.named(owner)?.name;
    return {
      id,
      kind: unit.kind === 'walked' ? 'walked' : 'reported',
      host: host === this.#host ? this.#host : host,
      name: name === id ? id : name,
      owner: known === owner ? known : owner,
      leaf: leaves[leafIndex(unit.leaf)] ?? unit.leaf,
      bytes,
      files,
      partial,
      measuredAt,
      seq,
    };
  }

  #nameOf(ownerKey: string): string {
    return this.owners.byKey(ownerKey)?.name ?? ownerKey;
  }

  #accountOf(unit: UnitRecord): Account | undefined {
    return unit.owner === null ? undefined : this.account(unit.owner);
  }
}
