/** The names of fields: camelCase in code, snake_case in all JSON that others read. */

type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** A value with the names of its fields, and of fields inside, in snake_case. */
type SnakeCased<Value> = Value extends readonly (infer Entry)[]
  ? readonly SnakeCased<Entry>[]
  : Value extends object
    ? { readonly [Name in keyof Value as SnakeCase<Name>]: SnakeCased<Value[Name]> }
    : Value;

/** Gives JSON with the same fields in the same order, for values whose names are fields, not data. */
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
