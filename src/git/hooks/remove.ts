/** Taking the hooks out again. */

import type { Parts } from '../../layout/index.ts';
import { inEach, type RepositoryFault } from './each.ts';
import type { Folder } from './folder.ts';
import { customFolder, folderFile, type HookName, hookNames, previousFile, spaceNote } from './hook.ts';
import { inspectPlace, isOurEntry, stateThrough } from './inspect.ts';
import { readSettings, writeSettings } from './settings.ts';

/** `restored`: ours is gone, and the hook that was there before it is back in its place. */
export type RemovedHook = 'removed' | 'restored' | 'absent';

export interface RemoveDone {
  readonly repository: string;
  readonly hooks: Readonly<Record<HookName, RemovedHook>>;
  /** Tells whether a setting softquota.socket was taken out. */
  readonly socket: 'removed' | 'absent';
}

export type RemoveResult = RemoveDone | RepositoryFault;

/**
 * Undoes `installHooks`: ours go, a hook that had made room returns with its content, mode and owner, and
 * softquota.socket and softquota.client are taken out, and what the worker wrote for refusals. Hooks of
 * other people are left alone. `parts`: what an earlier process at the same work has done.
 */
export async function removeHooks(
  repositories: readonly string[],
  parts?: Parts<RemoveDone>,
): Promise<readonly RemoveResult[]> {
  return inEach(repositories, parts, async (repository, path): Promise<RemoveDone> => {
    const { socket, client } = await readSettings(repository);
    const hooks = await removeFromRepository(repository);
    if (repository.entry(spaceNote).kind === 'file') await repository.remove(spaceNote);
    if (socket !== null || client !== null) await writeSettings(repository, { socket: null, client: null });
    return { repository: path, hooks, socket: socket === null ? 'absent' : 'removed' };
  });
}

async function removeFromRepository(repository: Folder): Promise<Record<HookName, RemovedHook>> {
  const removed: Record<HookName, RemovedHook> = { 'pre-receive': 'absent', 'post-receive': 'absent' };
  for (const folder of ['hooks', customFolder]) {
    const hooks = await repository.directory(folder);
    if (hooks === null) continue;
    try {
      const found = await removeFrom(hooks);
      for (const name of hookNames) if (found[name] !== 'absent') removed[name] = found[name];
    } finally {
      await hooks.close();
    }
    if (folder === customFolder) await repository.removeEmpty(folder);
  }
  return removed;
}

/** Takes both hooks out of a folder of hooks. */
export async function removeFrom(hooks: Folder): Promise<Record<HookName, RemovedHook>> {
  const removed: Record<HookName, RemovedHook> = { 'pre-receive': 'absent', 'post-receive': 'absent' };
  for (const name of hookNames) {
    if (!(await isAnothersLink(hooks, name))) removed[name] = await removeAt(hooks, name);
  }
  return removed;
}

/** Tells whether a link stands there that leads to none of ours. */
async function isAnothersLink(hooks: Folder, name: HookName): Promise<boolean> {
  if (hooks.entry(name).kind !== 'link') return false;
  return (await stateThrough(hooks, name)).state !== 'installed';
}

async function removeAt(hooks: Folder, name: HookName): Promise<RemovedHook> {
  const { main, folder, inFolder, previous } = await inspectPlace(hooks, name);
  try {
    let removed: RemovedHook = 'absent';
    if (folder !== null && isOurEntry(name, inFolder)) {
      await folder.remove(folderFile);
      removed = 'removed';
    }
    if (!isOurEntry(name, main)) return removed;
    if (folder === null || previous.kind !== 'file') {
      await hooks.remove(name);
      return 'removed';
    }
    await folder.move(previousFile, hooks, name);
    await hooks.removeEmpty(`${name}.d`);
    return 'restored';
  } finally {
    await folder?.close();
  }
}
