/** Says in words what of the stored bytes does not count. */

import { formatBytes } from '../text/index.ts';
import type { Verdict } from '../wire/index.ts';

/** A sentence, or none where all counts. */
export function garbageLines({
  garbage,
}: {
  readonly garbage?: Verdict['garbage'] | undefined;
}): readonly string[] {
  if (garbage === undefined) return [];
  const { stored, unreachable, billed, most } = garbage;
  const cut = unreachable > most ? ` (at most ${formatBytes(most)} are forgiven)` : '';
  return [
    `Of ${formatBytes(stored)} stored, ${formatBytes(unreachable)} are unreachable; ${formatBytes(billed)} count${cut}.`,
  ];
}
