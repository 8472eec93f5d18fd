/**
 * One change of what administrators rule, drafted: documents, and owners. Nothing of it is in the book or in
 * the store before all of it is written.
 */

import { SoftquotaError } from '../errors.ts';
import type { Draft } from '../policy/index.ts';
import { nameFault, printable } from '../quota/index.ts';
import type { Changes, OwnerRecord } from '../store/index.ts';
import type { Book } from './book.ts';

/** What a change is for, where it is one thing to those who read of it. */
export interface Occasion {
  /** The kind of its event. */
  readonly kind: string;
  readonly owner: OwnerRecord;
  /** What the event says, as JSON, besides who did it and what became another. */
  readonly facts: object;
}

export class Amendment {
  readonly draft: Draft;
  readonly #book: Book;
  readonly #now: number;
  /** By key; null: gone. */
  readonly #owners = new Map<string, OwnerRecord | null>();
  #occasion: Occasion | null = null;

  constructor(draft: Draft, book: Book, now: number) {
    this.draft = draft;
    this.#book = book;
    this.#now = now;
  }

  owner(name: string): OwnerRecord | undefined {
    const key = this.#book.keyOf(name);
    const changed = this.#owners.get(key);
    return changed === undefined ? this.#book.account(name)?.owner : (changed ?? undefined);
  }

  /** Whatever the name is now. */
  ownerById(id: number): OwnerRecord | undefined {
    for (const owner of this.#owners.values()) if (owner?.id === id) return owner;
    const known = this.#book.owner(id);
    return known === undefined || this.#owners.has(known.key) ? undefined : known;
  }

  /** Throws `invalid` where it is no name, `conflict` where somebody has it. */
  createOwner(name: string, type: OwnerRecord['type'] = 'user'): OwnerRecord {
    mustBeName(name);
    if (this.owner(name) !== undefined) throw taken(name);
    const owner = { ...this.#book.newOwner(name, this.#now), type };
    this.#owners.set(owner.key, owner);
    return owner;
  }

  /** Throws `not_found`. */
  setType(name: string, type: OwnerRecord['type']): OwnerRecord {
    const owner = { ...this.mustBeOwner(name), type };
    this.#owners.set(owner.key, owner);
    return owner;
  }

  /**
   * Everything that is laid down about the owner goes on under the new name, and nothing under the old one.
   * Units are whose the disk says, so they stay under the old name until they are found under the new one. An owner of
   * the new name who is only known from the disk gives way, as `isOnlyFound` tells; throws `conflict` for any other one.
   */
  renameOwner(name: string, newName: string, isOnlyFound: (owner: OwnerRecord) => boolean): OwnerRecord {
    mustBeName(newName);
    const before = this.mustBeOwner(name);
    const key = this.#book.keyOf(newName);
    const other = this.owner(newName);
    if (other !== undefined && other.id !== before.id && !isOnlyFound(other)) throw taken(newName);
    const renamed = { ...before, key, name: newName.normalize('NFC') };
    if (key !== before.key) this.#owners.set(before.key, null);
    this.#owners.set(key, renamed);
    return renamed;
  }

  /** Throws `not_found`, and `conflict` where the owner has units. */
  deleteOwner(name: string): OwnerRecord {
    const owner = this.mustBeOwner(name);
    const units = this.#book.account(name)?.unitCount ?? 0;
    if (units > 0) {
      const shown = printable(owner.name);
      throw new SoftquotaError(
        'conflict',
        `${shown} has ${units} ${units === 1 ? 'unit' : 'units'}, such as repositories: delete those first`,
      );
    }
    this.#owners.set(owner.key, null);
    return owner;
  }

  /** Throws `not_found`. */
  mustBeOwner(name: string): OwnerRecord {
    const owner = this.owner(name);
    if (owner === undefined) throw new SoftquotaError('not_found', `there is no owner ${printable(name)}`);
    return owner;
  }

  /** One event tells of all of this change, even where nothing becomes another. */
  tellAs(occasion: Occasion): void {
    this.#occasion = occasion;
  }

  /** Null: each thing that becomes another has an event of its own. */
  get occasion(): Occasion | null {
    return this.#occasion;
  }

  get isEmpty(): boolean {
    return this.draft.isEmpty && this.#owners.size === 0 && this.#occasion === null;
  }

  get changes(): Changes {
    return { ...this.draft.changes, owners: [...this.#present()], goneOwners: [...this.#gone()] };
  }

  *#present(): Generator<OwnerRecord> {
    for (const owner of this.#owners.values()) if (owner !== null) yield owner;
  }

  *#gone(): Generator<string> {
    for (const [key, owner] of this.#owners) if (owner === null) yield key;
  }
}

function mustBeName(name: string): void {
  const fault = nameFault(name);
  if (fault !== null) throw new SoftquotaError('invalid', `username: ${fault}`);
}

function taken(name: string): SoftquotaError {
  return new SoftquotaError('conflict', `there is an owner ${printable(name)} already`);
}
