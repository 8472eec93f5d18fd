/** `softquota usage`, `explain` and `history`: the usage of owners, the reasons of a decision, the past. */

import { Option } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { type Leaf, subjectWords } from '../quota/index.ts';
import { formatBytes, formatUse } from '../text.ts';
import {
  type Explanation,
  type Growth,
  type History,
  historyRanges,
  type OwnerReport,
  type OwnerRow,
  type RepositoryRow,
  usageLists,
  type Verdict,
} from '../wire/index.ts';
import { apiCommand } from './api-command.ts';
import { type DaemonClient, pathStep, withQuery } from './client.ts';
import { modeWords, scopeWords, sizeOption, stateWords, subjectsOf } from './limits.ts';
import { escapedLines, formatTime, type Texts, table, textsIn } from './output.ts';
import { countOf } from './settings.ts';

interface UsageOptions {
  readonly top: string;
  readonly per: (typeof usageLists)[number];
  readonly state?: string;
}

type Listed = readonly (OwnerRow | RepositoryRow)[] | GrowingOwner;

interface GrowingOwner extends OwnerReport {
  readonly growth: Growth | null;
}

const addUsage = apiCommand<Listed, UsageOptions>('usage [owner]', {
  summary: 'show how much each owner uses',
  description:
    'Shows the largest owners: USED is what counts against LIMIT, STORED is all that they have. ' +
    'With an owner: all its repositories and other data, largest first, how fast its usage grows, and ' +
    'when it reaches the limit. Growth is shown after two days of data. With --per repository: the repositories of the ' +
    "daemon's host that have a limit of their own, the fullest first.",
  arguments: ["an owner's name"],
  options: [
    new Option('--top <n>', 'the number of rows').default('20'),
    new Option('--per <thing>', 'the things that are listed').choices(usageLists).default('owner'),
    new Option(
      '--state <states>',
      'only what is in these states: over, grace, near, ok; several with commas',
    ),
  ],
  ask: async (client, { top, per, state }, owner?: string) => {
    const limit = String(countOf('--top', top));
    if (owner === undefined)
      return client.get({ path: withQuery('/admin/quota/usage', { per, limit, state }) });
    if (state !== undefined) throw new SoftquotaError('usage', '--state: not with an owner');
    if (per !== 'owner') throw new SoftquotaError('usage', '--per: not with an owner');
    return growingOwner(client, owner);
  },
  text: (answer, { top, per, state }) => {
    if ('growth' in answer) return ownerText(answer, Number(top));
    if (per === 'repository')
      return repositoriesText(
        answer.filter((row): row is RepositoryRow => !('name' in row)),
        state,
      );
    const rows = answer.filter(row => 'name' in row);
    return rows.length === 0 && state !== undefined ? 'No owner is in this state.\n' : ownersTable(rows);
  },
});

async function growingOwner(client: DaemonClient, owner: string): Promise<GrowingOwner> {
  const path = `/admin/quota/usage/${encodeURIComponent(owner)}`;
  const report = await client.get<OwnerReport>({ path });
  if (!report.known) throw new SoftquotaError('not_found', `no such owner: ${owner}`);
  const past = withQuery('/admin/quota/history', { owner, range: 'day' });
  const { growth } = await client.get<History>({ path: past });
  return { ...report, growth };
}

function repositoriesText(rows: readonly RepositoryRow[], state: string | undefined): string {
  if (rows.length === 0) {
    return state === undefined
      ? 'No repository has a limit of its own. Give some one with softquota rule create --per repository.\n'
      : 'No repository is in this state.\n';
  }
  return table(rows, [
    ['REPOSITORY', row => row.unit],
    ['USED', row => formatBytes(row.used), 'right'],
    ['LIMIT', row => formatUse(row.used, row.limit).limit, 'right'],
    ['PERCENT', row => formatUse(row.used, row.limit).percent, 'right'],
    ['GROUP', row => row.group],
    ['RULE', row => row.rule],
    ['STATE', row => stateWords[row.state]],
  ]);
}

/** Whole lines, in the order of the rows. */
export function ownersTable(rows: readonly OwnerRow[]): string {
  if (rows.length === 0)
    return 'No owner is known yet. Run softquota scan to measure, or softquota doctor to find problems.\n';
  return table(rows, [
    ['OWNER', row => row.name],
    ['USED', row => formatBytes(row.used ?? row.total), 'right'],
    ['LIMIT', row => useOf(row).limit, 'right'],
    ['PERCENT', row => useOf(row).percent, 'right'],
    ['STORED', row => formatBytes(row.total), 'right'],
    ['REPOSITORIES', row => formatBytes(inRepositories(row)), 'right'],
    ['LFS', row => formatBytes(row.tree.size.git.LFS), 'right'],
    ['OTHER', row => formatBytes(row.total - inRepositories(row) - row.tree.size.git.LFS), 'right'],
    ['STATE', stateText],
  ]);
}

function inRepositories({ tree }: OwnerRow): number {
  return tree.size.repos.public + tree.size.repos.private;
}

function ownerText(report: GrowingOwner, top: number): string {
  const { growth } = report;
  const use = useOf(report);
  const decidedBy = report.rule === null ? '' : ` (rule ${report.rule} of group ${report.group})`;
  const shown = report.units.slice(0, top);
  const more = report.units.length - shown.length;
  const head = [
    `${report.name} uses ${formatBytes(report.total)}; limit: ${use.limit}${decidedBy}; ${stateText(report)}.`,
    graceLines(report),
    garbageLine(report),
    allowanceLines(report),
    `Measured: ${formatTime(report.measured_at)}.`,
    growth && growthText(growth),
  ];
  const isShared = new Set(report.units.map(({ host }) => host)).size > 1;
  const units = table(shown, [
    ['UNIT', ({ host, name, title = name }) => (isShared ? `${host}:${title}` : title)],
    ['KIND', unit => unit.subject.replace(/^size:/, '')],
    ['SIZE', unit => formatBytes(unit.bytes) + (unit.partial ? ' (partly last known)' : ''), 'right'],
    ['MEASURED', unit => formatTime(unit.measured_at)],
  ]);
  return `${escapedLines(head)}\n${units}${more > 0 ? `… and ${more} more (--top)\n` : ''}`;
}

function graceLines({ state, grace, reported, warned }: OwnerReport): Texts {
  return [
    state === 'grace' && refusalsBegin('Refusals begin', grace),
    warnedLine(warned),
    reported &&
      `Would be refused ${reported.rule === null ? 'with the rules' : `by rule ${reported.rule}`} in report mode.`,
  ];
}

function refusalsBegin(words: string, grace: OwnerReport['grace']): Texts {
  return grace && `${words} on ${formatTime(grace.until)}, or at ${formatBytes(grace.below)}.`;
}

function warnedLine(warned: OwnerReport['warned']): Texts {
  if (warned === undefined || warned.used === 0) return null;
  const { used, limit, percent } = formatUse(warned.used ?? 0, warned.limit ?? 0);
  return `Over the limit of rule ${warned.rule}, which only warns: ${used} of ${limit} (${percent}).`;
}

function allowanceLines({ allowance, allowances }: OwnerReport): Texts {
  // The report has no `allowance` if there is no limit, or the limit is 0.
  if (allowance === undefined) return null;
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
  const words = state === 'ok' ? stateWords.ok : `${stateWords[state]}${what}`;
  return textsIn([words, partial && 'partial', stale && 'stale']).join(', ');
}

/** A sentence about stored bytes that do not count; none if all count. */
export function garbageLine({ garbage }: Pick<Verdict, 'garbage'>): Texts {
  if (garbage === undefined) return null;
  const { stored, unreachable, billed, most } = garbage;
  const cut = unreachable > most ? ` (at most ${formatBytes(most)} are forgiven)` : '';
  return `Of ${formatBytes(stored)} stored, ${formatBytes(unreachable)} are unreachable; ${formatBytes(billed)} count${cut}.`;
}

const addHistory = apiCommand<History, { range: string }>('history [owner]', {
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

function growthText({ per_day: perDay, since, reached_at: reachedAt }: Growth): string {
  const days = `a day since ${since.slice(0, 10)}`;
  if (perDay === 0) return `Usage has not changed since ${since.slice(0, 10)}.`;
  if (perDay < 0) return `Usage falls by ${formatBytes(-perDay)} ${days}.`;
  const until = reachedAt === null ? '' : `: the limit is reached on ${reachedAt.slice(0, 10)}`;
  return `Usage grows by ${formatBytes(perDay)} ${days}${until}.`;
}

interface Explained {
  readonly owner: string;
  readonly reasoning: Explanation;
}

const addExplain = apiCommand<Explained, { subject: string; size?: string }>('explain <owner>', {
  summary: 'show why an owner is allowed or refused',
  description:
    'Shows the whole reasoning of a decision about one kind of data: the groups that are asked in turn, what each ' +
    'rule counts, and which rule decides.',
  arguments: ["an owner's name"],
  options: [
    new Option('--subject <subject>', 'a kind of data, such as size:git:lfs').default('size:all'),
    new Option('--size <size>', 'the size of the data to add, such as 500M; it counts with [quota] PRECISE'),
  ],
  after:
    '\nExit status: 0 shown, also if the decision is a refusal; softquota check has an exit status for each decision.',
  ask: async (client, { subject, size }, owner: string) => {
    const [asked = subject, ...others] = subjectsOf([subject]);
    if (others.length > 0) throw new SoftquotaError('usage', `--subject ${subject}: expected one subject`);
    const path = `/admin/quota/usage/${pathStep(owner)}`;
    const { known, name } = await client.get<OwnerReport>({ path });
    if (!known) throw new SoftquotaError('not_found', `no such owner: ${owner}`);
    const query = {
      user: name,
      subject: asked,
      size: size === undefined ? undefined : String(sizeOption(size, 0)),
    };
    return { owner: name, reasoning: await client.get({ path: withQuery('/admin/quota/explain', query) }) };
  },
  json: ({ reasoning }) => reasoning,
  text: explanationLines,
});

const stepWords = {
  assigned: 'Groups of the owner',
  defaults: '[quota] DEFAULT_GROUPS',
  builtin: '[quota.default] TOTAL',
} as const;

const verdictWords = {
  allows: 'allows',
  graced: 'lets it through by a grace',
  refuses: 'refuses',
  no_match: 'has no rule for it',
  not_asked: 'is not asked, since nobody knows what it is about',
} as const;

function explanationLines({ owner, reasoning }: Explained): readonly Texts[] {
  const { subject, settings, decision, reporting, warning } = reasoning;
  const report =
    settings.mode === 'report' && !decision.allowed
      ? ' MODE = report: the refusal is only recorded, and the action is allowed.'
      : '';
  return [
    `${owner}, ${subjectWords(subject)} (${subject}): ${allowedOrNot(decision)}. ${reasonWords(decision)}${report}`,
    refusalsBegin(decision.allowed ? 'Refusals begin' : 'Its grace ends or ended', decision.grace),
    stepLines(reasoning),
    reporting && [
      `With the rules in report mode: ${allowedOrNot(reporting.decision)}.`,
      stepLines(reporting),
    ],
    warning && [`With the rules that only warn: ${allowedOrNot(warning.decision)}.`, stepLines(warning)],
  ];
}

function allowedOrNot({ allowed }: { readonly allowed: boolean }): string {
  return allowed ? 'allowed' : 'refused';
}

function stepLines({ steps, bounds = [] }: Pick<Explanation, 'bounds' | 'steps'>): Texts {
  return [
    steps.map(({ step, groups }) => [
      `${stepWords[step]}:${groups.length === 0 ? ' none, so the next step decides' : ''}`,
      groups.map(groupLines),
    ]),
    bounds.length > 0 && 'Limits that are asked after these have allowed:',
    bounds.map(boundLine),
  ];
}

function boundLine(bound: NonNullable<Explanation['bounds']>[number]): string {
  const { per, group, rule, share, subjects, used } = bound;
  const limit = formatUse(used ?? 0, bound.limit);
  const stands = used === null ? limit.limit : `${limit.used} of ${limit.limit}`;
  const own = share === undefined ? '' : `, ${formatBytes(share)} by this owner`;
  const mark = bound.decided ? '*' : ' ';
  const what = `${scopeWords[per].replace(/^(of|in) /, '')}, group ${group}, rule ${rule}`;
  return `  ${mark} ${what}: ${stands}${own} (${subjects.join(', ')}): ${ruleWords(bound)}`;
}

function reasonWords({ by }: Explanation['decision']): string {
  switch (by) {
    case 'disabled':
      return '[quota] ENABLED = false, so everything is allowed.';
    case 'no_match':
      return 'No rule covers it, and UNCOVERED = deny.';
    case 'rule':
      return 'The line with * is the deciding rule.';
  }
}

type ExplainedGroup = Explanation['steps'][number]['groups'][number];

function groupLines({ group, verdict, rules, decided }: ExplainedGroup): Texts {
  return [
    group !== null && `  group ${group} ${verdictWords[verdict]}`,
    rules.map(rule => {
      const { used, limit } = formatUse(rule.used, rule.limit);
      const mark = decided && rule.decided ? '*' : ' ';
      const name = rule.rule === null ? '' : `rule ${rule.rule}: `;
      return `  ${mark} ${name}${used} of ${limit} (${rule.subjects.join(', ')}): ${ruleWords(rule)}`;
    }),
  ];
}

type RuleVerdict = ExplainedGroup['rules'][number] | NonNullable<Explanation['bounds']>[number];

function ruleWords({ verdict, mode }: RuleVerdict): string {
  return mode === undefined ? verdictWords[verdict] : `${verdictWords[verdict]}, ${modeWords[mode]}`;
}

export const usageCommands = { usage: addUsage, history: addHistory, explain: addExplain };
