/** `/user/quota/requests` and `/orgs/{org}/quota/requests`: owners ask for more, and see the answers. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import type { Caller } from '../../identity/index.ts';
import { ask, requestsOf, withdraw } from '../../policy/index.ts';
import { givenId, newRequest, spaceRequest } from '../../wire/index.ts';
import { momentOf } from '../moments.ts';
import { roleOver } from '../owners.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { requestShown } from './asked.ts';
import { type OwnerScope, operationOf, ownerScopes } from './owner-scopes.ts';

export function requestRoutes(services: ApiServices): readonly Route[] {
  return ownerScopes(services).flatMap(scope => requestRoutesOf(services, scope));
}

function requestRoutesOf(services: ApiServices, scope: OwnerScope): readonly Route[] {
  const { documents, identity, now, asking } = services;
  const { owner, params } = scope;

  /** Throws as `owner` does, and `not_permitted` for administrators who are nobody's owner. */
  const ownOwner = (named: z.output<typeof params>, caller: Caller) => {
    const { id: ownerId, name } = owner(named, caller);
    const { ownerId: id, name: callerName } = caller;
    if (roleOver(identity, ownerId, caller) === 'owner' && id !== null && callerName !== null) {
      return { name, askedBy: { id, name: callerName } };
    }
    throw new SoftquotaError(
      'not_permitted',
      'only owners of the organization ask for it; administrators give an allowance without a request',
    );
  };

  return [
    route({
      ...operationOf(scope, 'listRequestsOf', '/requests'),
      summary: 'The requests for more space, and their answers, the latest first',
      answer: { status: 200, description: 'Requests', schema: z.array(spaceRequest) },
      handle: (input, { caller }) =>
        requestsOf(documents.snapshot, owner(input.params, caller).id).map(entry =>
          requestShown(documents.owners, entry),
        ),
    }),
    route({
      ...operationOf(scope, 'requestSpaceFor', '/requests', 'write'),
      method: 'post',
      summary: 'Ask for more space, for a time',
      description:
        'An owner has one open request, and makes at most five within a day. What `[requests] AUTO_GRANT` covers is granted at ' +
        'once; the answer says so.',
      body: newRequest,
      faults: [404, 409, 429],
      mustBe: (named, caller) => {
        mustBeSwitchedOn(services);
        owner(named, caller);
      },
      answer: { status: 201, description: 'The request', schema: spaceRequest },
      handle: async (input, { caller }) => {
        const { name, askedBy } = ownOwner(input.params, caller);
        const { bytes, until, why } = input.body;
        const { autoGrant } = asking();
        const entry = await documents.transact(
          transaction =>
            ask(
              transaction,
              { owner: name, askedBy, bytes, until: momentOf(until), why },
              { now: now(), autoGrant },
            ),
          caller,
        );
        return requestShown(documents.owners, entry);
      },
    }),
    route({
      ...operationOf(scope, 'withdrawRequestOf', '/requests/{id}', 'write'),
      method: 'delete',
      summary: 'Withdraw an open request',
      params: params.extend({ id: givenId }),
      faults: [404, 409],
      answer: { status: 204, description: 'It is withdrawn' },
      handle: async (input, { caller }) => {
        const { name } = ownOwner(input.params, caller);
        await documents.transact(transaction => withdraw(transaction, name, input.params.id, now()), caller);
      },
    }),
  ];
}

function mustBeSwitchedOn({ asking }: ApiServices): void {
  if (asking().enabled) return;
  throw new SoftquotaError(
    'not_permitted',
    '[requests] ENABLED is false: more space cannot be asked for here',
  );
}
