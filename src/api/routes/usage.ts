/** `/usage` and `/explain`: what owners use, what limits them, and why. */

import { z } from 'zod';
import { leaves } from '../../quota/index.ts';
import { inSlices } from '../../slices.ts';
import { explanation, knownName, type OwnerRow, ownerReport, ownerRow } from '../../wire/index.ts';
import { csvLine } from '../downloads.ts';
import { listAddress, pageOf, pageQuery, pagingHeaders, tellPage } from '../pages.ts';
import { csvRoute, getRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { ownerList, ownersQuery, type RankedOwner } from './owner-list.ts';
import { askedDecision, explanationOf, reportOf, rowOf } from './reports.ts';

const mostUnits = 1000;
const mostLines = 1_000_000;
const linesAtOnce = 200;

export function usageRoutes(services: ApiServices): readonly Route[] {
  const { ledger, baseUrl } = services;
  return [
    getRoute({
      id: 'listUsage',
      path: '/admin/quota/usage',
      summary: 'Owners with their usage and limits',
      query: z.strictObject({ ...ownersQuery, ...pageQuery }),
      faults: [404],
      answer: { status: 200, description: 'One page', schema: z.array(ownerRow), headers: pagingHeaders },
      handle: async ({ query }, call) => {
        const { owners, order, parameters } = await ownerList(services, query);
        const address = listAddress(baseUrl(), '/admin/quota/usage', parameters);
        const entries = await tellPage(call, { entries: owners, compare: order, address }, query);
        const rows: OwnerRow[] = [];
        await inSlices(entries, ({ id }) => {
          const owner = ledger.ownerById(id);
          if (owner !== undefined) rows.push(rowOf(ledger, owner));
        });
        return rows;
      },
    }),
    csvRoute({
      id: 'downloadUsage',
      path: '/admin/quota/usage.csv',
      summary: 'The same list as CSV, without pages',
      description:
        'The columns are named in the first line; sizes are bytes. A name that a spreadsheet would take for a formula ' +
        'has an apostrophe before it, and characters that cannot be seen are written out. Each line has the figures of ' +
        'the moment at which it is written.',
      query: z.strictObject(ownersQuery),
      faults: [404, 503],
      answer: { description: 'One line for each owner' },
      lines: async query => {
        const { owners, order } = await ownerList(services, query);
        const { entries } = await pageOf(owners, { page: 1, limit: mostLines }, order);
        return csvLines(services, entries);
      },
    }),
    getRoute({
      id: 'getUsage',
      path: '/admin/quota/usage/{owner}',
      summary: 'The whole report about one owner',
      description: 'Also for an unknown owner, whose `known` is false.',
      params: z.object({ owner: knownName }),
      faults: [],
      answer: { status: 200, description: 'The owner', schema: ownerReport },
      handle: ({ params }) => reportOf(services, params.owner, mostUnits),
    }),
    getRoute({
      id: 'explainDecision',
      path: '/admin/quota/explain',
      summary: 'The whole reasoning of a decision',
      query: z.strictObject({ user: knownName.min(1), ...askedDecision }),
      answer: { status: 200, description: 'The reasoning', schema: explanation },
      handle: ({ query }) => explanationOf(services, query.user, query),
    }),
  ];
}

const columns = [
  'owner',
  'type',
  'state',
  'stored',
  ...leaves,
  'nearest_limit',
  'used',
  'limit',
  'percent',
  'group',
  'rule',
  'measured_at',
  'partial',
  'stale',
] as const;

async function* csvLines(
  { ledger }: Pick<ApiServices, 'ledger'>,
  entries: readonly RankedOwner[],
): AsyncGenerator<string> {
  yield csvLine(columns);
  for (let from = 0; from < entries.length; from += linesAtOnce) {
    let lines = '';
    await inSlices(entries.slice(from, from + linesAtOnce), entry => {
      const owner = ledger.ownerById(entry.id);
      if (owner === undefined) return;
      const row = rowOf(ledger, owner);
      lines += csvLine([
        row.name,
        row.type,
        row.state,
        row.total,
        ...owner.usage,
        row.subject,
        row.used,
        row.limit === -1 ? 'unlimited' : row.limit,
        row.percent,
        row.group,
        row.rule,
        row.measured_at,
        row.partial,
        row.stale,
      ]);
    });
    yield lines;
  }
}
