/** The policy for each owner, compiled once and cached. */

import type { Documents, Snapshot } from '../documents/index.ts';
import {
  type ActiveAllowance,
  type CompiledGroup,
  compileGroup,
  type Group,
  type Standing,
  standingIn,
} from '../quota/index.ts';
import { runToEnd, type Work, workInSlices } from '../turns.ts';
import { allowanceKind, allowancesOf } from './allowances.ts';
import { assignedGroups, groupNamed, membersByGroup } from './groups.ts';
import { groupKind, ruleKind } from './rules.ts';

const nobody: readonly number[] = [];

/** Reads the documents in force; after each change the ledger makes a new policy, in the same turn. */
export class Policy {
  readonly snapshot: Snapshot;
  readonly #compiled = new Map<string, CompiledGroup | null>();
  readonly hasAllowances: boolean;
  /** The sum of allowances by owner id, valid from the time it was added up until the first of them ends. */
  readonly #allowances = new Map<number, { readonly active: ActiveAllowance; readonly at: number }>();
  #members: ReadonlyMap<string, readonly number[]> | null = null;
  /** Standings by assigned groups, for one list of default groups: many owners have the same groups. */
  #standings: { readonly defaults: readonly string[]; readonly found: Map<string, Standing> } | null = null;
  /** True if all rules are in force, and none is a bound. */
  readonly #isWhole: boolean;
  readonly hasGrace: boolean;
  /** The groups with a limit of their members together. */
  readonly pooled: ReadonlySet<string>;

  constructor(snapshot: Snapshot) {
    const named = [...snapshot.all(ruleKind)];
    const rules = named.map(([, rule]) => rule);
    const groups = [...snapshot.all(groupKind)];
    this.snapshot = snapshot;
    this.hasAllowances = !isNone(snapshot.all(allowanceKind));
    this.#isWhole =
      [...rules, ...groups.map(([, group]) => group)].every(({ mode }) => mode === undefined) &&
      rules.every(({ per }) => per === undefined);
    const together = new Set(named.flatMap(([name, { per }]) => (per === 'group' ? [name] : [])));
    const pooled = groups.filter(([, group]) => group.rules.some(rule => together.has(rule)));
    this.pooled = new Set(pooled.map(([name]) => name));
    this.hasGrace = rules.some(({ graceMs = 0 }) => graceMs > 0);
  }

  /** Returns the groups that apply to an owner; `ownerId` is null for an unknown owner. */
  standing(ownerId: number | null, defaultGroups: readonly string[]): Standing {
    if (this.#standings?.defaults !== defaultGroups) {
      this.#standings = { defaults: defaultGroups, found: new Map() };
    }
    const { found } = this.#standings;
    const assigned = ownerId === null ? [] : assignedGroups(this.snapshot, ownerId);
    const names = assigned.join('\n');
    const known = found.get(names);
    if (known !== undefined) return known;
    const all = { assigned: this.#groups(assigned), defaults: this.#groups(new Set(defaultGroups)) };
    const standing = this.#isWhole ? all : standingIn(all);
    found.set(names, standing);
    return standing;
  }

  /** Returns a rule's own grace in milliseconds; undefined: as configured, or there is no such rule. */
  graceMsOf(rule: string): number | undefined {
    return this.snapshot.get(ruleKind, rule)?.graceMs;
  }

  /**
   * Returns the sum of the allowances of an owner that run at `now()`, the same object until one of them
   * ends; null: none. Calls `now` only for owners with allowances.
   */
  allowanceOf(ownerId: number | null, now: () => number): ActiveAllowance | null {
    if (!this.hasAllowances || ownerId === null) return null;
    const known = this.#allowances.get(ownerId);
    if (known === undefined && this.snapshot.get(allowanceKind, String(ownerId)) === undefined) return null;
    const time = now();
    // A clock that was set back makes allowances run again.
    if (known !== undefined && known.at <= time && time < known.active.until) return known.active;
    const active = activeAllowance(this.snapshot, ownerId, time);
    if (active === null) this.#allowances.delete(ownerId);
    else this.#allowances.set(ownerId, { active, at: time });
    return active;
  }

  /** Returns the groups assigned to an owner; without any, the existing DEFAULT_GROUPS, by name. */
  groupsOf(ownerId: number | null, defaultGroups: readonly string[]): readonly Group[] {
    const assigned = ownerId === null ? [] : assignedGroups(this.snapshot, ownerId);
    const names = assigned.length > 0 ? assigned : [...new Set(defaultGroups)].sort();
    return names.flatMap(name => groupNamed(this.snapshot, name) ?? []);
  }

  /** Returns the assigned groups of an owner with a limit of their members together. */
  pooledOf(ownerId: number): readonly string[] {
    if (this.pooled.size === 0) return [];
    return assignedGroups(this.snapshot, ownerId).filter(group => this.pooled.has(group));
  }

  membersOf(group: string): readonly number[] {
    this.#members ??= runToEnd(membersByGroup(this.snapshot));
    return this.#members.get(group) ?? nobody;
  }

  /** Reads what `membersOf` needs, so that its first call takes no longer than others. */
  *readMembers(): Work<void> {
    this.#members ??= yield* membersByGroup(this.snapshot);
  }

  /** Returns the groups of `pooledOf` with their rules, by name. */
  groupsWithPools(ownerId: number): readonly CompiledGroup[] {
    return this.#groups(this.pooledOf(ownerId).toSorted());
  }

  /** Returns a group with a limit of its members together; null: there is none of that name. */
  pool(name: string): CompiledGroup | null {
    return this.pooled.has(name) ? this.group(name) : null;
  }

  /** Returns a group; null: there is none of that name. */
  group(name: string): CompiledGroup | null {
    const known = this.#compiled.get(name);
    if (known !== undefined) return known;
    const group = groupNamed(this.snapshot, name);
    const compiled = group === undefined ? null : compileGroup(group);
    this.#compiled.set(name, compiled);
    return compiled;
  }

  /** Returns the groups of these names that exist. */
  #groups(names: Iterable<string>): readonly CompiledGroup[] {
    const found: CompiledGroup[] = [];
    for (const name of names) {
      const group = this.group(name);
      if (group !== null) found.push(group);
    }
    return found;
  }
}

/** Returns the sum of the running allowances of an owner; null: none. */
function activeAllowance(snapshot: Snapshot, ownerId: number, now: number): ActiveAllowance | null {
  const active = allowancesOf(snapshot, ownerId, now);
  const [first] = active;
  if (first === undefined) return null;
  const sum = active.reduce((bytes, entry) => bytes + entry.bytes, 0);
  return {
    bytes: Math.min(sum, Number.MAX_SAFE_INTEGER),
    count: active.length,
    until: first.until,
  };
}

const mostTries = 3;

/**
 * Reads the policy in force in slices, with the names of owners. If one of them changes meanwhile again and
 * again, reads in one step.
 */
export async function readInForce<T>(
  ledger: { readonly policy: Policy; readonly documents: Pick<Documents, 'version'> },
  read: (policy: Policy) => Work<T>,
): Promise<T> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const { version } = ledger.documents;
    const result = await workInSlices(read(ledger.policy));
    if (ledger.documents.version === version) return result;
  }
  return runToEnd(read(ledger.policy));
}

function isNone(entries: Iterable<unknown>): boolean {
  for (const _ of entries) return false;
  return true;
}
