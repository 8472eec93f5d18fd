/**
 * Finds possible mistakes in the policy in force, among them owners who may have been renamed on the disk
 * alone: they are in groups, have lost their last unit, and within a day of that a new owner appeared who has
 * units and lacks one of these groups.
 */

import { assignedGroups, lintIn, readInForce } from '../policy/index.ts';
import type { LintFinding } from '../quota/index.ts';
import { printable } from '../text.ts';
import type { Ledger } from './ledger.ts';
import { forgeSource } from './usage-index.ts';

const dayMs = 86_400_000;

/** Owners who are compared: those who lost their last unit last, and those who came last. */
const mostLeft = 100;
const mostNewcomers = 1000;

export async function policyFaults(ledger: Ledger): Promise<readonly LintFinding[]> {
  const faults = await readInForce(ledger, policy => lintIn(policy, ledger.settings));
  return [...faults, ...renamedOwners(ledger)];
}

export function renamedOwners({
  documents,
  sources,
  units,
  walks,
}: Pick<Ledger, 'documents' | 'sources' | 'units' | 'walks'>): readonly LintFinding[] {
  // A forge reports renames itself.
  if (sources.report(forgeSource) !== undefined) return [];
  const { owners, snapshot } = documents;
  const left = [...walks.emptied]
    .flatMap(([key, at]) => {
      const owner = owners.byKey(key);
      if (owner === undefined || units.unitCountOf(key) > 0) return [];
      const groups = assignedGroups(snapshot, owner.id);
      return groups.length === 0 ? [] : [{ name: owner.name, groups, at }];
    })
    .sort((a, b) => a.at - b.at)
    .slice(-mostLeft);
  const [first] = left;
  if (first === undefined) return [];
  const newcomers = [...owners.all]
    .filter(({ key, since }) => since >= first.at - dayMs && units.unitCountOf(key) > 0)
    .sort((a, b) => a.since - b.since)
    .slice(-mostNewcomers)
    .map(({ id, name, since }) => ({ name, since, groups: assignedGroups(snapshot, id) }));
  return left.flatMap(({ name, groups, at }) => {
    const [nearest] = newcomers
      .filter(one => Math.abs(one.since - at) <= dayMs && groups.some(group => !one.groups.includes(group)))
      .sort((a, b) => Math.abs(a.since - at) - Math.abs(b.since - at));
    return nearest === undefined ? [] : [findingOf(name, groups, nearest.name)];
  });
}

function findingOf(from: string, groups: readonly string[], to: string): LintFinding {
  const named = groups.map(group => `"${printable(group)}"`).join(', ');
  const message = `Owner "${printable(from)}" is in ${named} and has no units any more, and "${printable(to)}" came within a day of that: perhaps the owner was renamed on the disk.`;
  return { code: 'perhaps_renamed', message };
}
