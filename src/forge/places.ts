/** The owners of repositories whose paths name none, as columns that a thread hands over. */

/** An owner for whom a repository may count. */
export interface Claim {
  readonly ownerId: number;
  readonly isPublic: boolean;
  /** The name by which people know the repository, such as `group/project`. */
  readonly title: string;
  /** The project that it was made from is gone, and this owner has one of those that need it still. */
  readonly isInherited: boolean;
  /** It is a wiki although its path does not say so. */
  readonly isWiki: boolean;
}

/** Rows by the hashes of the repositories' names, which ascend; one repository may have several. */
export interface PlaceColumns {
  readonly hashes: Float64Array;
  readonly ownerIds: Float64Array;
  readonly flags: Uint8Array;
  /** All titles one after the other. */
  readonly titles: string;
  /** The end of each row's title. */
  readonly titleEnds: Float64Array;
}

const publicFlag = 1;
const inheritedFlag = 2;
const wikiFlag = 4;

/** The hashes may come in any order; the claims of one repository keep theirs. */
export function placeColumns(hashes: readonly number[], claims: readonly Claim[]): PlaceColumns {
  const order = Uint32Array.from(hashes.keys()).sort((a, b) => (hashes[a] ?? 0) - (hashes[b] ?? 0) || a - b);
  const ordered = Array.from(order, at => claims[at]).filter(claim => claim !== undefined);
  let end = 0;
  return {
    hashes: Float64Array.from(order, at => hashes[at] ?? 0),
    ownerIds: Float64Array.from(ordered, ({ ownerId }) => ownerId),
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

/** The claims on a repository: the first one counts unless another's owner has counted it before. */
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
    });
  }
  return found;
}

export function isAmong(sorted: Float64Array, wanted: number): boolean {
  return sorted[firstRowOf(sorted, wanted)] === wanted;
}

/** The place of the first number, among others in ascending order, that is not below the wanted one. */
export function firstRowOf(sorted: Float64Array, wanted: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
