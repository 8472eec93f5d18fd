/** The whole policy as one document: reading it, and replacing it at once. */

import { createHash } from 'node:crypto';
import type { Documents, Transaction } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import {
  eachGroup,
  listedTwice,
  Policy,
  readInForce,
  replacePolicy,
  rulesIn,
  type WholeGroup,
} from '../policy/index.ts';
import { nameFault } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import type { Work } from '../turns.ts';
import { mostOf, type NewWholePolicy, type ReplacedPolicy, type WholePolicy } from '../wire/index.ts';
import { newRuleFrom, ruleShown } from './routes/shapes.ts';

interface Readable {
  readonly policy: Policy;
  readonly documents: Pick<Documents, 'version'> & {
    readonly owners: { byId(id: number): Pick<OwnerRecord, 'name'> | undefined };
  };
}

export function wholePolicyOf(ledger: Readable): Promise<WholePolicy> {
  return readInForce(ledger, policy => shown(policy, nameIn(ledger)));
}

function nameIn({ documents }: Readable): (ownerId: number) => string | undefined {
  return id => documents.owners.byId(id)?.name;
}

/** Throws `conflict` if the policy in force has another version than the document was written for. */
function* requireCurrentVersion(ledger: Ledger, { version }: NewWholePolicy): Work<void> {
  if (version === undefined || version === null) return;
  const inForce = yield* shown(ledger.policy, nameIn(ledger));
  if (version === inForce.version) return;
  throw new SoftquotaError('conflict', 'version: the policy has changed since that version; read it again');
}

/** Throws `invalid` if the groups name so many rules that compiling them would take long. */
export function mustNameFewRules(
  groups: readonly { readonly rules?: readonly unknown[] | null | undefined }[],
): void {
  const named = groups.reduce((sum, { rules }) => sum + (rules?.length ?? 0), 0);
  if (named <= mostOf.rulesOfGroups) return;
  const message = `groups: expected at most ${mostOf.rulesOfGroups} rules in all groups together`;
  throw new SoftquotaError('invalid', message);
}

/**
 * Replaces the policy in a transaction and returns the result. `createUsers` creates unknown users. Throws
 * `conflict` for an old version, and `invalid` with all names that are unknown or listed twice.
 */
export function* replaceWholePolicy(
  ledger: Ledger,
  transaction: Transaction,
  wanted: NewWholePolicy,
  createUsers: boolean,
): Work<ReplacedPolicy> {
  yield* requireCurrentVersion(ledger, wanted);
  mustNameFewRules(wanted.groups);
  const faults = new FaultList();
  const created = new Map<number, OwnerRecord>();
  let unknown = 0;

  const ownerFor = (name: string, where: string): OwnerRecord | undefined => {
    const known = transaction.owner(name);
    if (known !== undefined) return known;
    if (!createUsers) {
      unknown += 1;
      faults.add(() => `${where}: there is no user or organization ${printable(name)}`);
      return undefined;
    }
    const fault = nameFault(name);
    if (fault !== null) {
      faults.add(() => `${where}: ${printable(name)} is not a valid name: ${fault}`);
      return undefined;
    }
    const owner = transaction.createOwner(name);
    created.set(owner.id, owner);
    return owner;
  };

  const ruleNames = new Set(wanted.rules.map(({ name }) => name));
  const groups: WholeGroup[] = [];
  for (const [group, { name, rules, users }] of wanted.groups.entries()) {
    const named = new Set<string>();
    for (const [index, rule] of (rules ?? []).entries()) {
      const where = `groups.${group}.rules.${index}`;
      if (!ruleNames.has(rule))
        faults.add(() => `${where}: there is no rule ${printable(rule)} among the rules`);
      else if (named.has(rule)) faults.add(() => `${where}: ${printable(rule)} is listed twice`);
      named.add(rule);
      yield;
    }
    const ownerIds = new Set<number>();
    for (const [index, user] of (users ?? []).entries()) {
      const where = `groups.${group}.users.${index}`;
      const owner = ownerFor(user, where);
      yield;
      if (owner === undefined) continue;
      if (ownerIds.has(owner.id)) faults.add(() => `${where}: ${printable(user)} is listed twice`);
      ownerIds.add(owner.id);
    }
    const whole = { name, rules: [...named].map(rule => ({ name: rule })) };
    groups.push(users === undefined || users === null ? whole : { ...whole, ownerIds: [...ownerIds] });
  }
  if (unknown > 0) {
    faults.add(() => 'create_users: true, or softquota policy import --create-users, creates unknown users');
  }
  for (const fault of [...listedTwice('rules', wanted.rules), ...listedTwice('groups', groups)]) {
    faults.add(() => fault);
  }
  faults.throwIfAny();
  yield* replacePolicy(transaction.changes, { rules: wanted.rules.map(newRuleFrom), groups });
  const known = nameIn(ledger);
  const policy = yield* shown(new Policy(transaction.changes), id => created.get(id)?.name ?? known(id));
  return { ...policy, created_users: [...created.values()].map(({ name }) => name) };
}

function* shown(policy: Policy, nameOf: (ownerId: number) => string | undefined): Work<WholePolicy> {
  yield* policy.readMembers();
  const rules: WholePolicy['rules'][number][] = [];
  for (const rule of rulesIn(policy.snapshot)) {
    rules.push(ruleShown(rule));
    yield;
  }
  const groups: WholePolicy['groups'][number][] = [];
  for (const { name, rules: named } of eachGroup(policy.snapshot)) {
    const users: string[] = [];
    for (const id of policy.membersOf(name)) {
      const user = nameOf(id);
      if (user !== undefined) users.push(user);
      yield;
    }
    groups.push({ name, rules: named.map(rule => rule.name), users });
    yield;
  }
  return { version: yield* versionOf({ rules, groups }), rules, groups };
}

/** Hashes the JSON of a policy, part by part. */
function* versionOf({ rules, groups }: Omit<WholePolicy, 'version'>): Work<string> {
  const digest = createHash('sha256');
  const add = function* (items: readonly object[]): Work<void> {
    for (const [index, item] of items.entries()) {
      digest.update(`${index === 0 ? '' : ','}${JSON.stringify(item)}`);
      yield;
    }
  };
  digest.update('{"rules":[');
  yield* add(rules);
  digest.update('],"groups":[');
  yield* add(groups);
  return digest.update(']}').digest('base64url');
}
