/**
 * Compares the policy in the store with the known one: is it the same, does it continue it, or has it
 * diverged?
 *
 * A store may be emptied, restored from an old backup, or lose some changes at a failover. Its content must
 * then not undo a policy that was reported as in force. If it only lacks the known policy, or its last
 * changes, a host that knows them writes them again; if it has other changes instead, an administrator has to
 * decide.
 */

import type { Position, SharedState } from '../store/index.ts';

/** The policy that this host knows. */
export interface KnownPolicy {
  /** Null if this host never applied a policy of a shared store. */
  readonly position: Position | null;
  /** True if there is no rule, no group and no other policy document. */
  readonly isEmpty: boolean;
  /** The mark of an older version that led to the known one; null if it is not known. */
  markOf(version: number): string | null;
}

/** The reason why the store's policy is not applied. */
export interface Divergence {
  readonly why: 'older' | 'another';
  readonly message: string;
}

export type StoreVerdict =
  | { readonly is: 'same' }
  /** It continues the known one. */
  | { readonly is: 'later' }
  /** It replaces the known one, because an administrator decided so or because none was known. */
  | { readonly is: 'instead' }
  /** The store and this host each have a policy that was never shared: they may be the same. */
  | { readonly is: 'unrelated'; readonly divergence: Divergence }
  /** It leads to the known one, and lacks the last changes, which can be written again. */
  | { readonly is: 'lacking'; readonly divergence: Divergence }
  /** It has no policy: the known one can be written there. */
  | { readonly is: 'empty' }
  | { readonly is: 'diverged'; readonly divergence: Divergence };

const inForce =
  'The known policy stays in force, and the policy cannot be changed until "softquota store repair" is run';

/**
 * Compares the known policy with the store's. `markThere`: the mark of the known version in the store; null
 * if the store does not have it any more.
 */
export function judge(
  known: KnownPolicy,
  { position, supersedes }: Pick<SharedState, 'position' | 'supersedes'>,
  markThere: string | null,
): StoreVerdict {
  if (position === null) return { is: 'empty' };
  if (known.position === null) {
    if (known.isEmpty) return { is: 'instead' };
    const message = `the store has a policy, but this host had a different one. ${inForce}`;
    return { is: 'unrelated', divergence: { why: 'another', message } };
  }
  const { generation, version, mark } = known.position;
  if (position.generation !== generation) {
    if (supersedes.includes(generation)) return { is: 'instead' };
    return diverged('another', `the policy in the store does not continue the known one. ${inForce}`);
  }
  if (position.version < version) {
    const lost = version - position.version;
    const changes = lost === 1 ? 'change' : `${lost} changes`;
    const message = `the store's policy lacks the last ${changes} of the known one. ${inForce}`;
    // A version that the known one did not come through has other changes instead of the known ones.
    const is = known.markOf(position.version) === position.mark ? 'lacking' : 'diverged';
    return { is, divergence: { why: 'older', message } };
  }
  const there = position.version === version ? position.mark : markThere;
  if (there !== null && there !== mark) {
    return diverged(
      'older',
      `the store's policy lacks the last changes of the known one, and has other changes. ${inForce}`,
    );
  }
  return { is: position.version === version ? 'same' : 'later' };
}

function diverged(why: Divergence['why'], message: string): StoreVerdict {
  return { is: 'diverged', divergence: { why, message } };
}
