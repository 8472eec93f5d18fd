/**
 * The pages of the ledger: every owner's account and every unit, and the ways to find them.
 *
 * Only memory: nothing here knows the store, a clock, or a rule.
 */

import { randomInt } from 'node:crypto';
import { ownerKey } from '../quota/index.ts';
import { type OwnerRecord, ownerIdBits, type UnitRecord } from '../store/index.ts';
import { Account } from './account.ts';

/** Who was to come and never did, since a report was refused, for one, is remembered no longer than so many others. */
export const mostExpected = 10_000;

export class Book {
  readonly #foldCase: boolean;
  readonly #told: (ownerKey: string) => void;
  readonly #accounts = new Map<string, Account>();
  /** Owners who are about to have an account, by key. */
  readonly #expected = new Map<string, OwnerRecord>();
  readonly #ownersById = new Map<number, OwnerRecord>();
  readonly #units = new Map<string, UnitRecord>();

  /**
   * With `foldCase` the case of ASCII letters does not tell owners apart. `told` is called, in the midst of
   * it, when an owner's units or what is reported on top of them have become others.
   */
  constructor(foldCase: boolean, told: (ownerKey: string) => void) {
    this.#foldCase = foldCase;
    this.#told = told;
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

  keyOf(ownerName: string): string {
    return ownerKey(ownerName, this.#foldCase);
  }

  account(ownerName: string): Account | undefined {
    return this.#accounts.get(this.keyOf(ownerName));
  }

  accountByKey(key: string): Account | undefined {
    return this.#accounts.get(key);
  }

  owner(id: number): OwnerRecord | undefined {
    return this.#ownersById.get(id);
  }

  unit(id: string): UnitRecord | undefined {
    return this.#units.get(id);
  }

  /**
   * The record that an owner who is not in the book would get; the same until an account of that name is opened,
   * so that whoever meets the owner meanwhile, in a report or on the disk, means the same one.
   */
  newOwner(name: string, since: number): OwnerRecord {
    const key = this.keyOf(name);
    const id = randomInt(1, 2 ** ownerIdBits - 1);
    const owner = this.#expected.get(key) ?? { key, id, name: name.normalize('NFC'), type: 'user', since };
    this.#expected.set(key, owner);
    if (this.#expected.size > mostExpected) {
      const [oldest] = this.#expected.keys();
      if (oldest !== undefined) this.#expected.delete(oldest);
    }
    return owner;
  }

  /** The owner's account, opened if there is none. */
  open(owner: OwnerRecord): Account {
    const known = this.#accounts.get(owner.key);
    if (known !== undefined) return known;
    this.#expected.delete(owner.key);
    const account = new Account(owner, () => this.#told(owner.key));
    this.#accounts.set(owner.key, account);
    this.#ownersById.set(owner.id, owner);
    return account;
  }

  /** Puts the owner's record in place of the one of its key, whose units stay; opens an account where there is none. */
  setOwner(owner: OwnerRecord): void {
    const account = this.open(owner);
    this.#expected.delete(owner.key);
    if (account.owner === owner) return;
    // One that was renamed is found under its id elsewhere already.
    if (this.#ownersById.get(account.owner.id)?.key === owner.key) this.#ownersById.delete(account.owner.id);
    account.owner = owner;
    this.#ownersById.set(owner.id, owner);
  }

  /**
   * Owners who come, change and go together, by keys. A walk may have found units of one who was to go: that one stays, as
   * somebody new. Gives those.
   */
  change(present: readonly OwnerRecord[], gone: readonly string[], now: number): readonly OwnerRecord[] {
    const anew: OwnerRecord[] = [];
    for (const key of gone) {
      const account = this.#accounts.get(key);
      if (account === undefined) continue;
      if (account.isEmpty) {
        this.close(key);
        continue;
      }
      const owner = this.newOwner(account.owner.name, now);
      this.setOwner(owner);
      anew.push(owner);
    }
    for (const owner of present) this.setOwner(owner);
    return anew;
  }

  /** Takes an owner without units out. */
  close(key: string): void {
    const account = this.#accounts.get(key);
    if (account === undefined) return;
    this.#accounts.delete(key);
    if (this.#ownersById.get(account.owner.id) === account.owner) this.#ownersById.delete(account.owner.id);
  }

  /** Puts a unit in, instead of the one with its id. Its owner's account must be open. */
  put(unit: UnitRecord): void {
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

  #accountOf(unit: UnitRecord): Account | undefined {
    return unit.owner === null ? undefined : this.account(unit.owner);
  }
}
