/** Takes the hooks out again. */

import { inEach, type RepositoryFault } from './each.ts';
import type { Folder } from './folder.ts';
import { customFolder, folderFile, type HookName, hookNames, isOurs, previousFile } from './hook.ts';
import { inspectPlace, statesIn } from './inspect.ts';
import { removeOld } from './old-settings.ts';

/** `restored`: ours is gone, and the hook that was there before it is back in its place. */
export type RemovedHook = 'removed' | 'restored' | 'absent';

export const nothingRemoved = { 'pre-receive': 'absent', 'post-receive': 'absent' } as const;

interface RemoveDone {
  readonly repository: string;
  readonly hooks: Readonly<Record<HookName, RemovedHook>>;
}

export type RemoveResult = RemoveDone | RepositoryFault;

/**
 * Undoes `installHooks`: ours go, a hook that had made room returns with its content, mode and owner, and
 * what release 0.1 kept in the repository is removed. Hooks of other people are left alone.
 */
export async function removeHooks(repositories: readonly string[]): Promise<readonly RemoveResult[]> {
  return inEach(repositories, async (repository, path): Promise<RemoveDone> => {
    const removed: Record<HookName, RemovedHook> = { ...nothingRemoved };
    for (const folder of ['hooks', customFolder]) {
      await using hooks = await repository.directory(folder);
      if (hooks === null) continue;
      const found = await removeFrom(hooks);
      for (const name of hookNames) if (found[name] !== 'absent') removed[name] = found[name];
      if (folder === customFolder) await repository.removeEmpty(folder);
    }
    await removeOld(repository);
    return { repository: path, hooks: removed };
  });
}

/** Takes both hooks out of a folder of hooks. */
export async function removeFrom(hooks: Folder): Promise<Record<HookName, RemovedHook>> {
  const removed: Record<HookName, RemovedHook> = { ...nothingRemoved };
  const states = await statesIn(hooks);
  for (const name of hookNames) {
    const isAnothers = states[name].state === 'foreign' || states[name].state === 'absent';
    if (!(isAnothers && hooks.entry(name).kind === 'link')) removed[name] = await removeAt(hooks, name);
  }
  return removed;
}

async function removeAt(hooks: Folder, name: HookName): Promise<RemovedHook> {
  const { main, inFolder, previous, ...place } = await inspectPlace(hooks, name);
  await using folder = place.folder;
  let removed: RemovedHook = 'absent';
  if (folder !== null && isOurs(name, inFolder)) {
    await folder.remove(folderFile);
    removed = 'removed';
  }
  if (!isOurs(name, main)) return removed;
  if (folder === null || previous.kind !== 'file') {
    await hooks.remove(name);
    return 'removed';
  }
  await folder.move(previousFile, hooks, name);
  await hooks.removeEmpty(`${name}.d`);
  return 'restored';
}
