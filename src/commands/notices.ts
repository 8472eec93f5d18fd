/** `softquota notices`: shows where notices go, sends tests, and resends undelivered notices. */

import { Option } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import type { NoticeList, NoticePlace, NoticesSentAgain, NoticeTest } from '../wire/index.ts';
import { apiCommand, resource } from './api-command.ts';
import { mostRows, pathStep, withQuery } from './client.ts';
import { formatTime, table } from './output.ts';

const path = '/admin/quota/notices';

export const addNotices = resource('notices', {
  summary: 'webhooks and mails about what happens',
  description:
    'Shows where notices go, tests this, and sends undelivered notices again. The sections\n' +
    '[webhook.NAME] and [mail] of app.ini say where they go.',
  commands: [
    apiCommand<NoticeList, { state?: string }>('list', {
      summary: 'list the webhooks and mail, and undelivered notices',
      options: [new Option('--state <state>', 'only notices in this state').choices(['pending', 'dead'])],
      ask: (client, { state }) => client.get({ path: withQuery(path, { limit: String(mostRows), state }) }),
      text: noticesText,
    }),
    apiCommand<NoticeTest, { address?: string }>('test <name>', {
      summary: 'send a test notice',
      description: 'Sends a test notice at once, and exits with 1 if it could not be delivered.',
      arguments: ['the name of a webhook, or mail'],
      options: [new Option('--address <address>', 'for mail: where it goes; default: all administrators')],
      route: 'POST /admin/quota/notices/test',
      body: ({ address }, name: string) => ({ to: name, address }),
      text: ({ delivered, fault }, _, name: string) => [
        delivered ? `Delivered a trial to ${name}.` : `Not delivered to ${name}: ${fault ?? ''}`,
      ],
      status: ({ delivered }) => (delivered ? exitCodes.done : exitCodes.refused),
    }),
    apiCommand<NoticesSentAgain, { all?: boolean }>('send-again [id]', {
      summary: 'send again what could not be delivered',
      arguments: ['the notice, as softquota notices list shows it'],
      options: [new Option('--all', 'all of them')],
      ask: (client, { all = false }, id?: string) => {
        if ((id === undefined) !== all) throw new SoftquotaError('usage', 'name one notice, or give --all');
        const step = id === undefined ? '' : `/${pathStep(id)}`;
        return client.get({ method: 'POST', path: `${path}${step}/send-again` });
      },
      text: ({ count }) => [`${count} ${count === 1 ? 'notice waits' : 'notices wait'} again.`],
    }),
  ],
});

function noticesText({ places, deliveries, forgotten }: NoticeList): string {
  if (places.length === 0 && deliveries.length === 0) {
    return 'Notices go nowhere: app.ini has no section [webhook.NAME] and no [mail] HOST.\n';
  }
  const parts = [placesTable(places)];
  if (deliveries.length > 0) parts.push(deliveriesTable(deliveries));
  if (forgotten > 0) parts.push(`${forgotten} more that were dead are forgotten.\n`);
  return parts.join('\n');
}

function placesTable(places: readonly NoticePlace[]): string {
  return table(places, [
    ['NAME', place => place.name],
    ['SENT', place => String(place.sent), 'right'],
    ['PENDING', place => String(place.pending), 'right'],
    ['DEAD', place => String(place.dead), 'right'],
    ['LAST SENT AT', place => (place.last_sent_at === null ? '-' : formatTime(place.last_sent_at))],
    ['NOTICES', place => (place.events.length === 0 ? 'all' : place.events.join(', '))],
  ]);
}

function deliveriesTable(deliveries: NoticeList['deliveries']): string {
  return table(deliveries, [
    ['ID', delivery => delivery.id],
    ['TO', delivery => delivery.to],
    ['AT', delivery => formatTime(delivery.at)],
    ['STATE', delivery => delivery.state],
    ['TRIED', delivery => String(delivery.attempts), 'right'],
    ['NEXT', delivery => (delivery.next_at === null ? '-' : formatTime(delivery.next_at))],
    ['FAULT', delivery => delivery.fault ?? '-'],
    ['NOTICE', delivery => delivery.message],
  ]);
}
