/** Finds out if everybody could replace a socket, because they may write a directory on its path. */

import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { join, normalize } from 'node:path';
import { systemCode } from '../errors.ts';

const writeByAll = 0o002;
const sticky = 0o1000;
const mostLinks = 40;

interface Exposure {
  /** Fault in words, such as `everybody may write /tmp`. */
  readonly words: string;
  readonly directory: string;
  /** True for a directory such as /tmp, which everybody is meant to write. */
  readonly isSticky: boolean;
}

/**
 * The reason why everybody could put a socket of their own at an absolute path; null if only root, `us`, and
 * users whom they let can. Each directory on the way counts, and links are followed. A sticky directory such
 * as /tmp may be on the way, because nobody can replace entries of root and of `us` in it. The socket itself
 * must not be in one, because anybody could make it first. `us`: the number of the user who makes the socket.
 */
export function exposureOf(path: string, us: number = process.geteuid?.() ?? 0): Exposure | null {
  const pending = stepsOf(normalize(path)).reverse();
  pending.shift(); // the socket's own name
  let at = '/';
  let links = 0;
  try {
    for (;;) {
      const directory = lstatSync(at);
      const name = pending.pop();
      const exposure = (words: string): Exposure => ({
        words: `everybody may ${words}`,
        directory: at,
        isSticky: isSticky(directory),
      });
      if (name === undefined) return isOpen(directory) ? exposure(`write ${at}`) : null;
      const next = join(at, name);
      const entry = lstatSync(next);
      if (isOpen(directory) && !isHeld(directory, entry, us)) return exposure(`replace ${next}`);
      if (!entry.isSymbolicLink()) {
        at = next;
        continue;
      }
      links += 1;
      if (links > mostLinks) return null;
      const target = readlinkSync(next);
      if (target.startsWith('/')) at = '/';
      pending.push(...stepsOf(target).reverse());
    }
  } catch (error) {
    // Nobody can listen at a path that does not exist or may not be read: that fails with a message.
    if (systemCode(error) === null) throw error;
    return null;
  }
}

function stepsOf(path: string): string[] {
  return path.split('/').filter(step => step !== '' && step !== '.');
}

function isOpen({ mode }: Stats): boolean {
  return (mode & writeByAll) !== 0;
}

/** Returns true if only root and `us` can rename or remove the entry. */
function isHeld(directory: Stats, entry: Stats, us: number): boolean {
  return isSticky(directory) && [0, us].includes(entry.uid);
}

function isSticky({ mode }: Stats): boolean {
  return (mode & sticky) !== 0;
}
