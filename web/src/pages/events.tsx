/** Page of events. The filter is in the address. */

import { useEffect, useState } from 'preact/hooks';
import type { EventKind } from '../../../src/overview/event-shapes.ts';
import { apiUrl } from '../api/ask.ts';
import { Button } from '../parts/button.tsx';
import { EventList } from '../parts/event-list.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { Page } from '../parts/page.tsx';
import { useQueryPart } from '../place.ts';

const kinds = [
  ['', 'everything'],
  ['refusal', 'refusals'],
  ['threshold', 'thresholds reached'],
  ['grace', 'ends of graces'],
  ['policy', 'policy changes'],
  ['sign-in', 'sign-ins'],
  ['request', 'requests for more space'],
  ['allowance', 'allowances'],
  ['reclaim', 'collected garbage'],
  ['unasked', 'limits that could not be asked'],
  ['inherited', 'pools of deleted projects'],
] as const satisfies readonly (readonly [EventKind | '', string])[];

const pageSize = 50;
const typed = ['owner', 'actor', 'q', 'since', 'until'] as const;

type Typed = Readonly<Record<(typeof typed)[number], string>>;

const nothing: Typed = { owner: '', actor: '', q: '', since: '', until: '' };

export function Events() {
  const [query, change] = useQueryPart();
  const kind = kinds.find(([value]) => value === query.get('kind'))?.[0] ?? '';
  const asked = typedIn(query);
  const [fields, setFields] = useState(asked);
  // A link within the page, such as "Events" in the bar, changes the address alone.
  useEffect(() => setFields(asked), [JSON.stringify(asked)]);
  const put = (part: Partial<Typed>) => setFields({ ...fields, ...part });
  const filters = {
    kind: kind === '' ? undefined : kind,
    owner: present(asked.owner),
    actor: present(asked.actor),
    q: present(asked.q),
    since: timeAt(asked.since, '00:00:00.000'),
    until: timeAt(asked.until, '23:59:59.999'),
  };
  const isFiltered = kind !== '' || typed.some(name => asked[name] !== '');
  return (
    <Page
      title="Events"
      help="events"
      actions={
        <a href={apiUrl(['admin', 'quota', 'events.csv'], filters).href} download="events.csv">
          Download CSV
        </a>
      }
    >
      <search>
        <form
          class="fields"
          onSubmit={event => {
            event.preventDefault();
            change(Object.fromEntries(typed.map(name => [name, fields[name].trim()])));
          }}
        >
          <Choice label="Kind" value={kind} onChoice={value => change({ kind: value })} options={kinds} />
          <Field label="Owner" type="search" value={fields.owner} onInput={owner => put({ owner })} />
          <Field label="Done by" type="search" value={fields.actor} onInput={actor => put({ actor })} />
          <Field label="Text" type="search" value={fields.q} onInput={q => put({ q })} />
          <Field label="From (day)" type="date" value={fields.since} onInput={since => put({ since })} />
          <Field label="To (day)" type="date" value={fields.until} onInput={until => put({ until })} />
          <button type="submit" class="primary">
            Search
          </button>
          {isFiltered && (
            <Button
              onClick={() => {
                setFields(nothing);
                change({ kind: '', ...nothing });
              }}
            >
              Show all events
            </Button>
          )}
        </form>
      </search>
      <EventList asked={{ ...filters, limit: pageSize }} />
    </Page>
  );
}

function typedIn(query: URLSearchParams): Typed {
  const day = (name: string) => {
    const text = query.get(name) ?? '';
    return Number.isNaN(Date.parse(`${text}T00:00:00`)) ? '' : text;
  };
  return {
    owner: query.get('owner') ?? '',
    actor: query.get('actor') ?? '',
    q: query.get('q') ?? '',
    since: day('since'),
    until: day('until'),
  };
}

function present(text: string): string | undefined {
  return text === '' ? undefined : text;
}

/** Returns a time of a day in the reader's time zone, in ISO 8601. */
function timeAt(day: string, time: string): string | undefined {
  return day === '' ? undefined : new Date(`${day}T${time}`).toISOString();
}
