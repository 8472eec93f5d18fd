/** Owners of repositories whose paths do not contain them, in columns that a thread can transfer. */

/** A possible owner of a repository. */
export interface Claim {
  readonly ownerId: number;
  readonly isPublic: boolean;
  /** Name for people, such as `group/project`. */
  readonly title: string;
  /** True if the original project is gone and this owner has a fork that still needs the pool. */
  readonly isInherited: boolean;
  /** True for a wiki whose path does not show it. */
  readonly isWiki: boolean;
  /** It is a replica that another storage of a Gitaly Cluster counts for the owner. */
  readonly isBilledElsewhere: boolean;
}

/** Rows by hashes of repository names, ascending; a repository may have several. */
export interface PlaceColumns {
  readonly hashes: Float64Array;
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
const elsewhereFlag = 8;

/** Orders rows by hash; the claims of one repository keep their order. */
export function placeColumns(hashes: readonly number[], claims: readonly Claim[]): PlaceColumns {
  const order = Uint32Array.from(hashes.keys()).sort((a, b) => (hashes[a] ?? 0) - (hashes[b] ?? 0) || a - b);
  const ordered = Array.from(order, at => claims[at]).filter(claim => claim !== undefined);
  let end = 0;
  return {
    hashes: Float64Array.from(order, at => hashes[at] ?? 0),
    ownerIds: Float64Array.from(ordered, ({ ownerId }) => ownerId),
    flags: Uint8Array.from(
      ordered,
      ({ isPublic, isInherited, isWiki, isBilledElsewhere }) =>
        (isPublic ? publicFlag : 0) |
        (isInherited ? inheritedFlag : 0) |
        (isWiki ? wikiFlag : 0) |
        (isBilledElsewhere ? elsewhereFlag : 0),
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
    found.push({
      ownerId: ownerIds[row] ?? 0,
      isPublic: (flag & publicFlag) !== 0,
      title: titles.slice(titleEnds[row - 1] ?? 0, titleEnds[row]),
      isInherited: (flag & inheritedFlag) !== 0,
      isWiki: (flag & wikiFlag) !== 0,
      isBilledElsewhere: (flag & elsewhereFlag) !== 0,
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
