/**
 * Tells when owners come to a threshold or to the limit, and when they are below it again.
 *
 * Each kind of data has a level; those that go from one level to another together, by the same rule, are one event. Levels
 * are kept, so that a restart tells nothing anew. While quotas are switched off there is nothing to come to, and all
 * levels stay.
 */

import { SoftquotaError } from '../errors.ts';
import { EventIds, type Ledger, Rounds } from '../ledger/index.ts';
import { type Decision, type Leaf, leaves } from '../quota/index.ts';
import type { EventRecord, OwnerRecord } from '../store/index.ts';
import type { ThresholdEvent } from '../wire/index.ts';
import {
  atLimit,
  belowAll,
  inForce,
  type Level,
  type Levels,
  levelOf,
  levelsIn,
  lowest,
  nextLevel,
  textOf,
} from './levels.ts';

export interface CrossingsOptions {
  readonly ledger: Ledger;
  readonly log: { error(fields: object, message: string): void };
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds between two rounds, at least; a second unless given. */
  readonly pauseMs?: number | undefined;
}

/** So much is handed over at once, and waited for. */
const mostAtOnce = 5000;

interface Crossing {
  readonly from: Level;
  readonly to: Level;
  readonly decision: Decision;
  readonly leaves: Leaf[];
}

export class Crossings {
  readonly #options: CrossingsOptions;
  readonly #rounds: Rounds;
  readonly #ids = new EventIds('t');
  /** By owner id; of owners who are not at the lowest of all. */
  readonly #levels: Map<number, Levels>;
  #events: EventRecord[] = [];
  /** The ids of owners whose levels have changed. */
  #moved = new Set<number>();

  private constructor(options: CrossingsOptions, levels: Map<number, Levels>) {
    const { ledger, pauseMs, log } = options;
    this.#options = options;
    this.#levels = levels;
    this.#rounds = new Rounds({
      ledger,
      pauseMs,
      look: ownerKey => this.#look(ownerKey),
      finish: everybody => this.#finish(everybody),
      failed: error => log.error({ err: error }, 'crossings of thresholds could not be told'),
    });
  }

  /** Goes on from what was told last; rejects as `Ledger.levels` does. */
  static async open(options: CrossingsOptions): Promise<Crossings> {
    const kept = await options.ledger.levels();
    return new Crossings(options, new Map(kept.map(({ ownerId, text }) => [ownerId, levelsIn(text)])));
  }

  start(): void {
    this.#rounds.start();
  }

  /** Resolves once all that was crossed by now is noted. */
  noted(): Promise<void> {
    return this.#rounds.settled();
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  #look(ownerKey: string): void {
    const { ledger } = this.#options;
    const { settings } = ledger;
    const owner = ledger.ownerRecord(ownerKey);
    const decisions = decisionsOf(ledger, ownerKey);
    if (!settings.enabled || owner === undefined || decisions === null) return;
    const last = this.#levels.get(owner.id) ?? lowest;
    const crossings = new Map<string, Crossing>();
    const next: Level[] = [];
    for (const [leaf, decision] of decisions) {
      const from = inForce(settings, levelOf(last, leaf));
      const to = nextLevel(settings, decision, from);
      next.push(to);
      if (from === to) continue;
      const { group, rule } = decision;
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
    const { used, limit, group, rule } = decision;
    const event: Omit<ThresholdEvent, 'id' | 'at' | 'kind'> = {
      owner: owner.name,
      direction: to > from ? 'up' : 'down',
      from: shown(from),
      to: shown(to),
      subjects,
      used,
      limit,
      group,
      rule,
    };
    return {
      id: this.#ids.next(),
      kind: 'threshold',
      at: this.#options.now(),
      ownerId: owner.id,
      ownerKey: owner.key,
      text: JSON.stringify(event),
    };
  }

  async #finish(everybody: boolean): Promise<void> {
    const { ledger } = this.#options;
    if (everybody) this.#forgetGone();
    const moved = [...this.#moved];
    const events = this.#events;
    this.#moved = new Set();
    this.#events = [];
    const longest = Math.max(moved.length, events.length);
    for (let at = 0; at < longest; at += mostAtOnce) {
      const ids = moved.slice(at, at + mostAtOnce);
      ledger.note({
        events: events.slice(at, at + mostAtOnce),
        levels: ids.flatMap(ownerId => {
          const levels = this.#levels.get(ownerId);
          return levels === undefined ? [] : [{ ownerId, text: textOf(levels) }];
        }),
        goneLevels: ids.filter(ownerId => !this.#levels.has(ownerId)),
      });
      // What is noted has room for so much; more of it waits here.
      if (at + mostAtOnce < longest) await ledger.kept();
    }
  }

  #forgetGone(): void {
    for (const ownerId of this.#levels.keys()) {
      if (this.#options.ledger.book.owner(ownerId) !== undefined) continue;
      this.#levels.delete(ownerId);
      this.#moved.add(ownerId);
    }
  }
}

/** By leaf, in the order of `leaves`; null where the owner's bytes cannot be added up. */
function decisionsOf(ledger: Ledger, ownerKey: string): readonly (readonly [Leaf, Decision])[] | null {
  try {
    const owner = ledger.ownerUsage(ownerKey);
    return leaves.map(leaf => [leaf, ledger.decideFor(owner, leaf)]);
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'sum_too_large') return null;
    throw error;
  }
}

function shown(level: Level): ThresholdEvent['to'] {
  if (level === belowAll) return null;
  return level === atLimit ? 'limit' : level;
}
