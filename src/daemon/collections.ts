/** Predicts when a refused owner gets room, because the worker collects garbage. */

import type { Config } from '../config/index.ts';
import type { Room } from '../gate/index.ts';
import { isOfGitaly } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { type Decision, type DiskFull, leafMask, passesWithout, type Ruled } from '../quota/index.ts';
import type { RepositoryFigures } from '../wire/index.ts';
import type { Space } from './space.ts';

interface CollectionParts {
  readonly ledger: Pick<Ledger, 'settings' | 'units'>;
  readonly space: Pick<Space, 'figures'>;
  readonly reclaim: Pick<Config['reclaim'], 'expireMs'>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Time that the worker takes after the expiry, for a collection and other tasks. */
const workMs = 120_000;
/** Most units of an owner that are examined. */
const mostLookedAt = 10_000;

/** Expects a worker that collects to be connected. `unit`: the repository of the push. */
export function roomByCollections(
  { ledger, space, reclaim, now }: CollectionParts,
  owner: string,
  unit: string | null,
  decision: Decision | DiskFull,
): Omit<Room, 'isForgiving'> {
  const freedAt =
    unit !== null && isCollected(unit, space.figures(unit)) ? now + reclaim.expireMs + workMs : null;
  if (decision.by !== 'rule') return { passesAt: null, freedAt };
  const counts = decision.subjects.reduce((mask, subject) => mask | leafMask(subject), 0);
  const due: { readonly at: number; readonly bytes: number }[] = [];
  for (const { id, leaf } of ledger.units.measuredOf(owner, mostLookedAt)) {
    if ((leafMask(leaf) & counts) === 0 || (decision.per === 'repository' && id !== unit)) continue;
    const figures = space.figures(id);
    const by = isCollected(id, figures) ? (figures?.collected_by ?? null) : null;
    // A collection that is overdue waits for others, and nobody knows how long.
    if (by !== null && by > now - workMs)
      due.push({ at: Math.max(now, by) + workMs, bytes: figures?.measured?.unreachable_bytes ?? 0 });
  }
  return { passesAt: passesAt(due, decision, ledger), freedAt };
}

function passesAt(
  due: readonly { readonly at: number; readonly bytes: number }[],
  decision: Ruled,
  { settings }: Pick<Ledger, 'settings'>,
): number | null {
  let freed = 0;
  for (const { at, bytes } of due.toSorted((a, b) => a.at - b.at)) {
    freed += bytes;
    if (passesWithout(decision, freed, settings)) return at;
  }
  return null;
}

/** False if the last collection failed or freed nothing: nobody knows when the next one does better. */
function isCollected(path: string, figures: RepositoryFigures | null): boolean {
  if (isOfGitaly(path) || figures === null || figures.fault !== null) return false;
  const { measured, collected } = figures;
  if (measured === null || measured.lent) return false;
  return collected === null || (collected.fault === null && collected.freed_bytes > 0);
}
