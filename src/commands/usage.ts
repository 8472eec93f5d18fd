/** `softquota usage`: who uses how much, and of one owner what takes the space. */

import type { Command } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { subjectWords } from '../quota/index.ts';
import { formatBytes, formatUse, printable } from '../text/index.ts';
import type { Growth, History, OwnerReport, OwnerRow } from '../wire/index.ts';
import { adminClient } from './client.ts';
import type { Exit } from './exit.ts';
import { garbageLines } from './garbage-text.ts';
import { growthText } from './growth.ts';
import { formatTime, printJson } from './output.ts';
import { type ConfigOption, configFrom, countOf, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';

interface UsageOptions extends ConfigOption {
  readonly top: string;
  readonly state?: string;
  readonly json?: boolean;
}

const defaultTop = 20;

export function addUsage(program: Command, _exit: Exit): void {
  withJsonOption(withConfigOption(program.command('usage')))
    .summary('show how much each owner uses')
    .description(
      'Shows the largest owners. With an owner: all its repositories and other data, largest first, how fast its usage grows, and ' +
        'when it reaches the limit. Growth is shown after two days of data.',
    )
    .argument('[owner]', "an owner's name")
    .option('--top <n>', 'the number of rows', String(defaultTop))
    .option('--state <states>', 'only owners in these states: over, grace, near, ok; several with commas')
    .action(async (owner: string | undefined, options: UsageOptions) => {
      const client = adminClient(() => configFrom(options));
      const top = countOf('--top', options.top);
      const { state } = options;
      if (owner === undefined) {
        const query = new URLSearchParams({ limit: String(top), ...(state === undefined ? {} : { state }) });
        const rows = await client.get<readonly OwnerRow[]>({ path: `/admin/quota/usage?${query}` });
        const isNone = rows.length === 0 && state !== undefined;
        if (options.json === true) printJson(rows);
        else print(isNone ? 'No owner is in this state.\n' : ownersTable(rows));
        return;
      }
      if (state !== undefined) throw new SoftquotaError('usage', '--state: not with an owner');
      const path = `/admin/quota/usage/${encodeURIComponent(owner)}`;
      const report = await client.get<OwnerReport>({ path });
      if (!report.known) throw new SoftquotaError('not_found', `no such owner: ${owner}`);
      const past = `/admin/quota/history?owner=${encodeURIComponent(owner)}&range=day`;
      const { growth } = await client.get<History>({ path: past });
      if (options.json === true) printJson({ ...report, growth });
      else print(ownerText(report, growth, top));
    });
}

/** Whole lines, the owners in the order that they are given in. */
export function ownersTable(rows: readonly OwnerRow[]): string {
  if (rows.length === 0)
    return 'No owner is known yet. Run softquota scan to measure, or softquota doctor to find problems.\n';
  return table(
    [
      { title: 'OWNER' },
      { title: 'USED', align: 'right' },
      { title: 'LIMIT', align: 'right' },
      { title: 'PERCENT', align: 'right' },
      { title: 'REPOSITORIES', align: 'right' },
      { title: 'LFS', align: 'right' },
      { title: 'OTHER', align: 'right' },
      { title: 'STATE' },
    ],
    rows.map(row => {
      const { repos, git } = row.tree.size;
      const inRepositories = repos.public + repos.private;
      const use = useOf(row);
      return [
        row.name,
        formatBytes(row.total),
        use.limit,
        use.percent,
        formatBytes(inRepositories),
        formatBytes(git.LFS),
        formatBytes(row.total - inRepositories - git.LFS),
        stateText(row),
      ];
    }),
  );
}

function ownerText(report: OwnerReport, growth: Growth | null, top: number): string {
  const use = useOf(report);
  const decidedBy = report.rule === null ? '' : ` (rule ${report.rule} of group ${report.group})`;
  const shown = report.units.slice(0, top);
  const more = report.units.length - shown.length;
  const lines = [
    `${report.name} uses ${formatBytes(report.total)}; limit: ${use.limit}${decidedBy}; ${stateText(report)}.`,
    ...graceLines(report),
    ...garbageLines(report),
    ...allowanceLines(report),
    `Measured: ${formatTime(report.measured_at)}.`,
    ...(growth === null ? [] : [growthText(growth)]),
  ];
  const isShared = new Set(report.units.map(({ host }) => host)).size > 1;
  const units = table(
    [{ title: 'UNIT' }, { title: 'KIND' }, { title: 'SIZE', align: 'right' }, { title: 'MEASURED' }],
    shown.map(unit => [
      isShared ? `${unit.host}:${unit.name}` : unit.name,
      unit.subject.replace(/^size:/, ''),
      formatBytes(unit.bytes) + (unit.partial ? ' (partly last known)' : ''),
      formatTime(unit.measured_at),
    ]),
  );
  return `${lines.map(printable).join('\n')}\n\n${units}${more > 0 ? `… and ${more} more (--top)\n` : ''}`;
}

/** Says when refusals begin, and what is only reported. */
function graceLines({ state, grace, reported }: OwnerReport): readonly string[] {
  const begins =
    state === 'grace' && grace !== undefined
      ? [`Refusals begin on ${formatTime(grace.until)}, or at ${formatBytes(grace.below)}.`]
      : [];
  const would =
    reported === undefined
      ? []
      : [
          `Would be refused ${reported.rule === null ? 'with the rules' : `by rule ${reported.rule}`} in report mode.`,
        ];
  return [...begins, ...would];
}

/** Says which part of the limit is for a time only. */
function allowanceLines({ allowance, allowances }: OwnerReport): readonly string[] {
  // There is no share of a missing limit, or of limit 0.
  if (allowance === undefined) return [];
  return allowances.map(
    ({ bytes, until, why }) =>
      `${formatBytes(bytes)} of the limit are an allowance until ${formatTime(until)}: ${why}`,
  );
}

function useOf({ used, limit }: OwnerRow): { readonly limit: string; readonly percent: string } {
  return used === null || limit === null ? { limit: 'no rule', percent: '-' } : formatUse(used, limit);
}

function stateText({ state, subject, partial, stale }: OwnerRow): string {
  const what = subject === 'size:all' ? '' : `: ${subjectWords(subject)}`;
  const words = {
    over: `over the limit${what}`,
    grace: `over the limit, in its grace${what}`,
    near: `near the limit${what}`,
    ok: 'ok',
  };
  return [words[state], ...(partial ? ['partial'] : []), ...(stale ? ['stale'] : [])].join(', ');
}
