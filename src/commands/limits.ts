/** Limits and subjects, as people type and read them. */

import { duration, nearest } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Parsed } from '../parsed.ts';
import { isSubject, type RuleScope, type RuleSubject, subjects } from '../quota/index.ts';
import { formatBytes, parseSize, writeSize } from '../text.ts';
import type { OwnerState, Rule } from '../wire/index.ts';
import { textsIn } from './output.ts';

export const sizeExpected = 'write a number and a unit, such as 500M, 10G or 1.5GiB, or -1 for no limit';

/** The parsed value of an option. Throws `usage`, which names the option and says what to write. */
export function optionValue<T>(option: string, text: string, parsed: Parsed<T>, expected: string): T {
  if (parsed.ok) return parsed.value;
  throw new SoftquotaError('usage', `${option} ${text}: ${parsed.problem}; ${expected}`);
}

/** Reads a limit: bytes, or -1 for none. Throws `usage`, which names the option. */
export function limitOf(text: string, option = '--limit'): number {
  return optionValue(option, text, parseSize(text), sizeExpected);
}

/** Reads `--size`: bytes. Throws `usage`, also for sizes below `least`. */
export function sizeOption(text: string, least: 0 | 1): number {
  const size = parseSize(text);
  const problem = least === 0 ? 'below 0' : 'not more than nothing';
  const parsed = size.ok && size.value < least ? ({ ok: false, problem } as const) : size;
  return optionValue('--size', text, parsed, 'write a number and a unit, such as 500M or 1.5GiB');
}

/** Prints a limit: `10 GB`, `1.5 GiB`, `unlimited`. Exact bytes follow in parentheses if it is rounded. */
export function limitShown(bytes: number): string {
  if (bytes === -1) return 'unlimited';
  const written = writeSize(bytes);
  return bytes >= 1000 && written === `${bytes} B` ? `${formatBytes(bytes)} (${written})` : written;
}

/** Prints a rule: `at most 10 GB of size:all, grace 7d up to 10 % over, only reported`. */
export function ruleText(rule: Omit<Rule, 'name'>): string {
  const { limit, per, subjects: named } = rule;
  const counted = named.length === 0 ? 'nothing' : named.join(', ');
  const what = per === 'owner' ? counted : `${counted} ${scopeWords[per]}`;
  const limits = limit === -1 ? `any amount of ${what}` : `at most ${limitShown(limit)} of ${what}`;
  return [limits, ...termsText(rule)].join(', ');
}

/** Words that follow the kinds of data of a rule: `size:all in each repository`. */
export const scopeWords = {
  owner: 'of each owner',
  group: 'of all members together',
  repository: 'in each repository',
  push: 'in each push',
  file: 'in each file',
} as const satisfies Record<RuleScope, string>;

/** Words for the states of owners, pools and repositories. */
export const stateWords = {
  over: 'over the limit',
  grace: 'over the limit, in its grace',
  near: 'near the limit',
  ok: 'ok',
} as const satisfies Record<OwnerState, string>;

export const modeWords = { report: 'only reported', warn: 'only warned of' } as const;

/** The terms of a rule besides its limit; none if it has only defaults. */
export function termsText({
  grace,
  grace_most: most,
  mode,
  warn_at: warnAt,
}: Omit<Rule, 'name'>): readonly string[] {
  const hasGrace = grace !== undefined || most !== undefined;
  const graceWords = textsIn([
    grace === 0 ? 'no grace' : 'grace',
    grace !== undefined && grace > 0 && duration.print(grace * 1000),
    most !== undefined && `up to ${most} over`,
  ]);
  return textsIn([
    hasGrace && graceWords.join(' '),
    warnAt && (warnAt.length === 0 ? 'never warned' : `warned at ${warnAt.join(', ')} %`),
    mode && modeWords[mode],
  ]);
}

/** Reads `--subject`, each time one or several with commas between. Throws `usage`. */
export function subjectsOf(given: readonly string[]): readonly RuleSubject[] {
  const known: readonly string[] = [...subjects, 'none'];
  return given
    .flatMap(text => text.split(','))
    .map(text => text.trim())
    .map(name => {
      if (name === 'none' || isSubject(name)) return name;
      const meant = nearest(name, known);
      const hint = meant === null ? `expected one of ${known.join(', ')}` : `did you mean ${meant}?`;
      throw new SoftquotaError('usage', `--subject ${name}: no such subject; ${hint}`);
    });
}
