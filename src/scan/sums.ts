/**
 * The sums of the single directories of a unit, as a walk found them.
 *
 * They are kept so that a place that cannot be read keeps its last known bytes, while the rest of the unit
 * counts as usual. Directories are in the order of the visits, a parent before its contents, with name and
 * parent: 10,000 nested ones need 10,000 names, not 10,000 paths.
 */

export interface Sums {
  /** Index of the directory that holds this one; -1 for the unit itself, which is the first. */
  readonly parents: number[];
  readonly names: string[];
  /** Bytes of the files in it that have no other name. */
  readonly bytes: number[];
  /** The files with several names: once for each name that was found. */
  readonly links: HardLink[];
}

/** One name of a file that has several. */
interface HardLink {
  /** Index of the directory that holds the name. */
  readonly directory: number;
  /** Device and inode. */
  readonly file: string;
  readonly bytes: number;
}

export function newSums(): Sums {
  return { parents: [], names: [], bytes: [], links: [] };
}

/** Adds a directory and gives its index. */
export function addDirectory(sums: Sums, parent: number, name: string): number {
  sums.parents.push(parent);
  sums.names.push(name);
  return sums.bytes.push(0) - 1;
}

/** All bytes, those of a file with several names once. May pass 2^53 - 1; it is then not exact. */
export function totalOfSums(sums: Sums): number {
  const files = new Map(sums.links.map(link => [link.file, link.bytes]));
  let total = 0;
  for (const bytes of sums.bytes) total += bytes;
  for (const bytes of files.values()) total += bytes;
  return total;
}

/** The names from the unit down to a directory. */
export function namesTo(sums: Sums, directory: number): string[] {
  const names: string[] = [];
  for (let at = directory; at > 0; at = sums.parents[at] ?? -1) names.push(sums.names[at] ?? '');
  return names.reverse();
}

/** A place that could not be read: a directory with all below it, or only files that it holds itself. */
export interface UnreadSum {
  readonly directory: number;
  readonly extent: 'whole' | 'own';
}

/**
 * Puts into `sums` what `before` knows of the places that could not be read this time. Of a directory
 * with unreadable files the larger of both sums counts, since the files' own sizes are not known.
 */
export function carryOver(sums: Sums, before: Sums, places: readonly UnreadSum[]): void {
  const children = childrenOf(before);
  const linksIn = Map.groupBy(before.links, link => link.directory);
  const keep = (from: number, to: number): void => {
    sums.bytes[to] = Math.max(sums.bytes[to] ?? 0, before.bytes[from] ?? 0);
    for (const link of linksIn.get(from) ?? []) sums.links.push({ ...link, directory: to });
  };
  for (const { directory, extent } of places) {
    const from = find(children, namesTo(sums, directory));
    if (from === undefined) continue;
    keep(from, directory);
    if (extent === 'own') continue;
    const pending: [from: number, to: number][] = [[from, directory]];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const [parent, to] = next;
      for (const [name, child] of children.get(parent) ?? []) {
        const copy = addDirectory(sums, to, name);
        keep(child, copy);
        pending.push([child, copy]);
      }
    }
  }
}

type Children = ReadonlyMap<number, ReadonlyMap<string, number>>;

function childrenOf(sums: Sums): Children {
  const children = new Map<number, Map<string, number>>();
  sums.parents.forEach((parent, index) => {
    const names = children.get(parent) ?? new Map<string, number>();
    children.set(parent, names.set(sums.names[index] ?? '', index));
  });
  return children;
}

function find(children: Children, names: readonly string[]): number | undefined {
  return names.reduce<number | undefined>(
    (at, name) => (at === undefined ? undefined : children.get(at)?.get(name)),
    0,
  );
}
