/** Pagination of long lists. */

import { z } from 'zod';
import { firstOf, mostPicked } from '../sorting.ts';
import { inSlices } from '../turns.ts';
import { queryNumber } from '../wire/index.ts';
import type { Call } from './route.ts';

const mostOnPage = 1000;

interface Page {
  /** From 1. */
  readonly page: number;
  readonly limit: number;
}

/**
 * Page parameters for addresses that Forgejo has, too. They behave as there: a page below 1 is page 1, a
 * limit below 1 is the default, an empty value is the default, and a limit above the maximum is the maximum.
 */
export function forgivingPage(usual: number) {
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
      .transform(limit => (limit < 1 ? usual : Math.min(limit, mostOnPage)))
      .meta({
        description: `The number of entries on a page, at most ${mostOnPage}; a number below 1 means ${usual}.`,
      }),
  };
}

/**
 * Returns one page of a list in the given order. It sorts no more than necessary: the first and the last
 * pages need one pass over the list. It runs in slices so that pushes are not delayed, so entries may change
 * meanwhile. A null in `entries` is skipped (see `filterMapInSlices`).
 */
export async function pageOf<Entry extends object>(
  entries: Iterable<Entry | null>,
  { page, limit }: Page,
  compare: (a: Entry, b: Entry) => number,
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
  // The list and the order are both reversed, so that equal entries keep their order.
  const { first } = await firstOf(all.reverse(), fromEnd, (a, b) => compare(b, a));
  return { entries: first.toReversed().slice(0, limit), total };
}

/** Page parameters for addresses that only softquota has: values out of range are errors. */
export const pageQuery = {
  page: queryNumber(1, Number.MAX_SAFE_INTEGER, 1),
  limit: queryNumber(1, mostOnPage, 50),
} as const;

export const pagingHeaders = {
  'X-Total-Count': 'The number of entries on all pages.',
  Link: 'The addresses of the pages `first`, `prev`, `next` and `last`, if they exist.',
} as const;

/** Describes the answer of a route that returns one page of a list. */
export function onePage<Entry extends z.ZodType>(entry: Entry) {
  return { status: 200, description: 'One page', schema: z.array(entry), headers: pagingHeaders } as const;
}

/**
 * Returns one page as `pageOf` does, and sets the headers with the total and the other pages. `query`: all
 * checked parameters of the route, of which the addresses keep those that were sent.
 */
export async function tellPage<Entry extends object>(
  call: Call,
  entries: Iterable<Entry | null>,
  compare: (a: Entry, b: Entry) => number,
  query: Page,
): Promise<readonly Entry[]> {
  const page = await pageOf(entries, query, compare);
  tellPages(call, query, page.total);
  return page.entries;
}

/** Sets the headers with the total and the addresses of the other pages. `query`: as of `tellPage`. */
export function tellPages(call: Call, query: Page, total: number): void {
  const { page, limit } = query;
  const last = Math.max(1, Math.ceil(total / limit));
  const relations = [
    ...(page > 1 ? [['first', 1] as const, ['prev', Math.min(page - 1, last)] as const] : []),
    ...(page < last ? [['next', page + 1] as const, ['last', last] as const] : []),
  ];
  const to = addressWith(call, query, { page, limit });
  const links = relations.map(([relation, number]) => {
    to.searchParams.set('page', String(number));
    return `<${to}>; rel="${relation}"`;
  });
  call.header('X-Total-Count', String(total));
  if (links.length > 0) call.header('Link', links.join(', '));
}

/**
 * Sets the header with the address of the next page. `next` is the end of this page, null on the last one.
 */
export function tellNext(call: Call, query: object, next: string | null): void {
  if (next === null) return;
  call.header('Link', `<${addressWith(call, query, { after: next })}>; rel="next"`);
}

/**
 * Returns the address of the request with another place in the list: the page or the end of the page before.
 * Parameters that the route does not have are left out; of a repeated one, the first counts.
 */
function addressWith({ address }: Call, query: object, place: Readonly<Record<string, unknown>>): URL {
  const parameters = new Map<string, string>();
  for (const [name, value] of address.searchParams) {
    const isKept = Object.hasOwn(query, name) && !Object.hasOwn(place, name);
    if (isKept && !parameters.has(name)) parameters.set(name, value);
  }
  for (const [name, value] of Object.entries(place)) parameters.set(name, String(value));
  const to = new URL(address.pathname, address);
  to.search = String(new URLSearchParams([...parameters]));
  return to;
}
