/** Limits and subjects, as people type and read them. */

import { nearest } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { isSubject, type RuleSubject, subjects } from '../quota/index.ts';
import { formatBytes, parseSize, writeSize } from '../text/index.ts';
import type { Rule } from '../wire/index.ts';

export const sizeExpected = 'write a number and a unit, such as 500M, 10G or 1.5GiB, or -1 for no limit';

/** Bytes, or -1. Throws `usage`, naming the option. */
export function limitOf(text: string, option = '--limit'): number {
  const size = parseSize(text);
  if (size.ok) return size.bytes;
  throw new SoftquotaError('usage', `${option} ${text}: ${size.reason}; ${sizeExpected}`);
}

/**
 * `10 GB`, `1.5 GiB`, `unlimited`: to be typed again, it is the same limit, unless the bytes are told beside
 * it.
 */
export function limitShown(bytes: number): string {
  if (bytes === -1) return 'unlimited';
  const written = writeSize(bytes);
  return bytes >= 1000 && written === `${bytes} B` ? `${formatBytes(bytes)} (${written})` : written;
}

/** `at most 10 GB of size:all`. */
export function ruleText({ limit, subjects: named }: Pick<Rule, 'limit' | 'subjects'>): string {
  const what = named.length === 0 ? 'nothing' : named.join(', ');
  return limit === -1 ? `any amount of ${what}` : `at most ${limitShown(limit)} of ${what}`;
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

/** For an option that may be given several times. */
export function gathered(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
