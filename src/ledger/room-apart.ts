/**
 * Room while the store that hosts share is away. No host hears then what the others let start, so each grants
 * only its part of what was left: what it grants counts once for every host.
 */

import { leafMask, type ReservedBytes, type Subject, type Usage } from '../quota/index.ts';
import type { OwnerUsage } from './options.ts';

export class RoomApart {
  readonly #hostsApart: () => number;
  /** The bytes that owners had on this host when they were first asked about since then, by their ids. */
  readonly #before = new Map<number, Usage>();

  /** `hostsApart` counts the hosts that do not hear of each other; 1: they do, or there is one. */
  constructor(hostsApart: () => number) {
    this.#hostsApart = hostsApart;
  }

  /**
   * Returns the reserved bytes of an owner, with those that the other hosts may have granted if they granted
   * as much as this one, this action among it. `own` is what the owner has on this host.
   */
  reserved(
    { id, reserved }: Pick<OwnerUsage, 'id' | 'reserved'>,
    own: Usage,
    subject: Subject,
    addingBytes: number,
  ): OwnerUsage['reserved'] {
    if (addingBytes === 0) return reserved;
    const others = this.#hostsApart() - 1;
    if (others < 1) {
      this.#before.clear();
      return reserved;
    }
    const before = (id === null ? undefined : this.#before.get(id)) ?? own;
    if (id !== null) this.#before.set(id, before);
    const granted: readonly ReservedBytes[] = [
      ...grownBytes(before, own),
      ...(reserved ?? []),
      { mask: leafMask(subject), bytes: addingBytes },
    ];
    const ofOthers = granted.map(({ mask, bytes }) => ({
      mask,
      bytes: Math.min(others * bytes, Number.MAX_SAFE_INTEGER),
    }));
    return [...(reserved ?? []), ...ofOthers];
  }
}

/** Growth by leaf. What went from one leaf may have come to another, as where a repository becomes public. */
function grownBytes(before: Usage, now: Usage): readonly ReservedBytes[] {
  const changes = now.map((bytes, at) => bytes - (before[at] ?? 0));
  let gone = changes.reduce((sum, bytes) => sum - Math.min(0, bytes), 0);
  return changes.flatMap((bytes, at) => {
    if (bytes <= 0) return [];
    const moved = Math.min(bytes, gone);
    gone -= moved;
    return bytes === moved ? [] : [{ mask: 1 << at, bytes: bytes - moved }];
  });
}
