/** The directory of a repository whose hooks are ours to look after. */

import type { Folder } from './folder.ts';
import { customFolder } from './hook.ts';
import { isGogs } from './inspect.ts';

/** `hooks`, or `custom_hooks` where Gogs runs that; null where it is not there. */
export async function runFolder(repository: Folder): Promise<Folder | null> {
  const hooks = await repository.directory('hooks');
  if (hooks === null || !isGogs(hooks)) return hooks;
  await hooks.close();
  return repository.directory(customFolder);
}
