import { opendir, realpath } from 'node:fs/promises';
import { systemCode } from '../../errors.ts';
import { beforeFollow, decodePath, encodePath, holdsRepository, saysHangs } from '../../layout/index.ts';
import { reasonOf } from './folder.ts';

interface FoundRepositories {
  /** Physical paths in order, each once. */
  readonly repositories: readonly string[];
  /** The `.git` of working copies, which are none of them. */
  readonly workingCopies: readonly string[];
  /** Places that could not be looked into, and why; all else was. */
  readonly unread: readonly UnreadPlace[];
}

export interface UnreadPlace {
  readonly path: string;
  readonly reason: string;
  readonly hangs: boolean;
}

/**
 * Every bare repository at or below the roots: a directory with HEAD, objects and refs.
 *
 * A root may be a link; below it none is followed. Inside a repository only `modules` is looked at, where git
 * keeps those of submodules, to which a pusher may name the path. A working copy's `.git` is left out.
 */
export async function findRepositories(roots: readonly string[]): Promise<FoundRepositories> {
  const repositories = new Set<string>();
  const workingCopies: string[] = [];
  const unread = new Map<string, UnreadPlace>();
  const visited = new Set<string>();
  const waiting: string[] = [];
  for (const root of roots) {
    try {
      beforeFollow(root);
      waiting.push(decodePath(await realpath(encodePath(root), { encoding: 'buffer' })));
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
      // One that vanished meanwhile is no fault; a root that was never there was told above.
      if (systemCode(error) !== 'ENOENT') unread.set(path, unreadAt(path, error));
    }
  }
  return { repositories: [...repositories].sort(), workingCopies, unread: [...unread.values()] };
}

function unreadAt(path: string, error: unknown): UnreadPlace {
  return { path, reason: reasonOf(error), hangs: saysHangs(error) };
}

async function directoriesIn(path: string): Promise<string[]> {
  const found: string[] = [];
  // latin1 and back, because names need not be UTF-8.
  for await (const entry of await opendir(encodePath(path), { encoding: 'latin1' })) {
    if (!entry.isDirectory() || entry.name === '.git') continue;
    found.push(`${path === '/' ? '' : path}/${decodePath(Buffer.from(entry.name, 'latin1'))}`);
  }
  return found;
}
