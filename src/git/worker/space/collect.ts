/**
 * Deletes the objects that nothing needs, as `git gc` does, without what the repository's configuration says.
 *
 * Objects that became unreachable lately stay, in a cruft pack that knows since when: a running push may need
 * it. Only what was unreachable and untouched for longer than the expiry is deleted. Refs and reflogs stay as
 * they are.
 */

import { access, constants, readdir } from 'node:fs/promises';
import { encodePath } from '../../../layout/index.ts';
import { type GitVersion, isAtLeast } from './git-programs.ts';
import { lockForGc } from './lock.ts';
import { measure, type Reachability } from './measure.ts';
import { mendBroken, repack } from './repack.ts';
import { UnusableRepository } from './repository-config.ts';
import type { RepositoryView, RunLimits } from './view.ts';

interface Collected {
  readonly before: Reachability;
  readonly after: Reachability;
}

interface CollectOptions {
  /** Objects that are unreachable for a shorter time stay. At least ten minutes. */
  readonly expireMs: number;
  readonly limits: RunLimits;
  /** Milliseconds since 1970. */
  now(): number;
}

const shortestExpireMs = 600_000;

/** Rejects with a `UnusableRepository` where nothing may be deleted, or git fails. */
export async function collect(view: RepositoryView, options: CollectOptions): Promise<Collected> {
  const { limits } = options;
  const { keepsObjects } = view.settings;
  if (keepsObjects !== null) throw new UnusableRepository(`nothing is deleted: ${keepsObjects}`);
  // A repack that cannot remove what it replaces makes the repository twice as large.
  const kept = await unremovable(view.path);
  if (kept !== null)
    throw new UnusableRepository(`nothing is deleted: the worker's user may not remove objects in ${kept}`);
  const expireMs = Math.max(options.expireMs, shortestExpireMs);
  const expire = `@${Math.floor((options.now() - expireMs) / 1000)} +0000`;
  const before = await measure(view, limits);
  const unlock = await lockForGc(view.path);
  if (unlock === null) throw new UnusableRepository('another gc is running there');
  try {
    await mendBroken(view, options.now() - expireMs, limits);
    // One that names deleted commits would be damaged, also where this ends before it is written again.
    const writeGraph = () => view.git(['commit-graph', 'write', '--reachable', '--no-progress'], limits);
    await writeGraph();
    // This comes as late as possible: what a reflog names from here on was reached when this began.
    await view.refreshReflogs();
    await repack(view, unreachable(view.program, expire), limits);
    await view.prune(expire, limits);
    await writeGraph();
  } finally {
    await unlock();
  }
  return { before, after: await measure(view, limits) };
}

/** Before 2.37 git has no cruft packs, and keeps what is unreachable as loose objects. */
function unreachable(version: GitVersion, expire: string): readonly string[] {
  if (isAtLeast(version, 2, 37)) return ['-a', '--cruft', `--cruft-expiration=${expire}`];
  return ['-A', `--unpack-unreachable=${expire}`];
}

/**
 * The first directory of objects that this user may not remove from; null: there is none. Where a repository's
 * users write it as members of a group, the worker may be able to add packs and not to remove any.
 */
async function unremovable(path: string): Promise<string | null> {
  const objects = `${path}/objects`;
  for (const name of await readdir(encodePath(objects))) {
    if (!/^(?:pack|[0-9a-f]{2})$/.test(name)) continue;
    const directory = `${objects}/${name}`;
    try {
      await access(encodePath(directory), constants.W_OK | constants.X_OK);
    } catch {
      return directory;
    }
  }
  return null;
}
