/** Sums over all owners, each taken out and put in again when it has become another. */

import { type Ledger, ReconcileLoop } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { PackedNumbers } from '../packed-numbers.ts';
import { leaves, noUsage, type Usage } from '../quota/index.ts';
import { inSlices } from '../slices.ts';
import { within } from '../within.ts';
import { decidedOwner, type KindState, type Nearness, worstKind } from './levels.ts';

interface TotalsOptions {
  readonly ledger: Pick<Ledger, 'deciderFor' | 'documents' | 'ownerUsage' | 'settings' | 'watch'>;
  readonly log: Pick<Log, 'error'>;
}

interface TotalFigures {
  readonly owners: number;
  /**
   * Owners of whom some kind of data is refused by a limit. An owner with limit 0 who stores nothing is not
   * among them.
   */
  readonly over: number;
  /** Owners who are not, and have passed a limit whose grace runs. */
  readonly grace: number;
  /** Owners who are neither, and have come to the lowest of WARN_AT somewhere. */
  readonly near: number;
  /** Bytes of each leaf; what passes 2^53 - 1 stands at that. */
  readonly usage: Usage;
  /** The sum of the limits that owners have for everything, and how many have none. */
  readonly promised: number;
  readonly unlimited: number;
}

/** Owners who have become others since this was asked for last. */
interface Moved {
  /** The rows of their keys. */
  readonly rows: ReadonlySet<number>;
  /** With the usage that they have when this is gone through, once. */
  readonly usage: Iterable<readonly [id: number, usage: Usage]>;
  /** The ids of owners who are no more. */
  readonly gone: readonly number[];
}

/** The values that an owner is counted with, besides the usage. */
interface CountedOwner extends Nearness {
  readonly id: number;
  /** The limit for everything; -1: none. */
  readonly limit: number;
}

const noLimit: Nearness = { state: 'ok', fullness: -1 };

const most = BigInt(Number.MAX_SAFE_INTEGER);

export class Totals {
  readonly #ledger: TotalsOptions['ledger'];
  readonly #loop: ReconcileLoop;
  /** By the rows of their keys, as their usage is. */
  readonly #counted = new Map<number, CountedOwner>();
  readonly #usages = new PackedNumbers(leaves.length);
  #promised = 0n;
  #unlimited = 0;
  readonly #states: Record<KindState, number> = { over: 0, grace: 0, near: 0, ok: 0 };
  /** Exact, whatever they come to. */
  readonly #sums = leaves.map(() => 0n);
  /** Tells whether all have been counted in this life. */
  #isCounted = false;
  /** The rows of owners who have become others. */
  #moved = new Set<number>();
  #gone = new Set<number>();

  constructor({ ledger, log }: TotalsOptions) {
    this.#ledger = ledger;
    this.#loop = new ReconcileLoop({
      ledger,
      reconcile: ownerKey => this.#reconcile(ownerKey),
      finish: async everybody => {
        if (everybody) await this.#forgetGone();
        this.#isCounted = true;
      },
      onFailed: error => log.error({ err: error }, 'the owners could not be added up'),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Resolves once all that has changed by now is counted. */
  settled(): Promise<void> {
    return this.#loop.settled();
  }

  /**
   * The figures of now; where all have to be counted again and that takes longer than `mostMs`, those of a
   * moment before. Of before all were counted once there are none.
   */
  async lately(mostMs: number): Promise<TotalFigures> {
    const settled = this.settled();
    await (this.#isCounted ? within(settled, mostMs, undefined) : settled);
    return this.figures;
  }

  get figures(): TotalFigures {
    const { over, grace, near } = this.#states;
    const usage = this.#sums.map(sum => Number(sum < most ? sum : most));
    const promised = Number(this.#promised < most ? this.#promised : most);
    return { owners: this.#counted.size, over, grace, near, usage, promised, unlimited: this.#unlimited };
  }

  /** The owner's whose key is in this row, from the last count. */
  nearnessAt(row: number): Nearness {
    return this.#counted.get(row) ?? noLimit;
  }

  /** To be asked by one only, and given back with `putBack` where it came to nothing. */
  takeMoved(): Moved {
    const rows = this.#moved;
    const moved = { rows, usage: this.#usageIn(rows), gone: [...this.#gone] };
    this.#moved = new Set();
    this.#gone = new Set();
    return moved;
  }

  putBack({ rows, gone }: Pick<Moved, 'gone' | 'rows'>): void {
    for (const row of rows) this.#moved.add(row);
    for (const id of gone) this.#gone.add(id);
  }

  *#usageIn(rows: Iterable<number>): Generator<readonly [id: number, usage: Usage]> {
    for (const row of rows) {
      const counted = this.#counted.get(row);
      if (counted !== undefined) yield [counted.id, this.#usages.get(row) ?? noUsage];
    }
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  #reconcile(ownerKey: string): void {
    const { keys } = this.#ledger.documents.owners;
    const known = keys.find(ownerKey);
    const before = this.#counted.get(known);
    const usageBefore = this.#usages.get(known) ?? noUsage;
    const [now, usage] = this.#countedNow(ownerKey, usageBefore) ?? [undefined, noUsage];
    this.#count(before, -1);
    this.#count(now, 1);
    const hasGrown = this.#add(usageBefore, usage);
    if (now !== undefined) {
      const row = before === undefined ? keys.hold(ownerKey) : known;
      this.#counted.set(row, now);
      this.#usages.set(row, usage);
      if (hasGrown || before?.id !== now.id) this.#moved.add(row);
    } else if (before !== undefined) {
      this.#counted.delete(known);
      this.#usages.delete(known);
      this.#moved.delete(known);
      keys.release(known);
    }
    // A renamed owner has another key.
    const isLeft = before !== undefined && before.id !== now?.id;
    if (isLeft && this.#ledger.documents.owners.byId(before.id) === undefined) this.#gone.add(before.id);
  }

  #countedNow(ownerKey: string, before: Usage): readonly [CountedOwner, Usage] | undefined {
    const decided = decidedOwner(this.#ledger, ownerKey);
    if (decided === null) {
      // An owner whose bytes cannot be added up counts with the last sum that could.
      const known = this.#ledger.documents.owners.named(ownerKey);
      return known && [{ id: known.id, ...noLimit, limit: 0 }, before];
    }
    const { owner, decide } = decided;
    if (owner.id === null) return undefined;
    const { state, fullness } = worstKind(this.#ledger.settings, decide, owner);
    return [{ id: owner.id, state, fullness, limit: decide('size:all').limit ?? 0 }, owner.usage];
  }

  #count(counted: CountedOwner | undefined, step: 1 | -1): void {
    if (counted === undefined) return;
    this.#states[counted.state] += step;
    if (counted.limit < 0) this.#unlimited += step;
    else this.#promised += BigInt(step) * BigInt(counted.limit);
  }

  /** True: there is something to add. */
  #add(before: Usage, now: Usage): boolean {
    let hasGrown = false;
    for (const [index, sum] of this.#sums.entries()) {
      const grown = (now[index] ?? 0) - (before[index] ?? 0);
      // Most owners have most kinds of data as before, or none.
      if (grown === 0) continue;
      this.#sums[index] = sum + BigInt(grown);
      hasGrown = true;
    }
    return hasGrown;
  }

  #forgetGone(): Promise<void> {
    const { owners } = this.#ledger.documents;
    return inSlices(this.#counted.keys(), row => {
      const key = owners.keys.key(row);
      if (owners.named(key) === undefined) this.#reconcile(key);
    });
  }
}
