/** The places inside a unit that are not its own, by name. */

/** Names by the directory that they lie in; one without names below it is itself meant. */
export type Names = ReadonlyMap<string, Names>;

export const noNames: Names = new Map();

/** The names of these paths in a unit. */
export function namesWithin(unit: string, inner: readonly string[]): Names {
  const top = new Map<string, Names>();
  for (const path of inner) {
    let at: Map<string, Names> = top;
    for (const name of path.slice(unit.length).split('/')) {
      if (name === '') continue;
      // Every map below `top` is made here.
      const next = (at.get(name) as Map<string, Names> | undefined) ?? new Map<string, Names>();
      at.set(name, next);
      at = next;
    }
  }
  return top;
}
