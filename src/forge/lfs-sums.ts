/** Counts LFS objects whose rows say which repository has which object: each once for an owner. */

import { createHash } from 'node:crypto';
import { ownerOfRepository, type RowOwners } from './forge-schema.ts';
import { ObjectTable } from './object-table.ts';
import { PartSums } from './sums.ts';

const leaf = 'size:git:lfs';
/** Owner number for an object of nobody, which counts as unowned only if no owner has it. */
const nobody = -1;

interface Orphan {
  readonly digits: string;
  readonly size: number;
  readonly reason: 'lfs_orphaned' | 'owner_missing';
}

export class LfsSums {
  readonly #whose: RowOwners;
  readonly #sums: PartSums;
  readonly #objects = new ObjectTable();
  readonly #orphans: Orphan[] = [];

  constructor(whose: RowOwners) {
    this.#whose = whose;
    this.#sums = new PartSums([leaf], whose.owners.size);
  }

  add(oid: string, size: number, repositoryId: number): void {
    const digits = digitsOf(oid);
    const owner = ownerOfRepository(this.#whose, repositoryId);
    if (typeof owner !== 'number') {
      const reason = owner === 'no owner' ? 'owner_missing' : 'lfs_orphaned';
      this.#orphans.push({ digits, size, reason });
      return;
    }
    const found = this.#objects.add(digits, owner);
    if (found !== 'known') this.#sums.add(leaf, owner, size);
    if (found === 'shared') this.#sums.sharedBytes += size;
  }

  /** After the last row. */
  sums(): PartSums {
    for (const { digits, size, reason } of this.#orphans.splice(0)) {
      if (this.#objects.add(digits, nobody) === 'new') this.#sums.addUnowned(reason, size);
    }
    return this.#sums;
  }
}

/** An object's name is its SHA-256; whatever else stands there gets one. */
function digitsOf(oid: string): string {
  return /^[0-9a-f]{64}$/.test(oid)
    ? oid.slice(0, 32)
    : createHash('sha256').update(oid).digest('hex').slice(0, 32);
}
