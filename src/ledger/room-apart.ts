/**
 * Room while the store that hosts share is away. No host hears then what the others let start, so each grants
 * only its part of what was left: what it grants counts once for every host.
 */

import { leafMask, type ReservedBytes, type Subject } from '../quota/index.ts';
import type { OwnerUsage } from './options.ts';

/** Counts the hosts that share the quota and do not hear of each other; 1: they hear, or there is one. */
export type HostsApart = () => number;

export class RoomApart {
  readonly #hostsApart: HostsApart;
  /** Usage of owners when they were first asked about since then, by their ids. */
  readonly #before = new Map<number, OwnerUsage['usage']>();

  constructor(hostsApart: HostsApart) {
    this.#hostsApart = hostsApart;
  }

  /**
   * Returns the reserved bytes of an owner, with those that the other hosts may have granted if they granted as
   * much as this one, this action among it.
   */
  reserved(owner: OwnerUsage, subject: Subject, addingBytes: number): OwnerUsage['reserved'] {
    const others = this.#hostsApart() - 1;
    if (others < 1) this.#before.clear();
    if (others < 1 || addingBytes === 0) return owner.reserved;
    const { id, usage, reserved } = owner;
    const before = (id === null ? undefined : this.#before.get(id)) ?? usage;
    if (id !== null) this.#before.set(id, before);
    const granted: readonly ReservedBytes[] = [
      ...usage.map((bytes, at) => ({ mask: 1 << at, bytes: Math.max(0, bytes - (before[at] ?? 0)) })),
      ...(reserved ?? []),
      { mask: leafMask(subject), bytes: addingBytes },
    ];
    const ofOthers = granted
      .filter(({ bytes }) => bytes > 0)
      .map(({ mask, bytes }) => ({ mask, bytes: Math.min(others * bytes, Number.MAX_SAFE_INTEGER) }));
    return [...(reserved ?? []), ...ofOthers];
  }
}
