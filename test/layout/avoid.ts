/**
 * Looks that keep away from a place, as those of a process do that was told that its disk does not answer.
 */

import type { Test } from 'tap';
import { DiskHangs, isWithin, watchLooks } from '../../src/layout/index.ts';

/** From now on, until the test is over. */
export function avoid(t: Test, place: string): void {
  watchLooks(path => {
    if (isWithin(path, place)) throw new DiskHangs(path);
  });
  t.teardown(() => watchLooks(() => {}));
}
