/**
 * Directories that somebody named, opened without following what other users may have put on the way to them.
 */

import { constants, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { beforeLook, decodePath, encodePath } from '../../layout/index.ts';
import { type Belonging, Folder } from './folder.ts';

/** An existing directory without links, and the path of another one below it. */
export interface PlaceBelow {
  readonly base: string;
  readonly below: string;
}

const { S_IWGRP, S_IWOTH } = constants;
const sticky = 0o1000;
const mostLinks = 40;

/**
 * Splits an absolute path behind the last directory up to which only root and this process's user decide
 * where it leads. Links are followed up to there; below it, none may be.
 */
export function placeOf(directory: string): PlaceBelow {
  let base = '';
  let parts = directory.split('/');
  let links = 0;
  for (;;) {
    const [part, ...others] = parts;
    if (part === undefined) break;
    if (part === '' || part === '.') parts = others;
    else if (part === '..') {
      base = base.slice(0, Math.max(base.lastIndexOf('/'), 0));
      parts = others;
    } else {
      const stats = trustedEntry(base, part);
      if (stats === null) break;
      if (stats.isSymbolicLink()) {
        links += 1;
        if (links > mostLinks)
          throw new SoftquotaError('conflict', `${directory} leads through too many links`);
        const target = decodePath(readlinkSync(encodePath(`${base}/${part}`), { encoding: 'buffer' }));
        if (target.startsWith('/')) base = '';
        parts = [...target.split('/'), ...others];
      } else {
        base = `${base}/${part}`;
        parts = others;
      }
    }
  }
  return { base: base || '/', below: parts.join('/') };
}

/**
 * The entry, where nobody but root and this process's user can replace it; null else, and where it is not
 * there.
 */
function trustedEntry(directory: string, name: string): Stats | null {
  try {
    beforeLook(`${directory}/${name}`);
    const above = lstatSync(encodePath(directory || '/'));
    const entry = lstatSync(encodePath(`${directory}/${name}`));
    if (!isTrusted(above)) return null;
    const othersMayWrite = (above.mode & (S_IWGRP | S_IWOTH)) !== 0;
    // In a sticky directory nobody replaces what belongs to somebody else.
    if (othersMayWrite && !((above.mode & sticky) !== 0 && isTrusted(entry))) return null;
    return entry;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function isTrusted({ uid }: Stats): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

/** The directory of this path below another; parts that are not there are made, and none may be a link. */
export async function openBelow({ base, below }: PlaceBelow, belonging: Belonging): Promise<Folder> {
  let folder = await Folder.open(base);
  for (const part of below.split('/').filter(Boolean)) {
    try {
      const next = (await folder.directory(part)) ?? (await folder.makeDirectory(part, belonging));
      await folder.close();
      folder = next;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }
  return folder;
}
