/** A source of reported units, and its part of one owner's usage. */

import { type Leaf, leafIndex, leaves, type Usage } from '../quota/index.ts';

/** The name of the source that has a forge's figures, which only the daemon itself puts. */
export const forgeSource = 'forge';

/** A source, and when it put what counts now. */
export interface UnitSource {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly reportedAt: number;
  readonly staleAfterMs: number;
}

/** An owner's part of the set of one source. */
export interface SourceShare {
  readonly source: UnitSource;
  readonly bytes: Usage;
  /** Number of units of each leaf. */
  readonly units: Usage;
}

export function hasSameFigures(a: SourceShare, b: SourceShare): boolean {
  return leaves.every((_, index) => a.bytes[index] === b.bytes[index] && a.units[index] === b.units[index]);
}

/** Number of units of these leaves. */
export function unitCountIn({ units }: Pick<SourceShare, 'units'>, of: readonly Leaf[] = leaves): number {
  return of.reduce((sum, leaf) => sum + (units[leafIndex(leaf)] ?? 0), 0);
}
