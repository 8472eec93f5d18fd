/**
 * `/user/quota` and `/orgs/{org}/quota`: what owners see of their own, without the names of rules and groups.
 */

import { z } from 'zod';
import type { KnownUnit } from '../../ledger/index.ts';
import { ruleContent } from '../../policy/index.ts';
import { type Leaf, leafMask, leaves, type Subject } from '../../quota/index.ts';
import { askedSubject, ownQuotaInfo, usedUnit } from '../../wire/index.ts';
import { forgivingPage, pageOf, pagingHeaders, tellPages } from '../pages.ts';
import { getRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { unitName } from '../unit-name.ts';
import { addressIn, type OwnerScope, operationOf, ownerScopes } from './owner-scopes.ts';
import { quotaShown } from './shapes.ts';

/** Lists of units, each with the subject of what is in it. */
const lists = {
  artifacts: 'size:assets:artifacts',
  attachments: 'size:assets:attachments:all',
  packages: 'size:assets:packages:all',
} as const satisfies Readonly<Record<string, Subject>>;

export function ownQuotaRoutes(services: ApiServices): readonly Route[] {
  return ownerScopes(services).flatMap(scope => quotaRoutes(services, scope));
}

/** The most units of one source; smaller ones are counted, and on no page. */
const mostUnits = 100_000;

const unitsQuery = z.object(forgivingPage({ usual: 50, most: 1000 }));

function quotaRoutes(services: ApiServices, scope: OwnerScope): readonly Route[] {
  const { ledger, scanner, baseUrl } = services;
  const { owner } = scope;
  return [
    getRoute({
      ...operationOf(scope, 'getQuotaOf', ''),
      summary: 'The usage and its limits',
      answer: { status: 200, description: 'Use and limits', schema: ownQuotaInfo },
      handle: (input, { caller }) =>
        quotaShown(services, owner(input.params, caller), ({ rules }) => ({
          // Names are for administrators.
          rules: rules.map(({ name: _, ...fields }) => ruleContent(fields)),
        })),
    }),
    getRoute({
      ...operationOf(scope, 'checkQuotaOf', '/check'),
      summary: 'Tells whether an action that adds data of this kind may start',
      query: z.object({ subject: askedSubject }),
      answer: { status: 200, description: 'Yes or no', schema: z.boolean() },
      handle: (input, { caller }) => {
        const { name } = owner(input.params, caller);
        return ledger.decide(name, input.query.subject).decision.allowed || ledger.settings.mode === 'report';
      },
    }),
    ...Object.entries(lists).map(([list, subject]) =>
      getRoute({
        ...operationOf(scope, `list${list[0]?.toUpperCase()}${list.slice(1)}Of`, `/${list}`),
        summary: `The ${list} that use space, largest first`,
        query: unitsQuery,
        answer: { status: 200, description: 'One page', schema: z.array(usedUnit), headers: pagingHeaders },
        handle: async (input, call) => {
          const { name } = owner(input.params, call.caller);
          const most = Math.min(input.query.page * input.query.limit, mostUnits);
          const { units, more } = await ledger.shares.someUnitsOf(name, { of: leavesOf(subject), most });
          const { entries, total } = await pageOf(units, input.query, bySize);
          tellPages(call, input.query, total + more, addressIn(scope, baseUrl(), name, `/${list}`));
          const roots = scanner.places().map(place => place.path);
          return entries.map(unit => ({ name: unitName(unit, roots), size: unit.bytes }));
        },
      }),
    ),
  ];
}

/** Largest first; equal ones always in the same order, so that each is on one page. */
function bySize(a: KnownUnit, b: KnownUnit): number {
  if (a.bytes !== b.bytes) return b.bytes - a.bytes;
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.host < b.host ? -1 : Number(a.host > b.host);
}

function leavesOf(subject: Subject): readonly Leaf[] {
  return leaves.filter(leaf => (leafMask(leaf) & leafMask(subject)) !== 0);
}
