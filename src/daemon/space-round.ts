/**
 * Makes the worker examine the repositories of owners near or over a limit before anybody asks: slowly, one
 * after the other, the largest of each owner. So a refused push can show what takes the space. Also makes the
 * worker collect the garbage of these owners first.
 */

import { SoftquotaError } from '../errors.ts';
import { type Ledger, ReconcileLoop } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { judgedKind } from '../overview/index.ts';
import { isRepository, leaves } from '../quota/index.ts';
import type { Space } from './space.ts';

export interface SpaceRoundOptions {
  readonly ledger: Ledger;
  readonly space: Pick<Space, 'collectFirst' | 'isDue' | 'look'>;
  /** Returns true if the worker collects garbage by itself. */
  collects(): boolean;
  readonly log: Pick<Log, 'error'>;
  /** Shortest pause between two examinations, in milliseconds; 2000 unless given. */
  readonly pauseMs?: number;
}

/** Most repositories of one owner that are examined. */
const mostRepositories = 10;
/** Most repositories of one owner whose garbage is collected first. */
const mostCollected = 100;
/** Most units of an owner that are searched for these. */
const mostLookedAt = 10_000;
const leastBytes = 1024 * 1024;
const mostWanted = 1000;
const restPerLook = 4;
/** Share of the most that a limit forgives; from there on an owner counts as near it. */
const nearMost = 0.8;
/** Pause between two owners without work. */
const stepMs = 20;
const idleMs = 10_000;
const ofRepositories = leaves.filter(isRepository);

export class SpaceRound {
  readonly #options: SpaceRoundOptions;
  readonly #loop: ReconcileLoop;
  /** The keys of owners near a limit or over it, or near the most that it forgives. */
  readonly #near = new Set<string>();
  /** Groups whose members together are near a limit or over it. */
  readonly #nearPools = new Set<string>();
  /** Paths of recent pushes, the oldest first. */
  readonly #wanted = new Set<string>();
  #owners: Iterator<string> = [].values();
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;
  #isClosed = false;

  constructor(options: SpaceRoundOptions) {
    this.#options = options;
    this.#loop = new ReconcileLoop({
      ledger: options.ledger,
      reconcile: ownerKey => {
        if (this.#standsNear(ownerKey)) {
          this.#near.add(ownerKey);
          this.#collectFirst(ownerKey);
        } else this.#near.delete(ownerKey);
      },
      reconcilePool: group => this.#reconcilePool(group),
      finish: async everybody => {
        if (!everybody) return;
        for (const key of this.#near)
          if (options.ledger.documents.owners.named(key) === undefined) this.#near.delete(key);
      },
      onFailed: error => options.log.error({ err: error }, 'the owners near a limit could not be found'),
    });
  }

  start(): void {
    this.#loop.start();
    this.#nextIn(this.#pauseMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#loop.close();
  }

  /** Returns true if pushes to repositories of this owner may soon be refused. */
  isNear(ownerName: string): boolean {
    return this.#near.has(this.#options.ledger.documents.owners.keyOf(ownerName));
  }

  /** Reports a push: if the repository is due, it is examined before others. */
  want(path: string): void {
    if (this.#wanted.size >= mostWanted) return;
    const isFirst = this.#wanted.size === 0;
    this.#wanted.add(path);
    // Only the first path sets the timer, so that constant pushes do not delay the examination.
    if (isFirst && !this.#isLooking) this.#nextIn(this.#pauseMs);
  }

  get #pauseMs(): number {
    return this.#options.pauseMs ?? 2000;
  }

  #standsNear(ownerKey: string): boolean {
    const { ledger } = this.#options;
    try {
      const decide = ledger.deciderFor(ledger.ownerUsage(ownerKey));
      return ofRepositories.some(leaf => {
        const { decision, state } = judgedKind(ledger.settings, decide(leaf), 0);
        // Deleting does not help if the limit is 0.
        if ((decision.limit ?? 0) <= 0) return false;
        const { unreachable, most } = decision.garbage ?? { unreachable: 0, most: 1 };
        return state !== 'ok' || unreachable >= nearMost * most;
      });
    } catch (error) {
      if (error instanceof SoftquotaError && error.code === 'sum_too_large') return false;
      throw error;
    }
  }

  /** Returns true if all members are to be checked: one member's byte may bring all of them near. */
  #reconcilePool(group: string): boolean {
    const { pools, settings } = this.#options.ledger;
    const before = this.#nearPools.has(group);
    const isNear = pools
      .decisions(group, 'reserved')
      .some(decision => judgedKind(settings, decision, 0).state !== 'ok');
    if (isNear) this.#nearPools.add(group);
    else this.#nearPools.delete(group);
    return before || isNear;
  }

  #nextIn(milliseconds: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = this.#isClosed ? null : setTimeout(() => void this.#next(), milliseconds).unref();
  }

  /** Handles one path or owner at a time, so that nothing else waits. */
  async #next(): Promise<void> {
    let due = this.#wantedPath();
    if (due === null) {
      const owner = this.#owners.next();
      if (owner.done === true) {
        this.#owners = this.#near.values();
        this.#nextIn(idleMs);
        return;
      }
      this.#collectFirst(owner.value);
      due = this.#repositoriesOf(owner.value).find(path => this.#options.space.isDue(path)) ?? null;
    }
    if (due === null) {
      this.#nextIn(stepMs);
      return;
    }
    this.#isLooking = true;
    const begun = performance.now();
    await this.#options.space.look(due);
    this.#isLooking = false;
    this.#nextIn(Math.max(this.#pauseMs, restPerLook * (performance.now() - begun)));
  }

  #wantedPath(): string | null {
    const { ledger, space } = this.#options;
    for (const path of this.#wanted) {
      this.#wanted.delete(path);
      const owner = ledger.units.unit(path)?.owner ?? null;
      if (owner !== null && this.isNear(owner) && space.isDue(path)) return path;
    }
    return null;
  }

  #collectFirst(ownerKey: string): void {
    if (!this.#options.collects()) return;
    const measured = this.#options.ledger.units.measuredOf(ownerKey, mostLookedAt);
    for (const { id } of [...measured].slice(0, mostCollected)) this.#options.space.collectFirst(id);
  }

  #repositoriesOf(ownerKey: string): readonly string[] {
    return this.#options.ledger.units
      .unitsOf(ownerKey)
      .filter(({ kind, leaf, bytes }) => kind === 'walked' && isRepository(leaf) && bytes >= leastBytes)
      .slice(0, mostRepositories)
      .map(({ id }) => id);
  }
}
