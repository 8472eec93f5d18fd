/**
 * The whole policy as one document: told, looked at before anything is drafted by it, and replaced at once.
 */

import { createHash } from 'node:crypto';
import type { Snapshot, Transaction } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import { groupsIn, Policy, replacePolicy, rulesIn, type WholeGroup } from '../policy/index.ts';
import { nameFault } from '../quota/index.ts';
import { inSlices, type Work } from '../slices.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text/index.ts';
import { mostOf, type NewWholePolicy, type ReplacedPolicy, type WholePolicy } from '../wire/index.ts';
import { newRuleFrom, ruleShown } from './routes/shapes.ts';

/** Gives the policy in force. */
export function wholePolicyOf({ documents, policy }: Pick<Ledger, 'documents' | 'policy'>): WholePolicy {
  return shown(documents.snapshot, policy, id => documents.owners.byId(id)?.name);
}

/** Throws `conflict` where another policy is in force than the one that this one was written for. */
export function requireCurrentVersion(ledger: Ledger, { version }: NewWholePolicy): void {
  if (version === undefined || version === null || version === wholePolicyOf(ledger).version) return;
  throw new SoftquotaError('conflict', 'version: the policy has changed since that version; read it again');
}

/**
 * Drafts a policy that is sound in a transaction upon what is in force, and gives it as it is then. With
 * `createUsers` those who are not known are made. Throws as `requireCurrentVersion` does, and `not_found`
 * where somebody has gone since.
 */
export function* replaceWholePolicy(
  ledger: Ledger,
  transaction: Transaction,
  wanted: NewWholePolicy,
  createUsers: boolean,
): Work<ReplacedPolicy> {
  requireCurrentVersion(ledger, wanted);
  const created = new Map<number, OwnerRecord>();
  const { changes } = transaction;
  const idOf = (name: string): number => {
    const known = createUsers ? transaction.owner(name) : transaction.mustBeOwner(name);
    if (known !== undefined) return known.id;
    const owner = transaction.createOwner(name);
    created.set(owner.id, owner);
    return owner.id;
  };
  const rules = wanted.rules.map(newRuleFrom);
  const groups: WholeGroup[] = [];
  for (const { name, rules: named, users } of wanted.groups) {
    const whole = { name, rules: (named ?? []).map(rule => ({ name: rule })) };
    // A user who was renamed meanwhile may be in it by both names.
    const ownerIds = new Set<number>();
    for (const user of users ?? []) {
      ownerIds.add(idOf(user));
      yield;
    }
    groups.push(users === undefined || users === null ? whole : { ...whole, ownerIds: [...ownerIds] });
  }
  yield* replacePolicy(changes, { rules, groups });
  const nameOf = (id: number) => (created.get(id) ?? ledger.documents.owners.byId(id))?.name;
  const createdUsers = [...created.values()].map(({ name }) => name);
  return { ...shown(changes, new Policy(changes), nameOf), created_users: createdUsers };
}

function shown(
  snapshot: Snapshot,
  policy: Policy,
  nameOf: (ownerId: number) => string | undefined,
): WholePolicy {
  const content = {
    rules: rulesIn(snapshot).map(ruleShown),
    groups: groupsIn(snapshot).map(({ name, rules }) => ({
      name,
      rules: rules.map(rule => rule.name),
      users: policy.membersOf(name).flatMap(id => nameOf(id) ?? []),
    })),
  };
  const version = createHash('sha256').update(JSON.stringify(content)).digest('base64url');
  return { version, ...content };
}

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
  const lists: Readonly<Record<string, readonly { readonly name: string }[]>> = { rules, groups };
  for (const [list, named] of Object.entries(lists)) {
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
