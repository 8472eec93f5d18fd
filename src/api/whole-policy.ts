/** The whole policy as one document: told, and replaced at once. */

import { createHash } from 'node:crypto';
import { FaultList, SoftquotaError } from '../errors.ts';
import type { Amendment, Ledger } from '../ledger/index.ts';
import { groupsIn, Policy, replacePolicy, rulesIn, type View, type WholeGroup } from '../policy/index.ts';
import { nameFault, printable } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import type { NewWholePolicy, ReplacedPolicy, WholePolicy } from '../wire/index.ts';
import { ruleShown } from './routes/shapes.ts';

/** What is in force. */
export function wholePolicyOf(ledger: Ledger): WholePolicy {
  return shown(ledger.view, ledger.policy, id => ledger.book.owner(id)?.name);
}

/**
 * Drafts the policy in an amendment of what is in force, and gives it as it is then. With `createUsers` those who are
 * not known are made. Throws `conflict` where another policy is in force than the one that it was written for, else
 * `invalid` with every fault.
 */
export function replaceWholePolicy(
  ledger: Ledger,
  amendment: Amendment,
  wanted: NewWholePolicy,
  createUsers: boolean,
): ReplacedPolicy {
  const { version } = wanted;
  if (version !== undefined && version !== null && version !== wholePolicyOf(ledger).version) {
    throw new SoftquotaError('conflict', 'version: the policy has been changed since; look at it again');
  }
  const created = new Map<number, OwnerRecord>();
  const { draft } = amendment;
  const faults = new FaultList();
  let unknown = 0;
  const groups = groupsOf(wanted, faults, name => {
    const known = amendment.owner(name);
    if (known !== undefined) return { is: known.id };
    const fault = createUsers ? nameFault(name) : null;
    if (fault !== null) return { not: `${printable(name)} is no name: ${fault}` };
    if (!createUsers) {
      unknown++;
      return { not: `there is no user or organization ${printable(name)}` };
    }
    const owner = amendment.createOwner(name);
    created.set(owner.id, owner);
    return { is: owner.id };
  });
  if (unknown > 0) {
    faults.add(
      () => 'create_users: true, or softquota policy import --create-users, creates those who are not there',
    );
  }
  const rules = wanted.rules.map(({ name, limit, subjects }) => ({
    name,
    limitBytes: limit,
    subjects: subjects ?? [],
  }));
  try {
    replacePolicy(draft, { rules, groups });
  } catch (error) {
    if (!(error instanceof SoftquotaError)) throw error;
    faults.add(() => error.message);
  }
  faults.throwIfAny();
  const nameOf = (id: number) => (created.get(id) ?? ledger.book.owner(id))?.name;
  const createdUsers = [...created.values()].map(({ name }) => name);
  return { ...shown(draft, new Policy(draft), nameOf), created_users: createdUsers };
}

function groupsOf(
  { rules, groups }: NewWholePolicy,
  faults: FaultList,
  ownerOf: (name: string) => Meant<number>,
): readonly WholeGroup[] {
  const ruleNames = new Set(rules.map(({ name }) => name));
  const ruleOf = (name: string): Meant<string> =>
    ruleNames.has(name) ? { is: name } : { not: `there is no rule ${printable(name)} among the rules` };
  return groups.map((group, index): WholeGroup => {
    const { name, users } = group;
    const where = `groups.${index}`;
    const named = eachOnce(`${where}.rules`, group.rules ?? [], ruleOf, faults);
    const whole = { name, rules: named.map(rule => ({ name: rule })) };
    if (users === undefined || users === null) return whole;
    return { ...whole, ownerIds: eachOnce(`${where}.users`, users, ownerOf, faults) };
  });
}

/** What a name stands for, or why it stands for nothing. */
type Meant<T> = { readonly is: T } | { readonly not: string };

/** What the names stand for; those that stand for nothing, or for what another one does, are faults. */
function eachOnce<T>(
  where: string,
  names: readonly string[],
  find: (name: string) => Meant<T>,
  faults: FaultList,
): readonly T[] {
  const found = new Set<T>();
  for (const [index, name] of names.entries()) {
    const meant = find(name);
    if ('not' in meant) faults.add(() => `${where}.${index}: ${meant.not}`);
    else if (found.has(meant.is)) faults.add(() => `${where}.${index}: ${printable(name)} is there twice`);
    else found.add(meant.is);
  }
  return [...found];
}

function shown(view: View, policy: Policy, nameOf: (ownerId: number) => string | undefined): WholePolicy {
  const content = {
    rules: rulesIn(view).map(ruleShown),
    groups: groupsIn(view).map(({ name, rules }) => ({
      name,
      rules: rules.map(rule => rule.name),
      users: policy.membersOf(name).flatMap(id => nameOf(id) ?? []),
    })),
  };
  const version = createHash('sha256').update(JSON.stringify(content)).digest('base64url');
  return { version, ...content };
}
