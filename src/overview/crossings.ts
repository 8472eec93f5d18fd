/**
 * Records an event when an owner reaches a threshold or the limit, when a grace ends, and when the owner is
 * back below.
 *
 * Each leaf has a level. Leaves that change together from one level to another, because of the same rule, are
 * one event. A limit of a group's members together has its own level, and its events belong to no single
 * owner. Levels are stored, so that a restart does not repeat events. While quotas are switched off, levels
 * do not change.
 *
 * If hosts share a quota, only one host at a time records; another host continues from the last recorded
 * levels.
 */

import { z } from 'zod';
import { EventIds } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { type Ledger, ReconcileLoop } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { type Decision, type Leaf, leafMask, leaves } from '../quota/index.ts';
import type { EventRecord, OwnerRecord } from '../store/index.ts';
import { isoTime } from '../text.ts';
import { inSlices } from '../turns.ts';
import { type EventOf, fieldsIn } from './event-shapes.ts';
import { atLimit, belowAll, decidedOwner, inForce, type Level, nextLevel, refusing } from './levels.ts';

export interface CrossingsOptions {
  readonly ledger: Ledger;
  readonly log: Pick<Log, 'error'>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Least pause between two rounds, in milliseconds; default: a second. */
  readonly pauseMs?: number | undefined;
  /** Tells whether this host records now; null: always. */
  readonly turn: { readonly isTelling: boolean } | null;
}

/** Levels by leaf of an owner, or by rule for a group's members together, without the lowest level. */
type Levels = ReadonlyMap<string, Level>;

/** Most events or levels that are enqueued at once. */
const mostAtOnce = 5000;

/** The levels of all groups are one record, under an id that no owner has. */
const poolsId = 0;

interface Step {
  readonly from: Level;
  readonly to: Level;
  readonly decision: Decision;
}

interface Crossing extends Step {
  readonly leaves: Leaf[];
}

export class Crossings {
  readonly #options: CrossingsOptions;
  readonly #loop: ReconcileLoop;
  readonly #ids = new EventIds('t');
  /** By owner id, without owners at the lowest levels. Null: the stored levels are not read yet. */
  #levels: Map<number, Levels> | null = null;
  #pools = new Map<string, Levels>();
  #events: EventRecord[] = [];
  #moved = new Set<number>();

  private constructor(options: CrossingsOptions) {
    const { ledger, pauseMs, log } = options;
    this.#options = options;
    this.#loop = new ReconcileLoop({
      ledger,
      pauseMs,
      reconcile: ownerKey => this.#reconcile(ownerKey),
      reconcilePool: group => this.#reconcilePool(group),
      finish: everybody => this.#finish(everybody),
      onFailed: error => {
        // The store reports this failure itself.
        if (!isAway(error)) log.error({ err: error }, 'crossings of thresholds could not be told');
      },
    });
  }

  /** Continues from the stored levels, as soon as they can be read; rejects with `store_refused`. */
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

  /** Begins this host's turn. Reads the levels again, since another host may have recorded meanwhile. */
  takeTurn(): void {
    this.#levels = null;
    this.#events = [];
    this.#moved = new Set();
    this.#loop.reconcileAll();
  }

  /** Resolves once all crossings up to now are enqueued. */
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
    const levels = new Map<number, Levels>();
    let pools = '';
    await inSlices(kept, ({ ownerId, text }) => {
      if (ownerId === poolsId) pools = text;
      else levels.set(ownerId, levelsIn(text));
    });
    this.#levels = levels;
    this.#pools = poolLevelsIn(pools);
  }

  #reconcile(ownerKey: string): void {
    if (this.#levels === null || !this.#isMine) return;
    const { ledger } = this.#options;
    const { settings } = ledger;
    const owner = ledger.documents.owners.named(ownerKey);
    // Bounds of groups are left out, since the events of an owner have only the owner's figures.
    const decided = decidedOwner(ledger, ownerKey, false);
    if (!settings.enabled || owner === undefined || decided === null) return;
    const last = this.#levels.get(owner.id);
    const crossings = new Map<string, Crossing>();
    const next = new Map<string, Level>();
    for (const leaf of leaves) {
      const step = this.#step(decided.decide(leaf), last?.get(leaf));
      const { from, to, decision } = step;
      if (to !== belowAll) next.set(leaf, to);
      if (isSilent(step)) continue;
      const together = JSON.stringify([from, to, decision.group, decision.rule]);
      const crossing = crossings.get(together) ?? { ...step, leaves: [] };
      crossing.leaves.push(leaf);
      crossings.set(together, crossing);
    }
    this.#put(this.#levels, owner.id, next, owner.id);
    for (const crossing of crossings.values()) this.#events.push(this.#eventOf(owner, crossing));
  }

  #reconcilePool(group: string): boolean {
    const { ledger } = this.#options;
    if (this.#levels === null || !this.#isMine || !ledger.settings.enabled) return false;
    const last = this.#pools.get(group);
    const next = new Map<string, Level>();
    for (const decision of ledger.pools.decisions(group, 'stored')) {
      const rule = decision.rule ?? '';
      const step = this.#step(decision, last?.get(rule));
      if (step.to !== belowAll) next.set(rule, step.to);
      const isOf = (leaf: Leaf) => decision.subjects.some(one => (leafMask(one) & leafMask(leaf)) !== 0);
      if (!isSilent(step)) this.#events.push(this.#eventOf(null, { ...step, leaves: leaves.filter(isOf) }));
    }
    this.#put(this.#pools, group, next, poolsId);
    // The members need no new levels, since their levels ignore bounds of groups.
    return false;
  }

  /** Replaces the levels of an owner or a group. `record`: the id of the record that has them. */
  #put<Key>(all: Map<Key, Levels>, key: Key, next: Levels, record: number): void {
    const last = all.get(key);
    const isSame =
      next.size === (last?.size ?? 0) && [...next].every(([name, level]) => level === last?.get(name));
    // An empty record, such as one that could not be read, is removed.
    if (isSame && last?.size !== 0) return;
    if (next.size === 0) all.delete(key);
    else all.set(key, next);
    this.#moved.add(record);
  }

  #step(decision: Decision, last: Level = belowAll): Step {
    const { settings, walks } = this.#options.ledger;
    const { warnAt = settings.warnAt } = decision;
    const from = inForce({ warnAt }, last);
    const reached = nextLevel(settings, decision, from);
    // Before the first sweep, for example after a restore, bytes are missing, so no level falls.
    return { from, to: walks.lastSweep === null ? Math.max(reached, from) : reached, decision };
  }

  /** `owner` is null for the members of a group together. */
  #eventOf(owner: OwnerRecord | null, { from, to, decision, leaves: subjects }: Crossing): EventRecord {
    const { used, limit, group, rule, grace, allowed } = decision;
    const at = this.#options.now();
    const whose = owner === null ? ({ owner: null, per: 'group' } as const) : { owner: owner.name };
    const common = { ...whose, subjects, used, limit, group, rule };
    const record = {
      id: this.#ids.next(),
      at,
      ownerId: owner?.id ?? null,
      ownerKey: owner?.key ?? null,
    };
    if (from === atLimit && grace !== undefined) {
      const event: Omit<EventOf<'grace'>, 'id' | 'at' | 'kind'> = {
        ...common,
        ended_by: at >= grace.until ? 'time' : 'size',
        mode: this.#options.ledger.settings.mode,
        until: isoTime(grace.until),
        below: grace.below,
      };
      return { ...record, kind: 'grace', text: JSON.stringify(event) };
    }
    const event: Omit<EventOf<'threshold'>, 'id' | 'at' | 'kind'> = {
      ...common,
      direction: to > from ? 'up' : 'down',
      from: shown(from),
      to: shown(to),
      ...(allowed && grace !== undefined && to === atLimit ? { grace_until: isoTime(grace.until) } : {}),
    };
    return { ...record, kind: 'threshold', text: JSON.stringify(event) };
  }

  async #finish(everybody: boolean): Promise<void> {
    const { ledger } = this.#options;
    if (!this.#isMine) return;
    if (this.#levels === null) {
      // Levels from this host's last turn must be in the store before the levels are read.
      if (!(await ledger.kept()))
        throw new SoftquotaError('store_away', 'what was told last is not kept yet');
      await this.#resume();
      return this.#loop.reconcileAll();
    }
    const levelsById = this.#levels;
    if (everybody) this.#forgetGone(levelsById);
    const textOf = (ownerId: number) => {
      if (ownerId === poolsId) return this.#pools.size === 0 ? null : poolLevelText(this.#pools);
      const levels = levelsById.get(ownerId);
      return levels === undefined ? null : levelText(levels);
    };
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
          const text = textOf(ownerId);
          return text === null ? [] : [{ ownerId, text }];
        }),
        goneLevels: ids.filter(ownerId => textOf(ownerId) === null),
      });
      // Waits before the next batch, since the queue has only room for some.
      if (at + mostAtOnce < longest) await ledger.kept();
    }
  }

  #forgetGone(levels: Map<number, Levels>): void {
    for (const ownerId of levels.keys()) {
      const owner = this.#options.ledger.documents.owners.byId(ownerId);
      if (owner === undefined) this.#put(levels, ownerId, new Map(), ownerId);
    }
    const { pooled } = this.#options.ledger.policy;
    for (const group of this.#pools.keys())
      if (!pooled.has(group)) this.#put(this.#pools, group, new Map(), poolsId);
  }
}

/** Tells whether a step has no event. Between two levels over a limit, only the end of a grace has one. */
function isSilent({ from, to, decision: { grace } }: Step): boolean {
  return from === to || (from >= atLimit && to >= atLimit && (to !== refusing || grace === undefined));
}

function isAway(error: unknown): boolean {
  return error instanceof SoftquotaError && error.code === 'store_away';
}

function shown(level: Level): EventOf<'threshold'>['to'] {
  if (level === belowAll) return null;
  return level >= atLimit ? 'limit' : level;
}

function levelText(levels: Levels): string {
  return JSON.stringify(Object.fromEntries(levels));
}

/** Reads the levels of an owner. An invalid one counts as the lowest; at worst an event is repeated. */
function levelsIn(text: string): Levels {
  const byLeaf = fieldsIn(text);
  return new Map(
    leaves.flatMap(leaf => {
      const level = byLeaf[leaf];
      return typeof level === 'number' && level > belowAll && level <= refusing ? [[leaf, level]] : [];
    }),
  );
}

const levelOfPool = z.tuple([z.string(), z.string(), z.number().min(belowAll).max(refusing)]);
const levelsOfPools = z.array(levelOfPool).catch([]);

/** Writes the levels of groups as one record. */
function poolLevelText(levels: ReadonlyMap<string, Levels>): string {
  const pools = [...levels].flatMap(([group, rules]) =>
    [...rules].map(([rule, level]) => [group, rule, level]),
  );
  return JSON.stringify({ pools });
}

/** Reads levels; returns none if the text is invalid. */
function poolLevelsIn(text: string): Map<string, Levels> {
  const pools = levelsOfPools.parse(fieldsIn(text).pools);
  const byGroup = Map.groupBy(pools, ([group]) => group);
  return new Map(
    [...byGroup].map(([group, rules]) => [group, new Map(rules.map(([, rule, level]) => [rule, level]))]),
  );
}
