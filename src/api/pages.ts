/** Long lists, a page at a time. */

import { z } from 'zod';
import { inSlices } from '../slices.ts';
import { type Compare, firstOf, mostPicked } from '../sorting.ts';
import { queryNumber } from '../wire/index.ts';
import type { Call } from './route.ts';

interface Page {
  /** From 1. */
  readonly page: number;
  readonly limit: number;
}

/**
 * The parameters that say which page, on the addresses that Forgejo has too: as there, whatever is below 1
 * means the first page or as many as usual, as nothing at all does, and more than can be means as many as can
 * be.
 */
export function forgivingPage({ usual, most }: { readonly usual: number; readonly most: number }) {
  const number = (otherwise: number) =>
    z
      .union(
        [
          queryNumber(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, otherwise),
          z.literal('').transform(() => otherwise),
        ],
        { error: ({ errors }) => errors?.[0]?.[0]?.message },
      )
      .default(otherwise);
  return {
    page: number(1)
      .transform(page => Math.max(1, page))
      .meta({ description: 'The number of the page, from 1; a smaller number means 1.' }),
    limit: number(usual)
      .transform(limit => (limit < 1 ? usual : Math.min(limit, most)))
      .meta({
        description: `The number of entries on a page, at most ${most}; a number below 1 means ${usual}.`,
      }),
  };
}

/**
 * The entries on one page of a list that stands in this order. Only as much is sorted as has to be: of
 * 100,000 entries the first fifty take one look at each, and so do the last. Pushes get their turn meanwhile;
 * what changes then may be seen as it was or as it is. null is no entry (`filterMapInSlices`).
 */
export async function pageOf<Entry extends object>(
  entries: Iterable<Entry | null>,
  { page, limit }: Page,
  compare: Compare<Entry>,
): Promise<{ readonly entries: readonly Entry[]; readonly total: number }> {
  const end = page * limit;
  if (end <= mostPicked) {
    const { first, total } = await firstOf(entries, end, compare);
    return { entries: first.slice(end - limit), total };
  }
  const all: Entry[] = [];
  await inSlices(entries, entry => {
    if (entry !== null) all.push(entry);
  });
  const total = all.length;
  const fromEnd = total - (end - limit);
  if (fromEnd <= 0) return { entries: [], total };
  if (fromEnd > mostPicked) {
    return { entries: all.sort(compare).slice(end - limit, end), total };
  }
  // Backwards in both ways, so that equal entries stay in their order.
  const { first } = await firstOf(all.reverse(), fromEnd, (a, b) => compare(b, a));
  return { entries: first.toReversed().slice(0, limit), total };
}

/** The parameters that say which page, on addresses that only softquota has: anything else is a fault. */
export const pageQuery = {
  page: queryNumber(1, Number.MAX_SAFE_INTEGER, 1),
  limit: queryNumber(1, 1000, 50),
} as const;

export const pagingHeaders = {
  'X-Total-Count': 'The number of entries on all pages.',
  Link: 'The addresses of the pages `first`, `prev`, `next` and `last`, if they exist.',
} as const;

/** The answer of a route that gives one page of a list. */
export function onePage<Entry extends z.ZodType>(entry: Entry) {
  return { status: 200, description: 'One page', schema: z.array(entry), headers: pagingHeaders } as const;
}

/** Returns the address of a list, with the parameters that are not empty; the page is added to it. */
export function listAddress(
  baseUrl: string,
  path: string,
  parameters: Readonly<Record<string, string | undefined>> = {},
): URL {
  const address = new URL(`api/v1${path}`, baseUrl);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') address.searchParams.set(name, value);
  }
  return address;
}

/** Gives one page of a list as `pageOf` does, and tells the addresses of the others. */
export async function tellPage<Entry extends object>(
  call: Call,
  list: { readonly entries: Iterable<Entry | null>; readonly compare: Compare<Entry>; readonly address: URL },
  page: Page,
): Promise<readonly Entry[]> {
  const { entries, total } = await pageOf(list.entries, page, list.compare);
  tellPages(call, page, total, list.address);
  return entries;
}

/** `address` is that of the list. */
export function tellPages(call: Call, { page, limit }: Page, total: number, address: URL): void {
  const last = Math.max(1, Math.ceil(total / limit));
  const relations = [
    ...(page > 1 ? [['first', 1] as const, ['prev', Math.min(page - 1, last)] as const] : []),
    ...(page < last ? [['next', page + 1] as const, ['last', last] as const] : []),
  ];
  const links = relations.map(([relation, number]) => {
    const to = new URL(address);
    to.searchParams.set('page', String(number));
    to.searchParams.set('limit', String(limit));
    return `<${to}>; rel="${relation}"`;
  });
  call.header('X-Total-Count', String(total));
  if (links.length > 0) call.header('Link', links.join(', '));
}
