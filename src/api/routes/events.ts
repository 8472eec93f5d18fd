/** `/events`: what happened, newest first. */

import { z } from 'zod';
import { event, eventKinds, knownName, mark } from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { type Call, type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';

const mostEvents = 1000;

/** The parameters that say which page. */
export const eventsPage = {
  limit: z.coerce.number<string>().int().min(1).max(mostEvents).default(50),
  after: mark.optional().meta({ description: 'The end of the previous page, from its `Link`.' }),
} as const;

export const eventsAnswer = {
  status: 200,
  description: 'One page',
  headers: { Link: 'The address of the page `next`, if there are older events.' },
} as const;

const listQuery = z.strictObject({
  kind: z.enum(eventKinds).optional().meta({ description: 'Only these.' }),
  owner: knownName.min(1).optional().meta({
    description:
      'Only events of this owner: those recorded under the name, and those of the owner who has the name now.',
  }),
  ...eventsPage,
});

export function eventRoutes({ events, baseUrl }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'listEvents',
      method: 'get',
      path: '/admin/quota/events',
      tag: 'operation',
      summary: 'Refusals, thresholds reached, policy changes and sign-ins, newest first',
      description:
        'Events are kept for `[events] KEEP`. Refusals are added up per owner, actor, subject and hour; they and thresholds ' +
        'appear after about a second, policy changes at once.',
      access: administrators.read,
      query: listQuery,
      answer: { ...eventsAnswer, schema: z.array(event).readonly() },
      handle: async ({ query }, call) => {
        const page = await events.list(query);
        tellNext(call, new URL('api/v1/admin/quota/events', baseUrl()), query, page.next);
        return page.events;
      },
    }),
  ];
}

/** `address` is that of the list, `query` what was asked, `next` where the page ended. */
export function tellNext(call: Call, address: URL, query: object, next: string | null): void {
  if (next === null) return;
  const to = new URL(address);
  for (const [name, value] of Object.entries({ ...query, after: next })) {
    if (value !== undefined) to.searchParams.set(name, String(value));
  }
  call.header('Link', `<${to}>; rel="next"`);
}
