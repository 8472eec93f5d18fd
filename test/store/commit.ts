/** One change of both lines upon a position at which both were changed last, as tests make them. */

import { lines, type PolicyChange, type Position, type SharedStore } from '../../src/store/index.ts';

export async function commit(
  store: Pick<SharedStore, 'commit'>,
  change: PolicyChange,
  basis: Position,
  next: Position,
): Promise<'kept' | 'conflict'> {
  const { generation, version, mark } = basis;
  const head = { version, mark };
  const heads = { policy: head, account: head };
  const made = await store.commit(change, { generation, heads, lines }, next.mark);
  return made === null ? 'conflict' : 'kept';
}
