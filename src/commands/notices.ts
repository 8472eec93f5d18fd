/** `softquota notices`: where notices go, trials, and those that could not be delivered. */

import { type Command, Option } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import type { NoticeDelivery, NoticeList, NoticePlace, NoticesSentAgain, NoticeTest } from '../wire/index.ts';
import { adminClient, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { formatTime, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';

interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

interface ListOptions extends JsonOption {
  readonly state?: string;
}

interface TestOptions extends JsonOption {
  readonly address?: string;
}

interface SendAgainOptions extends JsonOption {
  readonly all?: boolean;
}

const path = '/admin/quota/notices';
/** The most rows that one answer can have. */
const mostRows = 1000;

export function addNotices(program: Command, exit: Exit): void {
  const notices = program
    .command('notices')
    .summary('webhooks and mails about what happens')
    .description(
      'Shows where notices go, tests this, and sends undelivered notices again. The sections\n' +
        '[webhook.NAME] and [mail] of app.ini say where they go.',
    );

  withJsonOption(withConfigOption(notices.command('list')))
    .summary('list the webhooks and mail, and undelivered notices')
    .addOption(new Option('--state <state>', 'only notices in this state').choices(['pending', 'dead']))
    .action(async (options: ListOptions) => {
      const { state } = options;
      const query = new URLSearchParams({
        limit: String(mostRows),
        ...(state === undefined ? {} : { state }),
      });
      const found = await clientOf(options).get<NoticeList>({ path: `${path}?${query}` });
      if (options.json === true) printJson(found);
      else print(listed(found));
    });

  withJsonOption(withConfigOption(notices.command('test')))
    .summary('send a test notice')
    .description('Sends a test notice at once, and exits with 1 if it could not be delivered.')
    .argument('<name>', 'the name of a webhook, or mail')
    .option('--address <address>', 'for mail: where it goes; default: all administrators')
    .action(async (name: string, options: TestOptions) => {
      const { address } = options;
      const body = { to: name, ...(address === undefined ? {} : { address }) };
      const call = { method: 'POST', path: `${path}/test`, body } as const;
      const tried = await clientOf(options).get<NoticeTest>(call);
      if (options.json === true) printJson(tried);
      else if (tried.delivered) print(`Delivered a trial to ${printable(name)}.\n`);
      else print(`Not delivered to ${printable(name)}: ${printable(tried.fault ?? '')}\n`);
      if (!tried.delivered) exit(1);
    });

  withJsonOption(withConfigOption(notices.command('send-again')))
    .summary('send again what could not be delivered')
    .argument('[id]', 'the notice, as softquota notices list shows it')
    .option('--all', 'all of them')
    .action(async (id: string | undefined, options: SendAgainOptions) => {
      if ((id === undefined) === (options.all !== true)) {
        throw new SoftquotaError('usage', 'name one notice, or give --all');
      }
      const step = id === undefined ? '' : `/${pathStep(id)}`;
      const call = { method: 'POST', path: `${path}${step}/send-again` } as const;
      const again = await clientOf(options).get<NoticesSentAgain>(call);
      if (options.json === true) printJson(again);
      else print(`${again.count} ${again.count === 1 ? 'notice waits' : 'notices wait'} again.\n`);
    });
}

function clientOf(options: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(options));
}

function listed({ places, deliveries, forgotten }: NoticeList): string {
  if (places.length === 0 && deliveries.length === 0) {
    return 'Notices go nowhere: app.ini has no section [webhook.NAME] and no [mail] HOST.\n';
  }
  const parts = [placesTable(places)];
  if (deliveries.length > 0) parts.push(deliveriesTable(deliveries));
  if (forgotten > 0) parts.push(`${forgotten} more that were dead are forgotten.\n`);
  return parts.join('\n');
}

function placesTable(places: readonly NoticePlace[]): string {
  return table(
    [
      { title: 'NAME' },
      { title: 'SENT', align: 'right' },
      { title: 'PENDING', align: 'right' },
      { title: 'DEAD', align: 'right' },
      { title: 'LAST SENT AT' },
      { title: 'NOTICES' },
    ],
    places.map(({ name, sent, pending, dead, last_sent_at: last, events }) => [
      name,
      String(sent),
      String(pending),
      String(dead),
      last === null ? '-' : formatTime(last),
      events.length === 0 ? 'all' : events.join(', '),
    ]),
  );
}

function deliveriesTable(deliveries: readonly NoticeDelivery[]): string {
  return table(
    [
      { title: 'ID' },
      { title: 'TO' },
      { title: 'AT' },
      { title: 'STATE' },
      { title: 'TRIED', align: 'right' },
      { title: 'NEXT' },
      { title: 'FAULT' },
      { title: 'NOTICE' },
    ],
    deliveries.map(({ id, to, at, state, attempts, next_at: next, fault, message }) => [
      id,
      to,
      formatTime(at),
      state,
      String(attempts),
      next === null ? '-' : formatTime(next),
      fault ?? '-',
      message,
    ]),
  );
}
