/** Sums over all owners. When an owner changes, the old figures are subtracted and the new ones added. */

import { type Ledger, ReconcileLoop } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { leaves, noUsage, type Usage } from '../quota/index.ts';
import { inSlices, within } from '../turns.ts';
import { decidedOwner, type Nearness, poolStates, worstKind } from './levels.ts';

interface TotalsOptions {
  readonly ledger: Ledger;
  readonly log: Pick<Log, 'error'>;
}

interface TotalFigures {
  readonly owners: number;
  /** Owners over a limit that refuses; not owners with limit 0 who store nothing. */
  readonly over: number;
  /** Other owners who have passed a limit whose grace runs. */
  readonly grace: number;
  /** All other owners who have reached the lowest threshold of WARN_AT for some kind of data. */
  readonly near: number;
  /** Bytes of each leaf, at most 2^53 - 1. */
  readonly usage: Usage;
  /** The sum of the owners' limits for `size:all`; `unlimited` counts the owners without one. */
  readonly promised: number;
  readonly unlimited: number;
}

interface CountedOwner extends Nearness {
  readonly id: number;
  readonly usage: Usage;
  /** The limit for `size:all`; -1: none. */
  readonly limit: number;
}

/** The owners whose usage has changed since the last call of `takeMoved`. */
interface Moved {
  /** The current usage by owner id. */
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
  readonly #states: Record<Nearness['state'], number> = { over: 0, grace: 0, near: 0, ok: 0 };
  /** Bytes of each leaf, exact for any size. */
  readonly #sums = leaves.map(() => 0n);
  /** By group: how near the group was to its limits when its members were last counted. */
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

  /** Resolves once all changes up to now are counted. */
  settled(): Promise<void> {
    return this.#loop.settled();
  }

  /**
   * Returns the current figures. If a count takes longer than `mostMs`, returns slightly older ones, except
   * before the first count is complete.
   */
  async lately(mostMs = 1000): Promise<TotalFigures> {
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

  /** Takes the changes since the last call. There must be only one caller, which returns them if it fails. */
  takeMoved(): Moved {
    const moved = { usage: this.#moved, gone: [...this.#gone] };
    this.#moved = new Map();
    this.#gone = new Set();
    return moved;
  }

  /** Returns changes of `takeMoved`. Owners that have changed again keep their newer figures. */
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
    // A renamed owner still exists, with another key.
    if (this.#ledger.documents.owners.byId(before.id) !== undefined) return;
    this.#moved.delete(before.id);
    this.#gone.add(before.id);
  }

  /** Returns true if the nearness of the group has changed, since that changes the state of its members. */
  #reconcilePool(group: string): boolean {
    const nearness = this.#nearnessOfPool(group);
    const isSame = this.#pools.get(group) === nearness;
    if (nearness === undefined) this.#pools.delete(group);
    else this.#pools.set(group, nearness);
    return !isSame;
  }

  /** Returns the nearness as text, to compare it; undefined: there is no group with such a limit. */
  #nearnessOfPool(name: string): string | undefined {
    const { policy } = this.#ledger;
    const group = policy.pool(name);
    return group === null
      ? undefined
      : JSON.stringify(
          poolStates(this.#ledger, group, null).map(({ state, fullness, decision: { used } }) => [
            state,
            fullness,
            // For members with allowances the limit differs, so any change of the usage matters.
            policy.hasAllowances ? used : null,
          ]),
        );
  }

  #countedNow(ownerKey: string, before: CountedOwner | undefined): CountedOwner | undefined {
    const decided = decidedOwner(this.#ledger, ownerKey);
    if (decided === null) {
      // An owner whose bytes cannot be added up counts with the last known usage.
      const known = this.#ledger.documents.owners.named(ownerKey);
      return known && { id: known.id, usage: before?.usage ?? noUsage, ...noLimit, limit: 0 };
    }
    const { owner, decide } = decided;
    if (owner.id === null) return undefined;
    const isSame = before !== undefined && owner.usage.every((bytes, index) => bytes === before.usage[index]);
    const usage = isSame ? before.usage : owner.usage;
    const { state, fullness } = worstKind(this.#ledger.settings, decide, owner);
    // A limit of a group's members together is not promised to any single one.
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
      // Skips the arithmetic of big integers, since most leaves of most owners are unchanged.
      if (grown !== 0) this.#sums[index] = sum + BigInt(grown);
    }
  }

  #forgetGone(): Promise<void> {
    return inSlices(this.#counted.keys(), key => {
      if (this.#ledger.documents.owners.named(key) === undefined) this.#reconcile(key);
    });
  }
}
