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

import { lstatSync, realpathSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { OpenedFile, readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import {
  beforeLook,
  decodePath,
  encodePath,
  entryAt,
  type LargeBlob,
  type LargeBlobsLook,
} from '../layout/index.ts';
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
export const mostAlternates = 100;
/** git follows no longer chain of alternates. */
export const mostAlternateSteps = 6;
const mostAlternatesBytes = 64 * 1024;

/** The blobs over a size, by their ids, and why these may not be all. */
class Findings {
  readonly blobs = new Map<string, number>();
  /** Why blobs may be missing; null: none is known to be. */
  untold: string | null = null;

  /** Runs one step. If an object cannot be read, the reason is recorded, and other steps go on. */
  attempt(look: () => void): void {
    try {
      look();
    } catch (error) {
      this.untold ??= whyUntold(error);
    }
  }

  get largestFirst(): readonly LargeBlob[] {
    const blobs = Array.from(this.blobs, ([object, bytes]) => ({ object, bytes }));
    return blobs.sort((a, b) => b.bytes - a.bytes);
  }
}

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
  const found = findIn(quarantine, overBytes, within(searchShare * deadlineMs));
  const { largestFirst: blobs, untold } = found;
  try {
    const told = blobs.length === 0 ? [] : new KnownObjects(objects, within(deadlineMs)).withoutKnown(blobs);
    return told.length === 0 && untold !== null
      ? { is: 'unknown', why: untold }
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

function findIn(quarantine: string, overBytes: number, mayGoOn: () => void): Findings {
  const found = new Findings();
  const loose: LooseFile[] = [];
  found.attempt(() => {
    for (const entry of listedEntries(quarantine)) {
      const below = `${quarantine}/${entry.name}`;
      if (!entry.isDirectory()) continue;
      found.attempt(() => {
        if (entry.name === 'pack') addPacked(below, overBytes, mayGoOn, found);
        else if (isFanOut(entry.name)) addLooseFiles(below, entry.name, overBytes, mayGoOn, loose);
      });
    }
  });
  found.attempt(() => addLoose(loose, overBytes, mayGoOn, found));
  return found;
}

function addPacked(directory: string, overBytes: number, mayGoOn: () => void, found: Findings): void {
  for (const { name } of filesIn(directory, mayGoOn)) {
    const [, sum] = /^pack-([0-9a-f]+)\.pack$/.exec(name) ?? [];
    if (sum !== undefined)
      found.attempt(() => addFromPack(`${directory}/pack-${sum}`, sum, overBytes, mayGoOn, found));
  }
}

function addFromPack(
  path: string,
  sum: string,
  overBytes: number,
  mayGoOn: () => void,
  found: Findings,
): void {
  if (!idLengths.includes(sum.length)) throw new CannotTell('a pack has an unknown kind of name');
  const pack = Pack.open(path, sum.length / 2, mayGoOn);
  try {
    const blobs = pack.largeBlobs(overBytes, mostKept, step => found.attempt(step));
    for (const { bytes, place } of blobs) found.blobs.set(pack.index.idAt(place).toString('hex'), bytes);
  } finally {
    pack.close();
  }
}

interface LooseFile {
  readonly object: string;
  readonly path: string;
  /** The compressed size. */
  readonly bytes: number;
}

function addLooseFiles(
  directory: string,
  firstByte: string,
  overBytes: number,
  mayGoOn: () => void,
  files: LooseFile[],
): void {
  for (const { name } of filesIn(directory, mayGoOn)) {
    if (!/^[0-9a-f]{38}$|^[0-9a-f]{62}$/.test(name)) continue;
    const path = `${directory}/${name}`;
    beforeLook(path);
    const bytes = lstatSync(encodePath(path), { throwIfNoEntry: false })?.size ?? 0;
    // A smaller file cannot hold so many bytes, so nearly all files need not be read.
    if (bytes * mostInflatedBytes >= overBytes) files.push({ object: firstByte + name, path, bytes });
  }
}

/** Reads the heads of loose objects, those of the largest files first, since time may run out. */
function addLoose(
  files: readonly LooseFile[],
  overBytes: number,
  mayGoOn: () => void,
  found: Findings,
): void {
  for (const [at, { object, path }] of files.toSorted((a, b) => b.bytes - a.bytes).entries()) {
    if (at % filesEach === 0) mayGoOn();
    found.attempt(() => {
      beforeLook(path);
      const bytes = looseBlobBytes(path);
      if (bytes !== null && bytes > overBytes) found.blobs.set(object, bytes);
    });
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

/** The objects that a repository has: its own, and those that it borrows. */
class KnownObjects {
  readonly #directories: readonly string[];
  readonly #mayGoOn: () => void;

  constructor(objects: string, mayGoOn: () => void) {
    this.#directories = withAlternates(objects, mayGoOn);
    this.#mayGoOn = mayGoOn;
  }

  /**
   * Returns the largest blobs that the repository does not have. `blobs` and the result: the largest first.
   */
  withoutKnown(blobs: readonly LargeBlob[]): readonly LargeBlob[] {
    const told: LargeBlob[] = [];
    // Most blobs of pushes are new, so only a few are looked up at first.
    for (let from = 0, count = mostTold; from < blobs.length; from += count, count *= 10) {
      const next = blobs.slice(from, from + count);
      const known = this.#known(next.map(({ object }) => object));
      told.push(...next.filter(({ object }) => !known.has(object)));
      if (told.length > 0) return told.slice(0, mostTold);
    }
    if (blobs.length >= mostKept) throw new CannotTell('too many large files are in the repository already');
    return told;
  }

  #known(objects: readonly string[]): ReadonlySet<string> {
    try {
      return this.#lookUp(objects);
    } catch (error) {
      // A gc may have replaced a pack meanwhile, so try once more.
      if (error instanceof CannotTell || systemCode(error) === 'ENOENT') return this.#lookUp(objects);
      throw error;
    }
  }

  /** Looks up loose objects first: a gc packs them before it removes them. */
  #lookUp(objects: readonly string[]): ReadonlySet<string> {
    const known = new Set<string>();
    for (const directory of this.#directories)
      for (const object of objects) {
        this.#mayGoOn();
        if (entryAt(`${directory}/${object.slice(0, 2)}/${object.slice(2)}`) === 'other') known.add(object);
      }
    for (const directory of this.#directories) {
      const packs = `${directory}/pack`;
      if (entryAt(packs) === 'link') throw new CannotTell('the packs of the repository are behind a link');
      for (const { name } of filesIn(packs, this.#mayGoOn)) {
        if (name.endsWith('.idx') && known.size < objects.length)
          this.#lookUpIn(`${packs}/${name}`, objects, known);
      }
    }
    return known;
  }

  #lookUpIn(path: string, objects: readonly string[], known: Set<string>): void {
    const idBytes = (objects[0]?.length ?? 0) / 2;
    const index = PackIndex.open(path, idBytes);
    try {
      for (const object of objects) {
        this.#mayGoOn();
        if (!known.has(object) && index.find(Buffer.from(object, 'hex')) !== null) known.add(object);
      }
    } finally {
      index.close();
    }
  }
}

/** Returns a directory of objects and all directories from which it borrows. */
function withAlternates(objects: string, mayGoOn: () => void): readonly string[] {
  const all = new Set([objects]);
  let from = [objects];
  for (let step = 0; step < mostAlternateSteps && from.length > 0; step++) {
    const next = from.flatMap(directory => {
      mayGoOn();
      beforeLook(directory);
      const { directories, fault } = readAlternates(directory, true);
      if (fault !== null)
        throw new CannotTell('the repository borrows objects of directories that cannot be told');
      return directories;
    });
    from = [...new Set(next)].filter(directory => !all.has(directory));
    for (const directory of from) all.add(directory);
    if (all.size > mostAlternates) throw new CannotTell('the repository borrows from too many directories');
  }
  return [...all];
}

/**
 * Reads from which directories a directory of objects borrows. `follow`: its `info/alternates` may be a link;
 * `fault`: why they cannot be told.
 */
export function readAlternates(
  objects: string,
  follow: boolean,
): { readonly directories: readonly string[]; readonly fault: string | null } {
  const file = readBounded(encodePath(`${objects}/info/alternates`), {
    mostBytes: mostAlternatesBytes,
    follow,
  });
  if (file.kind !== 'file') return { directories: [], fault: null };
  const lines = decodePath(file.bytes)
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'));
  if (!file.whole || lines.length > mostAlternates)
    return { directories: [], fault: `has more than ${mostAlternates} lines` };
  // git would read such a line like a string of C.
  if (lines.some(line => line.startsWith('"'))) return { directories: [], fault: 'has a path in quotes' };
  return { directories: lines.map(line => alternateAt(objects, line)), fault: null };
}

/** Resolves a line of `info/alternates` as git does: from the real path of the directory of objects. */
function alternateAt(objects: string, line: string): string {
  if (isAbsolute(line)) return line;
  try {
    return resolve(decodePath(realpathSync(encodePath(objects), { encoding: 'buffer' })), line);
  } catch {
    return resolve(objects, line);
  }
}
