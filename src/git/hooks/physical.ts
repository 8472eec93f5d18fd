/** Resolves the links of a path. */

import { realpath } from 'node:fs/promises';
import { systemCode } from '../../errors.ts';
import { beforeFollow, lookAt } from '../../layout/index.ts';

/** The path without links; null where nothing is there. Rejects where its disk does not answer. */
export async function physicalPath(path: string): Promise<string | null> {
  try {
    beforeFollow(path);
    return await lookAt(path, () => realpath(path));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}
