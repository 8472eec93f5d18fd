/**
 * The writes that wait for the store: of each thing its newest state.
 *
 * So what waits is never more than what is in memory, what has gone from it meanwhile, and `mostEvents`.
 */

import { type Changes, recordKinds } from './store.ts';

/** Events are not held in memory; so many wait at most. */
export const mostEvents = 50_000;

interface Waiting {
  readonly name: string;
  readonly key: string;
  readonly changes: Changes;
}

export class PendingWrites {
  readonly #waiting = new Map<string, Map<string, Changes>>(recordKinds.map(({ name }) => [name, new Map()]));

  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Puts changes in place of those of the same things; false: there was no room for some of the events. */
  add(changes: Changes): boolean {
    let hasRoom = true;
    for (const { name, fields, by } of recordKinds) {
      const waiting = this.#of(name);
      for (const field of fields) {
        const given = changes[field];
        if (given === undefined) continue;
        for (const one of [given].flat()) {
          const key = keyOf(one, by);
          const fits = name !== 'events' || waiting.size < mostEvents || waiting.has(key);
          hasRoom &&= fits;
          const change = { [field]: by.length === 0 ? one : [one] };
          if (fits) waiting.set(key, joined(waiting.get(key), change));
        }
      }
    }
    return hasRoom;
  }

  forgetUnits(ids: Iterable<string>): void {
    for (const id of ids) this.#of('units').delete(id);
  }

  /** Moves so many of the first out, and more where they belong together. */
  take(most: number): readonly Waiting[] {
    const taken: Waiting[] = [];
    const count = Math.max(
      most,
      policySize(name => this.#of(name).size),
    );
    for (const [name, waiting] of this.#waiting) {
      for (const [key, changes] of waiting) {
        if (taken.length >= count) return taken;
        taken.push({ name, key, changes });
        waiting.delete(key);
      }
    }
    return taken;
  }

  /** Takes back what could not be written, but for what has changed since. */
  putBack(older: readonly Waiting[]): void {
    for (const { name, key, changes } of older) {
      const newer = this.#of(name).get(key);
      this.#of(name).set(key, newer === undefined ? changes : joined(changes, newer));
    }
  }

  #of(name: string): Map<string, Changes> {
    return this.#waiting.get(name) ?? new Map();
  }
}

export function changesOf(waiting: readonly Waiting[]): Changes {
  const all: Record<string, unknown> = {};
  for (const { changes } of waiting) {
    for (const [field, value] of Object.entries(changes)) {
      const before = all[field];
      if (Array.isArray(before)) before.push(...value);
      else all[field] = Array.isArray(value) ? [...value] : value;
    }
  }
  return all;
}

/** Two parts, of which the first has all that belongs together; the second is empty where that is all. */
export function halvesOf(waiting: readonly Waiting[]): readonly [readonly Waiting[], readonly Waiting[]] {
  const policy = policySize(name => waiting.filter(one => one.name === name).length);
  const most = Math.max(Math.ceil(waiting.length / 2), policy);
  return [waiting.slice(0, most), waiting.slice(most)];
}

/** Number of the first things that go into one write: a changed policy does, with its owners. */
function policySize(sizeOf: (name: string) => number): number {
  const changed = sizeOf('documents') + sizeOf('replicated');
  return changed === 0 ? 0 : changed + sizeOf('owners');
}

/** The later of two changes of the same thing, with what stays of the one before. */
function joined(before: Changes | undefined, after: Changes): Changes {
  if (before?.goneEventsBefore !== undefined && after.goneEventsBefore !== undefined) {
    return { goneEventsBefore: Math.max(before.goneEventsBefore, after.goneEventsBefore) };
  }
  const [versions, lineage] = [before?.replicated?.lineage?.versions, after.replicated?.lineage];
  if (after.replicated === undefined || versions === undefined || lineage === undefined) return after;
  const { version: to } = after.replicated;
  const stays = versions.filter(({ version }) => version >= lineage.since && version < to);
  const joinedLineage = { since: lineage.since, versions: [...stays, ...lineage.versions] };
  return { replicated: { ...after.replicated, lineage: joinedLineage } };
}

/** The name of a record among its kind, or of what goes; quickly made, for a hundred thousand may wait. */
function keyOf(one: unknown, by: readonly string[]): string {
  if (by.length === 0) return '';
  if (typeof one !== 'object' || one === null) return String(one);
  const [first, second] = by.map(name => String(Reflect.get(one, name)));
  return second === undefined ? `${first}` : `${first?.length}:${first}${second}`;
}
