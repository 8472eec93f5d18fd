/** `softquota explain`: the groups and rules behind a decision. */

import { Option } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { subjectWords } from '../quota/index.ts';
import { formatBytes, formatUse } from '../text/index.ts';
import type { Explanation, OwnerReport } from '../wire/index.ts';
import { apiCommand } from './api-command.ts';
import { pathStep, withQuery } from './client.ts';
import { sizeOption, subjectsOf } from './limits.ts';
import { formatTime } from './output.ts';

interface Explained {
  readonly owner: string;
  readonly reasoning: Explanation;
}

export const addExplain = apiCommand<Explained, { subject: string; size?: string }>('explain <owner>', {
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
    const [asked = subject] = subjectsOf([subject]);
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
} as const;

function explanationLines({ owner, reasoning }: Explained): readonly string[] {
  const { subject, settings, steps, decision, reporting } = reasoning;
  const verdict = decision.allowed ? 'allowed' : 'refused';
  const report =
    settings.mode === 'report' && !decision.allowed
      ? ' MODE = report: the refusal is only recorded, and the action is allowed.'
      : '';
  return [
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
