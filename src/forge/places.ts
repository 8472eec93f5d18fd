/** Owners of repositories whose paths do not contain them, in columns that a thread can transfer. */

/** A possible owner of a repository. */
export interface Claim {
  /** Null: it is a replica that another storage of a Gitaly Cluster counts for the owner. */
  readonly ownerId: number | null;
  readonly isPublic: boolean;
  /** Name for people, such as `group/project`. */
  readonly title: string;
  /** True if the original project is gone and this owner has a fork that still needs the pool. */
  readonly isInherited: boolean;
  /** True for a wiki whose path does not show it. */
  readonly isWiki: boolean;
}

/** Rows by hashes of repository names, ascending; a repository may have several. */
export interface PlaceColumns {
  readonly hashes: Float64Array;
  /** NaN where the `ownerId` of a claim is null. */
  readonly ownerIds: Float64Array;
  readonly flags: Uint8Array;
  /** All titles, joined. */
  readonly titles: string;
  /** End of each row's title in `titles`. */
  readonly titleEnds: Float64Array;
}

const publicFlag = 1;
const inheritedFlag = 2;
const wikiFlag = 4;

/** Orders rows by hash; the claims of one repository keep their order. */
export function placeColumns(hashes: readonly number[], claims: readonly Claim[]): PlaceColumns {
  const order = Uint32Array.from(hashes.keys()).sort((a, b) => (hashes[a] ?? 0) - (hashes[b] ?? 0) || a - b);
  const ordered = Array.from(order, at => claims[at]).filter(claim => claim !== undefined);
  let end = 0;
  return {
    hashes: Float64Array.from(order, at => hashes[at] ?? 0),
    ownerIds: Float64Array.from(ordered, ({ ownerId }) => ownerId ?? Number.NaN),
    flags: Uint8Array.from(
      ordered,
      ({ isPublic, isInherited, isWiki }) =>
        (isPublic ? publicFlag : 0) | (isInherited ? inheritedFlag : 0) | (isWiki ? wikiFlag : 0),
    ),
    titles: ordered.map(({ title }) => title).join(''),
    titleEnds: Float64Array.from(ordered, ({ title }) => {
      end += title.length;
      return end;
    }),
  };
}

/**
 * Returns the claims on a repository. The first one counts, unless another owner's usage includes it already.
 */
export function claimsIn(columns: PlaceColumns, hash: number): readonly Claim[] {
  const { hashes, ownerIds, flags, titles, titleEnds } = columns;
  const found: Claim[] = [];
  for (let row = firstRowOf(hashes, hash); hashes[row] === hash; row++) {
    const flag = flags[row] ?? 0;
    const ownerId = ownerIds[row] ?? Number.NaN;
    found.push({
      ownerId: Number.isNaN(ownerId) ? null : ownerId,
      isPublic: (flag & publicFlag) !== 0,
      title: titles.slice(titleEnds[row - 1] ?? 0, titleEnds[row]),
      isInherited: (flag & inheritedFlag) !== 0,
      isWiki: (flag & wikiFlag) !== 0,
    });
  }
  return found;
}

export function isAmong(sorted: Float64Array, wanted: number): boolean {
  return sorted[firstRowOf(sorted, wanted)] === wanted;
}

/** Returns the index of the first number in an ascending array that is not below the wanted one. */
export function firstRowOf(sorted: Float64Array, wanted: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
