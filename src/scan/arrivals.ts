/**
 * Finds the files of a repository that a running gc may have copied, so that their bytes exist twice.
 *
 * A gc copies objects into new packs, puts these in place together, and only then removes what they were
 * copied from. So of all packs that came while it has been at work, only some that came within the same
 * moment can be its copy: all others are pushes, and the largest such moment is more than its copy. It also
 * takes objects that nothing refers to out of packs, and gives them the time of their pack, which those of a
 * push do not have. Everything else that came meanwhile is no copy of anything.
 *
 * A pack came when its oldest file did: a push of an object that is there already changes the times of the
 * pack that has it, but not those of its index.
 */

import type { CountedObjects } from './copies.ts';

const moment = 1000;
const minute = 60_000;
/** git starts a gc at a third of this. */
const mostNames = 20_000;

/** Times in milliseconds since 1970. */
export interface ArrivedFile {
  readonly bytes: number;
  readonly modifiedAt: number;
  /** When it was put in place, or its status changed last. */
  readonly changedAt: number;
}

export class Arrivals {
  /** By what the names of a pack's files have in common. */
  readonly #packs = new Map<string, { bytes: number; arrivedAt: number }>();
  readonly #others: { readonly bytes: number; readonly arrivedAt: number }[] = [];
  /** Nothing that came before matters. */
  readonly #since: number;
  /** The names of loose objects; null where they are not asked for, or are too many. */
  #loose: string[] | null = null;
  #isLoosened = false;

  constructor(since: number) {
    this.#since = since;
  }

  /** From now on the names of loose objects are kept. */
  keepNames(): void {
    this.#loose = [];
  }

  /** A file of `objects/pack`. */
  addPackFile(name: string, file: ArrivedFile): void {
    if (name.startsWith('multi-pack-index')) this.addByproduct(file);
    else {
      const [stem = name] = name.split('.');
      const { bytes, arrivedAt } = this.#packs.get(stem) ?? { bytes: 0, arrivedAt: Number.POSITIVE_INFINITY };
      this.#packs.set(stem, {
        bytes: bytes + file.bytes,
        arrivedAt: Math.min(arrivedAt, file.changedAt),
      });
    }
  }

  addName(looseObject: string): void {
    if (this.#loose !== null && this.#loose.push(looseObject) > mostNames) this.#loose = null;
  }

  addLooseObject(file: ArrivedFile): void {
    if (Math.abs(file.changedAt - file.modifiedAt) <= minute) return;
    this.addByproduct(file);
    this.#isLoosened ||= file.changedAt >= this.#since;
  }

  /** Files that a gc writes beside packs, such as the packed refs. */
  addByproduct({ bytes, changedAt }: ArrivedFile): void {
    if (changedAt >= this.#since) this.#others.push({ bytes, arrivedAt: changedAt });
  }

  /** The packs, the oldest first, and loose objects; packs that came since then are fresh. */
  counted(freshSince: number): CountedObjects {
    const inOrder = [...this.#packs].sort(([, one], [, other]) => one.arrivedAt - other.arrivedAt);
    const packs = inOrder.map(([stem, { arrivedAt }]) => ({ stem, isFresh: arrivedAt >= freshSince }));
    // Objects that were taken out of a pack are in that pack as well.
    return { packs, loose: this.#isLoosened ? null : this.#loose };
  }

  /** The most bytes that a gc which has been at work since then may be holding twice. */
  mostCopied(since: number): number {
    const others = this.#others.filter(({ arrivedAt }) => arrivedAt >= since);
    const packs = [...this.#packs.values()]
      .filter(({ arrivedAt }) => arrivedAt >= since)
      .sort((a, b) => a.arrivedAt - b.arrivedAt);
    return others.reduce((sum, { bytes }) => sum + bytes, mostInAMoment(packs));
  }
}

/** The most bytes that came within a moment, wherever it begins. */
function mostInAMoment(packs: readonly { readonly bytes: number; readonly arrivedAt: number }[]): number {
  let most = 0;
  let sum = 0;
  let first = 0;
  for (const { bytes, arrivedAt } of packs) {
    sum += bytes;
    for (let oldest = packs[first]; oldest !== undefined; oldest = packs[first]) {
      if (arrivedAt - oldest.arrivedAt <= moment) break;
      sum -= oldest.bytes;
      first += 1;
    }
    most = Math.max(most, sum);
  }
  return most;
}
