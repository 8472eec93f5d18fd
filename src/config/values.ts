/** Takes typed values out of what was given, and collects what is wrong with them. */

import { type ConfigEntry, type ConfigFault, configFaultOf, keyId } from './fault.ts';
import { defaultOf, type Key, type KeysOf } from './key.ts';

/** Takes the later of two entries of one key. */
export class Values {
  readonly #entries: ReadonlyMap<string, ConfigEntry>;
  readonly #faulty = new Set<string>();
  readonly faults: ConfigFault[] = [];

  constructor(entries: readonly ConfigEntry[]) {
    this.#entries = new Map(entries.map(entry => [keyId(entry), entry]));
  }

  /**
   * The value of a key. A faulty one is noted and its default returned, so that everything else
   * is looked at too; a Config made of it must not be used.
   */
  take<T>(key: Key<T>): T {
    const entry = this.#entries.get(keyId(key));
    if (entry === undefined) return defaultOf(key);
    const parsed = key.parse(entry.text);
    if (parsed.ok) return parsed.value;
    this.refuse(key, `${parsed.problem}. ${key.expected}.`);
    return defaultOf(key);
  }

  /** The values of all keys of a section, in the same way. */
  takeAll<Section>(keys: KeysOf<Section>): Section {
    const taken = Object.entries<Key<unknown>>(keys).map(([field, key]) => [field, this.take(key)]);
    // The fields of `keys`, each with its own value.
    return Object.fromEntries(taken) as Section;
  }

  /** Tells whether a value was written. */
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
    this.faults.push(configFaultOf(key, this.#entries.get(keyId(key)) ?? null, message));
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
