/** The policy for each owner, compiled once and cached. */

import type { Snapshot } from '../documents/index.ts';
import {
  type ActiveAllowance,
  type CompiledGroup,
  compileGroup,
  type Group,
  type Standing,
  standingIn,
} from '../quota/index.ts';
import { activeAllowance, allowanceKind } from './allowances.ts';
import { assignedGroups, groupNamed, membersByGroup } from './groups.ts';
import { groupKind, ruleKind } from './kinds.ts';

const nobody: readonly number[] = [];

/** Reads a snapshot that does not change any more; after a change there is another one. */
export class Policy {
  readonly #snapshot: Snapshot;
  readonly #compiled = new Map<string, CompiledGroup | null>();
  readonly hasAllowances: boolean;
  /** By the owner's id, as they count until the first of them ends. */
  readonly #allowances = new Map<number, ActiveAllowance>();
  #members: ReadonlyMap<string, readonly number[]> | null = null;
  /** For one list of default groups, by the assigned groups; there are few such sets, and many owners. */
  #standings: { readonly defaults: readonly string[]; readonly found: Map<string, Standing> } | null = null;
  /** All rules are in force, and limit owners. */
  readonly #isWhole: boolean;
  readonly hasGrace: boolean;
  /** The groups that have a limit of their members together. */
  readonly pooled: ReadonlySet<string>;

  constructor(snapshot: Snapshot) {
    const named = [...snapshot.all(ruleKind)];
    const rules = named.map(([, rule]) => rule);
    const groups = [...snapshot.all(groupKind)];
    this.#snapshot = snapshot;
    this.hasAllowances = !isNone(snapshot.all(allowanceKind));
    this.#isWhole =
      [...rules, ...groups.map(([, group]) => group)].every(({ mode }) => mode === undefined) &&
      rules.every(({ per }) => per === undefined);
    const together = new Set(named.flatMap(([name, { per }]) => (per === 'group' ? [name] : [])));
    const pooled = groups.filter(([, group]) => group.rules.some(rule => together.has(rule)));
    this.pooled = new Set(pooled.map(([name]) => name));
    this.hasGrace = rules.some(({ graceMs = 0 }) => graceMs > 0);
  }

  /** The groups that bear on an owner; `ownerId` is null for one never heard of. */
  standing(ownerId: number | null, defaultGroups: readonly string[]): Standing {
    if (this.#standings?.defaults !== defaultGroups) {
      this.#standings = { defaults: defaultGroups, found: new Map() };
    }
    const { found } = this.#standings;
    const assigned = ownerId === null ? [] : assignedGroups(this.#snapshot, ownerId);
    const names = assigned.join('\n');
    const known = found.get(names);
    if (known !== undefined) return known;
    const all = { assigned: this.#groups(assigned), defaults: this.#groups(new Set(defaultGroups)) };
    const standing = this.#isWhole ? all : standingIn(all);
    found.set(names, standing);
    return standing;
  }

  /** The grace of a rule's own, in milliseconds; undefined: as configured, or there is no such rule. */
  graceMsOf(rule: string): number | undefined {
    return this.#snapshot.get(ruleKind, rule)?.graceMs;
  }

  /**
   * The allowances of an owner that have not ended at `now()`, the same object until one of them ends; null:
   * none. The clock is read only for owners who have some.
   */
  allowanceOf(ownerId: number | null, now: () => number): ActiveAllowance | null {
    if (!this.hasAllowances || ownerId === null) return null;
    const known = this.#allowances.get(ownerId);
    if (known === undefined && this.#snapshot.get(allowanceKind, String(ownerId)) === undefined) return null;
    const time = now();
    if (known !== undefined && known.until > time) return known;
    const active = activeAllowance(this.#snapshot, ownerId, time);
    if (active === null) this.#allowances.delete(ownerId);
    else this.#allowances.set(ownerId, active);
    return active;
  }

  /** The groups assigned to an owner, by name where none are: those of DEFAULT_GROUPS that exist. */
  groupsOf(ownerId: number | null, defaultGroups: readonly string[]): readonly Group[] {
    const assigned = ownerId === null ? [] : assignedGroups(this.#snapshot, ownerId);
    const names = assigned.length > 0 ? assigned : [...new Set(defaultGroups)].sort();
    return names.flatMap(name => groupNamed(this.#snapshot, name) ?? []);
  }

  /** The groups of an owner that have a limit of their members together. */
  pooledOf(ownerId: number): readonly string[] {
    if (this.pooled.size === 0) return [];
    return assignedGroups(this.#snapshot, ownerId).filter(group => this.pooled.has(group));
  }

  membersOf(group: string): readonly number[] {
    this.#members ??= membersByGroup(this.#snapshot);
    return this.#members.get(group) ?? nobody;
  }

  /** The assigned groups of an owner of which a rule limits the members together, by name. */
  groupsWithPools(ownerId: number): readonly CompiledGroup[] {
    return this.#groups(this.pooledOf(ownerId).toSorted());
  }

  /** A group that has a limit of its members together; null: there is none of that name. */
  pool(name: string): CompiledGroup | null {
    return this.pooled.has(name) ? this.group(name) : null;
  }

  /** Null: there is none of that name. */
  group(name: string): CompiledGroup | null {
    const known = this.#compiled.get(name);
    if (known !== undefined) return known;
    const group = groupNamed(this.#snapshot, name);
    const compiled = group === undefined ? null : compileGroup(group);
    this.#compiled.set(name, compiled);
    return compiled;
  }

  /** Those that exist. */
  #groups(names: Iterable<string>): readonly CompiledGroup[] {
    const found: CompiledGroup[] = [];
    for (const name of names) {
      const group = this.group(name);
      if (group !== null) found.push(group);
    }
    return found;
  }
}

function isNone(entries: Iterable<unknown>): boolean {
  for (const _ of entries) return false;
  return true;
}
