/** The state of the forge's reader, for health and the log. */

import type { ForgeFault, ForgeSummary } from '../../forge/index.ts';
import type { ObservedForge } from '../../health/index.ts';
import type { RefusedOwner } from './owners.ts';

export class ForgeState {
  readonly #kind: string;
  #fault: ObservedForge['fault'] = null;
  #readAt: number | null = null;
  #summary: ForgeSummary | null = null;
  #refused: readonly RefusedOwner[] = [];
  #absent = 0;

  constructor(kind: string) {
    this.#kind = kind;
  }

  /** The figures of a reading count. */
  counted(): void {
    this.#readAt = Date.now();
  }

  /** A reading has ended well. True: the one before had not. */
  succeeded(summary: ForgeSummary | null): boolean {
    const wasFaulty = this.#fault !== null;
    this.#fault = null;
    this.#readAt = Date.now();
    this.#summary = summary ?? this.#summary;
    return wasFaulty;
  }

  /** A reading failed. True: for another reason than the one before. */
  failed({ code, message, mend }: ForgeFault): boolean {
    const before = this.#fault;
    this.#fault = { code, message, mend, since: before?.since ?? Date.now() };
    return before?.message !== message;
  }

  refused(owners: readonly RefusedOwner[]): void {
    this.#refused = owners;
  }

  /** Notes that so many owners are gone from the forge at once that none is deleted. */
  absent(count: number): void {
    this.#absent = count;
  }

  observed(): ObservedForge {
    return {
      kind: this.#kind,
      fault: this.#fault,
      readAt: this.#readAt,
      unowned: this.#summary?.unowned ?? [],
      refused: this.#refused,
      absent: this.#absent,
    };
  }
}
