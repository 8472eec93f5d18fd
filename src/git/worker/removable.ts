/** Looks for packs that the worker may not remove: a group may have rights only to add some. */

import { access, constants, readdir } from 'node:fs/promises';
import { encodePath } from '../../layout/index.ts';

/** The first directory of objects that this user may not remove from; null: there is none. */
export async function unremovable(path: string): Promise<string | null> {
  const objects = `${path}/objects`;
  const names = await readdir(encodePath(objects));
  for (const name of names.filter(each => /^(?:pack|[0-9a-f]{2})$/.test(each))) {
    const directory = `${objects}/${name}`;
    try {
      await access(encodePath(directory), constants.W_OK | constants.X_OK);
    } catch {
      return directory;
    }
  }
  return null;
}
