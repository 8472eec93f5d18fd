/** `/user/quota` and `/orgs/{org}/quota`: what owners see of their own, without the names of rules and groups. */

import { z } from 'zod';
import { type Leaf, leafMask, leaves, type Subject } from '../../quota/index.ts';
import { askedSubject, ownQuotaInfo, usedUnit } from '../../wire/index.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { ownQuotaShown } from './shapes.ts';
import { callersOwn, organizationsOwn, type Whose } from './whose.ts';

/** Lists of units, each with the subject of what is in it. */
const lists = {
  artifacts: 'size:assets:artifacts',
  attachments: 'size:assets:attachments:all',
  packages: 'size:assets:packages:all',
} as const satisfies Readonly<Record<string, Subject>>;

export function ownQuotaRoutes(services: ApiServices): readonly Route[] {
  return [
    ...quotaRoutes(services, callersOwn(services)),
    ...quotaRoutes(services, organizationsOwn(services)),
  ];
}

const place = z.coerce.number<string>().int().min(1);

/** Whoever asks for no page gets all. */
const unitsQuery = z.object({
  page: place.optional().meta({ description: 'From 1.' }),
  limit: place.max(1000).optional().meta({ description: 'How many on a page; all without it.' }),
});

function quotaRoutes<Params extends z.ZodObject>(
  { ledger }: ApiServices,
  { of, path, tag, access, params, owner }: Whose<Params>,
): readonly Route[] {
  const common = { method: 'get', tag, access, params, faults: [404] } as const;
  return [
    route({
      ...common,
      id: `getQuotaOf${of}`,
      path,
      summary: 'What is used, and what limits it',
      answer: { status: 200, description: 'Use and limits', schema: ownQuotaInfo },
      handle: (input, { caller }) => {
        const found = owner(input.params, caller);
        return ownQuotaShown(found, ledger.policy.groupsOf(found.id, ledger.settings.defaultGroups));
      },
    }),
    route({
      ...common,
      id: `checkQuotaOf${of}`,
      path: `${path}/check`,
      summary: 'Whether something that grows this may start',
      query: z.object({ subject: askedSubject }),
      answer: { status: 200, description: 'Yes or no', schema: z.boolean() },
      handle: (input, { caller }) => {
        const { name } = owner(input.params, caller);
        return ledger.decide(name, input.query.subject).decision.allowed || ledger.settings.mode === 'report';
      },
    }),
    ...Object.entries(lists).map(([list, subject]) =>
      route({
        ...common,
        id: `list${list[0]?.toUpperCase()}${list.slice(1)}Of${of}`,
        path: `${path}/${list}`,
        summary: `The ${list} that take space, largest first`,
        query: unitsQuery,
        answer: { status: 200, description: 'Units', schema: z.array(usedUnit) },
        handle: async (input, { caller }) => {
          const { page = 1, limit = Number.POSITIVE_INFINITY } = input.query;
          const most = Math.min(page * limit, Number.MAX_SAFE_INTEGER);
          const units = await ledger.sharing.unitsOf(owner(input.params, caller).name, {
            of: leavesOf(subject),
            most,
          });
          return units
            .slice(page === 1 ? 0 : (page - 1) * limit, page * limit)
            .map(({ name, bytes }) => ({ name, size: bytes }));
        },
      }),
    ),
  ];
}

function leavesOf(subject: Subject): readonly Leaf[] {
  return leaves.filter(leaf => (leafMask(leaf) & leafMask(subject)) !== 0);
}
