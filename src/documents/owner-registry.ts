/** Finds owners by key, name and id. This is memory only, without a store, a clock or usage. */

import { randomInt } from 'node:crypto';
import { ownerKey } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';

/** Number of random bits of an owner's id, so that hosts need not agree on who draws one. */
const idBits = 48;
/** Most expected owners that are remembered. Some never come, for example after a refused report. */
export const mostExpected = 10_000;

export type Owners = Pick<OwnerRegistry, 'all' | 'byId' | 'byKey' | 'keyOf' | 'named' | 'onFound'>;

export class OwnerRegistry {
  readonly #foldCase: boolean;
  readonly #byKey = new Map<string, OwnerRecord>();
  readonly #byId = new Map<number, OwnerRecord>();
  /** Owners that `expect` returned and that are not added yet, by key. */
  readonly #expected = new Map<string, OwnerRecord>();
  /** Called with the key of each new owner, except those that a change of documents names. */
  onFound: (key: string) => void = () => {};

  /** With `foldCase`, names of owners compare without the case of ASCII letters. */
  constructor(foldCase: boolean) {
    this.#foldCase = foldCase;
  }

  /** All owners, unordered. Can be iterated in slices, and more than once. */
  get all(): Iterable<OwnerRecord> {
    return { [Symbol.iterator]: () => this.#byKey.values() };
  }

  keyOf(ownerName: string): string {
    return ownerKey(ownerName, this.#foldCase);
  }

  /** Undefined: unknown. */
  named(ownerName: string): OwnerRecord | undefined {
    return this.byKey(this.keyOf(ownerName));
  }

  byKey(key: string): OwnerRecord | undefined {
    return this.#byKey.get(key);
  }

  /** Finds an owner whatever the name is now. */
  byId(id: number): OwnerRecord | undefined {
    return this.#byId.get(id);
  }

  /**
   * Returns the record for an unknown owner. Returns the same one until it is added, so that a report and a
   * walk that find the owner at the same time use one id.
   */
  expect(name: string, since: number): OwnerRecord {
    const key = this.keyOf(name);
    const id = randomInt(1, 2 ** idBits - 1);
    const owner = this.#expected.get(key) ?? { key, id, name: name.normalize('NFC'), type: 'user', since };
    this.#expected.set(key, owner);
    if (this.#expected.size > mostExpected) {
      const [oldest] = this.#expected.keys();
      if (oldest !== undefined) this.#expected.delete(oldest);
    }
    return owner;
  }

  /** Adds an owner unless there is one with this key; returns the one with this key. */
  add(owner: OwnerRecord): OwnerRecord {
    const known = this.byKey(owner.key);
    if (known !== undefined) return known;
    this.set(owner);
    this.onFound(owner.key);
    return owner;
  }

  /** Adds an owner, or replaces the one with this key. */
  set(owner: OwnerRecord): void {
    this.#expected.delete(owner.key);
    const before = this.byKey(owner.key);
    if (before !== undefined) this.#leaveId(before);
    this.#byKey.set(owner.key, owner);
    // During a rename two records have this id; the later one counts.
    this.#byId.set(owner.id, owner);
  }

  /** Applies changes by key. A deleted owner with usage is replaced by a new one; returns the new owners. */
  change(
    present: readonly OwnerRecord[],
    gone: readonly string[],
    { now, hasUsage }: { readonly now: number; hasUsage(key: string): boolean },
  ): readonly OwnerRecord[] {
    const anew: OwnerRecord[] = [];
    for (const key of gone) {
      const known = this.byKey(key);
      if (known === undefined) continue;
      if (hasUsage(key)) {
        const owner = this.expect(known.name, now);
        this.set(owner);
        this.onFound(key);
        anew.push(owner);
      } else {
        this.#byKey.delete(key);
        this.#leaveId(known);
      }
    }
    for (const owner of present) this.set(owner);
    return anew;
  }

  /** Removes the owner from the index by id. */
  #leaveId(owner: OwnerRecord): void {
    if (this.#byId.get(owner.id) === owner) this.#byId.delete(owner.id);
  }
}
