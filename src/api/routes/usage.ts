/** `/usage` and `/explain`: what owners use, what limits them, and why. */

import { z } from 'zod';
import type { Ledger, OwnerUsage } from '../../ledger/index.ts';
import { leafIndex, leaves } from '../../quota/index.ts';
import { inSlices } from '../../slices.ts';
import {
  askedSize,
  askedSubject,
  explanation,
  knownName,
  type OwnerRow,
  ownerReport,
  ownerRow,
  text,
} from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { pageOf, pagingHeaders, tellPages } from '../pages.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { type Filling, percentOf, reportOf, reportTotal, rowOf } from './reports.ts';
import { explanationShown } from './shapes.ts';

const sortable = ['name', 'total', 'percent', ...leaves] as const;
const mostRows = 1000;
const mostUnits = 1000;
const orders = ['asc', 'desc'] as const;

const listQuery = z.strictObject({
  sort: z.enum(sortable).default('total'),
  order: z.enum(orders).optional().meta({ description: 'The default is `desc`, and `asc` for names.' }),
  q: text.default('').meta({ description: 'Only owners whose names contain this text.' }),
  page: z.coerce.number<string>().int().min(1).default(1),
  limit: z.coerce.number<string>().int().min(1).max(mostRows).default(50),
});

export function usageRoutes(services: ApiServices): readonly Route[] {
  const { ledger, baseUrl, scanner } = services;
  return [
    route({
      id: 'listUsage',
      method: 'get',
      path: '/admin/quota/usage',
      tag: 'owners',
      summary: 'Owners with their usage and limits',
      access: administrators.read,
      query: listQuery,
      answer: { status: 200, description: 'One page', schema: z.array(ownerRow), headers: pagingHeaders },
      handle: async ({ query }, call) => {
        const { sort, q } = query;
        const order = query.order ?? (sort === 'name' ? 'asc' : 'desc');
        const sign = order === 'asc' ? 1 : -1;
        const rank = ranking(ledger, sort);
        const { entries, total } = await pageOf(
          ranked(ledger, q, rank),
          query,
          (a, b) => (a.rank - b.rank) * sign || byName(a, b) * (sort === 'name' ? sign : 1),
        );
        const address = new URL('api/v1/admin/quota/usage', baseUrl());
        address.search = new URLSearchParams({ sort, order, ...(q === '' ? {} : { q }) }).toString();
        tellPages(call, query, total, address);
        const rows: OwnerRow[] = [];
        await inSlices(entries, ({ owner }) => rows.push(rowOf(ledger, owner)));
        return rows;
      },
    }),
    route({
      id: 'getUsage',
      method: 'get',
      path: '/admin/quota/usage/{owner}',
      tag: 'owners',
      summary: 'The whole report about one owner',
      description: 'Also for an unknown owner, whose `known` is false.',
      access: administrators.read,
      params: z.object({ owner: knownName }),
      answer: { status: 200, description: 'The owner', schema: ownerReport },
      handle: ({ params }) => reportOf(services, params.owner, mostUnits),
    }),
    route({
      id: 'explainDecision',
      method: 'get',
      path: '/admin/quota/explain',
      tag: 'owners',
      summary: 'The whole reasoning of a decision',
      access: administrators.read,
      query: z.strictObject({ user: knownName.min(1), subject: askedSubject, size: askedSize }),
      answer: { status: 200, description: 'The reasoning', schema: explanation },
      handle: ({ query: { user, subject, size } }) =>
        explanationShown(ledger.explain(user, subject, size), scanner.rulers()),
    }),
  ];
}

interface Ranked {
  readonly owner: OwnerUsage;
  readonly rank: number;
}

function* ranked(ledger: Ledger, wanted: string, rank: (owner: OwnerUsage) => number): Generator<Ranked> {
  for (const owner of ledger.owners(ledger.documents.owners.keyOf(wanted)))
    yield { owner, rank: rank(owner) };
}

/** The number that owners are sorted by; equal ones stand by name. */
function ranking(ledger: Ledger, sort: (typeof sortable)[number]): (owner: OwnerUsage) => number {
  switch (sort) {
    case 'name':
      return () => 0;
    case 'total':
      return reportTotal;
    case 'percent':
      return owner => fullness(ledger.deciderFor(owner)('size:all'));
    default: {
      const at = leafIndex(sort);
      return ({ usage }) => usage[at] ?? 0;
    }
  }
}

function byName(a: Ranked, b: Ranked): number {
  return a.owner.name < b.owner.name ? -1 : Number(a.owner.name > b.owner.name);
}

/**
 * The percentage, where it can be told; who stores something where nothing may be stored is fuller than all
 * others.
 */
function fullness(filling: Filling): number {
  const isOverNothing = filling.limit === 0 && (filling.used ?? 0) > 0;
  return isOverNothing ? Number.MAX_VALUE : (percentOf(filling) ?? -1);
}
