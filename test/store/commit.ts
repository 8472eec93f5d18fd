/** One change of a shared store's policy. */

import type { PolicyChange, Position, SharedStore } from '../../src/store/index.ts';

export async function commit(
  store: Pick<SharedStore, 'commit'>,
  change: PolicyChange,
  basis: Position,
  next: Position,
): Promise<'kept' | 'conflict'> {
  const made = await store.commit(change, basis, next.mark);
  return made === null ? 'conflict' : 'kept';
}
