/**
 * `/admin/quota/rules` and `/admin/quota/groups`: rules, groups, the rules in groups, and members.
 * `/admin/quota/policy`, `/lint`, `/simulate`: the policy as one document, and the check of a draft.
 */

import { z } from 'zod';
import type { Snapshot, Transaction } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import { policyFaults } from '../../ledger/index.ts';
import { poolStates } from '../../overview/index.ts';
import * as policy from '../../policy/index.ts';
import { bytesUnder, leafMask } from '../../quota/index.ts';
import { byText } from '../../sorting.ts';
import { printable } from '../../text.ts';
import { filterMapInSlices } from '../../turns.ts';
import * as wire from '../../wire/index.ts';
import { administrators } from '../asker.ts';
import { ownerToAssign } from '../owners.ts';
import { pageQuery, pagingHeaders, tellPage } from '../pages.ts';
import { type Call, type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { simulate } from '../simulate.ts';
import { replaceWholePolicy, wholePolicyOf } from '../whole-policy.ts';
import { editOf, groupShown, newRuleFrom, poolShown, ruleShown, userShown } from './shapes.ts';

const rulePath = '/admin/quota/rules/{rule}';
const wholePath = '/admin/quota/policy';
const groupPath = '/admin/quota/groups/{group}';

export function policyRoutes(services: ApiServices): readonly Route[] {
  return [...partRoutes(services), ...wholePolicyRoutes(services)];
}

function partRoutes(services: ApiServices): readonly Route[] {
  const { documents, ledger, autoCreate } = services;
  return [
    route('get', 'listRules', '/admin/quota/rules', {
      summary: 'All rules, in the order of creation',
      answer: { status: 200, description: 'Rules', schema: z.array(wire.rule) },
      handle: () => policy.rulesIn(documents.snapshot).map(ruleShown),
    }),
    route('post', 'createRule', '/admin/quota/rules', {
      summary: 'Create a rule',
      description: 'It limits nobody until it is in a group.',
      body: wire.newRule,
      faults: [409],
      answer: { status: 201, description: 'The rule', schema: wire.rule },
      handle: async ({ body }, { change }) => {
        const created = newRuleFrom(body);
        await change(({ changes }) => policy.createRule(changes, created));
        return ruleShown(created);
      },
    }),
    route('get', 'getRule', rulePath, {
      summary: 'One rule',
      answer: { status: 200, description: 'The rule', schema: wire.rule },
      handle: ({ params: { rule: name } }) =>
        ruleShown({ name, ...policy.mustBeRule(documents.snapshot, name) }),
    }),
    route('patch', 'editRule', rulePath, {
      summary: 'Change a rule in every group that has it',
      body: wire.ruleEdit,
      mustBe: named => void policy.mustBeRule(documents.snapshot, named.rule),
      answer: { status: 200, description: 'The rule as it is now', schema: wire.rule },
      handle: async ({ params: { rule: name }, body }, { change }) =>
        ruleShown(await change(({ changes }) => policy.editRule(changes, name, editOf(body)))),
    }),
    route('delete', 'deleteRule', rulePath, {
      summary: 'Delete a rule, and remove it from every group',
      answer: { status: 204, description: 'It is gone' },
      handle: ({ params: { rule: name } }, { change }) =>
        change(({ changes }) => policy.deleteRule(changes, name)),
    }),
    route('get', 'listGroups', '/admin/quota/groups', {
      summary: 'All groups with their rules, in the order of creation',
      answer: { status: 200, description: 'Groups', schema: z.array(wire.group) },
      handle: () => policy.groupsIn(documents.snapshot).map(groupShown),
    }),
    route('get', 'listGroupNames', '/admin/quota/group-names', {
      summary: 'Only the names of all groups, in the order of creation',
      answer: { status: 200, description: 'Names', schema: z.array(z.string()) },
      handle: () => policy.groupNamesIn(documents.snapshot),
    }),
    route('post', 'createGroup', '/admin/quota/groups', {
      summary: 'Create a group, and those of its rules that do not exist yet',
      description:
        'Either everything is created or nothing. An existing rule is used unchanged, whatever the request says about it.',
      body: wire.newGroup,
      faults: [409],
      mustNotBe: json => mustNotBeGroup(documents.snapshot, json),
      answer: { status: 201, description: 'The group', schema: wire.group },
      handle: ({ body: { name, rules } }, { change }) => {
        const created = {
          name,
          rules: (rules ?? []).map(each => ({ name: each.name, ...editOf(each) })),
        };
        return change(({ changes }) => {
          policy.createGroup(changes, created);
          return groupShown(policy.groupWithRules(changes, name));
        });
      },
    }),
    route('get', 'getGroup', groupPath, {
      summary: 'One group with its rules',
      answer: { status: 200, description: 'The group', schema: wire.group },
      handle: named => groupShown(policy.groupWithRules(documents.snapshot, named.params.group)),
    }),
    route('delete', 'deleteGroup', groupPath, {
      summary: 'Delete a group and its memberships; its rules remain',
      answer: { status: 204, description: 'It is gone' },
      handle: (named, { change }) => change(({ changes }) => policy.deleteGroup(changes, named.params.group)),
    }),
    route('put', 'addRuleToGroup', `${groupPath}/rules/{rule}`, {
      summary: 'Add a rule to a group',
      faults: [404, 409],
      answer: { status: 204, description: 'It is in' },
      handle: (named, { change }) =>
        change(({ changes }) => policy.addRuleToGroup(changes, named.params.group, named.params.rule)),
    }),
    route('delete', 'removeRuleFromGroup', `${groupPath}/rules/{rule}`, {
      summary: 'Remove a rule from a group; the rule itself remains',
      answer: { status: 204, description: 'It is out' },
      handle: (named, { change }) =>
        change(({ changes }) => policy.removeRuleFromGroup(changes, named.params.group, named.params.rule)),
    }),
    route('get', 'listUsersInGroup', `${groupPath}/users`, {
      summary: 'List the members of a group, in the order in which they were added',
      description: 'Without owners to whom it applies only as a default group.',
      answer: { status: 200, description: 'Users and organizations', schema: z.array(wire.user) },
      handle: named => {
        policy.mustBeGroup(documents.snapshot, named.params.group);
        const owners = ledger.policy.membersOf(named.params.group).map(id => documents.owners.byId(id));
        return owners.flatMap(owner => (owner === undefined ? [] : userShown(documents.snapshot, owner)));
      },
    }),
    route('get', 'getUsageOfGroup', `${groupPath}/usage`, {
      summary: 'What the members of a group use together, and each of them',
      description:
        'By the rules of the group that limit its members together (`per`: `group`). Without such rules there are no pools, and the members stand by name.',
      query: z.strictObject(pageQuery),
      answer: { status: 200, description: 'One page', schema: wire.groupUsage, headers: pagingHeaders },
      handle: ({ params, query }, call) => usageOfGroup(services, params.group, query, call),
    }),
    route('put', 'addUserToGroup', `${groupPath}/users/{user}`, {
      summary: 'Add a user or an organization to a group',
      description: 'With `[users] AUTO_CREATE = true` an unknown user is created.',
      faults: [404, 409],
      answer: { status: 204, description: 'It is in' },
      handle: (named, { change }) =>
        change(transaction => {
          policy.mustBeGroup(transaction.changes, named.params.group);
          const { id } = ownerToAssign(transaction, named.params.user, autoCreate);
          policy.assign(transaction.changes, id, named.params.group);
        }),
    }),
    route('delete', 'removeUserFromGroup', `${groupPath}/users/{user}`, {
      summary: 'Remove a user or an organization from a group',
      answer: { status: 204, description: 'It is out' },
      handle: (named, { change }) =>
        change(transaction => {
          policy.mustBeGroup(transaction.changes, named.params.group);
          policy.unassign(
            transaction.changes,
            transaction.mustBeOwner(named.params.user).id,
            named.params.group,
          );
        }),
    }),
  ];
}

const anyNamed = z.object({ name: z.string() });

/** Throws `conflict` if the group exists, whatever else is wrong with the body. */
function mustNotBeGroup(snapshot: Snapshot, json: unknown): void {
  const named = anyNamed.safeParse(json);
  if (named.success && policy.groupNamed(snapshot, named.data.name) !== undefined) {
    throw new SoftquotaError('conflict', `the group ${printable(named.data.name)} exists already`);
  }
}

/** Throws `not_found`. */
async function usageOfGroup(
  { documents, ledger }: ApiServices,
  name: string,
  page: z.output<z.ZodObject<typeof pageQuery>>,
  call: Call,
): Promise<wire.GroupUsage> {
  policy.mustBeGroup(documents.snapshot, name);
  const group = ledger.policy.group(name);
  const pools = group === null ? [] : poolStates(ledger, group, null).map(poolShown);
  const counted = pools.map(({ rule: limit, subjects }) => ({
    limit,
    leaves: subjects.reduce((mask, subject) => mask | leafMask(subject), 0),
  }));
  const members = filterMapInSlices(ledger.policy.membersOf(name), id => {
    const owner = ledger.ownerById(id);
    return owner && { owner: owner.name, used: counted.map(({ leaves }) => bytesUnder(owner.usage, leaves)) };
  });
  const compare = (a: Member, b: Member) => (b.used[0] ?? 0) - (a.used[0] ?? 0) || byText(a.owner, b.owner);
  const shown = await tellPage(call, members, compare, page);
  return {
    group: name,
    pools,
    count: ledger.policy.membersOf(name).length,
    members: shown.map(({ owner, used }) => ({
      owner,
      used: Object.fromEntries(counted.map(({ limit }, at) => [limit, used[at] ?? 0])),
    })),
  };
}

interface Member {
  readonly owner: string;
  /** Used bytes for each of the pools, in their order. */
  readonly used: readonly number[];
}

const flag = z
  .enum(['true', 'false'], { error: 'expected true or false' })
  .transform(said => said === 'true');

function wholePolicyRoutes({ documents, ledger, autoCreate }: ApiServices): readonly Route[] {
  return [
    route('get', 'getPolicy', wholePath, {
      summary: 'All rules, groups and memberships',
      description:
        'The answer is long if many owners are in groups: to ask again, send the `ETag` of the last answer.',
      answer: {
        status: 200,
        description: 'The policy in force',
        schema: wire.wholePolicy,
        version: ({ version }) => version,
      },
      handle: () => wholePolicyOf(ledger),
    }),
    route('put', 'replacePolicy', wholePath, {
      summary: 'Replace the policy in force',
      description:
        'Either the whole policy comes into force or nothing. The body can have up to 16 MiB. With the `version` of a policy, ' +
        'the request is refused if somebody has changed that policy meanwhile.',
      longBody: 'newWholePolicy',
      query: z.strictObject({
        dry_run: flag
          .default(false)
          .meta({ description: 'Only answer with the result, and change nothing.' }),
        create_users: flag.optional().meta({
          description: 'Create unknown users; default: `[users] AUTO_CREATE`.',
        }),
      }),
      body: wire.newWholePolicy,
      faults: [404, 409],
      answer: { status: 200, description: 'The policy as it is now', schema: wire.replacedPolicy },
      handle: async ({ query, body }, { caller }) => {
        const createUsers = query.create_users ?? autoCreate;
        const replace = (transaction: Transaction) =>
          replaceWholePolicy(ledger, transaction, body, createUsers);
        // The dry run finds faults without delaying other transactions.
        const drafted = await documents.dryRunInSlices(replace);
        return query.dry_run ? drafted : documents.transactInSlices(replace, caller);
      },
    }),
    route('get', 'lintPolicy', '/admin/quota/lint', {
      summary: 'Possible mistakes in the policy',
      description:
        'Subjects that no rule covers, rules that never decide, empty, unused or missing groups, and owners who may have been renamed on the disk.',
      answer: { status: 200, description: 'Findings', schema: z.array(wire.policyFault).readonly() },
      handle: () => policyFaults(ledger),
    }),
    route('post', 'simulatePolicy', '/admin/quota/simulate', {
      summary: 'Owners who would be newly refused or allowed with another policy',
      description: 'Decides as if `[quota] ENABLED` were true. Nothing is changed.',
      access: administrators.read,
      longBody: 'draftPolicy',
      query: z.strictObject({
        limit: wire.queryNumber(1, 1000, 100).meta({
          description: 'How many refused and how many allowed owners are listed.',
        }),
      }),
      body: wire.draftPolicy,
      faults: [404, 409],
      answer: { status: 200, description: 'The differences', schema: wire.simulation },
      handle: ({ query, body }) => simulate(ledger, body, query.limit),
    }),
  ];
}
