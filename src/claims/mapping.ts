/** "Map claimed groups to quota groups": an object of lists of names, as it is saved. */

/** A list of pairs rather than an object, so that no name, such as `__proto__`, is anything special. */
export type Mapping = readonly (readonly [claimed: string, quotaGroups: readonly string[]])[];

export type Mapped =
  | { readonly ok: true; readonly mapping: Mapping }
  /** Each with the place of the fault. */
  | { readonly ok: false; readonly faults: readonly string[] };

/** Reads `{"group at the provider": ["quota group", ...]}`, or its JSON text; an empty text is an empty mapping. */
export function mappingIn(value: unknown): Mapped {
  if (typeof value !== 'string') return mappingOf(value);
  if (value === '') return { ok: true, mapping: [] };
  let document: unknown;
  try {
    document = JSON.parse(value);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, faults: [`expected a JSON object, and it is no JSON: ${why}`] };
  }
  return mappingOf(document);
}

function mappingOf(document: unknown): Mapped {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    return {
      ok: false,
      faults: [
        `expected an object such as {"staff": ["gold"]}, of lists of quota groups, and it is ${kindOf(document)}`,
      ],
    };
  }
  const faults: string[] = [];
  const mapping = Object.entries(document).map(([claimed, groups]: [string, unknown]) => {
    if (!Array.isArray(groups)) {
      faults.push(
        `at ${JSON.stringify(claimed)}: expected a list of quota groups, and it is ${kindOf(groups)}`,
      );
      return [claimed, []] as const;
    }
    const names = groups.flatMap((group: unknown, index) => {
      if (typeof group === 'string') return [group];
      faults.push(
        `at ${JSON.stringify(claimed)}, number ${index + 1} of the list: expected the name of a quota group, and it is ${kindOf(group)}`,
      );
      return [];
    });
    return [claimed, names] as const;
  });
  return faults.length === 0 ? { ok: true, mapping } : { ok: false, faults };
}

/** Every quota group that a mapping names, each once. */
export function quotaGroupsIn(mapping: Mapping): ReadonlySet<string> {
  return new Set(mapping.flatMap(([, groups]) => groups));
}

/** What a JSON value is, for a person. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  switch (typeof value) {
    case 'string':
      return 'a text';
    case 'boolean':
      return String(value);
    case 'number':
      return 'a number';
    default:
      return 'an object';
  }
}
