/** Looks at places on the disk that may have several names, be gone, closed to this user, or hang. */

import { readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { beforeFollow, decodePath, encodePath, saysHangs } from '../layout/index.ts';

/** Tells whether two absolute paths lead to the same place, links resolved as far as there is anything. */
export function isSamePath(one: string, other: string): boolean {
  return one === other || resolved(one) === resolved(other);
}

function resolved(path: string): string {
  try {
    return realpathSync.native(encodePath(path), { encoding: 'latin1' });
  } catch {
    const parent = dirname(path);
    return parent === path ? path : `${resolved(parent)}/${path.slice(parent.length)}`;
  }
}

/** The bits of the mode; null where nothing is found. */
export function modeOf(path: string): number | null {
  try {
    return statSync(path).mode & 0o7777;
  } catch {
    return null;
  }
}

/** The beginning of a file; empty where none can be read. */
export function beginningOf(
  file: string,
  options: { readonly mostBytes: number; readonly follow?: boolean },
): string {
  try {
    const found = readBounded(encodePath(file), options);
    return found.kind === 'file' ? found.bytes.toString('latin1') : '';
  } catch {
    return ''; // not for this user
  }
}

/** The names in a directory, each with whether it is a directory; none where it cannot be read. */
export function entriesIn(path: string): ReadonlyMap<string, boolean> {
  try {
    const entries = readdirSync(encodePath(path), { withFileTypes: true, encoding: 'buffer' });
    return new Map(entries.map(entry => [decodePath(entry.name), entry.isDirectory()]));
  } catch {
    return new Map(); // gone, or not for this user
  }
}

/** The paths of the files in a directory, and in so many levels of directories below it. */
export function filesBelow(place: string, depth: number): readonly string[] {
  return [...entriesIn(place)].flatMap(([name, isDirectory]) => {
    if (!isDirectory) return [join(place, name)];
    return depth === 0 ? [] : filesBelow(join(place, name), depth - 1);
  });
}

export function isDirectory(path: string): boolean {
  return ifReadable(path, () => statSync(path).isDirectory()) ?? false;
}

export function isFile(path: string): boolean {
  return ifReadable(path, () => statSync(path).isFile()) ?? false;
}

/** Path with links resolved; itself if that is unknown. */
export function physical(path: string): string {
  const look = () => decodePath(realpathSync.native(encodePath(path), { encoding: 'buffer' }));
  return ifReadable(path, look) ?? path;
}

/** A small file's text; null where none can be read. With `follow`, also of one that a link leads to. */
export function fileText(path: string, { follow = false } = {}): string | null {
  const file = ifReadable(path, () => readBounded(path, { follow }));
  return file?.kind === 'file' && file.whole ? file.bytes.toString() : null;
}

/** Tells whether something is there, or may be there, that this user has no permission to read. */
export function isClosed(path: string): boolean {
  try {
    beforeFollow(path);
    readBounded(path, { follow: true, mostBytes: 1 });
    return false;
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    return code === 'EACCES' || code === 'EPERM';
  }
}

/** Tells whether a place is a directory or lies in it, links resolved. */
export function liesIn(path: string, directory: string): boolean {
  const way = relative(physical(directory), physical(path));
  return way !== '..' && !way.startsWith('../');
}

/** A directory and the three above it, where a server's own configuration may lie. */
export function withAbove(place: string): readonly string[] {
  const [parent, grandparent] = [dirname(place), dirname(dirname(place))];
  return [...new Set([place, parent, grandparent, dirname(grandparent)])];
}

export function hangs(path: string): boolean {
  try {
    beforeFollow(path);
    return false;
  } catch (error) {
    if (!saysHangs(error)) throw error;
    return true;
  }
}

/** Null for every failure of the system. */
function ifReadable<T>(path: string, look: () => T): T | null {
  try {
    beforeFollow(path);
    return look();
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}
