/** List of events, newest first, each as a sentence. */

import { type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Event, EventOf } from '../../../src/overview/event-shapes.ts';
import { subjectWords } from '../../../src/quota/index.ts';
import { counted, formatBytes, printable } from '../../../src/text.ts';
import { type EventsAsked, eventsQuery } from '../api/queries.ts';
import { fewest, listWords } from '../own/verdicts.ts';
import { changedFields } from '../policy/changes.ts';
import { isRestorable } from '../policy/restore.ts';
import { Button } from './button.tsx';
import { Time, timeWords, useWords } from './figures.tsx';
import { Name, NameLink } from './name.tsx';
import { Restore } from './restore.tsx';
import { Answered } from './states.tsx';
import { RowButton, Table } from './table.tsx';

interface EventListProps {
  readonly asked: EventsAsked;
  /** Hides the owners, for a list of the events of one thing. */
  readonly isOfOne?: boolean;
  /** Filters the events; absent for all. */
  readonly isShown?: (event: Event) => boolean;
}

export function EventList({ asked, isOfOne = false, isShown = () => true }: EventListProps) {
  const events = useInfiniteQuery(eventsQuery(asked));
  const [restored, setRestored] = useState<EventOf<'policy'> | null>(null);
  return (
    <Answered query={events} what="the events">
      {({ pages }) => {
        const list = pages.flatMap(({ entries }) => entries).filter(isShown);
        return (
          <div class="stack">
            <Table
              caption="Events, newest first"
              empty={
                events.hasNextPage
                  ? 'No such events among the latest ones.'
                  : isOfOne
                    ? 'No events yet.'
                    : 'No such events. Choose another kind, or other days.'
              }
              rows={list}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: 'Time',
                  cell: event => <Time at={'last_at' in event ? event.last_at : event.at} />,
                },
                ...(isOfOne
                  ? []
                  : [{ title: 'Owner', cell: (event: Event) => <Whose owner={event.owner} /> }]),
                { title: 'Event', cell: event => <What event={event} onRestore={setRestored} /> },
              ]}
            />
            <Older query={events} words={list.length === 0 ? 'Search older events' : 'Show older events'} />
            {restored !== null && <Restore event={restored} onClose={() => setRestored(null)} />}
          </div>
        );
      }}
    </Answered>
  );
}

interface OlderProps {
  readonly query: Pick<UseInfiniteQueryResult, 'fetchNextPage' | 'hasNextPage' | 'isFetchingNextPage'>;
  readonly words: string;
}

/** Button that loads the next events of a list, if there are more. */
export function Older({ query: { hasNextPage, isFetchingNextPage, fetchNextPage }, words }: OlderProps) {
  if (!hasNextPage) return null;
  return (
    <p>
      <Button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        {words}
      </Button>
    </p>
  );
}

function Whose({ owner }: { owner: string | null }) {
  if (owner === null) return <span class="quiet-text">–</span>;
  return <NameLink page="owner">{owner}</NameLink>;
}

interface WhatProps {
  readonly event: Event;
  /** Absent if changes cannot be undone here. */
  readonly onRestore?: (event: EventOf<'policy'>) => void;
}

export function What({ event, onRestore }: WhatProps) {
  const { mark, look = '', words, below } = toldOf(event);
  return (
    <>
      <span class={`mark ${look}`}>{mark}</span> {words}
      {below !== undefined && below !== '' && (
        <p class="quiet-text">
          <Name>{below}</Name>
        </p>
      )}
      {event.kind === 'policy' && onRestore !== undefined && isRestorable(event) && (
        <>
          {' '}
          <RowButton
            words="Undo"
            about={`the change of ${printable(event.name ?? event.what)} at ${event.at}`}
            onClick={() => onRestore(event)}
          />
        </>
      )}
    </>
  );
}

interface Told {
  readonly mark: string;
  readonly look?: 'bad' | 'good' | 'near' | '';
  readonly words: ComponentChildren;
  /** A person's words about the event, or the changed fields; empty for none. */
  readonly below?: string;
}

function toldOf(event: Event): Told {
  switch (event.kind) {
    case 'refusal': {
      const mark = event.mode === 'report' ? 'would be refused' : 'refused';
      return { mark, look: 'bad', words: refusalWords(event) };
    }
    case 'threshold':
      return {
        mark: levelWords(event),
        look: event.direction === 'down' ? 'good' : 'near',
        words: (
          <>
            {useOf(event)}
            {event.grace_until !== undefined && (
              <>
                {' '}
                (refused from <Time at={event.grace_until} /> on)
              </>
            )}
          </>
        ),
      };
    case 'grace':
      return { mark: graceWords(event), look: 'bad', words: useOf(event) };
    case 'policy':
      return { mark: actionWords(event), words: changeWords(event), below: fieldWords(event) };
    case 'sign-in':
      return {
        mark: 'signed in',
        words: (
          <>
            with <Name>{event.source.name}</Name>
          </>
        ),
      };
    case 'request': {
      const [mark, look] = requestMarks[event.action];
      const how = event.automatic ? ', automatically' : '';
      const words = `${moreWords(event)}${how}, by ${authorWords(event.by)}`;
      return { mark, look, words, below: event.words };
    }
    case 'allowance': {
      const isEnd = event.action === 'ended';
      const how = isEnd && event.by === null ? 'at its end' : `by ${authorWords(event.by)}`;
      const mark = isEnd ? 'allowance ended' : 'allowance given';
      return { mark, words: `${moreWords(event)}, ${how}`, below: event.why };
    }
    case 'reclaim': {
      const isGood = event.fault === null;
      const mark = isGood ? 'freed' : 'not collected';
      return { mark, look: isGood ? 'good' : 'bad', words: reclaimWords(event) };
    }
    case 'unasked': {
      const times = counted(event.count, 'time', 'times');
      const words = `limit of each ${event.unasked}: ${subjectWords(event.subject)}, ${times}`;
      return { mark: 'not asked', look: 'near', words };
    }
    case 'inherited':
      return { mark: 'counts from now on', words: inheritedWords(event) };
  }
}

const requestMarks: Readonly<
  Record<EventOf<'request'>['action'], readonly [mark: string, look: '' | 'bad' | 'good']>
> = {
  asked: ['more space requested', ''],
  granted: ['request granted', 'good'],
  declined: ['request declined', 'bad'],
  withdrawn: ['request withdrawn', ''],
};

function useOf(event: EventOf<'grace'> | EventOf<'threshold'>): string {
  return `${useWords(event)} (${listWords(fewest(event.subjects))})`;
}

/** Returns `2 GB until 22 Dec 2026, 14:00 UTC`. */
function moreWords({ bytes, until }: { readonly bytes: number; readonly until: string | null }): string {
  return until === null ? formatBytes(bytes) : `${formatBytes(bytes)} until ${timeWords(new Date(until))}`;
}

function authorWords(by: EventOf<'policy'>['by']): string {
  if (by === null) return 'softquota';
  return by.name === null ? "the host's administrator" : printable(by.name);
}

function refusalWords(event: EventOf<'refusal'>): string {
  const who = event.actor === null ? '' : ` by ${printable(event.actor)}`;
  if (event.full_disk)
    return `${subjectWords(event.subject)}, ${counted(event.count, 'time', 'times')}${who}; the disk is nearly full`;
  const several = event.others ? ', several owners or users' : '';
  return `${subjectWords(event.subject)}, ${counted(event.count, 'time', 'times')}${who}${several}; ${useWords(event)}`;
}

function reclaimWords({ repository, freed, fault }: EventOf<'reclaim'>): string {
  const what = fault === null ? formatBytes(Math.max(0, freed)) : printable(fault);
  return `${what} in ${printable(repository)}`;
}

function inheritedWords({ repository, from, bytes }: EventOf<'inherited'>): string {
  return `${formatBytes(bytes)} of ${printable(repository)}, which counted for ${printable(from)} before`;
}

function levelWords({ direction, from, to: now }: EventOf<'threshold'>): string {
  const words = (level: number | 'limit' | null) => (level === 'limit' ? 'the limit' : `${level} %`);
  return direction === 'up' ? `reached ${words(now)}` : `back below ${words(from)}`;
}

function graceWords({ ended_by: endedBy, mode }: EventOf<'grace'>): string {
  const why = endedBy === 'time' ? 'grace ended' : 'over what the grace allows';
  return mode === 'report' ? `${why}, would be refused` : why;
}

function actionWords({ what, action }: EventOf<'policy'>): string {
  if (what === 'session')
    return action === 'created' ? 'signed in' : action === 'deleted' ? 'signed out' : action;
  return what === 'assignment' ? 'edited' : action;
}

function changeWords({ what, name, owner, by, before, after }: EventOf<'policy'>): string {
  const whose = owner === null || owner === name ? '' : ` of ${printable(owner)}`;
  if (what === 'session') return `${signInWords[name ?? ''] ?? ''}by ${authorWords(by)}`;
  const changed =
    what === 'assignment'
      ? `groups of ${printable(name ?? '')}${movesWords(groupsIn(before), groupsIn(after))}`
      : `${what}${name === null ? '' : ` ${printable(name)}`}${whose}`;
  return `${changed}, by ${authorWords(by)}`;
}

/** Ways to sign in, by the name of a session in an event. */
const signInWords: Readonly<Record<string, string>> = {
  link: 'with a one-time link, ',
  token: 'with a token, ',
  source: 'with single sign-on, ',
};

/** Returns `: added to free, removed from paid`; empty if only the order of the groups changed. */
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

/** Returns the groups of an assignment in an event. */
function groupsIn(content: unknown): readonly string[] {
  if (typeof content !== 'object' || content === null || !('groups' in content)) return [];
  return Array.isArray(content.groups) ? content.groups.filter(group => typeof group === 'string') : [];
}

function fieldWords({ what, before, after }: EventOf<'policy'>): string {
  // The sentences of these events say everything already.
  if (what === 'assignment' || what === 'session') return '';
  const words = changedFields(before, after).join('; ');
  // Events of a change of members have only those who differ.
  return what === 'members' && before !== null && after !== null ? `changed ${words}` : words;
}
