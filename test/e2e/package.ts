/** The package as it is published. */

import type { Test } from 'tap';
import { packForNpm } from '../../scripts/package/contents.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Packs this checkout; gives the path of the tarball, which is there until the test ends. */
export function packed(t: Test): Promise<string> {
  return packForNpm(temporaryFolder(t));
}
