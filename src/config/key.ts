/** The definition of one key of the configuration, and what follows from it alone. */

import { maskBeforeAt, maskPassword } from './addresses.ts';
import type { Config } from './config.ts';
import type { Parsed, ValueType } from './kinds.ts';

export interface Key<T> {
  /** In lower case. */
  readonly section: string;
  /** In capitals. */
  readonly name: string;
  /** The default, as it would be written. */
  readonly text: string;
  /** The default for people, where `text` does not say it. */
  readonly words: string | null;
  /** One or two sentences for administrators, the first of which stands alone. */
  readonly doc: string;
  /** An example of a value, where the default is empty. */
  readonly example: string | null;
  /** Tells whether a reload takes it; else it takes a restart. */
  readonly reloads: boolean;
  /** The value to write, as a sentence. */
  readonly expected: string;
  readonly parse: (text: string) => Parsed<T>;
  /** Gives the value of the key in a configuration. */
  readonly of: (config: Config) => ReadValue<T>;
  /** Gives the value as it was written, sound or not, as it may be shown; null where nothing of it may. */
  readonly show: (text: string) => string | null;
}

export interface ReadValue<T> {
  readonly value: T;
  /** Read as the same value. */
  readonly text: string;
  /** The text as it may be shown; null for a secret. */
  readonly shown: string | null;
}

export interface KeySpec<T> {
  readonly text?: string;
  readonly words?: string;
  readonly doc: string;
  readonly example?: string;
  readonly reloads?: true;
  /** `whole`: never shown; `password`: an address, shown without its user and password. */
  readonly secret?: 'whole' | 'password';
  readonly of: (config: Config) => NoInfer<T>;
}

/** Defines the keys of one section: `keysOf('users')('CASE', …)`. */
export function keysOfSection(
  section: string,
): <T>(name: string, kind: ValueType<T>, spec: KeySpec<T>) => Key<T> {
  return (name, kind, spec) => defineKey(section, name, kind, spec);
}

function defineKey<T>(section: string, name: string, kind: ValueType<T>, spec: KeySpec<T>): Key<T> {
  const { secret, of } = spec;
  return {
    section,
    name,
    text: spec.text ?? '',
    words: spec.words ?? null,
    doc: spec.doc,
    example: spec.example ?? null,
    reloads: spec.reloads ?? false,
    expected: kind.expected,
    parse: kind.parse,
    of: config => outcomeOf(kind, of(config), secret),
    show: text => shownOf(text, secret, maskBeforeAt),
  };
}

function outcomeOf<T>(kind: ValueType<T>, value: T, secret: KeySpec<T>['secret']): ReadValue<T> {
  const text = kind.print(value);
  return { value, text, shown: text === '' ? text : shownOf(text, secret, maskPassword) };
}

function shownOf(
  text: string,
  secret: KeySpec<unknown>['secret'],
  mask: (text: string) => string,
): string | null {
  if (secret === undefined) return text;
  return secret === 'whole' ? null : mask(text);
}

/** The default's value. A default that its own kind refuses is a mistake in the definition. */
export function defaultOf<T>(key: Key<T>): T {
  const parsed = key.parse(key.text);
  if (parsed.ok) return parsed.value;
  throw new TypeError(`the default of [${key.section}] ${key.name} is ${parsed.problem}`);
}
