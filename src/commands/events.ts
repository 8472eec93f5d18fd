/** `softquota events`: what happened, newest first. */

import { Option } from 'commander';
import { type Event, eventKinds } from '../overview/index.ts';
import { apiCommand } from './api-command.ts';
import { withQuery } from './client.ts';
import { eventWords } from './event-words.ts';
import { formatTime } from './output.ts';
import { countOf } from './settings.ts';
import { table } from './table.ts';

interface EventsOptions {
  readonly kind?: string;
  readonly owner?: string;
  readonly limit: string;
}

export const addEvents = apiCommand<readonly Event[], EventsOptions>({
  words: 'events',
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
  text: events =>
    events.length === 0
      ? 'No such events.\n'
      : table(events, [
          ['TIME', event => formatTime(event.kind === 'refusal' ? event.last_at : event.at)],
          ['OWNER', event => event.owner ?? '-'],
          ['EVENT', eventWords],
        ]),
});
