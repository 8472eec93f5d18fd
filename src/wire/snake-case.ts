/** Names of fields: camelCase in code, snake_case in public JSON. */

type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** Converts the names of all fields to snake_case, at any depth. */
type SnakeCased<Value> = Value extends readonly (infer Entry)[]
  ? readonly SnakeCased<Entry>[]
  : Value extends object
    ? { readonly [Name in keyof Value as SnakeCase<Name>]: SnakeCased<Value[Name]> }
    : Value;

/**
 * Converts the names of all fields to snake_case, in the same order. All keys must be names of fields, not
 * data.
 */
export function snakeCased<Value>(value: Value): SnakeCased<Value>;
export function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(each => snakeCased(each));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, each]) => [
    name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
    snakeCased(each),
  ]);
  return Object.fromEntries(fields);
}
