/** The definition of a key, its value by what was written, and what is wrong with that. */

import { printable } from '../text/index.ts';
import { maskBeforeAt, maskPassword } from './addresses.ts';
import type { ValueType } from './kinds.ts';

export interface Key<T> extends ValueType<T> {
  readonly section: string;
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
  readonly field: string;
  /** Gives a printed value as it may be shown; null for a secret. */
  readonly mask: (text: string) => string | null;
  /** Gives the value as it was written, sound or not, as it may be shown; null where nothing of it may. */
  readonly show: (text: string) => string | null;
}

type KeysOf<Values> = { readonly [Field in keyof Values]: Key<Values[Field]> };

export type ValuesOf<Keys> = {
  readonly [Field in keyof Keys]: Keys[Field] extends Key<infer Value> ? Value : never;
};

interface KeySpec {
  readonly text?: string;
  /** `none` unless given, where there is no `text`. */
  readonly words?: string;
  readonly doc: string;
  readonly example?: string;
  readonly restarts?: true;
  /** `whole`: never shown; `password`: an address, shown without its user and password. */
  readonly secret?: 'whole' | 'password';
}

/** Sections of which every change takes a restart. */
const readAtStart = new Set(['forge', 'metrics', 'reclaim', 'security', 'server', 'store', 'users']);

/** A key before its section, and the name of its value there, are known. */
type UnplacedKey<T> = (section: string, field: string) => Key<T>;

export function key<T>(name: string, kind: ValueType<T>, spec: KeySpec): UnplacedKey<T> {
  const { secret } = spec;
  return (section, field) => ({
    ...kind,
    section,
    field,
    name,
    text: spec.text ?? '',
    words: spec.words ?? (spec.text === undefined ? 'none' : null),
    doc: spec.doc,
    example: spec.example ?? null,
    reloads: spec.restarts !== true && !readAtStart.has(section),
    mask: text => (text === '' ? text : shownOf(text, secret, maskPassword)),
    show: text => shownOf(text, secret, maskBeforeAt),
  });
}

/** Defines the keys of one section, each under the name that its value has in a Config. */
export function keysOf<Values>(
  section: string,
  keys: { readonly [Field in keyof Values]: UnplacedKey<Values[Field]> },
): KeysOf<Values> {
  const placed = Object.entries<UnplacedKey<unknown>>(keys).map(([field, place]) => [
    field,
    place(section, field),
  ]);
  // The fields of `keys`, each with its own value.
  return Object.fromEntries(placed) as KeysOf<Values>;
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

/** Takes typed values out of what was written, and collects faults. Of one key the later entry counts. */
export class Values {
  readonly #entries: ReadonlyMap<string, ConfigEntry>;
  readonly #faulty = new Set<string>();
  readonly faults: ConfigFault[] = [];

  constructor(entries: readonly ConfigEntry[]) {
    this.#entries = new Map(entries.map(entry => [keyId(entry), entry]));
  }

  /** The value of a key; of a faulty one its default, so that everything else is looked at, too. */
  take<T>(key: Key<T>): T {
    const entry = this.#entries.get(keyId(key));
    if (entry === undefined) return defaultOf(key);
    const parsed = key.parse(entry.text);
    if (parsed.ok) return parsed.value;
    this.refuse(key, `${parsed.problem}. ${key.expected}.`);
    return defaultOf(key);
  }

  takeAll<Section>(keys: KeysOf<Section>): Section {
    const taken = Object.entries<Key<unknown>>(keys).map(([field, key]) => [field, this.take(key)]);
    // The fields of `keys`, each with its own value.
    return Object.fromEntries(taken) as Section;
  }

  takeSections<Sections extends Readonly<Record<string, KeysOf<object>>>>(
    sections: Sections,
  ): { readonly [Name in keyof Sections]: ValuesOf<Sections[Name]> } {
    const taken = Object.entries(sections).map(([name, keys]) => [name, this.takeAll(keys)]);
    // The names of `sections`, each with its own values.
    return Object.fromEntries(taken);
  }

  isGiven(key: Key<unknown>): boolean {
    return this.#entries.has(keyId(key));
  }

  /** Tells whether a fault of it is noted, so that what it came to means nothing. */
  isFaulty(key: Key<unknown>): boolean {
    return this.#faulty.has(keyId(key));
  }

  /** Notes a fault of what a key says; a key that is faulty in itself gets no second one. */
  refuse(key: Key<unknown>, message: string): void {
    if (this.isFaulty(key)) return;
    this.#faulty.add(keyId(key));
    const { section, name } = key;
    const entry = this.#entries.get(keyId(key));
    const value = entry === undefined ? null : key.show(entry.text);
    const place = { section, key: name, ...(value === null ? {} : { value }) };
    this.faults.push(faultAt(entry?.origin ?? null, { ...place, message }));
  }
}

/** Notes about those of the keys that were written and have no effect, since `missing` was not. */
export function withoutEffect(
  values: Values,
  missing: Key<unknown>,
  keys: readonly Key<unknown>[],
): readonly string[] {
  return keys
    .filter(key => key !== missing && values.isGiven(key))
    .map(({ section, name }) => `[${section}] has no ${missing.name}, so its ${name} has no effect.`);
}

export type ConfigOrigin =
  | { readonly in: 'file'; readonly file: string; readonly line: number }
  /** `file`: what a variable ending in `__FILE` names. */
  | { readonly in: 'variable'; readonly variable: string; readonly file: string | null };

/** One value, of a key that may or may not exist. */
export interface ConfigEntry {
  readonly section: string;
  readonly name: string;
  readonly text: string;
  readonly origin: ConfigOrigin;
}

export interface ConfigFault {
  /** The configuration's file, or the one that a `__FILE` variable names. */
  readonly file?: string;
  readonly variable?: string;
  readonly line?: number;
  readonly section?: string;
  readonly key?: string;
  /** Value as written; never there for secrets, and without the passwords of addresses. */
  readonly value?: string;
  /** Tells what is wrong, and what to write: whole sentences. */
  readonly message: string;
}

export interface ReadEntries {
  readonly entries: readonly ConfigEntry[];
  readonly faults: readonly ConfigFault[];
}

/** Identifies a key: two entries of one key have the same. */
export function keyId({ section, name }: { readonly section: string; readonly name: string }): string {
  return `${section}\0${name}`;
}

export function faultAt(
  origin: ConfigOrigin | null,
  rest: Omit<ConfigFault, 'file' | 'variable' | 'line'>,
): ConfigFault {
  if (origin === null) return rest;
  if (origin.in === 'file') return { file: origin.file, line: origin.line, ...rest };
  return { variable: origin.variable, ...(origin.file === null ? {} : { file: origin.file }), ...rest };
}

const longestShown = 120;

/** One fault a line: `app.ini:12: [quota.default] TOTAL = "10 gigs": not a size. …`. */
export function formatFaults(faults: readonly ConfigFault[]): string {
  return faults.map(formatFault).join('\n');
}

function formatFault(fault: ConfigFault): string {
  const section = fault.section === undefined ? [] : [`[${fault.section}]`];
  const value = fault.value === undefined ? [] : ['=', `"${shortened(fault.value)}"`];
  const subject = [...section, ...(fault.key === undefined ? [] : [fault.key, ...value])].join(' ');
  return printable([placeOf(fault), subject, fault.message].filter(part => part !== '').join(': '));
}

function placeOf({ file, line, variable }: ConfigFault): string {
  if (variable !== undefined) return file === undefined ? variable : `${variable} (${file})`;
  return file === undefined || line === undefined ? (file ?? '') : `${file}:${line}`;
}

function shortened(text: string): string {
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}...`;
}
