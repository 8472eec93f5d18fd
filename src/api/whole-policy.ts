/** The whole policy as one document: told, and replaced at once. */

import { createHash } from 'node:crypto';
import type { Snapshot, Transaction } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import { groupsIn, Policy, replacePolicy, rulesIn, type WholeGroup } from '../policy/index.ts';
import type { Work } from '../slices.ts';
import type { OwnerRecord } from '../store/index.ts';
import type { NewWholePolicy, ReplacedPolicy, WholePolicy } from '../wire/index.ts';
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
