/**
 * Reads git's lines `OLD NEW REF`: which refs a push creates, updates and deletes, and which folders of the
 * repository they would make repositories for git.
 */

import { isUtf8 } from 'node:buffer';
import { decodePath } from '../../layout/index.ts';
import type { Work } from '../../slices.ts';

/** The changes of refs that a push makes. */
export interface RefChanges {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  /** The length of the names of all created refs. */
  readonly createdCharacters: number;
  /** A created name has more than ten levels. */
  readonly isNested: boolean;
  /** A name of more than 50 levels that is written; null: none. */
  readonly tooDeep: string | null;
  /** All are `refs/pull/NUMBER/head`, and there is one at least. */
  readonly arePulls: boolean;
  /** The hexadecimal digits of an object's name. */
  readonly hashLength: number;
  readonly folders: Folders;
}

const mostLevels = 50;
const nestedLevels = 10;
/** Lines between two looks at the clock. */
const restEvery = 32;

/** git sends none that is longer. */
const longestLineBytes = 65_520;

/** The lines as a text. Bytes that are not UTF-8 stand as in layout's paths. */
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

/** Counts a line of another form as an update, so that it lets nothing pass. */
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

/** Counts no further than to what is too many. */
function levelsOf(name: string): number {
  let levels = 1;
  for (let at = name.indexOf('/'); at !== -1 && levels <= mostLevels; at = name.indexOf('/', at + 1))
    levels++;
  return levels;
}

/** More folders than that are of no push that means well. */
const mostFolders = 1000;

const telling = /\/(?:HEAD$|commondir$|objects\/|refs\/)/;
const parts = ['HEAD', 'objects', 'commondir'] as const;

/**
 * Refs that would make a folder of the repository a repository for git, without any hook: `x/HEAD`,
 * `x/objects/a` and `x/refs/a` do so with `refs/heads/x`. A folder is one if it has HEAD and one of `objects`
 * and `commondir`.
 */
class Folders {
  /** By folder, which of the parts the push itself writes there. */
  readonly #folders = new Map<string, Set<string>>();
  #areTooMany = false;

  /** Takes the name of a ref that is written. */
  add(name: string): void {
    // A cheap look first: nearly all names end here.
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

  /** The names that the push itself writes, as `wanted` has those of others. */
  get written(): readonly string[] {
    return this.#names(true);
  }

  /** The names that have to be looked for in the repository. */
  get wanted(): readonly string[] {
    return this.#names(false);
  }

  /** A folder that would be a repository beside these names that exist; null: none would. */
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
  /** By name, until when it counts. */
  readonly until: Map<string, number>;
  characters: number;
}

/** Longer than the hooks of a push take. */
const rememberedMs = 10 * 60_000;
/** More are of no push that means well. */
const mostInUnit = 250_000;
/** Beyond that, those of the unit that began first are forgotten. */
const mostInAll = 16_000_000;

/**
 * Names that pushes of the last minutes write and that tell of a repository in a folder: until git has
 * written them, nobody finds them in the repository, and pushes at once would not see each other.
 */
export class FoldersUnderWay {
  readonly #units = new Map<string, UnitNames>();
  #characters = 0;

  names(unit: string): readonly string[] {
    this.#dropEnded(unit);
    return [...(this.#units.get(unit)?.until.keys() ?? [])];
  }

  /** False: they are too many, and none is taken. */
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
