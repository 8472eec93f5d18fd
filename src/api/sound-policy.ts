/**
 * A whole policy that was sent, looked at before anything is drafted by it: in slices, so that nobody waits
 * however much there is, and however much of it is wrong.
 */

import { FaultList, SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import { nameFault } from '../quota/index.ts';
import { inSlices } from '../slices.ts';
import { printable } from '../text/index.ts';
import { mostOf, type NewWholePolicy } from '../wire/index.ts';

type Group = NewWholePolicy['groups'][number];

/** Throws `invalid` where groups name so many rules that putting them together would take long. */
export function mustNameFewRules(
  groups: readonly { readonly rules?: readonly unknown[] | null | undefined }[],
): void {
  const named = groups.reduce((sum, { rules }) => sum + (rules?.length ?? 0), 0);
  if (named <= mostOf.rulesOfGroups) return;
  const message = `groups: expected at most ${mostOf.rulesOfGroups} rules in all groups together`;
  throw new SoftquotaError('invalid', message);
}

/** A name in a group, of a rule or of an owner. */
interface Named {
  readonly is: 'rule' | 'owner';
  readonly name: string;
  readonly where: string;
  /** The keys of the names before it in this list. */
  readonly seen: Set<string | number>;
}

/**
 * Rejects with `invalid`, naming what stands for nothing, or for what another name does; users are known or,
 * with `createUsers`, can be.
 */
export async function mustBeSound(
  ledger: Ledger,
  { rules, groups }: NewWholePolicy,
  createUsers: boolean,
): Promise<void> {
  mustNameFewRules(groups);
  const faults = new FaultList();
  const ruleNames = new Set(rules.map(({ name }) => name));
  let unknown = 0;

  const ruleOf = (name: string) =>
    ruleNames.has(name) ? { is: name } : { not: `there is no rule ${printable(name)} among the rules` };
  const ownerOf = (name: string) => {
    const owner = ledger.documents.owners.named(name);
    if (owner !== undefined) return { is: owner.id };
    if (createUsers) {
      const fault = nameFault(name);
      return fault === null
        ? { is: ledger.documents.owners.keyOf(name) }
        : { not: `${printable(name)} is not a valid name: ${fault}` };
    }
    unknown++;
    return { not: `there is no user or organization ${printable(name)}` };
  };

  await inSlices(namesIn(groups), ({ is, name, where, seen }) => {
    const meant = is === 'rule' ? ruleOf(name) : ownerOf(name);
    if ('not' in meant) faults.add(() => `${where}: ${meant.not}`);
    else if (seen.has(meant.is)) faults.add(() => `${where}: ${printable(name)} is listed twice`);
    else seen.add(meant.is);
  });
  if (unknown > 0) {
    faults.add(() => 'create_users: true, or softquota policy import --create-users, creates unknown users');
  }
  for (const [list, entries] of [['rules', rules] as const, ['groups', groups] as const]) {
    const named: readonly { readonly name: string }[] = entries;
    const seen = new Set<string>();
    await inSlices(named.entries(), ([index, { name }]) => {
      if (seen.has(name)) faults.add(() => `${list}.${index}.name: ${printable(name)} is listed twice`);
      seen.add(name);
    });
  }
  faults.throwIfAny();
}

function* namesIn(groups: readonly Group[]): Generator<Named> {
  for (const [group, { rules, users }] of groups.entries()) {
    const lists = [['rules', 'rule', rules] as const, ['users', 'owner', users] as const];
    for (const [list, is, names] of lists) {
      const seen = new Set<string | number>();
      for (const [index, name] of (names ?? []).entries()) {
        yield { is, name, where: `groups.${group}.${list}.${index}`, seen };
      }
    }
  }
}
