/**
 * Tells whether the policy in the store is the known one, or what followed from it.
 *
 * A store may be emptied, put back from an old backup, or fall back by some changes when another server takes
 * over. What it then holds must not undo what administrators were told is in force. Where it only lacks the
 * last changes of the known policy, whoever knows them writes them again; where it has others instead,
 * somebody has to decide.
 */

import type { Position, SharedState } from '../store/index.ts';

/** What is known here. */
export interface KnownPolicy {
  /** Null: nothing was ever taken over from a shared store. */
  readonly position: Position | null;
  /** Nothing is laid down: no rule, group, or anything else. */
  readonly isEmpty: boolean;
  /** The mark of an older version that led to the known one; null: it is not known. */
  markOf(version: number): string | null;
}

/** Why the store's policy is not taken over. */
export interface Divergence {
  readonly why: 'emptied' | 'older' | 'another';
  readonly message: string;
}

export type StoreVerdict =
  | { readonly is: 'same' }
  /** It followed from the known one: the log has what changed. */
  | { readonly is: 'later' }
  /** It takes the place of the known one, by somebody's decision or because nothing was known. */
  | { readonly is: 'instead' }
  /** Both there and here is a policy that was never shared: they may be the same. */
  | { readonly is: 'unrelated'; readonly divergence: Divergence }
  /** It leads to the known one, and lacks the last changes: they can be written again. */
  | { readonly is: 'lacking'; readonly divergence: Divergence }
  /** There is nothing, here or there. */
  | { readonly is: 'none' }
  | { readonly is: 'diverged'; readonly divergence: Divergence };

const inForce = 'The known one stays in force, and nothing can be ruled until "softquota store repair"';

/**
 * `markThere`: of the change that made the known version, as the store's log tells it; null: it does not any
 * more.
 */
export function judge(
  known: KnownPolicy,
  { position, supersedes }: SharedState,
  markThere: string | null,
): StoreVerdict {
  if (position === null) {
    if (known.position === null && known.isEmpty) return { is: 'none' };
    return diverged('emptied', `the store holds no policy, and this host knows one. ${inForce}`);
  }
  if (known.position === null) {
    if (known.isEmpty) return { is: 'instead' };
    const message = `the store holds a policy, and this host had another of its own. ${inForce}`;
    return { is: 'unrelated', divergence: { why: 'another', message } };
  }
  const { generation, version, mark } = known.position;
  if (position.generation !== generation) {
    if (supersedes.includes(generation)) return { is: 'instead' };
    return diverged('another', `the policy in the store does not come from the known one. ${inForce}`);
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
      `the store's policy lacks the last changes of the known one, and has others. ${inForce}`,
    );
  }
  return { is: position.version === version ? 'same' : 'later' };
}

function diverged(why: Divergence['why'], message: string): StoreVerdict {
  return { is: 'diverged', divergence: { why, message } };
}
