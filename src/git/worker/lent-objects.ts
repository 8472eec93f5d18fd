/** The object directories that repositories lend to others. */

import { alternatesOf } from '../../scan/index.ts';
import { identity } from './files.ts';
import type { Pace } from './repository-walk.ts';

/**
 * Returns the object directories that these repositories borrow from, or that two of them share by a link,
 * each as its `identity`. Nothing in these may be deleted or forgiven, even if no ref of their own repository
 * reaches it.
 */
export async function lentObjects(repositories: Iterable<string>, pace: Pace): Promise<ReadonlySet<string>> {
  const lent = new Set<string>();
  const seen = new Set<string>();
  for (const repository of repositories) {
    await pace.step();
    const objects = await identity(`${repository}/objects`);
    if (objects === null) continue;
    if (seen.has(objects)) lent.add(objects);
    seen.add(objects);
    for (const alternate of alternatesOf(`${repository}/objects`)) {
      const lender = await identity(alternate);
      if (lender !== null && lender !== objects) lent.add(lender);
    }
  }
  return lent;
}
