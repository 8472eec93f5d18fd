/**
 * Every owner by key, name and id, in columns: a record is made when somebody asks for it.
 *
 * Only memory: nothing here knows the store, a clock, or what an owner stores.
 */

import { randomInt } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { grown, noRow } from '../columns.ts';
import { HashedRows, mixed } from '../hashed-rows.ts';
import { ownerKey } from '../quota/index.ts';
import { type OwnerRecord, ownerIdBits } from '../store/index.ts';
import { OwnerKeys } from './owner-keys.ts';

/** Number of owners that are remembered although nothing came of them, as after a report that was refused. */
export const mostExpected = 10_000;

/** The registry, to look owners up. */
export type Owners = Pick<
  OwnerRegistry,
  'all' | 'atRow' | 'byId' | 'byKey' | 'keyOf' | 'keys' | 'named' | 'rows'
>;

/** In the column of types; 0: there is no owner. */
const types = [null, 'user', 'organization'] as const satisfies readonly (OwnerRecord['type'] | null)[];

export class OwnerRegistry {
  /** The rows of owners, which others use as well for what they know of owners. */
  readonly keys = new OwnerKeys();
  readonly #foldCase: boolean;
  #ids = new Float64Array(0);
  #since = new Float64Array(0);
  #types = new Uint8Array(0);
  /** Names that are not the keys, by row. */
  readonly #names = new Map<number, string>();
  /** By the hashes of ids. */
  readonly #byId = new HashedRows();
  /** Owners who are about to be put on record, by key. */
  readonly #expected = new Map<string, OwnerRecord>();

  /** With `foldCase` the case of ASCII letters does not tell owners apart. */
  constructor(foldCase: boolean) {
    this.#foldCase = foldCase;
  }

  /** Every owner, in no order; may be gone through without haste, and more than once. */
  get all(): Iterable<OwnerRecord> {
    return { [Symbol.iterator]: () => this.#records() };
  }

  keyOf(ownerName: string): string {
    return ownerKey(ownerName, this.#foldCase);
  }

  /** Undefined: never heard of. */
  named(ownerName: string): OwnerRecord | undefined {
    return this.byKey(this.keyOf(ownerName));
  }

  byKey(key: string): OwnerRecord | undefined {
    const row = this.keys.find(key);
    return this.#has(row) ? this.#record(row, key) : undefined;
  }

  /** Tells whether there is an owner of this key. */
  has(key: string): boolean {
    return this.#has(this.keys.find(key));
  }

  /** Finds an owner whatever the name is now. */
  byId(id: number): OwnerRecord | undefined {
    return this.atRow(this.#rowOf(id));
  }

  /**
   * Makes the record that an owner who is not known yet would get; the same until that one is on record, so
   * that whoever meets the owner meanwhile, in a report or on the disk, means the same one.
   */
  expect(name: string, since: number): OwnerRecord {
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

  /** Prepares for about so many owners. */
  expectMany(owners: number): void {
    this.keys.expect(owners);
    this.#byId.expect(owners);
    this.#makeRoomFor(owners - 1);
  }

  /** Puts an owner on record unless there is one of this key; gives the one on record. */
  add(owner: OwnerRecord): OwnerRecord {
    const row = this.keys.hold(owner.key);
    if (!this.#has(row)) {
      this.#put(row, owner);
      return owner;
    }
    this.keys.release(row);
    return this.#record(row, owner.key);
  }

  /** Puts an owner on record, in place of the one of this key. */
  set(owner: OwnerRecord): void {
    const row = this.keys.hold(owner.key);
    if (this.#has(row)) {
      this.keys.release(row);
      if (isDeepStrictEqual(this.#record(row, owner.key), owner)) return;
      this.#leaveId(row);
    }
    this.#put(row, owner);
  }

  /**
   * Applies owners who come, change and go together, by keys. An owner with usage who was to go stays, as
   * somebody new: a walk may have found units meanwhile. Gives those.
   */
  change(
    present: readonly OwnerRecord[],
    gone: readonly string[],
    { now, hasUsage }: { readonly now: number; hasUsage(key: string): boolean },
  ): readonly OwnerRecord[] {
    const anew: OwnerRecord[] = [];
    for (const key of gone) {
      const row = this.keys.find(key);
      if (!this.#has(row)) continue;
      if (hasUsage(key)) {
        const owner = this.expect(this.#names.get(row) ?? key, now);
        this.set(owner);
        anew.push(owner);
      } else {
        this.#remove(row);
      }
    }
    for (const owner of present) this.set(owner);
    return anew;
  }

  /** The rows of all owners, in no order; may be gone through without haste. */
  *rows(): Generator<number> {
    for (let row = 0; row < this.keys.end; row += 1) if (this.#has(row)) yield row;
  }

  /** The id of the owner in this row, who has one. */
  idAt(row: number): number {
    return this.#ids[row] ?? 0;
  }

  /** Undefined: there is no owner in this row. */
  atRow(row: number): OwnerRecord | undefined {
    return this.#has(row) ? this.#record(row, this.keys.key(row)) : undefined;
  }

  *#records(): Generator<OwnerRecord> {
    for (const row of this.rows()) yield this.#record(row, this.keys.key(row));
  }

  /** Fills a row whose owner is not found by an id. */
  #put(row: number, { key, id, name, type, since }: OwnerRecord): void {
    this.#expected.delete(key);
    // The later of two records counts for an owner who is being renamed.
    this.#leaveId(this.#rowOf(id));
    this.#makeRoomFor(row);
    this.#ids[row] = id;
    this.#since[row] = since;
    this.#types[row] = types.indexOf(type);
    if (name === key) this.#names.delete(row);
    else this.#names.set(row, name);
    this.#byId.add(row, hashOf(id));
  }

  #makeRoomFor(row: number): void {
    this.#ids = grown(this.#ids, row + 1);
    this.#since = grown(this.#since, row + 1);
    this.#types = grown(this.#types, row + 1);
  }

  #has(row: number): boolean {
    return (this.#types[row] ?? 0) > 0;
  }

  #record(row: number, key: string): OwnerRecord {
    return {
      key,
      id: this.#ids[row] ?? 0,
      name: this.#names.get(row) ?? key,
      type: types[this.#types[row] ?? 0] ?? 'user',
      since: this.#since[row] ?? 0,
    };
  }

  #rowOf(id: number): number {
    const hash = hashOf(id);
    let row = this.#byId.first(hash);
    while (row !== noRow && this.#ids[row] !== id) row = this.#byId.after(row, hash);
    return row;
  }

  /** The owner in this row is found by the id no more. */
  #leaveId(row: number): void {
    if (row !== noRow && this.#rowOf(this.#ids[row] ?? 0) === row) this.#byId.remove(row);
  }

  #remove(row: number): void {
    this.#leaveId(row);
    this.#types[row] = 0;
    this.#names.delete(row);
    this.keys.release(row);
  }
}

/** Ids have more bits than a hash. */
function hashOf(id: number): number {
  return mixed((id % 2 ** 32) ^ Math.imul(Math.floor(id / 2 ** 32), 0x9e3779b1));
}
