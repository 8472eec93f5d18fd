/** Sums over all owners, each taken out and put in again when it has become another. */

import { type Ledger, ReconcileLoop } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { leaves, noUsage, type Usage } from '../quota/index.ts';
import { inSlices } from '../slices.ts';
import { within } from '../within.ts';
import { poolStates } from './bound-states.ts';
import { decidedOwner, type KindState, type Nearness, worstKind } from './levels.ts';

interface TotalsOptions {
  readonly ledger: Pick<
    Ledger,
    'documents' | 'ownerUsage' | 'policy' | 'pools' | 'settings' | 'stateDeciderFor' | 'watch'
  >;
  readonly log: Pick<Log, 'error'>;
}

interface TotalFigures {
  readonly owners: number;
  /** Owners of whom a limit refuses some kind of data; not those with limit 0 who store nothing. */
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

interface CountedOwner extends Nearness {
  readonly id: number;
  readonly usage: Usage;
  /** The limit for everything; -1: none. */
  readonly limit: number;
}

/** Owners who have become others since this was asked for last. */
interface Moved {
  /** Their present usage, by their ids. */
  readonly usage: ReadonlyMap<number, Usage>;
  readonly gone: readonly number[];
}

const noLimit: Nearness = { state: 'ok', fullness: -1 };

const most = BigInt(Number.MAX_SAFE_INTEGER);

export class Totals {
  readonly #ledger: TotalsOptions['ledger'];
  readonly #loop: ReconcileLoop;
  readonly #counted = new Map<string, CountedOwner>();
  #promised = 0n;
  #unlimited = 0;
  readonly #states: Record<KindState, number> = { over: 0, grace: 0, near: 0, ok: 0 };
  /** Exact, whatever they come to. */
  readonly #sums = leaves.map(() => 0n);
  /** The nearness of pools to their limits with which their members were counted, by group. */
  readonly #pools = new Map<string, string>();
  #isCounted = false;
  #moved = new Map<number, Usage>();
  #gone = new Set<number>();

  constructor({ ledger, log }: TotalsOptions) {
    this.#ledger = ledger;
    this.#loop = new ReconcileLoop({
      ledger,
      reconcile: ownerKey => this.#reconcile(ownerKey),
      reconcilePool: group => this.#reconcilePool(group),
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

  nearnessOf(ownerKey: string): Nearness {
    return this.#counted.get(ownerKey) ?? noLimit;
  }

  /** To be asked by one only, and given back with `putBack` where it came to nothing. */
  takeMoved(): Moved {
    const moved = { usage: this.#moved, gone: [...this.#gone] };
    this.#moved = new Map();
    this.#gone = new Set();
    return moved;
  }

  /** Owners that have changed again since are left alone. */
  putBack({ usage, gone }: Moved): void {
    const { owners } = this.#ledger.documents;
    for (const [id, used] of usage) {
      const isCounted = this.#counted.get(owners.byId(id)?.key ?? '')?.id === id;
      if (isCounted && !this.#moved.has(id)) this.#moved.set(id, used);
    }
    for (const id of gone) this.#gone.add(id);
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  #reconcile(ownerKey: string): void {
    const before = this.#counted.get(ownerKey);
    const now = this.#countedNow(ownerKey, before);
    const isSame = before !== undefined && before.usage === now?.usage;
    this.#count(before, -1);
    this.#count(now, 1);
    if (!isSame) this.#add(before?.usage ?? noUsage, now?.usage ?? noUsage);
    if (now === undefined) {
      this.#counted.delete(ownerKey);
    } else {
      this.#counted.set(ownerKey, now);
      if (!isSame || before.id !== now.id) this.#moved.set(now.id, now.usage);
    }
    if (before === undefined || before.id === now?.id) return;
    // A renamed owner has another key.
    if (this.#ledger.documents.owners.byId(before.id) !== undefined) return;
    this.#moved.delete(before.id);
    this.#gone.add(before.id);
  }

  /** Members of a group come nearer to a limit, or farther from it, by what others of them store. */
  #reconcilePool(group: string): boolean {
    const nearness = this.#nearnessOfPool(group);
    const isSame = this.#pools.get(group) === nearness;
    if (nearness === undefined) this.#pools.delete(group);
    else this.#pools.set(group, nearness);
    return !isSame;
  }

  /** Undefined: there is no such group, or it has no such limit. */
  #nearnessOfPool(name: string): string | undefined {
    const { policy } = this.#ledger;
    const group = policy.pool(name);
    return group === null
      ? undefined
      : JSON.stringify(
          poolStates(this.#ledger, group, null).map(({ state, fullness, decision: { used } }) => [
            state,
            fullness,
            // Each member with an allowance has limits of its own.
            policy.hasAllowances ? used : null,
          ]),
        );
  }

  #countedNow(ownerKey: string, before: CountedOwner | undefined): CountedOwner | undefined {
    const decided = decidedOwner(this.#ledger, ownerKey);
    if (decided === null) {
      // An owner whose bytes cannot be added up counts with the last sum that could.
      const known = this.#ledger.documents.owners.named(ownerKey);
      return known && { id: known.id, usage: before?.usage ?? noUsage, ...noLimit, limit: 0 };
    }
    const { owner, decide } = decided;
    if (owner.id === null) return undefined;
    const isSame = before !== undefined && owner.usage.every((bytes, index) => bytes === before.usage[index]);
    const usage = isSame ? before.usage : owner.usage;
    const { state, fullness } = worstKind(this.#ledger.settings, decide, owner);
    // A limit that members have together is promised to none of them.
    const own = this.#ledger.stateDeciderFor(owner, false);
    return { id: owner.id, usage, state, fullness, limit: own('size:all').limit ?? 0 };
  }

  #count(counted: CountedOwner | undefined, step: 1 | -1): void {
    if (counted === undefined) return;
    this.#states[counted.state] += step;
    if (counted.limit < 0) this.#unlimited += step;
    else this.#promised += BigInt(step) * BigInt(counted.limit);
  }

  #add(before: Usage, now: Usage): void {
    for (const [index, sum] of this.#sums.entries()) {
      const grown = (now[index] ?? 0) - (before[index] ?? 0);
      // Most owners have most kinds of data as before, or none.
      if (grown !== 0) this.#sums[index] = sum + BigInt(grown);
    }
  }

  #forgetGone(): Promise<void> {
    return inSlices(this.#counted.keys(), key => {
      if (this.#ledger.documents.owners.named(key) === undefined) this.#reconcile(key);
    });
  }
}
