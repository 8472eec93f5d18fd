/** `softquota history`: the usage history, of an owner or of all owners together. */

import { type Command, Option } from 'commander';
import type { Leaf } from '../quota/index.ts';
import { formatBytes } from '../text/index.ts';
import { type History, historyRanges } from '../wire/index.ts';
import { adminClient } from './client.ts';
import type { Exit } from './exit.ts';
import { growthText } from './growth.ts';
import { formatTime, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';

interface HistoryOptions extends ConfigOption {
  readonly range: string;
  readonly json?: boolean;
}

export function addHistory(program: Command, _exit: Exit): void {
  withJsonOption(withConfigOption(program.command('history')))
    .summary('show past usage')
    .description(
      'Shows how much an owner used in the past, or all owners together: each hour for a day or a week, else each ' +
        'day. Growth is shown after two days of data.',
    )
    .argument('[owner]', "an owner's name; default: all owners together")
    .addOption(new Option('--range <range>', 'how far back').choices(historyRanges).default('month'))
    .action(async (owner: string | undefined, options: HistoryOptions) => {
      const query = new URLSearchParams({ range: options.range, ...(owner === undefined ? {} : { owner }) });
      const path = `/admin/quota/history?${query}`;
      const past = await adminClient(() => configFrom(options)).get<History>({ path });
      if (options.json === true) printJson(past);
      else print(historyText(past));
    });
}

function historyText({ leaves, points, growth }: History): string {
  if (points.length === 0) return 'Nothing was recorded in this time.\n';
  const sum = (bytes: readonly number[], named: readonly Leaf[]): number =>
    named.reduce((total, leaf) => total + (bytes[leaves.indexOf(leaf)] ?? 0), 0);
  const rows = points.map(({ at, bytes }) => {
    const total = sum(bytes, leaves);
    const repositories = sum(bytes, ['size:repos:public', 'size:repos:private']);
    const lfs = sum(bytes, ['size:git:lfs']);
    return [formatTime(at), ...[total, repositories, lfs, total - repositories - lfs].map(formatBytes)];
  });
  const columns = ['USED', 'REPOSITORIES', 'LFS', 'OTHER'].map(title => ({ title, align: 'right' }) as const);
  return `${table([{ title: 'TIME' }, ...columns], rows)}${growth === null ? '' : `${growthText(growth)}\n`}`;
}
