/**
 * Finds the large files that a push brings, without running git: blobs in the packs and the loose objects of
 * its quarantine, by their unpacked sizes. Commits, trees and tags are no files.
 *
 * A blob that the repository had before does not count: git completes a pack with the bases of its deltas,
 * and a client may send again what is there. So large blobs are looked up in the objects of the repository
 * and in those that it borrows.
 *
 * Synchronous, for threads. Follows no link below a directory of objects.
 */

import { lstatSync } from 'node:fs';
import { OpenedFile } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { beforeLook, encodePath, entryAt, type LargeBlob, type LargeBlobsLook } from '../layout/index.ts';
import { alternatesOf } from './alternates.ts';
import { isFanOut } from './gitfiles.ts';
import { DamagedStream, inflateStart } from './inflated-start.ts';
import { Pack } from './pack.ts';
import { CannotTell, PackIndex } from './pack-index.ts';
import { listedEntries } from './quarantine.ts';

interface LargeBlobsQuestion {
  /** The directory of the quarantine. */
  readonly quarantine: string;
  /** The directory of the repository's objects. */
  readonly objects: string;
  /** Only blobs with more bytes are reported. */
  readonly overBytes: number;
  readonly deadlineMs: number;
}

/** Share of the deadline for the search; the rest is for the lookup of known objects. */
const searchShare = 0.7;
/** Number of blobs that are reported: a refusal names one, and more help little. */
const mostTold = 10;
/** Limit of the blobs of one pack: of more, only the largest are kept. */
const mostKept = 10_000;
const mostFiles = 200_000;
/** Files between two checks of the deadline. */
const filesEach = 100;
/** The most bytes that one deflated byte can hold. */
const mostInflatedBytes = 1032;
const longestLooseHead = 512;
const looseHead = /^(blob|commit|tree|tag) (\d{1,16})\0/;
/** Lengths of ids in hexadecimal digits. */
const idLengths = [40, 64];

/**
 * Looks for blobs larger than `overBytes`. Returns `unknown` if none is found but some objects could not be
 * read in time, or if the lookup of known objects fails.
 */
export function lookForLargeBlobs(question: LargeBlobsQuestion): LargeBlobsLook {
  const { quarantine, objects, overBytes, deadlineMs } = question;
  const begun = performance.now();
  const within = (milliseconds: number) => (): void => {
    if (performance.now() > begun + milliseconds) throw new CannotTell('there was not enough time');
  };
  const search = new Search(overBytes, within(searchShare * deadlineMs));
  search.lookIn(quarantine);
  try {
    const found = search.largestFirst;
    const told = found.length === 0 ? [] : withoutKnown(found, objects, within(deadlineMs));
    return told.length === 0 && search.untold !== null
      ? { is: 'unknown', why: search.untold }
      : { is: 'seen', blobs: told };
  } catch (error) {
    return { is: 'unknown', why: whyUntold(error) };
  }
}

/** Returns the reason why objects cannot be read; throws any other error. */
function whyUntold(error: unknown): string {
  if (error instanceof CannotTell) return error.message;
  const code = systemCode(error);
  if (code === null) throw error;
  return `the objects cannot be read: ${code}`;
}

interface LooseFile {
  readonly object: string;
  readonly path: string;
  /** The compressed size. */
  readonly bytes: number;
}

/** The search of a quarantine for blobs over a size. */
class Search {
  /** Why blobs may be missing; null: none is known to be. */
  untold: string | null = null;
  readonly #overBytes: number;
  readonly #mayGoOn: () => void;
  /** The sizes of those found, by their ids. */
  readonly #blobs = new Map<string, number>();
  readonly #loose: LooseFile[] = [];

  /** `mayGoOn` is called now and then, and throws `CannotTell` once the time is over. */
  constructor(overBytes: number, mayGoOn: () => void) {
    this.#overBytes = overBytes;
    this.#mayGoOn = mayGoOn;
  }

  get largestFirst(): readonly LargeBlob[] {
    const blobs = Array.from(this.#blobs, ([object, bytes]) => ({ object, bytes }));
    return blobs.sort((a, b) => b.bytes - a.bytes);
  }

  lookIn(quarantine: string): void {
    this.#attempt(() => {
      for (const entry of listedEntries(quarantine)) {
        const below = `${quarantine}/${entry.name}`;
        if (!entry.isDirectory()) continue;
        this.#attempt(() => {
          if (entry.name === 'pack') this.#addPacked(below);
          else if (isFanOut(entry.name)) this.#findLoose(below, entry.name);
        });
      }
    });
    this.#attempt(() => this.#addLoose());
  }

  /** Runs one step. If an object cannot be read, the reason is recorded, and other steps go on. */
  #attempt(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.untold ??= whyUntold(error);
    }
  }

  #addPacked(directory: string): void {
    for (const { name } of filesIn(directory, this.#mayGoOn)) {
      const [, sum] = /^pack-([0-9a-f]+)\.pack$/.exec(name) ?? [];
      if (sum !== undefined) this.#attempt(() => this.#addFromPack(`${directory}/pack-${sum}`, sum));
    }
  }

  #addFromPack(path: string, sum: string): void {
    if (!idLengths.includes(sum.length)) throw new CannotTell('a pack has an unknown kind of name');
    const pack = Pack.open(path, sum.length / 2, this.#mayGoOn);
    try {
      const blobs = pack.largeBlobs(this.#overBytes, mostKept, step => this.#attempt(step));
      for (const { bytes, place } of blobs) this.#blobs.set(pack.index.idAt(place).toString('hex'), bytes);
    } finally {
      pack.close();
    }
  }

  #findLoose(directory: string, firstByte: string): void {
    for (const { name } of filesIn(directory, this.#mayGoOn)) {
      if (!/^[0-9a-f]{38}$|^[0-9a-f]{62}$/.test(name)) continue;
      const path = `${directory}/${name}`;
      beforeLook(path);
      const bytes = lstatSync(encodePath(path), { throwIfNoEntry: false })?.size ?? 0;
      // A smaller file cannot hold so many bytes, so nearly all files need not be read.
      if (bytes * mostInflatedBytes >= this.#overBytes)
        this.#loose.push({ object: firstByte + name, path, bytes });
    }
  }

  /** Reads the heads of loose objects, those of the largest files first, since time may run out. */
  #addLoose(): void {
    for (const [at, { object, path }] of this.#loose.toSorted((a, b) => b.bytes - a.bytes).entries()) {
      if (at % filesEach === 0) this.#mayGoOn();
      this.#attempt(() => {
        beforeLook(path);
        const bytes = looseBlobBytes(path);
        if (bytes !== null && bytes > this.#overBytes) this.#blobs.set(object, bytes);
      });
    }
  }
}

/** Returns the unpacked size of a loose object; null: it is no blob. */
function looseBlobBytes(path: string): number | null {
  const file = OpenedFile.open(encodePath(path));
  if (file === null) throw new CannotTell('a loose object is no regular file');
  try {
    const start = Buffer.alloc(32);
    const length = inflateStart(file.read(Buffer.allocUnsafe(longestLooseHead), 0), 0, start);
    const [, type, digits] = looseHead.exec(start.toString('latin1', 0, length)) ?? [];
    const bytes = Number(digits);
    if (type === undefined || !Number.isSafeInteger(bytes)) throw new DamagedStream();
    return type === 'blob' ? bytes : null;
  } catch (error) {
    throw error instanceof DamagedStream ? new CannotTell('a loose object is damaged') : error;
  } finally {
    file.close();
  }
}

function* filesIn(directory: string, mayGoOn: () => void) {
  let files = 0;
  for (const entry of listedEntries(directory)) {
    if (files % filesEach === 0) mayGoOn();
    files += 1;
    if (files > mostFiles) throw new CannotTell(`there are more than ${mostFiles} files`);
    if (entry.isFile()) yield entry;
  }
}

/**
 * Returns the largest blobs that a repository does not have, neither itself nor borrowed. `blobs` and the
 * result: the largest first.
 */
function withoutKnown(
  blobs: readonly LargeBlob[],
  objects: string,
  mayGoOn: () => void,
): readonly LargeBlob[] {
  const directories = withAlternates(objects, mayGoOn);
  const knownAmong = (ids: readonly string[]): ReadonlySet<string> => {
    try {
      return knownIn(directories, ids, mayGoOn);
    } catch (error) {
      // A gc may have replaced a pack meanwhile, so try once more.
      if (error instanceof CannotTell || systemCode(error) === 'ENOENT')
        return knownIn(directories, ids, mayGoOn);
      throw error;
    }
  };
  // Most blobs of pushes are new, so only a few are looked up at first.
  for (let from = 0, count = mostTold; from < blobs.length; from += count, count *= 10) {
    const next = blobs.slice(from, from + count);
    const known = knownAmong(next.map(({ object }) => object));
    const told = next.filter(({ object }) => !known.has(object));
    if (told.length > 0) return told.slice(0, mostTold);
  }
  if (blobs.length >= mostKept) throw new CannotTell('too many large files are in the repository already');
  return [];
}

/** Looks up loose objects first: a gc packs them before it removes them. */
function knownIn(
  directories: readonly string[],
  objects: readonly string[],
  mayGoOn: () => void,
): ReadonlySet<string> {
  const known = new Set<string>();
  for (const directory of directories)
    for (const object of objects) {
      mayGoOn();
      if (entryAt(`${directory}/${object.slice(0, 2)}/${object.slice(2)}`) === 'other') known.add(object);
    }
  for (const directory of directories) {
    const packs = `${directory}/pack`;
    if (entryAt(packs) === 'link') throw new CannotTell('the packs of the repository are behind a link');
    for (const { name } of filesIn(packs, mayGoOn)) {
      if (!name.endsWith('.idx') || known.size === objects.length) continue;
      const index = PackIndex.open(`${packs}/${name}`, (objects[0]?.length ?? 0) / 2);
      try {
        for (const object of objects) {
          mayGoOn();
          if (!known.has(object) && index.find(Buffer.from(object, 'hex')) !== null) known.add(object);
        }
      } finally {
        index.close();
      }
    }
  }
  return known;
}

/** Returns a directory of objects and all directories from which it borrows. */
function withAlternates(objects: string, mayGoOn: () => void): readonly string[] {
  const all = [objects];
  for (const directory of alternatesOf(objects, true)) {
    mayGoOn();
    all.push(directory);
  }
  return all;
}
