/**
 * Batches of records that tell whether a store holds exactly one of them, whole.
 *
 * Batch `n` replaces all that batch `n - 1` put in, over several tables and pages, and says how
 * much it is; a half of it, or a mixture of two, cannot look like any one.
 */

import type { Changes } from '../../src/store/index.ts';
import type { AllRecords } from './model.ts';
import { owner, unit } from './records.ts';

const unitCount = 120;

export function batch(n: number): Changes {
  const units = Array.from({ length: unitCount }, (_, index) =>
    unit(`/srv/git/owner-${index}/${'repository'.repeat(10)}.git`, { bytes: n * 1000 + index, seq: n }),
  );
  return {
    units,
    owners: [owner('alice', { since: n })],
    deltas: [{ seq: n, owner: 'alice', leaf: 'size:git:lfs', bytes: n, at: n }],
    goneDeltas: [n - 1],
    sweep: { startedAt: sum(units.map(({ bytes }) => bytes)), finishedAt: n, units: unitCount },
  };
}

/** The batch that the store holds, 0 for none; throws where it is not one whole batch. */
export function batchIn(kept: AllRecords): number {
  const n = kept.sweep?.finishedAt ?? 0;
  const found = {
    seqs: [...new Set(kept.units.map(({ seq }) => seq))],
    units: kept.units.length,
    bytes: sum(kept.units.map(({ bytes }) => bytes)),
    deltas: kept.deltas.map(({ seq }) => seq),
    owners: kept.owners.map(({ since }) => since),
  };
  const whole =
    n === 0
      ? { seqs: [], units: 0, bytes: 0, deltas: [], owners: [] }
      : { seqs: [n], units: unitCount, bytes: kept.sweep?.startedAt, deltas: [n], owners: [n] };
  if (JSON.stringify(found) !== JSON.stringify(whole)) {
    throw new Error(`no whole batch ${n}: ${JSON.stringify(found)} instead of ${JSON.stringify(whole)}`);
  }
  return n;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
