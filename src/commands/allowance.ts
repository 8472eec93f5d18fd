/** `softquota request` and `softquota allowance`: more than the limit, for a time. */

import { Option } from 'commander';
import { duration } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { formatBytes } from '../text.ts';
import { type Allowance, requestStates, type SpaceRequest } from '../wire/index.ts';
import { apiCommand, resource } from './api-command.ts';
import { everyRow } from './client.ts';
import { limitShown, optionValue, sizeOption } from './limits.ts';
import { formatTime } from './output.ts';

interface UntilOptions {
  readonly until?: string;
  readonly for?: string;
}

/** Options for the end; only one of them can be given. */
const untilOptions = [
  new Option('--until <moment>', 'the end, such as 2026-12-24T12:00:00Z, with its time zone').conflicts(
    'for',
  ),
  new Option('--for <duration>', 'for so long from now, such as 30d or 12h'),
];

const idHelp = 'the request, as softquota request list shows it';

const addRequest = resource('request', {
  summary: 'requests for more space',
  description:
    'Shows and answers the requests of owners for more space. A granted request is an allowance: extra ' +
    'bytes that end by themselves. You cannot grant your own request.',
  commands: [
    apiCommand<readonly SpaceRequest[], { state: string }>('list', {
      summary: 'list requests, the latest first',
      options: [
        new Option('--state <state>', 'only requests in this state')
          .choices([...requestStates, 'all'])
          .default('open'),
      ],
      ask: (client, { state }) =>
        everyRow(client, '/admin/quota/requests', { state: state === 'all' ? undefined : state }),
      none: ({ state }) => (state === 'all' ? 'No requests.' : `No ${state} requests.`),
      columns: [
        ['ID', request => request.id],
        ['OWNER', request => request.owner],
        ['ASKED BY', request => request.asked_by],
        ['ASKED AT', request => formatTime(request.asked_at)],
        ['MORE', request => limitShown(request.bytes), 'right'],
        ['UNTIL', request => (request.until === null ? '-' : formatTime(request.until))],
        ['STATE', request => request.state],
        ['WHY', request => request.why],
      ],
    }),
    apiCommand<SpaceRequest, UntilOptions & { size?: string; words?: string }>('grant <id>', {
      summary: 'grant a request',
      description: 'Gives what was asked for; options change its size or its end.',
      arguments: [idHelp],
      options: [
        ...untilOptions,
        new Option('--size <size>', 'another size, such as 2G'),
        new Option('--words <words>', 'a message to the owner'),
      ],
      route: 'POST /admin/quota/requests/{id}/grant',
      body: ({ size, words, ...end }) => ({
        until: untilOf(end),
        bytes: size === undefined ? undefined : sizeOption(size, 1),
        words,
      }),
      text: ({ owner, answer }) => {
        const granted = answer?.granted ?? null;
        if (granted === null) return [`Granted the request of ${owner}.`];
        return [`${owner} has ${formatBytes(granted.bytes)} more until ${formatTime(granted.until)}.`];
      },
    }),
    apiCommand<SpaceRequest, { words: string }>('decline <id>', {
      summary: 'decline a request',
      arguments: [idHelp],
      options: [
        new Option(
          '--words <words>',
          'a message to the owner: why, and what else can help',
        ).makeOptionMandatory(),
      ],
      route: 'POST /admin/quota/requests/{id}/decline',
      body: ({ words }) => ({ words }),
      text: ({ owner }, _, id: string) => [`Declined the request ${id} of ${owner}.`],
    }),
  ],
});

const ownerHelp = 'the name of a user or an organization';

const addAllowance = resource('allowance', {
  summary: 'extra bytes for a limited time',
  description:
    'Shows, gives and ends allowances: extra bytes for a user or an organization, on top of each limit above ' +
    '0 that applies. They end automatically.',
  commands: [
    apiCommand<readonly Allowance[]>('list <owner>', {
      summary: 'list the allowances of an owner',
      arguments: [ownerHelp],
      route: 'GET /admin/users/{owner}/quota/allowances',
      none: (_, owner: string) => `${owner} has no allowance.`,
      columns: [
        ['ID', allowance => allowance.id],
        ['MORE', allowance => limitShown(allowance.bytes), 'right'],
        ['UNTIL', allowance => formatTime(allowance.until)],
        ['GIVEN BY', one => (one.automatic ? 'AUTO_GRANT' : (one.granted_by ?? 'host administrator'))],
        ['GIVEN AT', allowance => formatTime(allowance.granted_at)],
        ['WHY', allowance => allowance.why],
      ],
    }),
    apiCommand<Allowance, UntilOptions & { size: string; why: string }>('create <owner>', {
      summary: 'give an owner extra bytes for a limited time',
      arguments: [ownerHelp],
      options: [
        ...untilOptions,
        new Option('--size <size>', 'how much, such as 2G').makeOptionMandatory(),
        new Option('--why <words>', 'what for').makeOptionMandatory(),
      ],
      route: 'POST /admin/users/{owner}/quota/allowances',
      body: ({ size, why, ...end }) => {
        const until = untilOf(end);
        if (until !== undefined) return { bytes: sizeOption(size, 1), until, why };
        throw new SoftquotaError('usage', 'an allowance is for a time: give --for or --until');
      },
      text: ({ bytes, until, id }, _, owner: string) => [
        `${owner} has ${formatBytes(bytes)} more until ${formatTime(until)} (${id}).`,
      ],
    }),
    apiCommand('end <owner> <id>', {
      summary: 'end an allowance now',
      arguments: [ownerHelp, 'the allowance, as softquota allowance list shows it'],
      route: 'DELETE /admin/users/{owner}/quota/allowances/{id}',
      done: 'Ended the allowance {id} of {owner}.',
    }),
  ],
});

/** The end in ISO 8601; undefined if neither option is given. Throws `usage`. */
function untilOf(options: UntilOptions): string | undefined {
  if (options.for !== undefined) {
    const expected = duration.expected.replace('Write', 'write');
    const span = optionValue('--for', options.for, duration.parse(options.for), expected);
    return new Date(Date.now() + span).toISOString();
  }
  if (options.until === undefined) return undefined;
  const time = moment.test(options.until) ? Date.parse(options.until) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  const message = `--until ${options.until}: not a moment; write such as 2026-12-24T12:00:00Z, or give --for`;
  throw new SoftquotaError('usage', message);
}

const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;

export const allowanceCommands = { request: addRequest, allowance: addAllowance };
