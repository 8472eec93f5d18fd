/**
 * Records when owners reach a threshold or the limit, when a grace ends, and when they are back below it.
 *
 * Each kind of data has a level. Kinds that change from one level to another together, because of the same
 * rule, are one event. Levels are stored, so that a restart records nothing again. While quotas are switched
 * off, all levels stay the same.
 *
 * If hosts share a quota, only one host at a time records; another host continues from the last recorded
 * levels.
 */

import { EventIds } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { type Ledger, ReconcileLoop } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { type Decision, type Leaf, leaves } from '../quota/index.ts';
import type { EventRecord, OwnerRecord } from '../store/index.ts';
import { type EventOf, isoOf } from './event-shapes.ts';
import {
  atLimit,
  belowAll,
  decidedOwner,
  inForce,
  type Level,
  type Levels,
  levelOf,
  levelsIn,
  levelText,
  lowest,
  nextLevel,
  refusing,
} from './levels.ts';

export interface CrossingsOptions {
  readonly ledger: Pick<
    Ledger,
    'documents' | 'eventLog' | 'kept' | 'ownerUsage' | 'settings' | 'stateDeciderFor' | 'walks' | 'watch'
  >;
  readonly log: Pick<Log, 'error'>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds between two rounds, at least; a second unless given. */
  readonly pauseMs?: number | undefined;
  /** Says whether this host is the one that tells at the moment; null: it always is. */
  readonly turn: { readonly isTelling: boolean } | null;
}

/** Number of crossings that are handed over at once, and waited for. */
const mostAtOnce = 5000;

interface Crossing {
  readonly from: Level;
  readonly to: Level;
  readonly decision: Decision;
  readonly leaves: Leaf[];
}

export class Crossings {
  readonly #options: CrossingsOptions;
  readonly #loop: ReconcileLoop;
  readonly #ids = new EventIds('t');
  /** By owner id; of owners not at the lowest of all. Null: what was told last could not be read yet. */
  #levels: Map<number, Levels> | null = null;
  #events: EventRecord[] = [];
  #moved = new Set<number>();

  private constructor(options: CrossingsOptions) {
    const { ledger, pauseMs, log } = options;
    this.#options = options;
    this.#loop = new ReconcileLoop({
      ledger,
      pauseMs,
      reconcile: ownerKey => this.#reconcile(ownerKey),
      finish: everybody => this.#finish(everybody),
      onFailed: error => {
        // That the store is away is said by who looks after it.
        if (!isAway(error)) log.error({ err: error }, 'crossings of thresholds could not be told');
      },
    });
  }

  /** Goes on from what was told last, as soon as that can be read; rejects with `store_refused`. */
  static async open(options: CrossingsOptions): Promise<Crossings> {
    const crossings = new Crossings(options);
    try {
      await crossings.#resume();
    } catch (error) {
      if (!isAway(error)) throw error;
    }
    return crossings;
  }

  start(): void {
    this.#loop.start();
  }

  /** It has become this host's turn: others may have told something since its last. */
  takeTurn(): void {
    this.#levels = null;
    this.#events = [];
    this.#moved = new Set();
    this.#loop.reconcileAll();
  }

  /** Resolves once all that was crossed by now is noted. */
  noted(): Promise<void> {
    return this.#loop.settled();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  get #isMine(): boolean {
    return this.#options.turn?.isTelling ?? true;
  }

  async #resume(): Promise<void> {
    const kept = await this.#options.ledger.eventLog.levels();
    this.#levels = new Map(kept.map(({ ownerId, text }) => [ownerId, levelsIn(text)]));
  }

  #reconcile(ownerKey: string): void {
    if (this.#levels === null || !this.#isMine) return;
    const { ledger } = this.#options;
    const { settings } = ledger;
    const owner = ledger.documents.owners.named(ownerKey);
    // An event has the figures of the owner: what a group has together is not the owner's.
    const decided = decidedOwner(ledger, ownerKey, false);
    if (!settings.enabled || owner === undefined || decided === null) return;
    const last = this.#levels.get(owner.id) ?? lowest;
    const crossings = new Map<string, Crossing>();
    const next: Level[] = [];
    for (const leaf of leaves) {
      const decision = decided.decide(leaf);
      const from = inForce(settings, levelOf(last, leaf));
      const reached = nextLevel(settings, decision, from);
      // After a restore, what no sweep has measured yet is only missing.
      const to = ledger.walks.lastSweep === null ? Math.max(reached, from) : reached;
      next.push(to);
      const { group, rule, grace } = decision;
      // Between two levels over a limit, only the end of a grace is told.
      const isSilent = from >= atLimit && to >= atLimit && (to !== refusing || grace === undefined);
      if (from === to || isSilent) continue;
      const together = JSON.stringify([from, to, group, rule]);
      const crossing = crossings.get(together) ?? { from, to, decision, leaves: [] };
      crossing.leaves.push(leaf);
      crossings.set(together, crossing);
    }
    if (next.every((level, index) => level === last[index])) return;
    if (next.every(level => level === belowAll)) this.#levels.delete(owner.id);
    else this.#levels.set(owner.id, next);
    this.#moved.add(owner.id);
    for (const crossing of crossings.values()) this.#events.push(this.#eventOf(owner, crossing));
  }

  #eventOf(owner: OwnerRecord, { from, to, decision, leaves: subjects }: Crossing): EventRecord {
    const { used, limit, group, rule, grace, allowed } = decision;
    const at = this.#options.now();
    const common = { owner: owner.name, subjects, used, limit, group, rule };
    const record = { id: this.#ids.next(), at, ownerId: owner.id, ownerKey: owner.key };
    if (from === atLimit && grace !== undefined) {
      const event: Omit<EventOf<'grace'>, 'id' | 'at' | 'kind'> = {
        ...common,
        ended_by: at >= grace.until ? 'time' : 'size',
        mode: this.#options.ledger.settings.mode,
        until: isoOf(grace.until),
        below: grace.below,
      };
      return { ...record, kind: 'grace', text: JSON.stringify(event) };
    }
    const event: Omit<EventOf<'threshold'>, 'id' | 'at' | 'kind'> = {
      ...common,
      direction: to > from ? 'up' : 'down',
      from: shown(from),
      to: shown(to),
      ...(allowed && grace !== undefined && to === atLimit ? { grace_until: isoOf(grace.until) } : {}),
    };
    return { ...record, kind: 'threshold', text: JSON.stringify(event) };
  }

  async #finish(everybody: boolean): Promise<void> {
    const { ledger } = this.#options;
    if (!this.#isMine) return;
    if (this.#levels === null) {
      // The crossings that this host told in its last turn are among those that are read.
      if (!(await ledger.kept()))
        throw new SoftquotaError('store_away', 'what was told last is not kept yet');
      await this.#resume();
      return this.#loop.reconcileAll();
    }
    const levelsById = this.#levels;
    if (everybody) this.#forgetGone(levelsById);
    const moved = [...this.#moved];
    const events = this.#events;
    this.#moved = new Set();
    this.#events = [];
    const longest = Math.max(moved.length, events.length);
    for (let at = 0; at < longest; at += mostAtOnce) {
      const ids = moved.slice(at, at + mostAtOnce);
      ledger.eventLog.enqueue({
        events: events.slice(at, at + mostAtOnce),
        levels: ids.flatMap(ownerId => {
          const levels = levelsById.get(ownerId);
          return levels === undefined ? [] : [{ ownerId, text: levelText(levels) }];
        }),
        goneLevels: ids.filter(ownerId => !levelsById.has(ownerId)),
      });
      // The queue of notes has room for so many; more of them wait here.
      if (at + mostAtOnce < longest) await ledger.kept();
    }
  }

  #forgetGone(levels: Map<number, Levels>): void {
    for (const ownerId of levels.keys()) {
      if (this.#options.ledger.documents.owners.byId(ownerId) !== undefined) continue;
      levels.delete(ownerId);
      this.#moved.add(ownerId);
    }
  }
}

function isAway(error: unknown): boolean {
  return error instanceof SoftquotaError && error.code === 'store_away';
}

function shown(level: Level): EventOf<'threshold'>['to'] {
  if (level === belowAll) return null;
  return level >= atLimit ? 'limit' : level;
}
