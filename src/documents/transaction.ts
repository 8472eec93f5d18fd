/** The draft of a change of documents and owners. Nothing is in force before everything is written. */

import { SoftquotaError } from '../errors.ts';
import { nameFault } from '../quota/index.ts';
import type { OwnerRecord, PolicyRecords, VolatileChange } from '../store/index.ts';
import { printable } from '../text.ts';
import type { Work } from '../turns.ts';
import type { ChangeSet, Kind } from './documents-in-force.ts';
import type { OwnerRegistry } from './owner-registry.ts';

/** The purpose of a transaction that has one event for all its changes. */
export interface AuditContext {
  readonly kind: string;
  readonly owner: OwnerRecord;
  /** The fields of the event besides author and changes, for JSON. */
  readonly facts: object;
}

interface TransactionOptions {
  readonly owners: OwnerRegistry;
  unitCountOf(ownerKey: string): number;
  readonly now: number;
}

export class Transaction {
  readonly changes: ChangeSet;
  readonly #options: TransactionOptions;
  /** Changed owners by key; null: removed. */
  readonly #owners = new Map<string, OwnerRecord | null>();
  /** Null: each change has its own event. */
  context: AuditContext | null = null;

  constructor(changes: ChangeSet, options: TransactionOptions) {
    this.changes = changes;
    this.#options = options;
  }

  owner(name: string): OwnerRecord | undefined {
    const { owners } = this.#options;
    const key = owners.keyOf(name);
    const changed = this.#owners.get(key);
    return changed === undefined ? owners.byKey(key) : (changed ?? undefined);
  }

  /** Finds an owner by id, whatever the name is now. */
  ownerById(id: number): OwnerRecord | undefined {
    for (const owner of this.#owners.values()) if (owner?.id === id) return owner;
    const known = this.#options.owners.byId(id);
    return known === undefined || this.#owners.has(known.key) ? undefined : known;
  }

  /** Throws `invalid` if the name is invalid, `conflict` if it is taken. */
  createOwner(name: string, type: OwnerRecord['type'] = 'user'): OwnerRecord {
    mustBeName(name);
    if (this.owner(name) !== undefined) throw taken(name);
    const { owners, now } = this.#options;
    const owner = { ...owners.expect(name, now), type };
    this.#owners.set(owner.key, owner);
    return owner;
  }

  setType(name: string, type: OwnerRecord['type']): OwnerRecord {
    const owner = { ...this.mustBeOwner(name), type };
    this.#owners.set(owner.key, owner);
    return owner;
  }

  /**
   * Renames an owner, who keeps the id, and so all documents. Units belong to the owner that the disk names,
   * so they stay with the old name until walks find them under the new one. If the new name is taken by an
   * owner who is only known from the disk (`isOnlyFound`), that owner is replaced; otherwise throws
   * `conflict`.
   */
  renameOwner(name: string, newName: string, isOnlyFound: (owner: OwnerRecord) => boolean): OwnerRecord {
    mustBeName(newName);
    const before = this.mustBeOwner(name);
    const key = this.#options.owners.keyOf(newName);
    const other = this.owner(newName);
    if (other !== undefined && other.id !== before.id && !isOnlyFound(other)) throw taken(newName);
    const renamed = { ...before, key, name: newName.normalize('NFC') };
    if (key !== before.key) this.#owners.set(before.key, null);
    this.#owners.set(key, renamed);
    return renamed;
  }

  /** Throws `not_found`, or `conflict` if the owner has units. */
  deleteOwner(name: string): OwnerRecord {
    const owner = this.mustBeOwner(name);
    const units = this.#options.unitCountOf(owner.key);
    if (units > 0) {
      const shown = printable(owner.name);
      const message = `${shown} has ${units} ${units === 1 ? 'unit' : 'units'}, such as repositories: delete those first`;
      throw new SoftquotaError('conflict', message);
    }
    this.#owners.set(owner.key, null);
    return owner;
  }

  mustBeOwner(name: string): OwnerRecord {
    const owner = this.owner(name);
    if (owner === undefined) throw new SoftquotaError('not_found', `there is no owner ${printable(name)}`);
    return owner;
  }

  /** Makes one event for the whole transaction, even if it changes nothing. */
  auditAs(context: AuditContext): void {
    this.context = context;
  }

  get isEmpty(): boolean {
    return this.changes.isEmpty && this.#owners.size === 0 && this.context === null;
  }

  /** The changed owners by key; null: removed. */
  get owners(): ReadonlyMap<string, OwnerRecord | null> {
    return this.#owners;
  }

  /** Makes the records to write to the store, the volatile documents apart. */
  *records(
    kinds: ReadonlyMap<string, Kind<unknown>>,
  ): Work<{ readonly versioned: PolicyRecords; readonly volatile: Required<VolatileChange> }> {
    const owners: OwnerRecord[] = [];
    const goneOwners: string[] = [];
    for (const [key, owner] of this.#owners) {
      if (owner === null) goneOwners.push(key);
      else owners.push(owner);
      yield;
    }
    const { versioned, volatile } = yield* this.changes.records(kinds);
    return { versioned: { ...versioned, owners, goneOwners }, volatile };
  }
}

function mustBeName(name: string): void {
  const fault = nameFault(name);
  if (fault !== null) throw new SoftquotaError('invalid', `username: ${fault}`);
}

function taken(name: string): SoftquotaError {
  return new SoftquotaError('conflict', `there is an owner ${printable(name)} already`);
}
