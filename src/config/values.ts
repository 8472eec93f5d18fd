/** Takes typed values out of what was given, and collects what is wrong with them. */

import { type ConfigEntry, type ConfigFault, configFaultOf, keyId } from './fault.ts';
import { defaultOf, type Key, type KeysOf } from './key.ts';

export interface Values {
  /**
   * The value of a key. A faulty one is noted and its default returned, so that everything else
   * is looked at too; a Config made of it must not be used.
   */
  readonly take: <T>(key: Key<T>) => T;
  /** The values of all keys of a section, in the same way. */
  readonly takeAll: <Section>(keys: KeysOf<Section>) => Section;
  /** Tells whether a value was written. */
  readonly isGiven: (key: Key<unknown>) => boolean;
  /** Tells whether a fault of it is noted, so that what it came to means nothing. */
  readonly isFaulty: (key: Key<unknown>) => boolean;
  /** Notes a fault of what a key says; a key that is faulty in itself gets no second one. */
  readonly refuse: (key: Key<unknown>, message: string) => void;
  readonly faults: readonly ConfigFault[];
}

/** Takes the later of two entries of one key. */
export function valuesOf(entries: readonly ConfigEntry[]): Values {
  const byKey = new Map(entries.map(entry => [keyId(entry), entry]));
  const faults: ConfigFault[] = [];
  const faulty = new Set<string>();
  const refuse = (key: Key<unknown>, message: string): void => {
    const place = keyId(key);
    if (faulty.has(place)) return;
    faulty.add(place);
    faults.push(configFaultOf(key, byKey.get(place) ?? null, message));
  };
  const take = <T>(key: Key<T>): T => {
    const entry = byKey.get(keyId(key));
    if (entry === undefined) return defaultOf(key);
    const parsed = key.parse(entry.text);
    if (parsed.ok) return parsed.value;
    refuse(key, `${parsed.problem}. ${key.expected}.`);
    return defaultOf(key);
  };
  return {
    take,
    takeAll: <Section>(keys: KeysOf<Section>) =>
      // The fields of `keys`, each with its own value.
      Object.fromEntries(
        Object.entries<Key<unknown>>(keys).map(([field, key]) => [field, take(key)]),
      ) as Section,
    isGiven: key => byKey.has(keyId(key)),
    isFaulty: key => faulty.has(keyId(key)),
    refuse,
    faults,
  };
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
