/** `/admin/quota/requests`: administrators read requests for more space, and answer them. */

import { z } from 'zod';
import type { Snapshot } from '../../documents/index.ts';
import {
  declineRequest,
  everyRequest,
  grantRequest,
  latestFirst,
  mustBeRequest,
  type RequestEntry,
} from '../../policy/index.ts';
import { foundIn } from '../../slices.ts';
import {
  declineOrder,
  givenId,
  grantOrder,
  requestStates,
  type SpaceRequest,
  spaceRequest,
} from '../../wire/index.ts';
import { momentOf } from '../moments.ts';
import { listAddress, pageQuery, pagingHeaders, tellPage } from '../pages.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { mustNotGiveThemselves, requestShown } from './asked.ts';

const path = '/admin/quota/requests';
const params = z.object({ id: givenId });

const listQuery = z.strictObject({
  state: z.enum(requestStates).optional().meta({ description: 'Only these.' }),
  ...pageQuery,
});

export function requestAnswerRoutes(services: ApiServices): readonly Route[] {
  const { documents, baseUrl, now } = services;
  const mustBe = (named: z.infer<typeof params>) => void mustBeRequest(documents.snapshot, named.id);
  return [
    route({
      id: 'listRequests',
      path,
      tag: 'owners',
      summary: 'Requests for more space, the latest first',
      query: listQuery,
      answer: { status: 200, description: 'One page', schema: z.array(spaceRequest), headers: pagingHeaders },
      handle: async ({ query }, call) => {
        const { state } = query;
        const entries = inState(documents.snapshot, state);
        const address = listAddress(baseUrl(), path, { state });
        const page = await tellPage(call, { entries, compare: latestFirst, address }, query);
        return page.map(entry => requestShown(documents.owners, entry));
      },
    }),
    route({
      id: 'grantRequest',
      method: 'post',
      path: `${path}/{id}/grant`,
      tag: 'owners',
      summary: 'Grant a request, as it was asked for or otherwise',
      description:
        'Gives the owner an allowance in the same step. Nobody can grant a request of their own, or one for an organization ' +
        'that they own.',
      params,
      body: grantOrder,
      faults: [404, 409],
      mustBe,
      answer: { status: 200, description: 'The request with its answer', schema: spaceRequest },
      handle: async (named, { caller }) => {
        const { id } = named.params;
        const { owner: ownerId, askedBy } = mustBeRequest(documents.snapshot, id);
        mustNotGiveThemselves(services, caller, { ownerId, askedById: askedBy.id });
        const { bytes, until, words } = named.body;
        const entry = await documents.transact(
          transaction =>
            grantRequest(transaction, id, {
              bytes: bytes ?? undefined,
              until: momentOf(until) ?? undefined,
              words: words ?? '',
              by: caller.name,
              isAutomatic: false,
              now: now(),
            }),
          caller,
        );
        return requestShown(documents.owners, entry);
      },
    }),
    route({
      id: 'declineRequest',
      method: 'post',
      path: `${path}/{id}/decline`,
      tag: 'owners',
      summary: 'Decline a request, with a message to the owner',
      params,
      body: declineOrder,
      faults: [404, 409],
      mustBe,
      answer: { status: 200, description: 'The request with its answer', schema: spaceRequest },
      handle: async (named, { caller }) => {
        const answer = { words: named.body.words, by: caller.name, now: now() };
        const entry = await documents.transact(
          transaction => declineRequest(transaction, named.params.id, answer),
          caller,
        );
        return requestShown(documents.owners, entry);
      },
    }),
  ];
}

function inState(
  snapshot: Snapshot,
  state: SpaceRequest['state'] | undefined,
): Generator<RequestEntry | null> {
  return foundIn(everyRequest(snapshot), entry =>
    state === undefined || entry[1].state === state ? entry : undefined,
  );
}
