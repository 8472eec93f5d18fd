/** `softquota request`: what owners ask for beyond their limit, and the answers. */

import { type Command, Option } from 'commander';
import { formatBytes, printable } from '../text/index.ts';
import { requestStates, type SpaceRequest } from '../wire/index.ts';
import { adminClient, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { limitShown } from './limits.ts';
import { formatTime, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';
import { moreOf, type UntilOptions, untilOf, withUntilOptions } from './until.ts';

interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

interface ListOptions extends JsonOption {
  readonly state: string;
}

interface GrantOptions extends JsonOption, UntilOptions {
  readonly size?: string;
  readonly words?: string;
}

interface DeclineOptions extends JsonOption {
  readonly words: string;
}

const path = '/admin/quota/requests';
/** The most rows that one answer can have. */
const pageRows = 1000;

export function addRequest(program: Command, _exit: Exit): void {
  const requests = program
    .command('request')
    .summary('requests for more space')
    .description(
      'Shows and answers the requests of owners for more space. A granted request is an allowance: extra ' +
        'bytes that end by themselves. You cannot grant your own request.',
    );

  withJsonOption(withConfigOption(requests.command('list')))
    .summary('list requests, the latest first')
    .addOption(
      new Option('--state <state>', 'only requests in this state')
        .choices([...requestStates, 'all'])
        .default('open'),
    )
    .action(async (options: ListOptions) => {
      const found = await allRequests(clientOf(options), options.state);
      if (options.json === true) printJson(found);
      else print(requestsTable(found, options.state));
    });

  withUntilOptions(withJsonOption(withConfigOption(requests.command('grant'))))
    .summary('grant a request')
    .description('Gives what was asked for; options change its size or its end.')
    .argument('<id>', 'the request, as softquota request list shows it')
    .option('--size <size>', 'another size, such as 2G')
    .option('--words <words>', 'a message to the owner')
    .action(async (id: string, options: GrantOptions) => {
      const { size, words } = options;
      const until = untilOf(options);
      const body = {
        ...(size === undefined ? {} : { bytes: moreOf(size) }),
        ...(until === undefined ? {} : { until }),
        ...(words === undefined ? {} : { words }),
      };
      const call = { method: 'POST', path: `${path}/${pathStep(id)}/grant`, body } as const;
      const granted = await clientOf(options).get<SpaceRequest>(call);
      if (options.json === true) printJson(granted);
      else print(`${printable(grantedText(granted))}\n`);
    });

  withJsonOption(withConfigOption(requests.command('decline')))
    .summary('decline a request')
    .argument('<id>', 'the request, as softquota request list shows it')
    .requiredOption('--words <words>', 'a message to the owner: why, and what else can help')
    .action(async (id: string, options: DeclineOptions) => {
      const body = { words: options.words };
      const call = { method: 'POST', path: `${path}/${pathStep(id)}/decline`, body } as const;
      const declined = await clientOf(options).get<SpaceRequest>(call);
      if (options.json === true) printJson(declined);
      else print(`Declined the request ${printable(id)} of ${printable(declined.owner)}.\n`);
    });
}

function clientOf(options: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(options));
}

async function allRequests(client: DaemonClient, state: string): Promise<SpaceRequest[]> {
  const found: SpaceRequest[] = [];
  for (let page = 1; ; page++) {
    const query = new URLSearchParams({
      ...(state === 'all' ? {} : { state }),
      page: String(page),
      limit: String(pageRows),
    });
    const rows = await client.get<readonly SpaceRequest[]>({ path: `${path}?${query}` });
    found.push(...rows);
    if (rows.length < pageRows) return found;
  }
}

function requestsTable(requests: readonly SpaceRequest[], state: string): string {
  if (requests.length === 0) return state === 'all' ? 'No requests.\n' : `No ${state} requests.\n`;
  return table(
    [
      { title: 'ID' },
      { title: 'OWNER' },
      { title: 'ASKED BY' },
      { title: 'ASKED AT' },
      { title: 'MORE', align: 'right' },
      { title: 'UNTIL' },
      { title: 'STATE' },
      { title: 'WHY' },
    ],
    requests.map(request => [
      request.id,
      request.owner,
      request.asked_by,
      formatTime(request.asked_at),
      limitShown(request.bytes),
      request.until === null ? '-' : formatTime(request.until),
      request.state,
      request.why,
    ]),
  );
}

function grantedText({ owner, answer }: SpaceRequest): string {
  const granted = answer?.granted ?? null;
  if (granted === null) return `Granted the request of ${owner}.`;
  return `${owner} has ${formatBytes(granted.bytes)} more until ${formatTime(granted.until)}.`;
}
