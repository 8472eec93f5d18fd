/** The bytes of the members of a group together. */

import type { Policy } from '../policy/index.ts';
import { noUsage, type PooledBytes, type ReservedBytes, type Usage } from '../quota/index.ts';
import type { OwnerUsage } from './options.ts';

interface OwnersById {
  ownerById(id: number): OwnerUsage | undefined;
}

/** Adds up the members of each group that is asked about, once. Nothing that is reserved is among them. */
export function sumsOfPools(owners: OwnersById, policy: Policy): (group: string) => PooledBytes {
  const known = new Map<string, PooledBytes>();
  return group => {
    const found = known.get(group) ?? sumOf(policy.membersOf(group).map(id => owners.ownerById(id)));
    known.set(group, found);
    return found;
  };
}

function sumOf(members: readonly (OwnerUsage | undefined)[]): PooledBytes {
  let usage = noUsage;
  let unreachable: Usage | null = null;
  for (const member of members) {
    if (member === undefined) continue;
    usage = added(usage, member.usage);
    if (member.unreachable !== null) unreachable = added(unreachable ?? noUsage, member.unreachable);
  }
  return { usage, unreachable, reserved: null };
}

function added(a: Usage, b: Usage): Usage {
  return a.map((bytes, index) => bytes + (b[index] ?? 0));
}

/** The part of one member in the sums of a pool. */
interface Contribution {
  readonly usage: Usage;
  readonly unreachable: Usage;
  readonly reserved: readonly ReservedBytes[];
}

interface KeptPool {
  readonly usage: number[];
  readonly unreachable: number[];
  /** By mask. */
  readonly reserved: Map<number, number>;
  /** By the owner's id. */
  readonly members: Map<number, Contribution>;
  /** Members whose part has changed since. */
  readonly changed: Set<number>;
}

interface PoolsLedger extends OwnersById {
  readonly policy: Policy;
  /** The usage has what is reserved, too. */
  ownerUsage(ownerName: string): OwnerUsage;
}

/**
 * The sums of groups, kept up to date: a check adds up only those members whose bytes have changed since the
 * last one. After a change of the policy the members of a group are added up once.
 */
export class Pools {
  readonly #ledger: PoolsLedger;
  #policy: Policy | null = null;
  readonly #kept = new Map<string, KeptPool>();

  constructor(ledger: PoolsLedger) {
    this.#ledger = ledger;
  }

  /** The bytes of this owner have changed; null: anybody's may have. */
  changed(ownerId: number | null): void {
    if (ownerId === null) this.#kept.clear();
    else for (const pool of this.#kept.values()) if (pool.members.has(ownerId)) pool.changed.add(ownerId);
  }

  /** The bytes of the members, with those of `owner` that are reserved as the owner says; null: with none. */
  of(group: string, owner: Pick<OwnerUsage, 'id' | 'reserved'> | null): PooledBytes {
    const pool = this.#current(group);
    if (owner === null) return { usage: pool.usage, unreachable: pool.unreachable, reserved: null };
    const own = owner.id === null ? undefined : pool.members.get(owner.id);
    const reserved = new Map(pool.reserved);
    for (const { mask, bytes } of own?.reserved ?? []) addTo(reserved, mask, -bytes);
    for (const { mask, bytes } of owner.reserved ?? []) addTo(reserved, mask, bytes);
    return {
      usage: pool.usage,
      unreachable: pool.unreachable,
      reserved: [...reserved].map(([mask, bytes]) => ({ mask, bytes })),
    };
  }

  #current(group: string): KeptPool {
    const { policy } = this.#ledger;
    if (policy !== this.#policy) this.#kept.clear();
    this.#policy = policy;
    const pool = this.#kept.get(group) ?? {
      usage: [...noUsage],
      unreachable: [...noUsage],
      reserved: new Map(),
      members: new Map(),
      changed: new Set(policy.membersOf(group)),
    };
    this.#kept.set(group, pool);
    for (const id of [...pool.changed]) {
      const owner = this.#ledger.ownerById(id);
      const { usage, unreachable, reserved } =
        owner === undefined ? nothing : this.#ledger.ownerUsage(owner.name);
      const part = { usage, unreachable: unreachable ?? noUsage, reserved: reserved ?? [] };
      count(pool, pool.members.get(id), -1);
      count(pool, part, 1);
      pool.members.set(id, part);
      // Not before: the bytes of an owner may be too many to be added up.
      pool.changed.delete(id);
    }
    return pool;
  }
}

const nothing: Pick<OwnerUsage, 'reserved' | 'unreachable' | 'usage'> = {
  usage: noUsage,
  unreachable: null,
  reserved: null,
};

function count(pool: KeptPool, part: Contribution | undefined, sign: 1 | -1): void {
  if (part === undefined) return;
  for (const [index, bytes] of part.usage.entries())
    pool.usage[index] = (pool.usage[index] ?? 0) + sign * bytes;
  for (const [index, bytes] of part.unreachable.entries()) {
    pool.unreachable[index] = (pool.unreachable[index] ?? 0) + sign * bytes;
  }
  for (const { mask, bytes } of part.reserved) addTo(pool.reserved, mask, sign * bytes);
}

function addTo(sums: Map<number, number>, mask: number, bytes: number): void {
  const sum = (sums.get(mask) ?? 0) + bytes;
  if (sum === 0) sums.delete(mask);
  else sums.set(mask, sum);
}
