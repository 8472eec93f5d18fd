/** `softquota events`: what happened, newest first. */

import { Option } from 'commander';
import { type Event, type EventOf, eventKinds } from '../overview/index.ts';
import { counted, formatBytes, formatUse } from '../text.ts';
import { apiCommand } from './api-command.ts';
import { withQuery } from './client.ts';
import { scopeWords } from './limits.ts';
import { formatTime } from './output.ts';
import { countOf } from './settings.ts';

export const addEvents = apiCommand<readonly Event[], { kind?: string; owner?: string; limit: string }>(
  'events',
  {
    summary: 'show refusals, thresholds reached, and who changed what',
    description:
      'Shows events, newest first. Refusals of one hour are one event. Events are kept for [events] KEEP.',
    options: [
      new Option('--kind <kind>', 'only this kind').choices(eventKinds),
      new Option('--owner <owner>', 'only events of this owner'),
      new Option('--limit <n>', 'the number of events, at most 1000').default('50'),
    ],
    ask: (client, { kind, owner, limit }) => {
      const query = { limit: String(countOf('--limit', limit)), kind, owner };
      return client.get({ path: withQuery('/admin/quota/events', query) });
    },
    none: 'No such events.',
    columns: [
      ['TIME', event => formatTime('last_at' in event ? event.last_at : event.at)],
      ['OWNER', whose],
      ['EVENT', eventWords],
    ],
  },
);

function whose(event: Event): string {
  if ('per' in event && event.per === 'group') return `group ${event.group}`;
  return event.owner ?? '-';
}

function eventWords(event: Event): string {
  switch (event.kind) {
    case 'refusal':
      return refusalWords(event);
    case 'threshold':
      return `${levelWords(event)}: ${useWords(event)}`;
    case 'grace':
      return `${graceWords(event)}: ${useWords(event)}`;
    case 'policy':
      return `${changeWords(event)}, by ${authorWords(event.by)}`;
    case 'sign-in':
      return `signed in with ${event.source.name}`;
    case 'request':
      return `${requestWords[event.action]}: ${spaceWords(event)}, by ${authorWords(event.by)}`;
    case 'allowance':
      return `${event.action === 'granted' ? 'allowance given' : 'allowance ended'}: ${spaceWords(event)}, by ${authorWords(event.by)}`;
    case 'reclaim':
      return event.fault === null
        ? `freed ${formatBytes(Math.max(0, event.freed))} in ${event.repository}`
        : `not collected: ${event.repository}: ${event.fault}`;
    case 'unasked':
      return unaskedWords(event);
    case 'inherited':
      return `${formatBytes(event.bytes)} of ${event.repository}, which counted for ${event.from} before`;
  }
}

const requestWords: Readonly<Record<EventOf<'request'>['action'], string>> = {
  asked: 'more space requested',
  granted: 'request granted',
  declined: 'request declined',
  withdrawn: 'request withdrawn',
};

function refusalWords({ mode, subject, count, actor, others, ...use }: EventOf<'refusal'>): string {
  const verdict = mode === 'report' ? 'would be refused' : 'refused';
  const who = actor === null ? '' : ` by ${actor}`;
  const several = others ? ', several owners or users' : '';
  return `${verdict}: ${subject}, ${counted(count, 'time', 'times')}${who}${several}; ${useWords(use)}`;
}

function unaskedWords({ unasked, subject, count, actor, others }: EventOf<'unasked'>): string {
  const who = actor === null ? '' : ` by ${actor}`;
  const several = others ? ', several owners or users' : '';
  return `let through, limit ${scopeWords[unasked]} not asked: ${subject}, ${counted(count, 'time', 'times')}${who}${several}`;
}

function useWords({
  used,
  limit,
  group,
  rule,
}: Pick<EventOf<'grace'>, 'used' | 'limit' | 'group' | 'rule'>): string {
  if (used === null || limit === null) return 'no rule covers it';
  const use = formatUse(used, limit);
  const decider = rule === null ? '' : `, rule ${rule} of group ${group}`;
  return `${use.used} of ${use.limit}${decider}`;
}

function levelWords({ direction, from, to }: EventOf<'threshold'>): string {
  const words = (level: number | 'limit' | null): string => (level === 'limit' ? 'the limit' : `${level} %`);
  return direction === 'up' ? `reached ${words(to)}` : `back below ${words(from)}`;
}

function graceWords({ ended_by: endedBy, mode }: EventOf<'grace'>): string {
  const why = endedBy === 'time' ? 'the grace ended' : 'over what the grace allows';
  return `${why}, ${mode === 'report' ? 'would be refused' : 'refused'} from now on`;
}

function changeWords({ action, what, name, owner }: EventOf<'policy'>): string {
  if (what === 'assignment') return `edited the groups of ${name}`;
  const named = name === null ? '' : ` ${name}`;
  return `${action} ${what}${named}${owner === null || owner === name ? '' : ` of ${owner}`}`;
}

function spaceWords({ bytes, until }: { readonly bytes: number; readonly until: string | null }): string {
  return until === null ? formatBytes(bytes) : `${formatBytes(bytes)} until ${formatTime(until)}`;
}

function authorWords(by: EventOf<'policy'>['by']): string {
  if (by === null) return 'softquota';
  return by.name ?? "the host's administrator";
}
