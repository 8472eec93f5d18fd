/** `/events`: what happened, newest first. */

import { z } from 'zod';
import { event, eventKinds, knownName } from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';

const mostEvents = 1000;

const listQuery = z.strictObject({
  kind: z.enum(eventKinds).optional().meta({ description: 'Only these.' }),
  owner: knownName.min(1).optional().meta({
    description: 'Only of this owner: what was told under the name, and what was told of who has it now.',
  }),
  limit: z.coerce.number<string>().int().min(1).max(mostEvents).default(50),
  after: z.string().optional().meta({ description: 'Where the page before ended, as its `Link` has it.' }),
});

export function eventRoutes({ events, baseUrl }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'listEvents',
      method: 'get',
      path: '/admin/quota/events',
      tag: 'operation',
      summary: 'Refusals, thresholds come to, and changes of policy, newest first',
      description:
        'As long as `[events] KEEP` says. Refusals are added up per owner, actor, subject and hour; they and thresholds are ' +
        'here about a second after they happened, a change of policy at once.',
      access: administrators.read,
      query: listQuery,
      answer: {
        status: 200,
        description: 'One page',
        schema: z.array(event).readonly(),
        headers: { Link: 'The address of the page `next`, where there are older ones.' },
      },
      handle: async ({ query }, { header }) => {
        const page = await events.list(query);
        if (page.next !== null) {
          const address = new URL('api/v1/admin/quota/events', baseUrl());
          for (const [name, value] of Object.entries({ ...query, after: page.next })) {
            if (value !== undefined) address.searchParams.set(name, String(value));
          }
          header('Link', `<${address}>; rel="next"`);
        }
        return page.events;
      },
    }),
  ];
}
