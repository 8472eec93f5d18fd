/** Defines keys, reads their values, and describes faults of these. */

import { printable, shortened } from '../text.ts';
import type { ValueType } from './kinds.ts';

export interface Key<T> extends ValueType<T> {
  readonly section: string;
  readonly name: string;
  /** The default, as it would be written. */
  readonly text: string;
  /** The default for people, if `text` does not say it. */
  readonly words: string | null;
  /** One or two sentences for administrators, the first of which stands alone. */
  readonly doc: string;
  /** An example of a value, if the default is empty. */
  readonly example: string | null;
  /** True if a reload applies changes; else they need a restart. */
  readonly reloads: boolean;
  readonly field: string;
  /** Masks a printed value, so that it may be shown; returns null for a secret. */
  readonly mask: (text: string) => string | null;
  /** Masks a value as it was written, valid or not; returns null if nothing of it may be shown. */
  readonly show: (text: string) => string | null;
}

type KeysOf<Values> = { readonly [Field in keyof Values]: Key<Values[Field]> };

export type ValuesOf<Keys> = {
  readonly [Field in keyof Keys]: Keys[Field] extends Key<infer Value> ? Value : never;
};

interface KeySpec {
  readonly text?: string;
  /** `none` unless given, if there is no `text`. */
  readonly words?: string;
  readonly doc: string;
  readonly example?: string;
  readonly restarts?: true;
  /** `whole`: never shown; `password`: an address, shown without its user and password. */
  readonly secret?: 'whole' | 'password';
}

/** Sections in which every change needs a restart. */
const readAtStart = new Set(['forge', 'metrics', 'reclaim', 'security', 'server', 'store', 'users']);

/** A key without its section, and without the name of its value there. */
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
    show: text => shownOf(text, secret, maskUnsound),
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

const masked = '********';

/** A sound address without its user and password. */
function maskPassword(address: string): string {
  return address.replace(/^([a-z+]+:\/\/)[^/]*@/i, `$1${masked}@`);
}

/**
 * Shows scheme, host and path of a text that was meant as an address: all else may be a password. A path of
 * SQLite has none.
 */
function maskUnsound(text: string): string {
  if (text.trimStart().startsWith('sqlite:')) return text;
  const [, scheme = '', rest = ''] = /^([a-z+]+:\/\/)?(.*)$/is.exec(text) ?? [];
  const at = rest.lastIndexOf('@');
  const end = rest.search(/[\s#&;=?]/);
  const shown = rest.slice(at + 1, end === -1 ? rest.length : end);
  return `${scheme}${at === -1 ? '' : `${masked}@`}${shown}${end === -1 ? '' : masked}`;
}

/** The default value. Throws a TypeError if the definition has an invalid default. */
export function defaultOf<T>(key: Key<T>): T {
  const parsed = key.parse(key.text);
  if (parsed.ok) return parsed.value;
  throw new TypeError(`the default of [${key.section}] ${key.name} is ${parsed.problem}`);
}

/** Reads typed values from entries, and collects faults. The later entry of a key counts. */
export class Values {
  readonly #entries: ReadonlyMap<string, ConfigEntry>;
  readonly #faulty = new Set<string>();
  readonly faults: ConfigFault[] = [];

  constructor(entries: readonly ConfigEntry[]) {
    this.#entries = new Map(entries.map(entry => [keyId(entry), entry]));
  }

  /** The value of a key; the default if it is faulty, so that everything else is checked, too. */
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

  /** Returns true if the key has a fault, so that its value means nothing. */
  isFaulty(key: Key<unknown>): boolean {
    return this.#faulty.has(keyId(key));
  }

  /** Adds a fault of a key, unless the key has one already. */
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

/** Notes about keys that are set without effect, because `missing` is not set. */
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
  /** Value as written; absent for secrets, and without the passwords of addresses. */
  readonly value?: string;
  /** Whole sentences about what is wrong, and what to write. */
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
  const value = fault.value === undefined ? [] : ['=', `"${shortened(fault.value, longestShown)}"`];
  const subject = [...section, ...(fault.key === undefined ? [] : [fault.key, ...value])].join(' ');
  return printable([placeOf(fault), subject, fault.message].filter(part => part !== '').join(': '));
}

function placeOf({ file, line, variable }: ConfigFault): string {
  if (variable !== undefined) return file === undefined ? variable : `${variable} (${file})`;
  return file === undefined || line === undefined ? (file ?? '') : `${file}:${line}`;
}
