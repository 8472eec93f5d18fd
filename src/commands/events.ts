/** `softquota events`: what happened, newest first. */

import { type Command, Option } from 'commander';
import { type Event, eventKinds } from '../overview/index.ts';
import { adminClient } from './client.ts';
import { eventWords } from './event-words.ts';
import type { Exit } from './exit.ts';
import { formatTime, printJson } from './output.ts';
import { type ConfigOption, configFrom, countOf, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';

interface EventsOptions extends ConfigOption {
  readonly kind?: string;
  readonly owner?: string;
  readonly limit: string;
  readonly json?: boolean;
}

export function addEvents(program: Command, _exit: Exit): void {
  withJsonOption(withConfigOption(program.command('events')))
    .summary('show refusals, thresholds reached, and who changed what')
    .description(
      'Shows events, newest first. Refusals of one hour are one event. Events are kept for [events] KEEP.',
    )
    .addOption(new Option('--kind <kind>', 'only this kind').choices(eventKinds))
    .option('--owner <owner>', 'only events of this owner')
    .option('--limit <n>', 'the number of events, at most 1000', '50')
    .action(async ({ kind, owner, limit, ...options }: EventsOptions) => {
      const query = new URLSearchParams({
        limit: String(countOf('--limit', limit)),
        ...(kind === undefined ? {} : { kind }),
        ...(owner === undefined ? {} : { owner }),
      });
      const path = `/admin/quota/events?${query}`;
      const events = await adminClient(() => configFrom(options)).get<readonly Event[]>({ path });
      if (options.json === true) printJson(events);
      else print(eventsTable(events));
    });
}

function eventsTable(events: readonly Event[]): string {
  if (events.length === 0) return 'No such events.\n';
  return table(
    [{ title: 'TIME' }, { title: 'OWNER' }, { title: 'EVENT' }],
    events.map(each => [
      formatTime(each.kind === 'refusal' ? each.last_at : each.at),
      each.owner ?? '-',
      eventWords(each),
    ]),
  );
}
