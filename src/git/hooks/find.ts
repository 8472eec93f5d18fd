/** Finds the repositories below roots. */

import { setImmediate } from 'node:timers/promises';
import { systemCode } from '../../errors.ts';
import { below, holdsRepository, namesByType, saysHangs } from '../../layout/index.ts';
import { realPath, reasonOf } from './folder.ts';

interface FoundRepositories {
  /** Physical paths in order, each once. */
  readonly repositories: readonly string[];
  /** The `.git` of working copies, which are not among the repositories. */
  readonly workingCopies: readonly string[];
  /** Places that could not be read, and why; all others were searched. */
  readonly unread: readonly UnreadPlace[];
}

export interface UnreadPlace {
  readonly path: string;
  readonly reason: string;
  readonly hangs: boolean;
}

/**
 * Finds every bare repository at or below the roots: a directory with HEAD, objects and refs.
 *
 * A root may be a link; below it no link is followed. Inside a repository only `modules` is searched, where
 * git stores the repositories of submodules, into which somebody may push by their path. A working copy's
 * `.git` is left out.
 */
export async function findRepositories(roots: readonly string[]): Promise<FoundRepositories> {
  const repositories = new Set<string>();
  const workingCopies: string[] = [];
  const unread = new Map<string, UnreadPlace>();
  const visited = new Set<string>();
  const waiting: string[] = [];
  for (const root of roots) {
    try {
      waiting.push(await realPath(root));
    } catch (error) {
      unread.set(root, unreadAt(root, error));
    }
  }
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (visited.has(path)) continue;
    visited.add(path);
    try {
      if (holdsRepository(path)) {
        repositories.add(path);
        waiting.push(...(await directoriesIn(path)).filter(entry => entry === `${path}/modules`));
      } else {
        if (holdsRepository(`${path}/.git`)) workingCopies.push(`${path}/.git`);
        waiting.push(...(await directoriesIn(path)));
      }
    } catch (error) {
      // A directory that vanished meanwhile is no fault; a missing root was noted above.
      if (systemCode(error) !== 'ENOENT') unread.set(path, unreadAt(path, error));
    }
  }
  return { repositories: [...repositories].sort(), workingCopies, unread: [...unread.values()] };
}

function unreadAt(path: string, error: unknown): UnreadPlace {
  return { path, reason: reasonOf(error), hangs: saysHangs(error) };
}

async function directoriesIn(path: string): Promise<string[]> {
  // A long search lets other work have its turns.
  await setImmediate();
  const names = namesByType(path)?.directories ?? [];
  return names.filter(name => name !== '.git').map(name => below(path, name));
}
