/** The names of fields in our JSON, which are snake_case everywhere, as Forgejo's API has it. */

/** Names that another one gave: Forgejo's clients read `used.size.git.LFS`. */
const given: ReadonlySet<string> = new Set(['LFS']);

/** Fields whose keys are data: subjects, groups at a provider, git's hooks. */
const keyedByData: ReadonlySet<string> = new Set(['decisions', 'quota_group_map', 'hooks']);

function isOdd(name: string): boolean {
  return !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name) && !given.has(name);
}

/** Keys of a JSON value that are not snake_case, each by where it is, in order. */
export function oddKeys(json: unknown): readonly string[] {
  const found = new Set<string>();
  const look = (value: unknown, where: string, isData: boolean): void => {
    if (Array.isArray(value)) for (const each of value) look(each, `${where}[]`, false);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, field] of Object.entries(value)) {
        const at = where === '' ? name : `${where}.${name}`;
        if (!isData && isOdd(name)) found.add(at);
        look(field, at, keyedByData.has(name));
      }
    }
  };
  look(json, '', false);
  return [...found].sort();
}

/** Fields and parameters of an OpenAPI document that are not snake_case, each by where it is, in order. */
export function oddNamesIn(document: unknown): readonly string[] {
  const found = new Set<string>();
  const look = (value: unknown, where: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const { properties, in: place, name } = value as Readonly<Record<string, unknown>>;
    if (typeof properties === 'object' && properties !== null) {
      for (const field of Object.keys(properties).filter(isOdd)) found.add(`${where}.${field}`);
    }
    if (typeof name === 'string' && (place === 'query' || place === 'path') && isOdd(name)) {
      found.add(`${where}?${name}`);
    }
    for (const [key, each] of Object.entries(value)) look(each, `${where}/${key}`);
  };
  look(document, '');
  return [...found].sort();
}
