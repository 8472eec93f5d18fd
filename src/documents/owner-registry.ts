/** Every owner by key, name and id. Only memory: nothing here knows a store, a clock or usage. */

import { randomInt } from 'node:crypto';
import { ownerKey } from '../quota/index.ts';
import { type OwnerRecord, ownerIdBits } from '../store/index.ts';

/** Number of owners that are remembered although nothing came of them, as after a report that was refused. */
export const mostExpected = 10_000;

export type Owners = Pick<OwnerRegistry, 'all' | 'byId' | 'byKey' | 'keyOf' | 'named' | 'onFound'>;

export class OwnerRegistry {
  readonly #foldCase: boolean;
  readonly #byKey = new Map<string, OwnerRecord>();
  readonly #byId = new Map<number, OwnerRecord>();
  /** Owners who are about to be put on record, by key. */
  readonly #expected = new Map<string, OwnerRecord>();
  /** Called with the key of each owner who is found here, rather than named by a change of documents. */
  onFound: (key: string) => void = () => {};

  /** With `foldCase` the case of ASCII letters does not tell owners apart. */
  constructor(foldCase: boolean) {
    this.#foldCase = foldCase;
  }

  /** Every owner, in no order; may be gone through without haste, and more than once. */
  get all(): Iterable<OwnerRecord> {
    return { [Symbol.iterator]: () => this.#byKey.values() };
  }

  keyOf(ownerName: string): string {
    return ownerKey(ownerName, this.#foldCase);
  }

  /** Undefined: never heard of. */
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

  /** Puts an owner on record unless there is one of this key; gives the one on record. */
  add(owner: OwnerRecord): OwnerRecord {
    const known = this.byKey(owner.key);
    if (known !== undefined) return known;
    this.set(owner);
    this.onFound(owner.key);
    return owner;
  }

  /** Puts an owner on record, in place of the one of this key. */
  set(owner: OwnerRecord): void {
    this.#expected.delete(owner.key);
    const before = this.byKey(owner.key);
    if (before !== undefined) this.#leaveId(before);
    this.#byKey.set(owner.key, owner);
    // The later of two records counts for an owner who is being renamed.
    this.#byId.set(owner.id, owner);
  }

  /** Applies owners by keys; those with usage who were to go stay as somebody new. Gives those. */
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

  /** The owner is found by the id no more. */
  #leaveId(owner: OwnerRecord): void {
    if (this.#byId.get(owner.id) === owner) this.#byId.delete(owner.id);
  }
}
