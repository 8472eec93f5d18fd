/** "Map claimed groups to quota groups": an object of lists of names, as it is saved. */

import { messageOf } from '../errors.ts';

/** Limit of a mapping in characters of JSON, which is parsed in one step. */
const longestMappingText = 512 * 1024;

/** Limit of groups at the provider, and of quota groups for each of them. */
const mostMapped = 20_000;

/** Limit of any name in a mapping, in characters. */
const longestMappedName = 1024;

/** JSON schema of a mapping in a request. */
export const mappingShape = {
  anyOf: [
    {
      type: 'object',
      maxProperties: mostMapped,
      additionalProperties: {
        type: 'array',
        maxItems: mostMapped,
        items: { type: 'string', maxLength: longestMappedName },
      },
    },
    { type: 'string', maxLength: longestMappingText },
    { type: 'null' },
  ],
};

const tooLong = `expected a name of at most ${longestMappedName} characters`;

/** Limit of the reported faults: many repetitions help nobody. */
const mostTold = 20;

/**
 * Pairs of a claimed group and its quota groups. In an object, a name such as `__proto__` would be special.
 */
export type Mapping = readonly (readonly [claimed: string, quotaGroups: readonly string[]])[];

type Mapped =
  | { readonly ok: true; readonly mapping: Mapping }
  /** Each fault says where it is. */
  | { readonly ok: false; readonly faults: readonly string[] };

/**
 * Reads `{"group at the provider": ["quota group", ...]}` or its JSON text. An empty text is an empty
 * mapping.
 */
export function mappingIn(value: unknown): Mapped {
  if (typeof value !== 'string') return mappingOf(value);
  if (value === '') return { ok: true, mapping: [] };
  if (value.length > longestMappingText) {
    return { ok: false, faults: [`expected a text of at most ${longestMappingText} characters`] };
  }
  let document: unknown;
  try {
    document = JSON.parse(value);
  } catch (error) {
    const why = messageOf(error);
    return { ok: false, faults: [`expected a JSON object; this is not valid JSON: ${why}`] };
  }
  return mappingOf(document);
}

function mappingOf(document: unknown): Mapped {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    const expected = 'expected an object such as {"staff": ["gold"]}, of lists of quota groups';
    return { ok: false, faults: [`${expected}, and it is ${claimKind(document)}`] };
  }
  const faults: string[] = [];
  let untold = 0;
  const tell = (words: () => string) => {
    if (faults.length < mostTold) faults.push(words());
    else untold += 1;
  };
  const entries: readonly [string, unknown][] = Object.entries(document);
  if (entries.length > mostMapped)
    tell(() => `expected at most ${mostMapped} groups, and it has ${entries.length}`);
  const mapping = entries.map(([claimed, groups]) => [claimed, groupsOf(claimed, groups, tell)] as const);
  if (untold > 0) faults.push(`and ${untold} more`);
  return faults.length === 0 ? { ok: true, mapping } : { ok: false, faults };
}

function groupsOf(claimed: string, groups: unknown, tell: (words: () => string) => void): readonly string[] {
  const at = () => `at ${JSON.stringify(claimed.slice(0, longestMappedName))}`;
  if (claimed.length > longestMappedName) tell(() => `${at()}…: ${tooLong}`);
  if (!Array.isArray(groups)) {
    tell(() => `${at()}: expected a list of quota groups, and it is ${claimKind(groups)}`);
    return [];
  }
  if (groups.length > mostMapped) tell(() => `${at()}: expected at most ${mostMapped} quota groups`);
  return groups.flatMap((group: unknown, index) => {
    const where = () => `${at()}, number ${index + 1} of the list`;
    if (typeof group !== 'string') {
      tell(() => `${where()}: expected the name of a quota group, and it is ${claimKind(group)}`);
      return [];
    }
    if (group.length > longestMappedName) tell(() => `${where()}: ${tooLong}`);
    return [group];
  });
}

export function quotaGroupsIn(mapping: Mapping): ReadonlySet<string> {
  return new Set(mapping.flatMap(([, groups]) => groups));
}

/** Limits of names in an event, and of the characters of a name. */
const mostUnmapped = 50;
const longestUnmapped = 255;

/** Returns the first claimed groups without a mapping, ordered by name, and their number. */
export function unmappedIn(claimed: readonly string[], mapping: Mapping) {
  const mapped = new Set(mapping.map(([name]) => name));
  const names = claimed.filter(name => !mapped.has(name)).sort();
  const cut = (name: string) => `${name.slice(0, longestUnmapped - 1).toWellFormed()}…`;
  const told = names.slice(0, mostUnmapped).map(name => (name.length <= longestUnmapped ? name : cut(name)));
  return { names: told, count: names.length };
}

/** Names the kind of a JSON value for people. */
export function claimKind(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? 'a text' : typeof value === 'number' ? 'a number' : 'an object';
}
