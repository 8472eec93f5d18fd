/**
 * Tells the packs of pushes from those of a repack, by the objects in them.
 *
 * A repack puts a pack in place beside those, and the loose objects, that it was made of, and then removes
 * them. As long as one of them is there, all that it holds is there twice. A push's pack has objects that are
 * nowhere else. It has others as well only where it came as differences from those: git then writes them at
 * its end, and what it takes them from holds more than them. So where all that was counted is like that, its
 * sum is no repack's moment, whatever else goes on.
 */

import { readdirSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { beforeLook, encodePath } from '../layout/index.ts';
import { hasName, type PackIndex, readPackIndex } from './pack-index.ts';

/** The packs and loose objects that a walk has counted. */
export interface CountedObjects {
  /** The names of the packs, without their endings, in the order in which they came. */
  readonly packs: readonly { readonly stem: string; readonly isFresh: boolean }[];
  /** The names of the loose objects; null where they are too many. */
  readonly loose: readonly string[] | null;
}

/** More is not looked through: a second walk sees whether it settles. */
const mostFreshObjects = 50_000;
/** Of a million objects. */
const mostIndexBytes = 32 * 1024 * 1024;
const mostPacks = 200;

/** Objects that may also be in a pack which came later. */
interface Source {
  readonly objects: number;
  /** Those whose names begin with this byte, in order. */
  namesFrom(firstByte: number): Buffer;
}

/**
 * Tells whether a repack may have put one of the fresh packs there, and not have removed yet what is in it.
 * Takes milliseconds, and says yes where it would take longer, or where a pack that was counted has gone.
 */
export function mayHoldCopies(repository: string, { packs, loose }: CountedObjects): boolean {
  if (packs.length === 0) return false;
  const directory = `${repository}/objects/pack`;
  const nameBytes = nameBytesOf(packs.map(({ stem }) => stem));
  // False: only other files came or went just now, or packs went.
  const isTold = packs.some(({ isFresh }) => isFresh) && packs.length <= mostPacks;
  if (nameBytes === null || loose === null || !isTold) return true;
  try {
    const sources: Source[] = [looseSource(loose)];
    let freshObjects = 0;
    let bytesLeft = mostIndexBytes;
    for (const { stem, isFresh } of packs) {
      const index = readPackIndex(`${directory}/${stem}.idx`, nameBytes, bytesLeft);
      if (index === null) return true;
      bytesLeft -= index.bytes;
      if (isFresh) {
        freshObjects += index.objects;
        if (freshObjects > mostFreshObjects || !isOfPush(index, sources, nameBytes)) return true;
      }
      sources.push({ objects: index.objects, namesFrom: firstByte => index.namesFrom(firstByte).names });
    }
    // One that went meanwhile was counted, and nothing of it is found any more.
    return !areThere(directory, new Set(packs.map(({ stem }) => stem)));
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return true;
  }
}

/** Tells whether all that a pack has in common with others is at its end, and is the least of each. */
function isOfPush(pack: PackIndex, sources: readonly Source[], nameBytes: number): boolean {
  const common = new Set<number>();
  const commonWith = sources.map(() => 0);
  for (let firstByte = 0; firstByte < 256; firstByte++) {
    const { names, first } = pack.namesFrom(firstByte);
    if (names.length === 0) continue;
    for (const [which, source] of sources.entries()) {
      const others = source.namesFrom(firstByte);
      for (let at = 0; others.length > 0 && at < names.length; at += nameBytes) {
        if (!hasName(others, names.subarray(at, at + nameBytes))) continue;
        common.add(first + at / nameBytes);
        commonWith[which] = (commonWith[which] ?? 0) + 1;
      }
    }
  }
  if (common.size === 0) return true;
  const isLess = (part: number, whole: number): boolean => 2 * part < whole;
  const areLess = sources.every(
    ({ objects }, which) => commonWith[which] === 0 || isLess(commonWith[which] ?? 0, objects),
  );
  return areLess && isLess(common.size, pack.objects) && areLast(common, pack.offsets());
}

function areLast(common: ReadonlySet<number>, offsets: readonly number[] | null): boolean {
  if (offsets === null) return false;
  const first = Math.min(...[...common].map(at => offsets[at] ?? 0));
  return offsets.filter(offset => offset >= first).length === common.size;
}

function looseSource(loose: readonly string[]): Source {
  const byFirst = Map.groupBy(loose, name => Number.parseInt(name.slice(0, 2), 16));
  const namesFrom = (firstByte: number): Buffer =>
    Buffer.from((byFirst.get(firstByte) ?? []).sort().join(''), 'hex');
  return { objects: loose.length, namesFrom };
}

/** Names of packs tell how long the names of objects are; null where they do not. */
function nameBytesOf(stems: readonly string[]): number | null {
  const lengths = new Set(stems.map(stem => /^pack-((?:[0-9a-f]{2})+)$/.exec(stem)?.[1]?.length ?? 0));
  const [length = 0] = lengths;
  return lengths.size === 1 && (length === 40 || length === 64) ? length / 2 : null;
}

/** Tells whether these packs, and no others, are in a directory. */
function areThere(directory: string, stems: ReadonlySet<string>): boolean {
  beforeLook(directory);
  const packs = readdirSync(encodePath(directory)).filter(name => name.endsWith('.pack'));
  return packs.length === stems.size && packs.every(name => stems.has(name.slice(0, -'.pack'.length)));
}
