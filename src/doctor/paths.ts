/** Reads paths that may have several names, be gone, be closed to this user, or be on a disk that hangs. */

import { readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { beforeFollow, decodePath, encodePath, saysHangs } from '../layout/index.ts';

/** The bits of the mode; null if the path is gone or out of reach. */
export function modeOf(path: string): number | null {
  const mode = statusOf(path)?.mode;
  return mode === undefined ? null : mode & 0o7777;
}

/** Returns null if the path is gone or out of reach. */
export function statusOf(path: string): Stats | null {
  return ifReadable(path, () => statSync(encodePath(path)));
}

/** The beginning of a file; empty if it cannot be read. */
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

/** The names in a directory, with true for directories; empty if it cannot be read. */
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
  return statusOf(path)?.isDirectory() ?? false;
}

export function isFile(path: string): boolean {
  return statusOf(path)?.isFile() ?? false;
}

/** The path with its links resolved; unchanged if that fails. */
export function physical(path: string): string {
  const look = () => decodePath(realpathSync.native(encodePath(path), { encoding: 'buffer' }));
  return ifReadable(path, look) ?? path;
}

/** The text of a small file; null if it cannot be read. `follow`: also if the path is a symbolic link. */
export function fileText(path: string, { follow = false } = {}): string | null {
  const file = ifReadable(path, () => readBounded(path, { follow }));
  return file?.kind === 'file' && file.whole ? file.bytes.toString() : null;
}

/** Returns true if this user has no permission to read the file, or to see if there is one. */
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

/** Returns true if a path is a directory or is in it, with links resolved. */
export function liesIn(path: string, directory: string): boolean {
  const way = relative(physical(directory), physical(path));
  return way !== '..' && !way.startsWith('../');
}

/** A directory and the three above it, where a server's own configuration may be. */
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

/** Returns null for every error of the system. */
function ifReadable<T>(path: string, look: () => T): T | null {
  try {
    beforeFollow(path);
    return look();
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}
