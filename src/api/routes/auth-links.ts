/** `/admin/auths/{id}/links`: users, and their accounts at the provider of a source. */

import { z } from 'zod';
import { linksAt, putLink } from '../../identity/index.ts';
import { issuerOf, mustBeSource, unlink } from '../../oauth/index.ts';
import { isoTime } from '../../text/index.ts';
import { knownName, link, mark, newLink } from '../../wire/index.ts';
import { knownOwner } from '../owners.ts';
import { deleteRoute, getRoute, putRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';

const path = '/admin/auths/{id}/links';
const params = z.object({ id: mark });
const one = { path: `${path}/{user}`, params: params.extend({ user: knownName }) } as const;

export function authLinkRoutes({ documents, ledger, now }: ApiServices): readonly Route[] {
  return [
    getRoute({
      id: 'listLinks',
      path,
      summary: 'List the accounts that are linked at the provider of a source',
      description: 'Other sources with the same provider have the same links.',
      params,
      answer: { status: 200, description: 'Links, in the order of creation', schema: z.array(link) },
      handle: named => {
        const { discoveryUrl } = mustBeSource(documents.snapshot, named.params.id);
        return linksAt(documents.snapshot, issuerOf(discoveryUrl)).map(each => ({
          user: documents.owners.byId(each.owner)?.name ?? '',
          subject: each.subject,
          gives_administration: each.administrationBy !== null,
          created_at: isoTime(each.createdAt),
        }));
      },
    }),
    putRoute({
      id: 'linkUser',
      ...one,
      summary: 'Link a user to an account at the provider of a source',
      description: 'From then on, a sign-in with that subject at the provider is a sign-in of this user.',
      body: newLink,
      faults: [404, 409],
      mustBe: named => {
        mustBeSource(documents.snapshot, named.id);
        knownOwner(ledger, named.user);
      },
      answer: { status: 204, description: 'The user is linked' },
      handle: async ({ params: { id, user }, body: { subject } }, { caller }) => {
        await documents.transact(transaction => {
          const issuer = issuerOf(mustBeSource(transaction.changes, id).discoveryUrl);
          putLink(transaction.changes, transaction.mustBeOwner(user), { issuer, subject }, now());
        }, caller);
      },
    }),
    deleteRoute({
      id: 'unlinkUser',
      ...one,
      summary: 'Unlink a user from the account at the provider of a source',
      description:
        'The next sign-in with that subject is treated like the first one. If a source made the user an ' +
        'administrator, ends.',
      answer: { status: 204, description: 'It is gone' },
      handle: ({ params: { id, user } }, { caller }) =>
        documents.transact(transaction => unlink(transaction, id, user), caller),
    }),
  ];
}
