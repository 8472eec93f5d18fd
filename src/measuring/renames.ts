/**
 * Owners who seem to have been renamed on the disk: a new owner has the very directories of one who has none
 * left.
 *
 * A repository's path says whose it is, so whoever renames themselves in a forge is somebody else here, in
 * none of the groups that they were put into. Only an administrator can say that it is the same person; so it
 * is told.
 */

import type { ObservedRename } from '../health/index.ts';
import { isOnlyFound } from '../identity/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { assignedGroups } from '../policy/index.ts';
import type { FormerOwner } from '../scan/index.ts';
import type { OwnerRecord } from '../store/index.ts';

export interface RenamesOptions {
  readonly ledger: Pick<Ledger, 'documents' | 'units'>;
  readonly log: Pick<Log, 'warn'>;
}

/** If more units change their owner at once, templates or owners were changed, and not names. */
const mostUnits = 100_000;
/** The directories of one owner are walked one after the other. */
const quietMs = 2000;

export class Renames {
  readonly #options: RenamesOptions;
  /** By the paths of units. */
  readonly #former = new Map<string, readonly FormerOwner[]>();
  readonly #told = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  constructor(options: RenamesOptions) {
    this.#options = options;
  }

  /** A unit was measured. */
  measured(path: string, formerOwners: readonly FormerOwner[]): void {
    if (formerOwners.length === 0) this.#former.delete(path);
    else if (this.#former.size < mostUnits) this.#former.set(path, formerOwners);
    this.#tellSoon();
  }

  /** A unit is gone. */
  gone(path: string): void {
    this.#former.delete(path);
    this.#tellSoon();
  }

  /**
   * Those by which a quota ended: the old owner has nothing in storage, and is still in groups that the new
   * one is not in.
   */
  list(): readonly ObservedRename[] {
    return this.#all().filter(({ groups, newGroups }) => groups.some(group => !newGroups.includes(group)));
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #tellSoon(): void {
    if (this.#former.size === 0) return;
    if (this.#timer !== null) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.#tell(), quietMs).unref();
  }

  #tell(): void {
    this.#timer = null;
    for (const { from, to, units } of this.#all()) {
      const pair = JSON.stringify([from, to]);
      if (this.#told.has(pair) || this.#told.size >= mostUnits) continue;
      this.#told.add(pair);
      this.#options.log.warn({ from, to, units }, 'an owner seems to have been renamed on the disk');
    }
  }

  #all(): readonly ObservedRename[] {
    const found = new Map<string, ObservedRename>();
    const { documents, units: known } = this.#options.ledger;
    const { owners, snapshot } = documents;
    for (const [path, formerOwners] of this.#former) {
      const owner = known.unit(path)?.owner ?? null;
      const to = owner === null ? undefined : owners.named(owner);
      if (to === undefined) continue;
      const gone = formerOwners.filter(({ name }) => owners.keyOf(name) !== to.key && !known.hasWalked(name));
      const last = gone.at(-1);
      if (last === undefined) continue;
      const from = gone.find(one => this.#groupsOf(one).length > 0) ?? last;
      const pair = JSON.stringify([owners.keyOf(from.name), to.key]);
      const before = found.get(pair);
      if (before !== undefined) {
        found.set(pair, { ...before, units: before.units + 1 });
        continue;
      }
      found.set(pair, {
        from: this.#owner(from)?.name ?? from.name,
        to: to.name,
        units: 1,
        groups: this.#groupsOf(from),
        newGroups: assignedGroups(snapshot, to.id),
        isOnlyFound: isOnlyFound(snapshot, to),
      });
    }
    return [...found.values()];
  }

  #groupsOf(former: FormerOwner): readonly string[] {
    const owner = this.#owner(former);
    return owner === undefined ? [] : assignedGroups(this.#options.ledger.documents.snapshot, owner.id);
  }

  /** Undefined: there is none any more, or it is somebody who took the name later. */
  #owner({ name, until }: FormerOwner): OwnerRecord | undefined {
    const owner = this.#options.ledger.documents.owners.named(name);
    return owner !== undefined && owner.since < until ? owner : undefined;
  }
}
