/** `softquota history`: the usage history, of an owner or of all owners together. */

import { Option } from 'commander';
import type { Leaf } from '../quota/index.ts';
import { formatBytes } from '../text/index.ts';
import { type Growth, type History, historyRanges } from '../wire/index.ts';
import { apiCommand } from './api-command.ts';
import { withQuery } from './client.ts';
import { formatTime } from './output.ts';
import { table } from './table.ts';

export const addHistory = apiCommand<History, { range: string }>({
  words: 'history [owner]',
  summary: 'show past usage',
  description:
    'Shows how much an owner used in the past, or all owners together: each hour for a day or a week, else each ' +
    'day. Growth is shown after two days of data.',
  arguments: ["an owner's name; default: all owners together"],
  options: [new Option('--range <range>', 'how far back').choices(historyRanges).default('month')],
  ask: (client, { range }, owner?: string) =>
    client.get({ path: withQuery('/admin/quota/history', { range, owner }) }),
  text: historyText,
});

function historyText({ leaves, points, growth }: History): string {
  if (points.length === 0) return 'Nothing was recorded in this time.\n';
  const sum = (bytes: readonly number[], named: readonly Leaf[]): number =>
    named.reduce((total, leaf) => total + (bytes[leaves.indexOf(leaf)] ?? 0), 0);
  const rows = points.map(({ at, bytes }) => ({
    at,
    total: sum(bytes, leaves),
    repositories: sum(bytes, ['size:repos:public', 'size:repos:private']),
    lfs: sum(bytes, ['size:git:lfs']),
  }));
  const shown = table(rows, [
    ['TIME', row => formatTime(row.at)],
    ['USED', row => formatBytes(row.total), 'right'],
    ['REPOSITORIES', row => formatBytes(row.repositories), 'right'],
    ['LFS', row => formatBytes(row.lfs), 'right'],
    ['OTHER', row => formatBytes(row.total - row.repositories - row.lfs), 'right'],
  ]);
  return `${shown}${growth === null ? '' : `${growthText(growth)}\n`}`;
}

/** Words for the growth of usage. */
export function growthText({ per_day: perDay, since, reached_at: reachedAt }: Growth): string {
  const days = `a day since ${since.slice(0, 10)}`;
  if (perDay === 0) return `Usage has not changed since ${since.slice(0, 10)}.`;
  if (perDay < 0) return `Usage falls by ${formatBytes(-perDay)} ${days}.`;
  const until = reachedAt === null ? '' : `: the limit is reached on ${reachedAt.slice(0, 10)}`;
  return `Usage grows by ${formatBytes(perDay)} ${days}${until}.`;
}
