/**
 * The signature of a unit: the status of its directories when it was walked, and what that walk found.
 *
 * Whatever is made, removed or renamed in a directory changes the directory's status. So as long as the
 * statuses are the same, the walk's result stands, and no directory is read. A repository's fan-out is left
 * out: every push, fetch and gc changes another directory too. So are its `hooks` and `info`, into which no
 * push writes. What no status shows (a file that is written in place, an object that is put into a fan-out
 * directory that is there, a new hook) is found by the walks that use no signature: those after a push or a
 * check, and those of the weekly verification.
 *
 * No signature is taken of what may change without a trace, or with time alone: places that cannot be read,
 * git's unfinished files, directories that were changed so shortly before that the next change may bear the
 * same time, and files that somebody may still be writing.
 */

import { createHash, type Hash } from 'node:crypto';
import { lstatSync, type Stats } from 'node:fs';
import { systemCode } from '../errors.ts';
import { beforeLook, locationOf } from '../layout/index.ts';
import type { FoundByWalk, WalkRequest } from './task.ts';

export interface Signature extends FoundByWalk {
  /** Covers all of it, the statuses of the directories, and how the unit was to be walked. */
  readonly digest: string;
  /** The directories whose statuses count, each after the one that holds it; the unit itself is the first. */
  readonly parents: readonly number[];
  readonly names: readonly string[];
}

/** Signatures of another form than this one's are as good as none. */
const version = 5;

/**
 * A directory that was changed so shortly before may change again and bear the same time: file systems keep
 * times to two seconds at least.
 */
const youngDirectoryMs = 2000;
/** A file that was changed so shortly before may still be written. */
const youngFileMs = 60_000;
/** Milliseconds for which a file system may change the blocks of a file that nobody writes. */
const youngBlocksMs = 600_000;

const directoriesPerPulse = 512;

const noThrow = { throwIfNoEntry: false } as const;

/**
 * Adds the status of a directory to a hash that differs where any of them does: with the number of links and
 * the size, since some file systems keep times no better than to the second. A status has its times to a
 * fraction of a microsecond; they are compared only with those of changes that came seconds later.
 */
function addStatus(hash: Hash, { dev, ino, nlink, size, mtimeMs, ctimeMs }: Stats): void {
  hash.update(new Float64Array([dev, ino, nlink, size, mtimeMs, ctimeMs]));
}

/** A signature in the making, during a walk. */
export class SignatureDraft {
  readonly #request: WalkRequest;
  readonly #startedAt: number;
  readonly #parents: number[] = [];
  readonly #names: string[] = [];
  readonly #statuses = createHash('sha1');
  #isDoubtful = false;

  /** `startedAt`: when the walk began, before its first look, in milliseconds since 1970. */
  constructor(request: WalkRequest, startedAt: number) {
    this.#request = request;
    this.#startedAt = startedAt;
  }

  /**
   * Adds a directory, whose status must have been asked for before it was read, and returns its index here.
   * `parent`: the index of the directory that holds it; -1 for the unit itself.
   */
  addDirectory(parent: number, name: string, status: Stats): number {
    if (this.#isDoubtful) return -1;
    this.#parents.push(parent);
    addStatus(this.#statuses, status);
    // Also where it lies ahead: the clock was set back, and comes by that time once more.
    if (Math.max(status.mtimeMs, status.ctimeMs) > this.#startedAt - youngDirectoryMs) this.doubt();
    return this.#names.push(name) - 1;
  }

  addFile(changedAt: number): void {
    const young = this.#request.measure === 'apparent' ? youngFileMs : youngBlocksMs;
    if (changedAt > this.#startedAt - young) this.doubt();
  }

  /** Something was met that may become another without a directory's status showing it. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** Null where none may be taken. */
  finish(found: FoundByWalk): Signature | null {
    if (this.#isDoubtful) return null;
    const digest = this.#statuses.update(termsOf(this.#request, found)).digest('base64');
    return { ...found, digest, parents: this.#parents, names: this.#names };
  }
}

/** Tells whether a unit is as the signature says; calls `pulse` every few hundred directories. */
export function isSignatureCurrent(request: WalkRequest, signature: Signature, pulse: () => void): boolean {
  const { parents, names, digest } = signature;
  const statuses = createHash('sha1');
  const paths: string[] = [];
  try {
    for (const [index, name] of names.entries()) {
      if (index % directoriesPerPulse === directoriesPerPulse - 1) pulse();
      const above = paths[parents[index] ?? -1];
      const path = above === undefined ? request.unit.path : `${above}/${name}`;
      paths.push(path);
      beforeLook(path);
      const status = lstatSync(locationOf(path, !path.isWellFormed()), noThrow);
      if (status?.isDirectory() !== true) return false;
      addStatus(statuses, status);
    }
  } catch (error) {
    if (systemCode(error) === null) throw error;
    // The walk finds out what is to be told.
    return false;
  }
  return statuses.update(termsOf(request, signature)).digest('base64') === digest;
}

/** Terms of a signature: a change of the result, the owner or the walk settings invalidates it. */
function termsOf({ unit, inner, exclude, measure }: WalkRequest, found: FoundByWalk): string {
  const { bytes, files, directories, objectBytes } = found;
  const places = inner.map(path => path.slice(unit.path.length));
  return JSON.stringify([
    version,
    unit.kind,
    unit.owner,
    measure,
    [...exclude],
    places,
    [bytes, files, directories, objectBytes],
  ]);
}
