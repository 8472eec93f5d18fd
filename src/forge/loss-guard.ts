/**
 * Refuses a reading in which most rows have disappeared at once, as after a step of a migration, or in
 * another database. Nobody deletes so much by accident; an administrator who did so confirms it.
 */

import { formatBytes, formatCount } from '../text.ts';
import { ForgeFault } from './database.ts';
import { type ForgeLeaf, forgeLeaves } from './messages.ts';

/**
 * A sum of rows or bytes; 0 if unknown. Repositories have no bytes here, and figures from softquota's store
 * have no rows.
 */
export interface RowSum {
  readonly rows: number;
  readonly bytes: number;
}

/** Sums of a reading by kind and then by the owner's id. */
export type RowSums = ReadonlyMap<ForgeLeaf | 'repositories', ReadonlyMap<number, RowSum>>;

/** Milliseconds after which a loss is believed; a step of a migration ends much sooner. */
const longestMs = 3_600_000;
/** Number of lost rows below which a loss is believed: so many may be deleted by hand. */
const leastRows = 20;

export class LossGuard {
  #known: RowSums | null = null;
  #held: { readonly version: number | null; readonly since: number } | null = null;

  /** Uses the ledger's figures, in the form of `ThreadCalls.read`, if there was no earlier reading. */
  remember(known: Float64Array): void {
    this.#known ??= rowSumsOf(known);
  }

  /**
   * Throws a `ForgeFault` while most known data is missing, unless the schema has had the same version for an
   * hour of that time. Sums that pass are the known ones from then on. `now` is in milliseconds on the
   * monotonic clock.
   */
  async pass(sums: RowSums, schemaVersion: () => Promise<number | null>, now: number): Promise<void> {
    const losses = lossesIn(this.#known ?? sums, sums);
    if (losses.length > 0) {
      const version = await schemaVersion();
      if (this.#held?.version !== version) this.#held = { version, since: now };
      if (now - this.#held.since < longestMs) throw gone(losses);
    }
    this.#held = null;
    this.#known = sums;
  }
}

function lossesIn(known: RowSums, sums: RowSums): readonly string[] {
  return [...known].flatMap(([of, before]) => {
    const after = sums.get(of) ?? new Map<number, RowSum>();
    const [was, is] = [totalOf(before), totalOf(after)];
    const losers = [...before].filter(([id, { rows, bytes }]) => {
      const left = after.get(id);
      return (left?.rows ?? 0) < rows || (left?.bytes ?? 0) < bytes;
    });
    const isMostGone = (unit: keyof RowSum) => was[unit] === 0 || 2 * is[unit] < was[unit];
    const areFew = was.rows > 0 && was.rows - is.rows < leastRows;
    if (losers.length < 2 || areFew || !isMostGone('rows') || !isMostGone('bytes')) return [];
    const [unit, shown] =
      was.bytes > 0 ? (['bytes', formatBytes] as const) : (['rows', formatCount] as const);
    return [`${shown(was[unit] - is[unit])} of ${shown(was[unit])} of ${of}, of ${losers.length} owners`];
  });
}

function totalOf(sums: ReadonlyMap<number, RowSum>): RowSum {
  const all = [...sums.values()];
  const total = (unit: keyof RowSum) => all.reduce((sum, one) => sum + one[unit], 0);
  return { rows: total('rows'), bytes: total('bytes') };
}

function rowSumsOf(known: Float64Array): RowSums {
  const sums = new Map(forgeLeaves.map(leaf => [leaf, new Map<number, RowSum>()]));
  for (let at = 0; at < known.length; at += 1 + forgeLeaves.length) {
    for (const [index, leaf] of forgeLeaves.entries()) {
      sums.get(leaf)?.set(known[at] ?? 0, { rows: 0, bytes: known[at + 1 + index] ?? 0 });
    }
  }
  return sums;
}

function gone(losses: readonly string[]): ForgeFault {
  return new ForgeFault(
    'gone',
    `most of its rows are gone at once: ${losses.join('; ')}`,
    'if the forge is being upgraded or restored, wait; if it is another database, correct [forge]; if all of this was deleted: softquota scan --accept-moved',
  );
}
