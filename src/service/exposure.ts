/** Finds who could put a socket in place of ours: who may write its directory, or lead elsewhere. */

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
  /** Tells whether it is one like /tmp, which is meant to be so. */
  readonly isSticky: boolean;
}

/**
 * Why everybody could put a socket of their own at an absolute path; null where only root, this process's
 * user, and whoever they let can. Each directory on the way counts, links followed. In a sticky directory
 * such as /tmp nobody can replace what belongs to root or to us, so that one may lie on the way; the socket
 * itself may not lie there, since whoever comes first makes it. `us`: the number of the user who makes it.
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
    // Nobody can listen at a path that does not exist or may not be read; listening there fails and says
    // so.
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

/** Tells whether only root and we can rename or remove it there. */
function isHeld(directory: Stats, entry: Stats, us: number): boolean {
  return isSticky(directory) && [0, us].includes(entry.uid);
}

function isSticky({ mode }: Stats): boolean {
  return (mode & sticky) !== 0;
}
