/** Returns the fields that are neither null nor undefined. */
export function given<Fields extends object>(
  fields: Fields,
): { -readonly [Name in keyof Fields]?: NonNullable<Fields[Name]> };
export function given(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}
