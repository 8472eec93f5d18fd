/** Requests for more space: owners ask for it and see the answers, administrators read and answer them. */

import { z } from 'zod';
import type { Owners } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import type { Caller } from '../../identity/index.ts';
import * as policy from '../../policy/index.ts';
import { isoTime, momentOf } from '../../text.ts';
import { filterMapInSlices } from '../../turns.ts';
import * as wire from '../../wire/index.ts';
import { mustNotGiveThemselves, roleOver } from '../owners.ts';
import { onePage, pageQuery, tellPage } from '../pages.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { type Named, type OwnerScope, ownerScopes } from './quotas.ts';

export function requestRoutes(services: ApiServices): readonly Route[] {
  return ownerScopes(services).flatMap(scope => requestRoutesOf(services, scope));
}

function requestRoutesOf(services: ApiServices, scope: OwnerScope): readonly Route[] {
  const { documents, asking } = services;
  const { of, path, read, write, owner } = scope;

  /** Throws as `owner` does, and `not_permitted` for administrators who do not own the organization. */
  const ownOwner = (named: Named, caller: Caller) => {
    const { id: ownerId, name } = owner(named, caller);
    const { ownerId: id, name: callerName } = caller;
    if (roleOver(documents, ownerId, caller) === 'owner' && id !== null && callerName !== null) {
      return { name, askedBy: { id, name: callerName } };
    }
    throw new SoftquotaError(
      'not_permitted',
      'only owners of the organization ask for it; administrators give an allowance without a request',
    );
  };

  return [
    route('get', `listRequestsOf${of}`, `${path}/requests`, {
      ...read,
      summary: 'The requests for more space, and their answers, the latest first',
      answer: { status: 200, description: 'Requests', schema: z.array(wire.spaceRequest) },
      handle: (input, { caller }) =>
        policy
          .requestsOf(documents.snapshot, owner(input.params, caller).id)
          .map(entry => requestShown(documents.owners, entry)),
    }),
    route('post', `requestSpaceFor${of}`, `${path}/requests`, {
      ...write,
      summary: 'Ask for more space, for a time',
      description:
        'An owner has one open request, and makes at most five within a day. What `[requests] AUTO_GRANT` covers is granted at ' +
        'once; the answer says so.',
      body: wire.newRequest,
      faults: [400, 404, 409, 429],
      mustBe: (named, caller) => {
        if (!asking().enabled) {
          const message = '[requests] ENABLED is false: more space cannot be asked for here';
          throw new SoftquotaError('not_permitted', message);
        }
        owner(named, caller);
      },
      answer: { status: 201, description: 'The request', schema: wire.spaceRequest },
      handle: async (input, { caller, change }) => {
        const { name, askedBy } = ownOwner(input.params, caller);
        const { bytes, until, why } = input.body;
        const { autoGrant } = asking();
        const wanted = { owner: name, askedBy, bytes, until: momentOf(until), why };
        const entry = await change(transaction =>
          policy.ask(transaction, wanted, { now: Date.now(), autoGrant }),
        );
        return requestShown(documents.owners, entry);
      },
    }),
    route('delete', `withdrawRequestOf${of}`, `${path}/requests/{id}`, {
      ...write,
      summary: 'Withdraw an open request',
      faults: [404, 409],
      answer: { status: 204, description: 'It is withdrawn' },
      handle: (input, { caller, change }) => {
        const { name } = ownOwner(input.params, caller);
        return change(transaction => policy.withdraw(transaction, name, input.params.id, Date.now()));
      },
    }),
  ];
}

const path = '/admin/quota/requests';

const listQuery = z.strictObject({
  state: z.enum(wire.requestStates).optional().meta({ description: 'Only these.' }),
  ...pageQuery,
});

export function requestAnswerRoutes(services: ApiServices): readonly Route[] {
  const { documents } = services;
  const answering = {
    faults: [404, 409],
    mustBe: (named: { readonly id: string }) => void policy.mustBeRequest(documents.snapshot, named.id),
    answer: { status: 200, description: 'The request with its answer', schema: wire.spaceRequest },
  } as const;
  return [
    route('get', 'listRequests', path, {
      summary: 'Requests for more space, the latest first',
      query: listQuery,
      answer: onePage(wire.spaceRequest),
      handle: async ({ query }, call) => {
        const { state } = query;
        const entries = filterMapInSlices(policy.everyRequest(documents.snapshot), entry =>
          state === undefined || entry[1].state === state ? entry : undefined,
        );
        const page = await tellPage(call, entries, policy.latestFirst, query);
        return page.map(entry => requestShown(documents.owners, entry));
      },
    }),
    route('post', 'grantRequest', `${path}/{id}/grant`, {
      ...answering,
      summary: 'Grant a request, as it was asked for or otherwise',
      description:
        'Gives the owner an allowance in the same step. Nobody can grant a request of their own, or one for an organization ' +
        'that they own.',
      body: wire.grantOrder,
      handle: async ({ params: { id }, body: { bytes, until, words } }, { caller, change }) => {
        const { owner: ownerId, askedBy } = policy.mustBeRequest(documents.snapshot, id);
        mustNotGiveThemselves(documents, caller, { ownerId, askedById: askedBy.id });
        const grant = {
          bytes: bytes ?? undefined,
          until: momentOf(until) ?? undefined,
          words: words ?? '',
          by: caller.name,
          isAutomatic: false,
          now: Date.now(),
        };
        const granted = await change(transaction => policy.grantRequest(transaction, id, grant));
        return requestShown(documents.owners, granted);
      },
    }),
    route('post', 'declineRequest', `${path}/{id}/decline`, {
      ...answering,
      summary: 'Decline a request, with a message to the owner',
      body: wire.declineOrder,
      handle: async ({ params: { id }, body: { words } }, { caller, change }) => {
        const answer = { words, by: caller.name, now: Date.now() };
        const declined = await change(transaction => policy.declineRequest(transaction, id, answer));
        return requestShown(documents.owners, declined);
      },
    }),
  ];
}

function requestShown(owners: Owners, [id, request]: policy.RequestEntry): wire.SpaceRequest {
  const { owner, askedBy, answer } = request;
  const nameOf = (ownerId: number) => owners.byId(ownerId)?.name;
  return wire.snakeCased({
    id,
    ...request,
    owner: nameOf(owner) ?? `#${owner}`,
    askedBy: nameOf(askedBy.id) ?? askedBy.name,
    askedAt: isoTime(request.askedAt),
    until: isoTime(request.until),
    answer: answer && {
      ...answer,
      at: isoTime(answer.at),
      granted: answer.granted && { ...answer.granted, until: isoTime(answer.granted.until) },
    },
  });
}
