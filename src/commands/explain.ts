/** `softquota explain`: the groups and rules behind a decision. */

import type { Command } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { subjectWords } from '../quota/index.ts';
import { formatBytes, formatUse, printable } from '../text/index.ts';
import type { Explanation, OwnerReport } from '../wire/index.ts';
import { addedSizeOf } from './check.ts';
import { adminClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { subjectsOf } from './limits.ts';
import { formatTime, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption, wrapped } from './settings.ts';
import { print } from './streams.ts';

interface ExplainOptions extends ConfigOption {
  readonly subject: string;
  readonly size?: string;
  readonly json?: boolean;
}

export function addExplain(program: Command, _exit: Exit): void {
  withJsonOption(withConfigOption(program.command('explain')))
    .summary('show why an owner is allowed or refused')
    .description(
      'Shows the whole reasoning of a decision about one kind of data: the groups that are asked in turn, what each ' +
        'rule counts, and which rule decides.',
    )
    .argument('<owner>', "an owner's name")
    .option('--subject <subject>', 'a kind of data, such as size:git:lfs', 'size:all')
    .option('--size <size>', 'the size of the data to add, such as 500M; it counts with [quota] PRECISE')
    .addHelpText(
      'after',
      wrapped(
        '\nExit status: 0 shown, also if the decision is a refusal; softquota check has an exit status for each decision.',
      ),
    )
    .action(async (owner: string, { subject, size, ...options }: ExplainOptions) => {
      const client = adminClient(() => configFrom(options));
      const [asked = subject] = subjectsOf([subject]);
      const { known, name } = await client.get<OwnerReport>({
        path: `/admin/quota/usage/${pathStep(owner)}`,
      });
      if (!known) throw new SoftquotaError('not_found', `no such owner: ${owner}`);
      const query = new URLSearchParams({
        user: name,
        subject: asked,
        ...(size === undefined ? {} : { size: String(addedSizeOf(size)) }),
      });
      const reasoning = await client.get<Explanation>({ path: `/admin/quota/explain?${query}` });
      if (options.json === true) printJson(reasoning);
      else print(explanationText(name, reasoning));
    });
}

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
} as const;

function explanationText(
  owner: string,
  { subject, settings, steps, decision, reporting }: Explanation,
): string {
  const verdict = decision.allowed ? 'allowed' : 'refused';
  const report =
    settings.mode === 'report' && !decision.allowed
      ? ' MODE = report: the refusal is only recorded, and the action is allowed.'
      : '';
  const lines = [
    `${owner}, ${subjectWords(subject)} (${subject}): ${verdict}. ${reasonWords(decision)}${report}`,
    ...graceLines(decision),
    ...stepLines(steps),
    ...(reporting === undefined
      ? []
      : [
          `With the rules in report mode: ${reporting.decision.allowed ? 'allowed' : 'refused'}.`,
          ...stepLines(reporting.steps),
        ]),
  ];
  return `${lines.map(printable).join('\n')}\n`;
}

function stepLines(steps: Explanation['steps']): readonly string[] {
  return steps.flatMap(({ step, groups }) => [
    `${stepWords[step]}:${groups.length === 0 ? ' none, so the next step decides' : ''}`,
    ...groups.flatMap(groupLines),
  ]);
}

/** Says when refusals begin, or why the grace of the limit lets nothing through. */
function graceLines({ allowed, grace }: Explanation['decision']): readonly string[] {
  if (grace === undefined) return [];
  const words = allowed ? 'Refusals begin' : 'Its grace ends or ended';
  return [`${words} on ${formatTime(grace.until)}, or at ${formatBytes(grace.below)}.`];
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

function groupLines({ group, verdict, rules, decided }: ExplainedGroup): readonly string[] {
  return [
    ...(group === null ? [] : [`  group ${group} ${verdictWords[verdict]}`]),
    ...rules.map(rule => {
      const { used, limit } = formatUse(rule.used, rule.limit);
      const mark = decided && rule.decided ? '*' : ' ';
      const name = rule.rule === null ? '' : `rule ${rule.rule}: `;
      return `  ${mark} ${name}${used} of ${limit} (${rule.subjects.join(', ')}): ${ruleWords(rule)}`;
    }),
  ];
}

function ruleWords({ verdict, mode }: ExplainedGroup['rules'][number]): string {
  return `${verdictWords[verdict]}${mode === 'report' ? ', only reported' : ''}`;
}
