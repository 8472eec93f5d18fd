/**
 * The line of changes that led to the policy in force: the marks of the versions before it.
 *
 * By that a store that has lost its last changes is told from one that has gone on otherwise: the one stands
 * at a version that the policy in force came from, the other does not.
 */

import type { Position, ReplicatedPosition, VersionRecord } from '../store/index.ts';

/** Versions that are remembered: more than are made until a server that another took the place of is left. */
const mostVersions = 10_000;
/** Number of versions that are added until the oldest are dropped. */
const someVersions = 1000;

export class Lineage {
  #generation: string | null = null;
  /** One after the other, none missing in between; the one in force last. */
  #versions: VersionRecord[] = [];

  load(replicated: ReplicatedPosition | null): void {
    this.#generation = replicated?.generation ?? null;
    this.#versions = [];
    if (replicated === null) return;
    const { version, mark, lineage } = replicated;
    const kept = lineage?.versions.filter(one => one.version <= version) ?? [];
    const after = kept.findLastIndex((one, at) => one.version !== version - (kept.length - 1 - at));
    const line = kept.slice(after + 1);
    this.#versions = line.at(-1)?.mark === mark ? line : [{ version, mark }];
  }

  /** Goes on through positions; gives the last as it is to be kept. */
  goOn(positions: readonly Position[]): ReplicatedPosition {
    const last = positions.at(-1);
    if (last === undefined) throw new TypeError('no position to go on to');
    const added = positions.map(({ version, mark }) => ({ version, mark }));
    const known = this.#generation === last.generation ? this.#versions : [];
    // Nothing is known to lead here from before versions that are unknown.
    const goesOn = known.at(-1)?.version === (positions[0]?.version ?? 0) - 1;
    this.#versions = goesOn ? known : [];
    this.#versions.push(...added);
    if (this.#versions.length > mostVersions + someVersions) this.#versions.splice(0, someVersions);
    const { generation, version, mark } = last;
    this.#generation = generation;
    const since = this.#versions[0]?.version ?? version;
    return { generation, version, mark, lineage: { since, versions: added } };
  }

  /** The mark that a version had which led to the one in force, or is that one; null: it is not known. */
  markOf(version: number): string | null {
    const first = this.#versions[0]?.version ?? Number.POSITIVE_INFINITY;
    return this.#versions[version - first]?.mark ?? null;
  }

  /** The positions that are known to have led to the one in force, that one last. */
  get all(): readonly Position[] {
    const generation = this.#generation;
    if (generation === null) return [];
    return this.#versions.map(({ version, mark }) => ({ generation, version, mark }));
  }
}
