/** `/admin/quota/groups/{group}/users`: who is in a group. */

import { z } from 'zod';
import { assign, mustBeGroup, unassign } from '../../policy/index.ts';
import { knownName, user } from '../../wire/index.ts';
import { ownerToAssign } from '../owners.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { userShown } from './shapes.ts';

const path = '/admin/quota/groups/{group}/users';
const params = z.object({ group: knownName });
const one = { path: `${path}/{user}`, tag: 'policy', params: params.extend({ user: knownName }) } as const;

export function groupUserRoutes({ documents, ledger, autoCreate }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'listUsersInGroup',
      path,
      tag: 'policy',
      summary: 'List the members of a group, in the order in which they were added',
      description: 'Without owners to whom it applies only as a default group.',
      params,
      faults: [404],
      answer: { status: 200, description: 'Users and organizations', schema: z.array(user) },
      handle: named => usersIn({ documents, ledger }, named.params.group),
    }),
    route({
      id: 'addUserToGroup',
      ...one,
      method: 'put',
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
    route({
      id: 'removeUserFromGroup',
      ...one,
      method: 'delete',
      summary: 'Remove a user or an organization from a group',
      faults: [404],
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
