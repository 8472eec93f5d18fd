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
  readonly of: (config: Config) => ReadValue;
  /** Gives the value as it was written, sound or not, as it may be shown; null where nothing of it may. */
  readonly show: (text: string) => string | null;
}

/** The keys of a section, by the names of their values. */
export type KeysOf<Values> = { readonly [Field in keyof Values]: Key<Values[Field]> };

interface ReadValue {
  readonly value: unknown;
  /** Read as the same value. */
  readonly text: string;
  /** The text as it may be shown; null for a secret. */
  readonly shown: string | null;
}

interface KeySpec {
  readonly text?: string;
  /** `none` unless given, where there is no `text`. */
  readonly words?: string;
  readonly doc: string;
  readonly example?: string;
  /** A change takes a restart. */
  readonly restarts?: true;
  /** `whole`: never shown; `password`: an address, shown without its user and password. */
  readonly secret?: 'whole' | 'password';
}

/** Sections of which every change takes a restart. */
const readAtStart = new Set(['forge', 'metrics', 'reclaim', 'security', 'server', 'store', 'users']);

/** A key before its section is known. */
interface UnplacedKey<T> {
  readonly name: string;
  readonly kind: ValueType<T>;
  readonly spec: KeySpec;
}

export function key<T>(name: string, kind: ValueType<T>, spec: KeySpec): UnplacedKey<T> {
  return { name, kind, spec };
}

/**
 * Defines the keys of one section, each under the name that its value has in a Config. `find` gives the
 * object there that has them; where it has none, a key has its default.
 */
export function keysOf<Values>(
  name: string,
  find: (config: Config) => NoInfer<Partial<Values>> | null | undefined,
  keys: { readonly [Field in keyof Values]: UnplacedKey<Values[Field]> },
): KeysOf<Values> {
  const placed = <Field extends keyof Values>(field: Field) =>
    defineKey<Values[Field]>(name, keys[field], config => {
      const values: Partial<Values> | null | undefined = find(config);
      return values?.[field];
    });
  // Object.keys and Object.fromEntries forget the names of fields.
  const fields = Object.keys(keys) as (keyof Values)[];
  return Object.fromEntries(fields.map(field => [field, placed(field)])) as KeysOf<Values>;
}

function defineKey<T>(
  section: string,
  { name, kind, spec }: UnplacedKey<T>,
  read: (config: Config) => T | undefined,
): Key<T> {
  const { secret } = spec;
  const defined: Key<T> = {
    section,
    name,
    text: spec.text ?? '',
    words: spec.words ?? (spec.text === undefined ? 'none' : null),
    doc: spec.doc,
    example: spec.example ?? null,
    reloads: spec.restarts !== true && !readAtStart.has(section),
    expected: kind.expected,
    parse: kind.parse,
    of: config => {
      const given = read(config);
      const value = given === undefined ? defaultOf(defined) : given;
      const text = kind.print(value);
      return { value, text, shown: text === '' ? text : shownOf(text, secret, maskPassword) };
    },
    show: text => shownOf(text, secret, maskBeforeAt),
  };
  return defined;
}

function shownOf(text: string, secret: KeySpec['secret'], mask: (text: string) => string): string | null {
  if (secret === undefined) return text;
  return secret === 'whole' ? null : mask(text);
}

/** The default's value. A default that its own kind refuses is a mistake in the definition. */
export function defaultOf<T>(key: Key<T>): T {
  const parsed = key.parse(key.text);
  if (parsed.ok) return parsed.value;
  throw new TypeError(`the default of [${key.section}] ${key.name} is ${parsed.problem}`);
}
