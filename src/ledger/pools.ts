/** Adds up the bytes of the members of a group. */

import type { Policy } from '../policy/index.ts';
import {
  type Decision,
  decidePools,
  type Graces,
  leaves,
  noUsage,
  type PooledBytes,
  type QuotaSettings,
  type ReservedBytes,
  type Usage,
} from '../quota/index.ts';
import type { OwnerUsage } from './options.ts';

/** The bytes of one member in the sums of a pool. */
type Contribution = Pick<OwnerUsage, 'reserved' | 'unreachable' | 'usage'>;

interface KeptPool {
  /** By leaf. All sums here are exact, however large they are. */
  readonly usage: bigint[];
  readonly unreachable: bigint[];
  /** By mask. */
  readonly reserved: Map<number, bigint>;
  /** By the owner's id. */
  readonly members: Map<number, Contribution>;
  /** Ids of owners whose bytes or membership may have changed since. */
  readonly changed: Set<number>;
  /** The sums in the form that decisions read; null: to be computed. */
  stored: Pick<PooledBytes, 'isCapped' | 'unreachable' | 'usage'> | null;
}

interface PoolsLedger {
  readonly policy: Policy;
  readonly settings: QuotaSettings;
  readonly graces: { ofPool(group: string): Graces | null };
  ownerById(id: number): OwnerUsage | undefined;
  /** Returns the usage with its reservations, which `ownerById` leaves out. */
  ownerUsage(ownerName: string): OwnerUsage;
}

/**
 * Holds the sums of groups. A check adds up only members whose bytes have changed since the last check, or
 * who joined or left by a change of the policy. Sums above 2^53 - 1 are read as 2^53 - 1. A member whose own
 * bytes cannot be added up counts 0 bytes.
 */
export class Pools {
  readonly #ledger: PoolsLedger;
  readonly #kept = new Map<string, KeptPool>();

  constructor(ledger: PoolsLedger) {
    this.#ledger = ledger;
  }

  /** Marks the bytes of an owner as changed; null: those of all owners. */
  changed(ownerId: number | null): void {
    if (ownerId === null) this.#kept.clear();
    else
      for (const group of this.#ledger.policy.pooledOf(ownerId)) this.#kept.get(group)?.changed.add(ownerId);
  }

  /** Takes note of a changed policy, in which these owners may be in other groups. */
  policyChanged(ownerIds: ReadonlySet<number>): void {
    const { pooled } = this.#ledger.policy;
    for (const [group, { members, changed }] of this.#kept) {
      if (!pooled.has(group)) this.#kept.delete(group);
      const fewer = ownerIds.size < members.size ? ownerIds : members.keys();
      for (const id of fewer) if (ownerIds.has(id) && members.has(id)) changed.add(id);
    }
    for (const id of ownerIds) this.changed(id);
  }

  /** Returns the members' bytes, with the reservations in `owner` as that owner's; null: no reservations. */
  of(group: string, owner: Pick<OwnerUsage, 'id' | 'reserved'> | null): PooledBytes {
    const pool = this.#current(group);
    const graces = this.#ledger.graces.ofPool(group);
    pool.stored ??= { usage: capped(pool.usage), unreachable: capped(pool.unreachable), isCapped: true };
    const stored = graces === null ? pool.stored : { ...pool.stored, graces };
    // A fast path, since most groups have no reservations, and each check of a member comes here.
    const isFree = pool.reserved.size === 0 && (owner?.reserved ?? []).length === 0;
    if (owner === null || isFree) return { ...stored, reserved: null };
    const own = owner.id === null ? undefined : pool.members.get(owner.id);
    const reserved = new Map(pool.reserved);
    addAll(reserved, own?.reserved ?? [], -1n);
    addAll(reserved, owner.reserved ?? [], 1n);
    return {
      ...stored,
      reserved: [...reserved].map(([mask, bytes]) => ({ mask, bytes: Number(bytes) })),
    };
  }

  /**
   * Decides by each limit in force of a group's members together, for no member in particular. `reserved`:
   * reservations count, too.
   */
  decisions(group: string, by: 'stored' | 'reserved'): readonly Decision[] {
    const { policy, settings } = this.#ledger;
    const compiled = policy.pool(group);
    if (compiled === null || !settings.enabled) return [];
    const pool = this.of(group, by === 'stored' ? null : nobody);
    return decidePools(compiled, { settings, pool, member: null })
      .filter(({ rule }) => rule.mode === undefined)
      .map(({ decision }) => decision);
  }

  #current(group: string): KeptPool {
    const pool = this.#kept.get(group) ?? {
      usage: leaves.map(() => 0n),
      unreachable: leaves.map(() => 0n),
      reserved: new Map(),
      members: new Map(),
      changed: new Set(this.#ledger.policy.membersOf(group)),
      stored: null,
    };
    this.#kept.set(group, pool);
    for (const id of pool.changed) {
      const part = this.#partOf(id, group);
      count(pool, pool.members.get(id), -1n);
      count(pool, part, 1n);
      if (part === undefined) pool.members.delete(id);
      else pool.members.set(id, part);
      pool.changed.delete(id);
      pool.stored = null;
    }
    return pool;
  }

  #partOf(id: number, group: string): Contribution | undefined {
    const { policy } = this.#ledger;
    const owner = policy.pooledOf(id).includes(group) ? this.#ledger.ownerById(id) : undefined;
    if (owner === undefined) return undefined;
    const { usage, unreachable, reserved } = this.#ledger.ownerUsage(owner.name);
    return { usage, unreachable, reserved };
  }
}

const nobody = { id: null, reserved: null };

function count(pool: KeptPool, part: Contribution | undefined, sign: 1n | -1n): void {
  if (part === undefined) return;
  addUsage(pool.usage, part.usage, sign);
  addUsage(pool.unreachable, part.unreachable ?? noUsage, sign);
  addAll(pool.reserved, part.reserved ?? [], sign);
}

function addUsage(sums: bigint[], usage: Usage, sign: 1n | -1n): void {
  for (const [index, bytes] of usage.entries()) {
    // Skips the arithmetic of big integers, since most owners have nothing in most leaves.
    if (bytes !== 0) sums[index] = (sums[index] ?? 0n) + sign * BigInt(bytes);
  }
}

function addAll(sums: Map<number, bigint>, reserved: readonly ReservedBytes[], sign: 1n | -1n): void {
  for (const { mask, bytes } of reserved) {
    const sum = (sums.get(mask) ?? 0n) + sign * BigInt(bytes);
    if (sum === 0n) sums.delete(mask);
    else sums.set(mask, sum);
  }
}

const most = BigInt(Number.MAX_SAFE_INTEGER);

function capped(sums: readonly bigint[]): Usage {
  return sums.map(sum => Number(sum < most ? sum : most));
}
