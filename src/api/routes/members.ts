/** `/admin/orgs/{org}/members`: who belongs to an organization. */

import { z } from 'zod';
import { membersOf, mustBeOrganization, removeMember, setMember } from '../../identity/index.ts';
import { knownName, type Member, member, membership } from '../../wire/index.ts';
import { knownOwner } from '../owners.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { userShown } from './shapes.ts';

const path = '/admin/orgs/{org}/members';
const params = z.object({ org: knownName });
const one = {
  path: `${path}/{user}`,
  tag: 'users',
  params: params.extend({ user: knownName }),
  faults: [404],
} as const;

export function memberRoutes({ documents, ledger }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'listMembers',
      path,
      tag: 'users',
      summary: 'List the members of an organization, in the order in which they were added',
      params,
      faults: [404],
      answer: { status: 200, description: 'Members', schema: z.array(member) },
      handle: named => membersShown({ documents, ledger }, named.params.org),
    }),
    route({
      id: 'setMember',
      ...one,
      method: 'put',
      summary: 'Add a user to an organization, or change the role',
      body: membership,
      mustBe: named => {
        mustBeOrganization(knownOwner(ledger, named.org));
        knownOwner(ledger, named.user);
      },
      answer: { status: 204, description: 'It is so' },
      handle: (named, { caller }) =>
        documents.transact(transaction => {
          const organization = transaction.mustBeOwner(named.params.org);
          const user = transaction.mustBeOwner(named.params.user);
          setMember(transaction.changes, organization, user, named.body.role);
        }, caller),
    }),
    route({
      id: 'removeMember',
      ...one,
      method: 'delete',
      summary: 'Remove a user from an organization',
      answer: { status: 204, description: 'It is out' },
      handle: (named, { caller }) =>
        documents.transact(transaction => {
          const organization = transaction.mustBeOwner(named.params.org);
          removeMember(transaction.changes, organization, transaction.mustBeOwner(named.params.user));
        }, caller),
    }),
  ];
}

/** Throws `not_found`. */
function membersShown(
  { documents, ledger }: Pick<ApiServices, 'documents' | 'ledger'>,
  name: string,
): Member[] {
  const organization = knownOwner(ledger, name);
  mustBeOrganization(organization);
  return membersOf(documents.snapshot, organization.id).flatMap(({ user, role }) => {
    const owner = documents.owners.byId(user);
    return owner === undefined ? [] : [{ ...userShown(documents.snapshot, owner), role }];
  });
}
