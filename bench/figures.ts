/** Medians, and the tables that the claims print. */

import { loadavg } from 'node:os';
import { version } from '../src/version.ts';
import { firstLine } from './processes.ts';

export interface Goal {
  readonly words: string;
  readonly met: boolean;
  /** Why it is missed, where it is. */
  readonly reason: string;
}

/** One line of a table. */
export interface Figure {
  readonly what: string;
  readonly ours: string;
  /** Program that a user would take instead; empty if nothing is compared. */
  readonly instead: string;
  /** Ours to the other; null where nothing stands beside it. */
  readonly ratio: number | null;
  readonly goal: Goal | null;
}

export interface Claim {
  readonly title: string;
  /** Description of how it was measured, in a few sentences. */
  readonly how: string;
  readonly figures: readonly Figure[];
}

/** A line beside which nothing stands. */
export function alone(what: string, ours: string, goal: Goal | null = null): Figure {
  return { what, ours, instead: '', ratio: null, goal };
}

/** The value that so many percent of all are not above. */
export function percentile(values: ArrayLike<number>, percent: number): number {
  const sorted = Float64Array.from(values).sort();
  const value = sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)];
  if (value === undefined) throw new Error('nothing was measured');
  return value;
}

export function median(values: ArrayLike<number>): number {
  return percentile(values, 50);
}

/** The median, and the smallest and largest in brackets. */
export function spread(values: readonly number[], shown: (value: number) => string): string {
  return `${shown(median(values))} (${shown(Math.min(...values))} to ${shown(Math.max(...values))})`;
}

/** The median of what each round's pair gives, so that noise that meets both sides of a round falls out. */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
export const milliseconds = (ms: number): string => `${ms.toFixed(ms < 10 ? 2 : 1)} ms`;
export const perSecond = (rate: number): string => `${count(rate)}/s`;

export function count(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** Memory in use, and the most that ever was. */
export function megabytes({ now, most }: { readonly now: number; readonly most: number }): string {
  return `${Math.round(now)} MB (${Math.round(most)} MB)`;
}

/** Says on standard error what is going on. */
export function tell(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

/** Prints a claim as a section of Markdown, with a reason for every goal that is missed. */
export function print({ title, how, figures }: Claim): void {
  const rows = figures.map(({ what, ours, instead, ratio, goal }) => [
    what,
    ours,
    instead,
    ratio === null ? '' : ratio.toFixed(2),
    goal === null ? '' : `${goal.words}: ${goal.met ? 'met' : '**missed**'}`,
  ]);
  const table = [['', 'softquota', 'instead', 'ratio', 'goal'], Array(5).fill('---'), ...rows];
  const missed = figures.flatMap(({ what, goal }) =>
    goal === null || goal.met ? [] : [`- ${what}: ${goal.reason}`],
  );
  const sections = [
    `## ${title}`,
    how,
    table.map(cells => `| ${cells.join(' | ')} |`).join('\n'),
    `${measured()} Load of the host at the end: ${(loadavg()[0] ?? 0).toFixed(1)}.`,
    ...(missed.length === 0 ? [] : [`Missed:\n\n${missed.join('\n')}`]),
  ];
  process.stdout.write(`\n${sections.join('\n\n')}\n`);
}

function measured(): string {
  const commit = firstLine('git', ['rev-parse', '--short', 'HEAD']);
  return `Measured on ${new Date().toISOString().slice(0, 10)} with softquota ${version}, ${commit}.`;
}
