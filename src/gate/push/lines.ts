/**
 * Reads git's lines `OLD NEW REF`: the refs that a push creates, updates and deletes, and folders that git
 * would take for repositories because of these refs.
 */

import { isUtf8 } from 'node:buffer';
import { decodePath } from '../../layout/index.ts';
import type { Work } from '../../slices.ts';

export interface RefChanges {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  /** Sum of the lengths of all created names. */
  readonly createdCharacters: number;
  /** True if a created name has more than ten levels. */
  readonly isNested: boolean;
  /** A written name with more than 50 levels; null if there is none. */
  readonly tooDeep: string | null;
  /** True if there are lines and all refs are `refs/pull/NUMBER/head`. */
  readonly arePulls: boolean;
  /** Hexadecimal digits of an object name. */
  readonly hashLength: number;
  readonly folders: Folders;
}

const mostLevels = 50;
const nestedLevels = 10;
/** Number of lines between two possible pauses. */
const restEvery = 32;

/** git sends no longer line. */
const longestLineBytes = 65_520;

/** Decodes the lines. Bytes that are not UTF-8 are encoded as in paths of layout. */
export function* linesText(bytes: Buffer): Work<string> {
  if (isUtf8(bytes)) return bytes.toString();
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\n', at);
    const line = bytes.subarray(at, end === -1 ? bytes.length : end);
    at += line.length + 1;
    lines.push(line.length > longestLineBytes ? line.toString('latin1') : decodePath(line));
    yield;
  }
  return `${lines.join('\n')}\n`;
}

const pull = /^refs\/pull\/\d+\/head$/;
const zeros = /^0+$/;

/** Counts a malformed line as an update, so that it lets nothing pass. */
export function* readChanges(lines: string): Work<RefChanges> {
  let created = 0;
  let updated = 0;
  let deleted = 0;
  let createdCharacters = 0;
  let isNested = false;
  let tooDeep: string | null = null;
  let arePulls = true;
  let hashLength = 40;
  const folders = new Folders();
  for (let at = 0, read = 1; at < lines.length; read++) {
    const end = lines.indexOf('\n', at);
    const line = lines.slice(at, end === -1 ? lines.length : end);
    at += line.length + 1;
    if (read % restEvery === 0) yield;
    const middle = line.indexOf(' ');
    const last = line.indexOf(' ', middle + 1);
    const before = line.slice(0, Math.max(middle, 0));
    const after = line.slice(middle + 1, Math.max(last, middle + 1));
    const name = line.slice(last + 1);
    arePulls &&= pull.test(name);
    if (zeros.test(after)) {
      deleted++;
      continue;
    }
    hashLength = Math.max(hashLength, Math.min(after.length, 64));
    const levels = levelsOf(name);
    if (levels > mostLevels) tooDeep ??= name;
    else folders.add(name);
    if (!zeros.test(before)) {
      updated++;
      continue;
    }
    created++;
    createdCharacters += name.length;
    isNested ||= levels > nestedLevels;
  }
  arePulls &&= created + updated + deleted > 0;
  return { created, updated, deleted, createdCharacters, isNested, tooDeep, arePulls, hashLength, folders };
}

/** Counts the levels of a name, but not further than the limit. */
function levelsOf(name: string): number {
  let levels = 1;
  for (let at = name.indexOf('/'); at !== -1 && levels <= mostLevels; at = name.indexOf('/', at + 1))
    levels++;
  return levels;
}

/** An honest push does not have more such folders. */
const mostFolders = 1000;

const telling = /\/(?:HEAD$|commondir$|objects\/|refs\/)/;
const parts = ['HEAD', 'objects', 'commondir'] as const;

/**
 * Finds refs that would make git take a folder of the repository for a repository without hooks: `x/HEAD`,
 * `x/objects/a` and `x/refs/a` do so with `refs/heads/x`. A folder is one if it contains HEAD, and `objects`
 * or `commondir`.
 */
class Folders {
  /** For each folder, the names that the push itself writes in it. */
  readonly #folders = new Map<string, Set<string>>();
  #areTooMany = false;

  /** Notes the name of a ref that is written. */
  add(name: string): void {
    // Nearly all names fail this fast test.
    if (!telling.test(name)) return;
    for (let at = name.indexOf('/'); at !== -1; ) {
      const end = name.indexOf('/', at + 1);
      const level = name.slice(at + 1, end === -1 ? name.length : end);
      const tells =
        end === -1 ? level === 'HEAD' || level === 'commondir' : level === 'objects' || level === 'refs';
      if (tells) this.#note(name.slice(0, at), level);
      at = end;
    }
  }

  get areTooMany(): boolean {
    return this.#areTooMany;
  }

  /** Paths that the push itself writes. */
  get written(): readonly string[] {
    return this.#names(true);
  }

  /** Paths to look for in the repository. */
  get wanted(): readonly string[] {
    return this.#names(false);
  }

  /** Returns a folder that becomes a repository together with these existing paths; null if there is none. */
  repositoryWith(existing: readonly string[]): string | null {
    const there = new Set(existing);
    for (const [folder, own] of this.#folders) {
      const has = (part: string) => own.has(part) || there.has(`${folder}/${part}`);
      if (has('HEAD') && (has('objects') || has('commondir'))) return folder;
    }
    return null;
  }

  #names(isOwn: boolean): readonly string[] {
    return [...this.#folders].flatMap(([folder, own]) =>
      parts.filter(part => own.has(part) === isOwn).map(part => `${folder}/${part}`),
    );
  }

  #note(folder: string, part: string): void {
    const known = this.#folders.get(folder);
    if (known !== undefined) known.add(part);
    else if (this.#folders.size < mostFolders) this.#folders.set(folder, new Set([part]));
    else this.#areTooMany = true;
  }
}

interface UnitNames {
  /** Time at which each name expires. */
  readonly until: Map<string, number>;
  characters: number;
}

/** Longer than the hooks of a push take. */
const rememberedMs = 10 * 60_000;
/** Limit in characters for one unit; an honest push does not have more. */
const mostInUnit = 250_000;
/** Limit in characters for all units; above it, units without a push for the longest time go. */
const mostInAll = 16_000_000;

/**
 * Names from pushes of the last minutes that could make a folder a repository. They are not in the repository
 * until git writes them, so simultaneous pushes would not see each other's names.
 */
export class FoldersUnderWay {
  readonly #units = new Map<string, UnitNames>();
  #characters = 0;

  names(unit: string): readonly string[] {
    this.#dropEnded(unit);
    return [...(this.#units.get(unit)?.until.keys() ?? [])];
  }

  /** Returns false, and adds nothing, if the names are too many. */
  add(unit: string, names: readonly string[]): boolean {
    if (names.length === 0) return true;
    this.#dropEnded(unit);
    const known = this.#units.get(unit) ?? { until: new Map<string, number>(), characters: 0 };
    const added = names.filter(name => !known.until.has(name)).reduce((sum, { length }) => sum + length, 0);
    if (known.characters + added > mostInUnit) return false;
    const until = performance.now() + rememberedMs;
    for (const name of names) {
      known.until.delete(name);
      known.until.set(name, until);
    }
    known.characters += added;
    this.#characters += added;
    this.#units.delete(unit);
    this.#units.set(unit, known);
    for (const other of this.#units.keys()) {
      if (this.#characters <= mostInAll) break;
      this.#forget(other);
    }
    return true;
  }

  #dropEnded(unit: string): void {
    const known = this.#units.get(unit);
    if (known === undefined) return;
    const now = performance.now();
    for (const [name, until] of known.until) {
      if (until > now) break;
      known.until.delete(name);
      known.characters -= name.length;
      this.#characters -= name.length;
    }
    if (known.until.size === 0) this.#units.delete(unit);
  }

  #forget(unit: string): void {
    this.#characters -= this.#units.get(unit)?.characters ?? 0;
    this.#units.delete(unit);
  }
}
