/** `/user/quota/requests` and `/orgs/{org}/quota/requests`: owners ask for more, and see the answers. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import type { Caller } from '../../identity/index.ts';
import { ask, requestsOf, withdraw } from '../../policy/index.ts';
import { givenId, newRequest, spaceRequest } from '../../wire/index.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { momentOf, requestShown } from './asked.ts';
import { callersOwn, organizationsOwn, type Whose } from './whose.ts';

export function requestRoutes(services: ApiServices): readonly Route[] {
  return [
    ...ownRequestRoutes(services, callersOwn(services)),
    ...ownRequestRoutes(services, organizationsOwn(services)),
  ];
}

function ownRequestRoutes<Params extends z.ZodObject>(
  services: ApiServices,
  whose: Whose<Params>,
): readonly Route[] {
  const { documents, identity, now, asking } = services;
  const { of, path, tag, access, params, owner } = whose;
  const write = typeof access === 'string' ? access : ({ area: access.area, to: 'write' } as const);
  const requestParams = params.extend({ id: givenId });

  /** Throws as `owner` does, and `not_permitted` for administrators who are nobody's owner. */
  const ownOwner = (named: z.output<Params>, caller: Caller) => {
    const found = owner(named, caller);
    const { ownerId } = caller;
    const isOwn =
      ownerId === found.id || (ownerId !== null && identity.roleIn(found.id, ownerId) === 'owner');
    if (isOwn && ownerId !== null && caller.name !== null) {
      return { ...found, askedBy: { id: ownerId, name: caller.name } };
    }
    throw new SoftquotaError(
      'not_permitted',
      'only owners of the organization ask for it; administrators give an allowance without a request',
    );
  };

  return [
    route({
      id: `listRequestsOf${of}`,
      method: 'get',
      path: `${path}/requests`,
      tag,
      summary: 'The requests for more space, and their answers, the latest first',
      access,
      params,
      faults: [404],
      answer: { status: 200, description: 'Requests', schema: z.array(spaceRequest) },
      handle: (input, { caller }) =>
        requestsOf(documents.snapshot, owner(input.params, caller).id).map(entry =>
          requestShown(documents.owners, entry),
        ),
    }),
    route({
      id: `requestSpaceFor${of}`,
      method: 'post',
      path: `${path}/requests`,
      tag,
      summary: 'Ask for more space, for a time',
      description:
        'An owner has one open request, and makes at most five within a day. What `[requests] AUTO_GRANT` covers is granted at ' +
        'once; the answer says so.',
      access: write,
      params,
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
      id: `withdrawRequestOf${of}`,
      method: 'delete',
      path: `${path}/requests/{id}`,
      tag,
      summary: 'Withdraw an open request',
      access: write,
      params: requestParams,
      faults: [404, 409],
      answer: { status: 204, description: 'It is withdrawn' },
      handle: async (input, { caller }) => {
        // `requestParams` has all of `params`, which takes what it gives.
        const { name } = ownOwner(params.parse(input.params), caller);
        const { id } = z.object({ id: givenId }).parse(input.params);
        await documents.transact(transaction => withdraw(transaction, name, id, now()), caller);
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
