/**
 * The line of changes that led to the policy in force: the marks of earlier versions.
 *
 * It tells a store that lost its last changes from one that went on with other changes: the first is at a
 * version that led to the policy in force, the second is not.
 */

import type { Position, ReplicatedPosition } from '../store/index.ts';

/**
 * Most versions that are remembered: more than there can be until hosts leave a server after its failover.
 */
const mostVersions = 10_000;
/** The oldest versions are dropped in batches of this size. */
const someVersions = 1000;

export class Lineage {
  #generation: string | null = null;
  /** Consecutive versions; the last one is in force. */
  #versions: Omit<Position, 'generation'>[] = [];

  load(replicated: ReplicatedPosition | null): void {
    this.#generation = replicated?.generation ?? null;
    this.#versions = [];
    if (replicated === null) return;
    const { version, mark, lineage } = replicated;
    const kept = lineage?.versions.filter(one => one.version <= version) ?? [];
    this.#versions = kept.at(-1)?.mark === mark ? kept : [{ version, mark }];
  }

  /** Adds positions; returns the last one in the form for the store. */
  goOn(positions: readonly Position[]): ReplicatedPosition {
    const last = positions.at(-1);
    if (last === undefined) throw new TypeError('no position to go on to');
    const added = positions.map(({ version, mark }) => ({ version, mark }));
    const known = this.#generation === last.generation ? this.#versions : [];
    // After a gap, earlier versions are not known to lead here.
    const goesOn = known.at(-1)?.version === (positions[0]?.version ?? 0) - 1;
    this.#versions = goesOn ? known : [];
    this.#versions.push(...added);
    if (this.#versions.length > mostVersions + someVersions) this.#versions.splice(0, someVersions);
    const { generation, version, mark } = last;
    this.#generation = generation;
    const since = this.#versions[0]?.version ?? version;
    return { generation, version, mark, lineage: { since, versions: added } };
  }

  /** Returns the mark of a version that led to the one in force, or is in force; null: unknown. */
  markOf(version: number): string | null {
    const first = this.#versions[0]?.version ?? Number.POSITIVE_INFINITY;
    return this.#versions[version - first]?.mark ?? null;
  }

  /** The positions that led to the one in force, as far as known, that one last. */
  get all(): readonly Position[] {
    const generation = this.#generation;
    if (generation === null) return [];
    return this.#versions.map(({ version, mark }) => ({ generation, version, mark }));
  }
}
