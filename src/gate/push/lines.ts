/** Reads git's lines `OLD NEW REF`: which refs a push creates, updates and deletes. */

import { isUtf8 } from 'node:buffer';
import { decodePath } from '../../layout/index.ts';
import type { Work } from '../../slices.ts';
import { Folders } from './folders.ts';

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
