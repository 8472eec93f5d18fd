/**
 * Figures: sizes, percentages, times and counts, with the exact value as the title. Also limits as short
 * texts.
 */

import { type RuleScope, subjectWords } from '../../../src/quota/index.ts';
import { formatBytes, formatUse, printable, writeDuration } from '../../../src/text.ts';
import type { Rule, Verdict } from '../../../src/wire/index.ts';

/** Shows bytes; -1 is `unlimited`, null a dash. */
export function Size({ bytes }: { readonly bytes: number | null }) {
  if (bytes === null) return <span class="size">–</span>;
  if (bytes === -1) return <span class="size">unlimited</span>;
  return (
    <data class="size" value={String(bytes)} title={`${bytes.toLocaleString('en-US')} bytes`}>
      {formatBytes(bytes)}
    </data>
  );
}

export interface UseProps {
  /** Bytes; null, like `limit`, if no rule covers. */
  readonly used: number | null;
  /** Bytes; -1 for unlimited. */
  readonly limit: number | null;
}

/** Shows the used share of a limit: `92 %`; a dash if there is no limit. */
export function Percent({ used, limit }: UseProps) {
  const percent = used === null || limit === null ? '-' : formatUse(used, limit).percent;
  return <span class="percent">{percent === '-' ? '–' : percent}</span>;
}

/** Shows `12.4 GB of 10 GB`; two sizes that differ never look the same. */
export function Use({ used, limit }: UseProps) {
  if (used === null || limit === null) return <span class="size">–</span>;
  const words = formatUse(used, limit);
  const exact = `${used.toLocaleString('en-US')} of ${limit.toLocaleString('en-US')} bytes`;
  return (
    <span class="size" title={limit === -1 ? `${used.toLocaleString('en-US')} bytes` : exact}>
      {limit === -1 ? `${words.used}, no limit` : `${words.used} of ${words.limit}`}
    </span>
  );
}

export function Count({ children }: { readonly children: number }) {
  return <>{children.toLocaleString('en-US')}</>;
}

const dayAndTime = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
});

interface TimeProps {
  /** ISO 8601; null shows `absent`. */
  readonly at: string | null;
  readonly absent?: string;
}

/** Shows day, time and time zone for the reader. */
export function Time({ at, absent = 'never' }: TimeProps) {
  if (at === null) return <>{absent}</>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={at}>
      {timeWords(date)}
    </time>
  );
}

export function timeWords(date: Date): string {
  return dayAndTime.format(date);
}

export const modeWords = { report: 'report mode', warn: 'only warns' } as const;

/** Scopes of limits in the form that follows a size: `10 GB for each member`. */
export const scopeWords: Readonly<Record<RuleScope, string>> = {
  owner: 'for each member',
  group: 'for all members together',
  repository: 'for each repository',
  push: 'for each push',
  file: 'for each file',
};

/** Shows `10 GB for each member`. */
export function Limit({ limit, per }: Pick<Rule, 'limit' | 'per'>) {
  return (
    <>
      <Size bytes={limit} /> <span class="quiet-text">{scopeWords[per]}</span>
    </>
  );
}

/** Returns `10 GB for each member (LFS objects)` with the other terms of the rule. */
export function limitWords(rule: Omit<Rule, 'name'>): string {
  const { limit, per, mode } = rule;
  const words = `${limit === -1 ? 'no limit' : formatBytes(limit)} ${scopeWords[per]} (${kindsWords(rule)})`;
  const warned = warnWords(rule);
  const terms = [
    graceWords(rule),
    warned && `warned at ${warned}`,
    mode === undefined ? null : modeWords[mode],
  ];
  return [words, ...terms.filter(term => term !== null)].join(', ');
}

/** Returns `private repositories, LFS objects`. */
export function kindsWords({ subjects }: Pick<Rule, 'subjects'>): string {
  return subjects.length === 0 ? 'nothing' : subjects.map(subjectWords).join(', ');
}

/** Returns `grace 7d, up to 10 % over`; null for the configured grace. */
export function graceWords({ grace, grace_most: most }: Pick<Rule, 'grace' | 'grace_most'>): string | null {
  if (grace === 0) return 'no grace';
  const time = grace === undefined ? 'grace' : `grace ${writeDuration(grace * 1000)}`;
  if (most !== undefined) return `${time}, up to ${most} over`;
  return grace === undefined ? null : time;
}

/** Returns `50, 80 %`; null for the configured percentages. */
export function warnWords({ warn_at: warnAt }: Pick<Rule, 'warn_at'>): string | null {
  if (warnAt === undefined) return null;
  return warnAt.length === 0 ? 'no percentage' : `${warnAt.join(', ')} %`;
}

interface ToldUse extends UseProps, Pick<Verdict, 'file' | 'group' | 'object' | 'share' | 'unit'> {
  /** Undefined for a limit of the owner. */
  readonly per?: RuleScope | undefined;
}

/** Returns `12.4 GB of 10 GB`, with the limited thing unless that is the owner's usage. */
export function useWords(told: ToldUse): string {
  const { used, limit, per, share } = told;
  if (used === null || limit === null) return 'no rule';
  const words = formatUse(used, limit);
  const use = limit === -1 ? `${words.used}, no limit` : `${words.used} of ${words.limit}`;
  switch (per) {
    case 'group': {
      const own = share === undefined ? '' : `, of which the owner has ${formatBytes(share)}`;
      return `all members of ${printable(told.group ?? '')} together have ${use}${own}`;
    }
    case 'repository':
      return `${printable(told.unit ?? 'the repository')} has ${use}`;
    case 'push':
      return `${words.used} came at once, and each push or upload may bring ${words.limit}`;
    case 'file':
      return `${fileWords(told)} has ${words.used}, and each file may have ${words.limit}`;
    default:
      return use;
  }
}

function fileWords({ file, object }: ToldUse): string {
  if (file !== undefined) return printable(file);
  return object === undefined ? 'a file' : `the file with the object id ${printable(object)}`;
}
