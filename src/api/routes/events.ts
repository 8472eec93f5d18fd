/** `/events`: the list of events, newest first. */

import { z } from 'zod';
import { type Event, type EventsPage, event, eventKinds } from '../../overview/index.ts';
import { knownName, mark, queryNumber, text } from '../../wire/index.ts';
import { csvLine } from '../downloads.ts';
import { tellNext } from '../pages.ts';
import { csvRoute, type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';

const mostEvents = 1000;

export const eventsPage = {
  limit: queryNumber(1, mostEvents, 50),
  after: mark.optional().meta({
    pattern: '^-?[0-9]{1,15}[.][a-z0-9-]{1,100}$',
    description: 'The end of the previous page, from its `Link`.',
  }),
} as const;

export const eventsAnswer = {
  status: 200,
  description: 'One page',
  headers: { Link: 'The address of the page `next`, if there are older events.' },
} as const;

const time = z.iso
  .datetime({ offset: true, error: 'expected a time such as 2027-01-31T00:00:00Z' })
  .max(64)
  .transform(said => Date.parse(said));

const filters = {
  kind: z.enum(eventKinds).optional().meta({ description: 'Only these.' }),
  owner: knownName.min(1).optional().meta({
    description:
      'Only events of this owner: those recorded under the name, and those of the owner who has the name now.',
  }),
  since: time.optional().meta({ description: 'Only events from this time on.', type: 'string' }),
  until: time.optional().meta({ description: 'Only events up to this time.', type: 'string' }),
  actor: knownName.min(1).optional().meta({ description: 'Only events of what this user did.' }),
  q: text.optional().meta({
    description: 'Only events with this text in a name, a path or their words, in any case of letters.',
  }),
} as const;

const listQuery = z.strictObject({ ...filters, ...eventsPage });

const mostLines = 100_000;
const linesAtOnce = 500;

export function eventRoutes({ events }: ApiServices): readonly Route[] {
  return [
    route('get', 'listEvents', '/admin/quota/events', {
      summary: 'Refusals, thresholds reached, policy changes and sign-ins, newest first',
      description:
        'Events are kept for `[events] KEEP`. Refusals are added up per owner, actor, subject and hour; they and thresholds ' +
        'appear after about a second, policy changes at once. With `actor`, `q` or `since`, a page may have fewer events than ' +
        '`limit`, or none, and yet a next page: each request looks through 20,000 events at most.',
      query: listQuery,
      answer: { ...eventsAnswer, schema: z.array(event).readonly() },
      handle: async ({ query }, call) => {
        const page = await events.list(query);
        tellNext(call, query, page.next);
        return page.events;
      },
    }),
    csvRoute('downloadEvents', '/admin/quota/events.csv', {
      summary: 'The same events as CSV, without pages',
      description:
        `At most the newest ${mostLines.toLocaleString('en-US')}. The columns are named in the first line; sizes are bytes. ` +
        'A text that a spreadsheet would take for a formula has an apostrophe before it.',
      query: z.strictObject(filters),
      faults: [503],
      answer: { description: 'One line for each event' },
      lines: async query => {
        const page = (after: string | undefined) =>
          events.list({ ...query, limit: linesAtOnce, ...(after === undefined ? {} : { after }) });
        return csvLines(await page(undefined), page);
      },
    }),
  ];
}

const columns = [
  'at',
  'last_at',
  'kind',
  'action',
  'owner',
  'actor',
  'what',
  'name',
  'subject',
  'count',
  'used',
  'limit',
  'group',
  'rule',
  'bytes',
  'until',
  'words',
  'before',
  'after',
  'id',
  'per',
] as const;

async function* csvLines(
  first: EventsPage,
  read: (after: string) => Promise<EventsPage>,
): AsyncGenerator<string> {
  yield csvLine(columns);
  let left = mostLines;
  for (let page = first; ; page = await read(page.next)) {
    const told = page.events.slice(0, left);
    left -= told.length;
    const cells = told.map(cellsOf);
    yield cells.map(each => csvLine(columns.map(column => cellOf(each[column])))).join('');
    if (page.next === null || left === 0) return;
  }
}

/** Returns the fields of an event by column name; some columns have other names than the fields. */
function cellsOf(told: Event): Readonly<Record<string, unknown>> {
  switch (told.kind) {
    case 'refusal':
      return { ...told, action: told.mode === 'report' ? 'would be refused' : 'refused' };
    case 'threshold': {
      const action = told.direction === 'up' ? `reached ${told.to}` : `below ${told.from}`;
      return { ...told, action, subject: told.subjects.join(' ') };
    }
    case 'grace': {
      const action = told.mode === 'report' ? 'grace ended, would be refused' : 'grace ended';
      return { ...told, action, subject: told.subjects.join(' ') };
    }
    case 'sign-in':
      return { ...told, action: told.outcome, actor: told.by?.name, name: told.source.name };
    case 'policy':
    case 'request':
      return { ...told, actor: told.by?.name };
    case 'allowance':
      return { ...told, actor: told.by?.name, words: told.why };
    case 'unasked':
      return { ...told, action: `limit of each ${told.unasked} not asked`, per: told.unasked };
    case 'reclaim': {
      const { repository: name, freed: bytes, fault: words } = told;
      return { ...told, action: words === null ? 'freed' : 'failed', name, bytes, words };
    }
    case 'inherited':
      return { ...told, action: 'inherited', name: told.repository, words: `from ${told.from}` };
  }
}

function cellOf(field: unknown): string | number | null {
  if (field === null || field === undefined) return null;
  return typeof field === 'string' || typeof field === 'number' ? field : JSON.stringify(field);
}
