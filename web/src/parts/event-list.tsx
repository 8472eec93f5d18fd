/** What happened, newest first, each in a sentence. */

import { useInfiniteQuery } from '@tanstack/preact-query';
import { subjectWords } from '../../../src/quota/index.ts';
import { printable, printableJson } from '../../../src/text/index.ts';
import type { Event } from '../../../src/wire/index.ts';
import { type EventsAsked, eventsQuery } from '../api/queries.ts';
import { to } from '../place.ts';
import { counted, Time } from './figures.tsx';
import { useWords } from './limit-words.ts';
import { Name } from './name.tsx';
import { Answered, Empty } from './states.tsx';
import { Table } from './table.tsx';

export interface EventListProps {
  readonly asked: EventsAsked;
  /** Whose they are is clear. */
  readonly isOfOne?: boolean;
}

export function EventList({ asked, isOfOne = false }: EventListProps) {
  const events = useInfiniteQuery(eventsQuery(asked));
  return (
    <Answered query={events} what="the events">
      {({ pages }) => {
        const list = pages.flatMap(({ entries }) => entries);
        if (list.length === 0) return <Empty>Nothing of this kind is on record.</Empty>;
        return (
          <div class="stack">
            <Table
              caption="Events, newest first"
              rows={list}
              keyOf={({ id }) => id}
              columns={[
                {
                  key: 'at',
                  title: 'When',
                  cell: event => <Time at={event.kind === 'refusal' ? event.last_at : event.at} />,
                },
                ...(isOfOne
                  ? []
                  : [
                      { key: 'owner', title: 'Owner', cell: (event: Event) => <Whose owner={event.owner} /> },
                    ]),
                { key: 'what', title: 'What', cell: event => <What event={event} /> },
              ]}
            />
            {events.hasNextPage && (
              <p>
                <button
                  type="button"
                  disabled={events.isFetchingNextPage}
                  onClick={() => void events.fetchNextPage()}
                >
                  Show older ones
                </button>
              </p>
            )}
          </div>
        );
      }}
    </Answered>
  );
}

function Whose({ owner }: { owner: string | null }) {
  if (owner === null) return <span class="quiet-text">–</span>;
  return (
    <a href={to('owner', owner)}>
      <Name>{owner}</Name>
    </a>
  );
}

export function What({ event }: { readonly event: Event }) {
  switch (event.kind) {
    case 'refusal':
      return (
        <>
          <span class="mark bad">{event.mode === 'report' ? 'would be refused' : 'refused'}</span>{' '}
          {refusalWords(event)}
        </>
      );
    case 'threshold':
      return (
        <>
          <span class={`mark ${event.direction === 'down' ? 'good' : 'near'}`}>{levelWords(event)}</span>{' '}
          {useWords(event)}
        </>
      );
    case 'policy':
      return (
        <>
          <span class="mark">{event.action}</span> {changeWords(event)}
          <details>
            <summary>From what to what</summary>
            <pre class="quiet-text">{shownJson(event.before)}</pre>
            <pre>{shownJson(event.after)}</pre>
          </details>
        </>
      );
  }
}

type Of<Kind extends Event['kind']> = Extract<Event, { readonly kind: Kind }>;

function refusalWords(event: Of<'refusal'>): string {
  const who = event.actor === null ? '' : ` by ${printable(event.actor)}`;
  const several = event.others ? ', of several owners or actors' : '';
  return `${subjectWords(event.subject)}, ${counted(event.count, 'time', 'times')}${who}${several}; ${useWords(event)}`;
}

function levelWords({ direction, from, to: now }: Of<'threshold'>): string {
  const words = (level: number | 'limit' | null) => (level === 'limit' ? 'the limit' : `${level} %`);
  return direction === 'up' ? `came to ${words(now)}` : `is below ${words(from)} again`;
}

function changeWords({ what, name, owner, by }: Of<'policy'>): string {
  const whose = owner === null || owner === name ? '' : ` of ${printable(owner)}`;
  const who = by === null ? 'softquota' : by.name === null ? "this host's administrator" : printable(by.name);
  return `${what}${name === null ? '' : ` ${printable(name)}`}${whose}, by ${who}`;
}

function shownJson(value: unknown): string {
  return value === null ? 'nothing' : printableJson(JSON.stringify(value, null, 1));
}
