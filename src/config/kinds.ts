/**
 * Kinds of values: parse the text of a key, and print it again.
 *
 * Every kind parses its own output as the same value. A problem says in a few words what is wrong
 * with the text; `expected` is the sentence that tells an administrator what to write instead.
 */

import { Cron } from 'croner';
import type { Parsed } from '../parsed.ts';
import { type GraceMost, graceMostText, parseGraceMost } from '../quota/index.ts';
import { parseDuration, parseSize, writeDuration, writeSize } from '../text.ts';

export interface ValueType<T> {
  readonly expected: string;
  readonly parse: (text: string) => Parsed<T>;
  /** Prints a text that `parse` reads as the same value. */
  print(value: T): string;
}

/** A kind of text. `made` transforms the text; `problemOf` says what is wrong with the result, or null. */
export function textKind(
  problemOf: (text: string) => string | null,
  expected: string,
  made = (text: string) => text.trim(),
): ValueType<string> {
  return {
    expected,
    parse: text => {
      const value = made(text);
      const problem = problemOf(value);
      return problem === null ? { ok: true, value } : { ok: false, problem };
    },
    print: text => text,
  };
}

export function matching(
  test: RegExp | ((text: string) => boolean),
  problem: string,
  expected: string,
  made?: (text: string) => string,
): ValueType<string> {
  const accepts = typeof test === 'function' ? test : (text: string) => test.test(text);
  return textKind(text => (accepts(text) ? null : problem), expected, made);
}

/** Returns a kind for which an empty value means null. */
export function optional<T>(kind: ValueType<T>): ValueType<T | null> {
  return {
    expected: `${kind.expected}, or leave it empty`,
    parse: text => (text.trim() === '' ? { ok: true, value: null } : kind.parse(text)),
    print: value => (value === null ? '' : kind.print(value)),
  };
}

/** Values with commas between. Drops white space, empty values, and duplicates unless `repeated`. */
export function listOf<T>(item: ValueType<T>, expected: string, repeated?: 'kept'): ValueType<readonly T[]> {
  return {
    expected,
    parse: text => {
      const values: T[] = [];
      const seen = new Set<string>();
      for (const piece of text.split(',').map(one => one.trim())) {
        if (piece === '') continue;
        const parsed = item.parse(piece);
        if (!parsed.ok) return { ok: false, problem: `"${piece}" is ${parsed.problem}` };
        const printed = item.print(parsed.value);
        if (repeated === 'kept' || !seen.has(printed)) values.push(parsed.value);
        seen.add(printed);
      }
      return { ok: true, value: values };
    },
    print: values => values.map(item.print).join(', '),
  };
}

/** One of some words, in upper or lower case. */
export function oneOf<const Words extends readonly string[]>(words: Words): ValueType<Words[number]> {
  const others = words.slice(0, -1).join(', ');
  return {
    expected: `Write ${others} or ${words.at(-1)}`,
    parse: text => {
      const value = words.find(word => word === text.trim().toLowerCase());
      return value === undefined
        ? { ok: false, problem: 'not one of the possible values' }
        : { ok: true, value };
    },
    print: word => word,
  };
}

export const flag: ValueType<boolean> = {
  expected: 'Write true or false',
  parse: text => {
    const word = text.trim().toLowerCase();
    const value = ['true', 'yes', 'on', '1'].includes(word);
    if (value || ['false', 'no', 'off', '0'].includes(word)) return { ok: true, value };
    return { ok: false, problem: 'neither true nor false' };
  },
  print: String,
};

export function wholeNumber(least: number, most: number): ValueType<number> {
  return {
    expected: `Write a whole number from ${least} to ${most}`,
    parse: text => {
      if (!/^\d{1,15}$/.test(text.trim())) return { ok: false, problem: 'not a whole number' };
      const value = Number(text);
      if (value < least) return { ok: false, problem: 'too small' };
      return value > most ? { ok: false, problem: 'too large' } : { ok: true, value };
    },
    print: String,
  };
}

export const path: ValueType<string> = textKind(
  text => (text.trim() === '' ? 'empty' : text.includes('\0') ? 'not a path: it has a NUL character' : null),
  'Write a path; a path that does not begin with / is relative to the directory of the configuration file',
  text => text,
);

export const line: ValueType<string> = matching(
  /^[^\p{Cc}]*$/u,
  'not one line of text',
  'Write one line of text without control characters',
);

/** Secrets, the newest first. A problem does not show the invalid one. */
export function secrets(
  between: string | RegExp,
  accepts: (secret: string) => boolean,
  problem: string,
  expected: string,
): ValueType<readonly string[]> {
  return {
    expected,
    parse: text => {
      const given = text
        .split(between)
        .map(secret => secret.trim())
        .filter(secret => secret !== '');
      return given.every(accepts) ? { ok: true, value: [...new Set(given)] } : { ok: false, problem };
    },
    print: given => given.join(', '),
  };
}

export const mode: ValueType<number> = {
  expected: 'Write three octal digits after a 0, such as 0660',
  parse: text =>
    /^0?[0-7]{3}$/.test(text.trim())
      ? { ok: true, value: Number.parseInt(text, 8) }
      : { ok: false, problem: 'not a mode' },
  print: bits => bits.toString(8).padStart(4, '0'),
};

/** A group of the system. It must not begin with `-`: chown takes -1 for no change. */
export const systemGroup: ValueType<string> = matching(
  /^[^-:,/\p{Cc}][^:,/\p{Cc}]*$/u,
  'not a group',
  "Write a group's name or number",
);

/** Bytes; -1: no limit. */
export const limit: ValueType<number> = {
  expected: 'Write a number and a unit, such as 500M, 10G or 1.5GiB, or -1 for no limit',
  parse: parseSize,
  print: writeSize,
};

/** Bytes, or null for the word `limit`. */
export const sizeOrLimit: ValueType<number | null> = {
  expected: 'Write a number and a unit, such as 500M, 10G or 1.5GiB, or limit',
  parse: text => {
    if (text.trim().toLowerCase() === 'limit') return { ok: true, value: null };
    const size = limit.parse(text);
    return size.ok && size.value < 0 ? { ok: false, problem: 'below 0' } : size;
  },
  print: bytes => (bytes === null ? 'limit' : writeSize(bytes)),
};

/** Free space: bytes, or percent of the whole. */
type FreeSpaceSetting = { readonly bytes: number } | { readonly percent: number };

export const freeSpace: ValueType<FreeSpaceSetting> = {
  expected: 'Write a percentage below 100, such as 5%, or a number and a unit, such as 20G',
  parse: text => {
    const [, percent] = /^(\d{1,2}(?:\.\d{1,3})?) ?%$/.exec(text.trim()) ?? [];
    const amount = percent === undefined ? limit.parse(text) : { ok: true as const, value: Number(percent) };
    if (!amount.ok) return amount;
    if (amount.value <= 0) return { ok: false, problem: 'not above 0' };
    return { ok: true, value: percent === undefined ? { bytes: amount.value } : { percent: amount.value } };
  },
  print: space => ('percent' in space ? `${space.percent}%` : writeSize(space.bytes)),
};

export const percentages = listOf(
  wholeNumber(1, 100),
  'Write whole percentages from 1 to 100, separated by commas, such as 80, 90',
);

export const graceMost: ValueType<GraceMost> = {
  expected: 'Write a percentage of the limit, such as 10 %, or a number and a unit, such as 5G',
  parse: parseGraceMost,
  print: graceMostText,
};

export const duration: ValueType<number> = {
  expected: 'Write a whole number and s, m, h, d or w (seconds to weeks), such as 90d or 12h',
  parse: parseDuration,
  print: writeDuration,
};

/** A span of time that is not shorter than this, in milliseconds. */
export function durationOfAtLeast(shortestMs: number, shortest: string): ValueType<number> {
  return {
    ...duration,
    parse: text => {
      const parsed = duration.parse(text);
      return parsed.ok && parsed.value < shortestMs
        ? { ok: false, problem: `shorter than ${shortest}` }
        : parsed;
    },
    expected: `Write at least ${shortest}: a whole number and s, m, h, d or w, such as 1h`,
  };
}

/** A cron expression for a time that will still occur. */
export const cron: ValueType<string> = textKind(
  cronProblem,
  'Write the five fields of cron (minute, hour, day of the month, month, day of the week), such as */15 * * * *, or @hourly, @daily, @weekly',
);

function cronProblem(text: string): string | null {
  // croner would take an ISO date for a job that runs once.
  if (text.includes(':')) return 'not a cron expression';
  try {
    const next = new Cron(text, { mode: '5-part', paused: true }).nextRun();
    return next === null ? 'a time that never occurs' : null;
  } catch {
    return 'not a cron expression';
  }
}
