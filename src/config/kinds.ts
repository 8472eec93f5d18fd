/**
 * Kinds of values that several sections have, or commands read as well: parse the text of a key, and print
 * it again.
 *
 * Every kind parses its own output as the same value. A problem says in a few words what is wrong
 * with the text; `expected` is the sentence that tells an administrator what to write instead.
 */

import { BlockList, isIP } from 'node:net';
import { Cron } from 'croner';
import { isHost } from '../network.ts';
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

/** Bytes; -1: no limit. */
export const limit: ValueType<number> = {
  expected: 'Write a number and a unit, such as 500M, 10G or 1.5GiB, or -1 for no limit',
  parse: parseSize,
  print: writeSize,
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

export const listenAddress: ValueType<string> = matching(
  isHost,
  'neither an address nor a host name',
  'Write an IP address or a host name, such as 127.0.0.1, :: or localhost',
  text => text.trim().replace(/^\[(.*)\]$/, '$1'),
);

/** `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`. */
const network: ValueType<string> = matching(
  isNetwork,
  'not an address',
  'Write an IP address or a network, such as 10.0.0.7 or 10.0.0.0/8',
);

export const networks: ValueType<readonly string[]> = listOf(
  network,
  'Write IP addresses and networks, separated by commas, such as 127.0.0.1, 10.0.0.0/8',
);

function isNetwork(text: string): boolean {
  const [address = '', bits, ...others] = text.split('/');
  const version = isIP(address);
  if (version === 0 || others.length > 0 || address.includes('%')) return false;
  if (bits === undefined) return true;
  if (!/^\d{1,3}$/.test(bits)) return false;
  try {
    new BlockList().addSubnet(address, Number(bits), version === 4 ? 'ipv4' : 'ipv6');
    return true;
  } catch {
    return false;
  }
}
