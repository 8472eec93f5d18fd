/** `/admin/quota/groups`: groups, the rules in each, and its members. */

import { z } from 'zod';
import type { Snapshot } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import {
  addRuleToGroup,
  assign,
  createGroup,
  deleteGroup,
  groupNamed,
  groupNamesIn,
  groupsIn,
  groupWithRules,
  mustBeGroup,
  removeRuleFromGroup,
  unassign,
} from '../../policy/index.ts';
import { printable } from '../../text/index.ts';
import { group, knownName, newGroup, user } from '../../wire/index.ts';
import { ownerToAssign } from '../owners.ts';
import { deleteRoute, getRoute, postRoute, putRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { editOf, groupShown, userShown } from './shapes.ts';

const path = '/admin/quota/groups/{group}';
const params = z.object({ group: knownName });
const one = { path, params } as const;
const oneRule = { path: `${path}/rules/{rule}`, params: params.extend({ rule: knownName }) } as const;

export function groupRoutes({ documents }: ApiServices): readonly Route[] {
  return [
    getRoute({
      id: 'listGroups',
      path: '/admin/quota/groups',
      summary: 'All groups with their rules, in the order of creation',
      answer: { status: 200, description: 'Groups', schema: z.array(group) },
      handle: () => groupsIn(documents.snapshot).map(groupShown),
    }),
    getRoute({
      id: 'listGroupNames',
      path: '/admin/quota/group-names',
      summary: 'Only the names of all groups, in the order of creation',
      answer: { status: 200, description: 'Names', schema: z.array(z.string()) },
      handle: () => groupNamesIn(documents.snapshot),
    }),
    postRoute({
      id: 'createGroup',
      path: '/admin/quota/groups',
      summary: 'Create a group, and those of its rules that do not exist yet',
      description:
        'Either everything is created or nothing. An existing rule is used unchanged, whatever the request says about it.',
      body: newGroup,
      faults: [409],
      mustNotBe: json => mustNotBeGroup(documents.snapshot, json),
      answer: { status: 201, description: 'The group', schema: group },
      handle: ({ body: { name, rules } }, { caller }) => {
        const created = {
          name,
          rules: (rules ?? []).map(each => ({ name: each.name, ...editOf(each) })),
        };
        return documents.transact(({ changes }) => {
          createGroup(changes, created);
          return groupShown(groupWithRules(changes, name));
        }, caller);
      },
    }),
    getRoute({
      id: 'getGroup',
      ...one,
      summary: 'One group with its rules',
      answer: { status: 200, description: 'The group', schema: group },
      handle: named => groupShown(groupWithRules(documents.snapshot, named.params.group)),
    }),
    deleteRoute({
      id: 'deleteGroup',
      ...one,
      summary: 'Delete a group and its memberships; its rules remain',
      answer: { status: 204, description: 'It is gone' },
      handle: (named, { caller }) =>
        documents.transact(({ changes }) => deleteGroup(changes, named.params.group), caller),
    }),
    putRoute({
      id: 'addRuleToGroup',
      ...oneRule,
      summary: 'Add a rule to a group',
      faults: [404, 409],
      answer: { status: 204, description: 'It is in' },
      handle: (named, { caller }) =>
        documents.transact(
          ({ changes }) => addRuleToGroup(changes, named.params.group, named.params.rule),
          caller,
        ),
    }),
    deleteRoute({
      id: 'removeRuleFromGroup',
      ...oneRule,
      summary: 'Remove a rule from a group; the rule itself remains',
      answer: { status: 204, description: 'It is out' },
      handle: (named, { caller }) =>
        documents.transact(
          ({ changes }) => removeRuleFromGroup(changes, named.params.group, named.params.rule),
          caller,
        ),
    }),
  ];
}

const anyNamed = z.object({ name: z.string() });

/** A group that exists is a conflict, whatever is wrong with the rest of what was sent. */
function mustNotBeGroup(snapshot: Snapshot, json: unknown): void {
  const named = anyNamed.safeParse(json);
  if (named.success && groupNamed(snapshot, named.data.name) !== undefined) {
    throw new SoftquotaError('conflict', `the group ${printable(named.data.name)} exists already`);
  }
}

const usersPath = `${path}/users`;
const oneUser = { path: `${usersPath}/{user}`, params: params.extend({ user: knownName }) } as const;

export function groupUserRoutes({ documents, ledger, autoCreate }: ApiServices): readonly Route[] {
  return [
    getRoute({
      id: 'listUsersInGroup',
      path: usersPath,
      summary: 'List the members of a group, in the order in which they were added',
      description: 'Without owners to whom it applies only as a default group.',
      params,
      answer: { status: 200, description: 'Users and organizations', schema: z.array(user) },
      handle: named => usersIn({ documents, ledger }, named.params.group),
    }),
    putRoute({
      id: 'addUserToGroup',
      ...oneUser,
      summary: 'Add a user or an organization to a group',
      description: 'With `[users] AUTO_CREATE = true` an unknown user is created.',
      faults: [404, 409],
      answer: { status: 204, description: 'It is in' },
      handle: (named, { caller }) =>
        documents.transact(transaction => {
          mustBeGroup(transaction.changes, named.params.group);
          const { id } = ownerToAssign(transaction, named.params.user, autoCreate);
          assign(transaction.changes, id, named.params.group);
        }, caller),
    }),
    deleteRoute({
      id: 'removeUserFromGroup',
      ...oneUser,
      summary: 'Remove a user or an organization from a group',
      answer: { status: 204, description: 'It is out' },
      handle: (named, { caller }) =>
        documents.transact(transaction => {
          mustBeGroup(transaction.changes, named.params.group);
          unassign(transaction.changes, transaction.mustBeOwner(named.params.user).id, named.params.group);
        }, caller),
    }),
  ];
}

/** Throws `not_found`. */
function usersIn(
  { documents, ledger }: Pick<ApiServices, 'documents' | 'ledger'>,
  group: string,
): z.infer<typeof user>[] {
  mustBeGroup(documents.snapshot, group);
  return ledger.policy.membersOf(group).flatMap(id => {
    const owner = documents.owners.byId(id);
    return owner === undefined ? [] : [userShown(documents.snapshot, owner)];
  });
}
