/** Events, newest first, each as a sentence. */

import { useInfiniteQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import type { Event } from '../../../src/overview/event-shapes.ts';
import { subjectWords } from '../../../src/quota/index.ts';
import { formatBytes, printable, printableJson } from '../../../src/text/index.ts';
import { type EventsAsked, eventsQuery } from '../api/queries.ts';
import { fewest, listWords } from '../own/verdicts.ts';
import { to } from '../place.ts';
import { isRestorable } from '../policy/restore.ts';
import { counted, Time, timeWords } from './figures.tsx';
import { useWords } from './limit-words.ts';
import { Name } from './name.tsx';
import { Restore } from './restore.tsx';
import { Answered, Empty } from './states.tsx';
import { Table } from './table.tsx';

export interface EventListProps {
  readonly asked: EventsAsked;
  /** Hides the owners, for a list of one owner's events. */
  readonly isOfOne?: boolean;
}

export function EventList({ asked, isOfOne = false }: EventListProps) {
  const events = useInfiniteQuery(eventsQuery(asked));
  const [restored, setRestored] = useState<Of<'policy'> | null>(null);
  return (
    <Answered query={events} what="the events">
      {({ pages }) => {
        const list = pages.flatMap(({ entries }) => entries);
        if (list.length === 0 && !events.hasNextPage) return <Empty>No such events.</Empty>;
        return (
          <div class="stack">
            {list.length === 0 ? (
              <Empty>No such events among the latest ones.</Empty>
            ) : (
              <Table
                caption="Events, newest first"
                rows={list}
                keyOf={({ id }) => id}
                columns={[
                  {
                    key: 'at',
                    title: 'Time',
                    cell: event => <Time at={event.kind === 'refusal' ? event.last_at : event.at} />,
                  },
                  ...(isOfOne
                    ? []
                    : [
                        {
                          key: 'owner',
                          title: 'Owner',
                          cell: (event: Event) => <Whose owner={event.owner} />,
                        },
                      ]),
                  {
                    key: 'what',
                    title: 'Event',
                    cell: event => <What event={event} onRestore={setRestored} />,
                  },
                ]}
              />
            )}
            {events.hasNextPage && (
              <p>
                <button
                  type="button"
                  disabled={events.isFetchingNextPage}
                  onClick={() => void events.fetchNextPage()}
                >
                  {list.length === 0 ? 'Search older events' : 'Show older events'}
                </button>
              </p>
            )}
            {restored !== null && <Restore event={restored} onClose={() => setRestored(null)} />}
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

interface WhatProps {
  readonly event: Event;
  /** Left out: nothing can be restored here. */
  readonly onRestore?: (event: Of<'policy'>) => void;
}

export function What({ event, onRestore }: WhatProps) {
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
          {listWords(fewest(event.subjects))}: {useWords(event)}
          {event.grace_until !== undefined && (
            <>
              {' '}
              (refused from <Time at={event.grace_until} /> on)
            </>
          )}
        </>
      );
    case 'grace':
      return (
        <>
          <span class="mark bad">{graceWords(event)}</span> {listWords(fewest(event.subjects))}:{' '}
          {useWords(event)}
        </>
      );
    case 'policy':
      return (
        <>
          <span class="mark">{actionWords(event)}</span> {changeWords(event)}
          <details>
            <summary>Show change</summary>
            <pre class="quiet-text">{shownJson(event.before)}</pre>
            <pre>{shownJson(event.after)}</pre>
            {onRestore !== undefined && isRestorable(event) && (
              <button type="button" onClick={() => onRestore(event)}>
                Undo this change
              </button>
            )}
          </details>
        </>
      );
    case 'sign-in':
      return (
        <>
          <span class="mark">signed in</span> with <Name>{event.source.name}</Name>
        </>
      );
    case 'request':
      return (
        <>
          <span class={`mark ${requestMarks[event.action]}`}>{requestWords[event.action]}</span>{' '}
          {moreWords(event)}
          {event.automatic ? ', automatically' : ''}, by {authorWords(event.by)}
          {event.words !== '' && (
            <p class="quiet-text">
              <Name>{event.words}</Name>
            </p>
          )}
        </>
      );
    case 'allowance':
      return (
        <>
          <span class="mark">{event.action === 'granted' ? 'allowance given' : 'allowance ended'}</span>{' '}
          {moreWords(event)}
          {event.action === 'ended' && event.by === null ? ', at its end' : `, by ${authorWords(event.by)}`}
          <p class="quiet-text">
            <Name>{event.why}</Name>
          </p>
        </>
      );
    case 'reclaim':
      return (
        <>
          <span class={`mark ${event.fault === null ? 'good' : 'bad'}`}>
            {event.fault === null ? 'freed' : 'not collected'}
          </span>{' '}
          {reclaimWords(event)}
        </>
      );
  }
}

const requestWords: Readonly<Record<Of<'request'>['action'], string>> = {
  asked: 'more space requested',
  granted: 'request granted',
  declined: 'request declined',
  withdrawn: 'request withdrawn',
};

const requestMarks: Readonly<Record<Of<'request'>['action'], string>> = {
  asked: '',
  granted: 'good',
  declined: 'bad',
  withdrawn: '',
};

/** `2 GB until 22 Dec 2026, 14:00 UTC`. */
function moreWords({ bytes, until }: { readonly bytes: number; readonly until: string | null }): string {
  return until === null ? formatBytes(bytes) : `${formatBytes(bytes)} until ${timeWords(new Date(until))}`;
}

function authorWords(by: Of<'policy'>['by']): string {
  if (by === null) return 'softquota';
  return by.name === null ? "the host's administrator" : printable(by.name);
}

type Of<Kind extends Event['kind']> = Extract<Event, { readonly kind: Kind }>;

function refusalWords(event: Of<'refusal'>): string {
  const who = event.actor === null ? '' : ` by ${printable(event.actor)}`;
  if (event.full_disk)
    return `${subjectWords(event.subject)}, ${counted(event.count, 'time', 'times')}${who}; the disk is nearly full`;
  const several = event.others ? ', several owners or users' : '';
  return `${subjectWords(event.subject)}, ${counted(event.count, 'time', 'times')}${who}${several}; ${useWords(event)}`;
}

function reclaimWords({ repository, freed, fault }: Of<'reclaim'>): string {
  const what = fault === null ? formatBytes(Math.max(0, freed)) : printable(fault);
  return `${what} in ${printable(repository)}`;
}

function levelWords({ direction, from, to: now }: Of<'threshold'>): string {
  const words = (level: number | 'limit' | null) => (level === 'limit' ? 'the limit' : `${level} %`);
  return direction === 'up' ? `reached ${words(now)}` : `back below ${words(from)}`;
}

function graceWords({ ended_by: endedBy, mode }: Of<'grace'>): string {
  const why = endedBy === 'time' ? 'grace ended' : 'over what the grace allows';
  return mode === 'report' ? `${why}, would be refused` : why;
}

function actionWords({ what, action }: Of<'policy'>): string {
  if (what === 'session')
    return action === 'created' ? 'signed in' : action === 'deleted' ? 'signed out' : action;
  return what === 'assignment' ? 'edited' : action;
}

function changeWords({ what, name, owner, by, before, after }: Of<'policy'>): string {
  const whose = owner === null || owner === name ? '' : ` of ${printable(owner)}`;
  if (what === 'session') return `${signInWords[name ?? ''] ?? ''}by ${authorWords(by)}`;
  const changed =
    what === 'assignment'
      ? `groups of ${printable(name ?? '')}${movesWords(groupsIn(before), groupsIn(after))}`
      : `${what}${name === null ? '' : ` ${printable(name)}`}${whose}`;
  return `${changed}, by ${authorWords(by)}`;
}

/** By the name of a session in an event. */
const signInWords: Readonly<Record<string, string>> = {
  link: 'with a one-time link, ',
  token: 'with a token, ',
  source: 'with single sign-on, ',
};

/** `: added to free, removed from paid`; empty if only the order of the groups changed. */
function movesWords(before: readonly string[], after: readonly string[]): string {
  const names = (groups: readonly string[]) => groups.map(printable).join(', ');
  const added = after.filter(group => !before.includes(group));
  const removed = before.filter(group => !after.includes(group));
  const parts = [
    ...(added.length === 0 ? [] : [`added to ${names(added)}`]),
    ...(removed.length === 0 ? [] : [`removed from ${names(removed)}`]),
  ];
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
}

/** The groups of an assignment as an event has it. */
function groupsIn(content: unknown): readonly string[] {
  if (typeof content !== 'object' || content === null || !('groups' in content)) return [];
  return Array.isArray(content.groups) ? content.groups.filter(group => typeof group === 'string') : [];
}

function shownJson(value: unknown): string {
  return value === null ? 'nothing' : printableJson(JSON.stringify(value, null, 1));
}
