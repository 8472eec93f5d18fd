/** The bytes of the members of a group together. */

import { SoftquotaError } from '../errors.ts';
import type { Policy } from '../policy/index.ts';
import {
  type Graces,
  noUsage,
  type PoolDecision,
  type PooledBytes,
  poolDecisions,
  type QuotaSettings,
  type ReservedBytes,
  type Usage,
} from '../quota/index.ts';
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
  /** The one that its members are of. */
  policy: Policy | null;
  readonly usage: number[];
  readonly unreachable: number[];
  /** By mask. */
  readonly reserved: Map<number, number>;
  /** By the owner's id. */
  readonly members: Map<number, Contribution>;
  /** Members whose part may have changed since. */
  readonly changed: Set<number>;
}

interface PoolsLedger extends OwnersById {
  readonly policy: Policy;
  readonly settings: QuotaSettings;
  readonly graces: { ofPool(group: string): Graces | null };
  /** The usage has what is reserved, too. */
  ownerUsage(ownerName: string): OwnerUsage;
}

/**
 * The sums of groups, kept up to date: a check adds up only those members whose bytes have changed since the
 * last one, or who have come or left with a change of the policy.
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
    // Members who came with a later policy are looked at with it.
    else
      for (const group of this.#ledger.policy.pooledOf(ownerId)) this.#kept.get(group)?.changed.add(ownerId);
  }

  /** The bytes of the members, with those of `owner` that are reserved as the owner says; null: with none. */
  of(group: string, owner: Pick<OwnerUsage, 'id' | 'reserved'> | null): PooledBytes {
    const pool = this.#current(group);
    const graces = this.#ledger.graces.ofPool(group);
    const stored = {
      usage: pool.usage,
      unreachable: pool.unreachable,
      ...(graces === null ? {} : { graces }),
    };
    if (owner === null) return { ...stored, reserved: null };
    const own = owner.id === null ? undefined : pool.members.get(owner.id);
    const reserved = new Map(pool.reserved);
    for (const { mask, bytes } of own?.reserved ?? []) addTo(reserved, mask, -bytes);
    for (const { mask, bytes } of owner.reserved ?? []) addTo(reserved, mask, bytes);
    return {
      ...stored,
      reserved: [...reserved].map(([mask, bytes]) => ({ mask, bytes })),
    };
  }

  /**
   * Decides by the limits that a group's members have together, whoever asks: by what is stored, or by what
   * is reserved as well. Null: their bytes cannot be added up.
   */
  decisions(group: string, by: 'stored' | 'reserved'): readonly PoolDecision[] | null {
    const { policy, settings } = this.#ledger;
    const compiled = policy.group(group);
    if (compiled === null || !settings.enabled) return [];
    try {
      return poolDecisions(settings, compiled, this.of(group, by === 'stored' ? null : nobody));
    } catch (error) {
      if (error instanceof SoftquotaError && error.code === 'sum_too_large') return null;
      throw error;
    }
  }

  #current(group: string): KeptPool {
    const { policy } = this.#ledger;
    if (policy !== this.#policy) {
      for (const name of this.#kept.keys()) if (!policy.pooled.has(name)) this.#kept.delete(name);
    }
    this.#policy = policy;
    const pool = this.#kept.get(group) ?? {
      policy: null,
      usage: [...noUsage],
      unreachable: [...noUsage],
      reserved: new Map(),
      members: new Map(),
      changed: new Set(),
    };
    this.#kept.set(group, pool);
    if (pool.policy !== policy) followMembers(pool, policy.membersOf(group));
    pool.policy = policy;
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

function followMembers(pool: KeptPool, ids: readonly number[]): void {
  const now = new Set(ids);
  for (const [id, part] of pool.members) {
    if (now.has(id)) continue;
    count(pool, part, -1);
    pool.members.delete(id);
    pool.changed.delete(id);
  }
  for (const id of pool.changed) if (!now.has(id)) pool.changed.delete(id);
  for (const id of ids) if (!pool.members.has(id)) pool.changed.add(id);
}

const nobody = { id: null, reserved: null };

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
