/**
 * The writes that wait for the store: of each thing its newest state.
 *
 * So what waits is never more than what is in memory, what has gone from it meanwhile, and `mostEvents`.
 */

import type { Changes } from './store.ts';

/** Events are not held in memory; so many wait at most. */
export const mostEvents = 50_000;

/** The changes of a policy, which go into one write. */
const ofPolicy = ['owners', 'documents', 'replicated'] as const;

/**
 * The order in which changes are written. Events come before the levels that say that they were sent, so that
 * a crash in between has them sent again. The last ones are about all before them, and go only with those.
 */
const order = [...ofPolicy, 'shares', 'units', 'roots', 'deltas', 'events', 'levels'] as const;
const last = ['sweep', 'goneEventsBefore'] as const;

type Name = (typeof order | typeof last)[number];

/** Changes of one thing each, by its name. */
type Waiting = Map<string, Changes>;

export class PendingWrites {
  readonly #waiting = new Map<Name, Waiting>([...order, ...last].map(name => [name, new Map()]));

  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Puts changes in place of those of the same things. Gives how many events there was no room for. */
  add(changes: Changes): number {
    const { replicated, sweep, goneEventsBefore } = changes;
    for (const key of changes.goneOwners ?? []) this.#put('owners', key, { goneOwners: [key] });
    for (const owner of changes.owners ?? []) this.#put('owners', owner.key, { owners: [owner] });
    for (const one of changes.goneDocuments ?? []) {
      this.#put('documents', both(one.kind, one.key), { goneDocuments: [one] });
    }
    for (const one of changes.documents ?? []) {
      this.#put('documents', both(one.kind, one.key), { documents: [one] });
    }
    if (replicated !== undefined) this.#put('replicated', '', { replicated });
    for (const one of changes.goneShares ?? []) {
      this.#put('shares', both(one.ownerKey, one.host), { goneShares: [one] });
    }
    for (const one of changes.shares ?? []) {
      this.#put('shares', both(one.ownerKey, one.host), { shares: [one] });
    }
    for (const id of changes.goneUnits ?? []) this.#put('units', id, { goneUnits: [id] });
    for (const unit of changes.units ?? []) this.#put('units', unit.id, { units: [unit] });
    for (const path of changes.goneRoots ?? []) this.#put('roots', path, { goneRoots: [path] });
    for (const root of changes.roots ?? []) this.#put('roots', root.path, { roots: [root] });
    // Deltas that come are written at once, and never wait.
    for (const seq of changes.goneDeltas ?? []) this.#put('deltas', String(seq), { goneDeltas: [seq] });
    for (const id of changes.goneLevels ?? []) this.#put('levels', String(id), { goneLevels: [id] });
    for (const level of changes.levels ?? []) this.#put('levels', String(level.ownerId), { levels: [level] });
    if (sweep !== undefined) this.#put('sweep', '', { sweep });
    if (goneEventsBefore !== undefined) this.#put('goneEventsBefore', '', { goneEventsBefore });
    const events = this.#of('events');
    const fitting = (changes.events ?? []).filter(event => {
      const fits = events.size < mostEvents || events.has(event.id);
      if (fits) events.set(event.id, { events: [event] });
      return fits;
    });
    return (changes.events?.length ?? 0) - fitting.length;
  }

  /** Forgets what waits of these units. */
  forgetUnits(ids: Iterable<string>): void {
    for (const id of ids) this.#of('units').delete(id);
  }

  /** Moves so many of the oldest out, and more where they belong together. */
  take(most: number): PendingWrites {
    const taken = new PendingWrites();
    const isPolicy = this.#of('documents').size + this.#of('replicated').size > 0;
    if (isPolicy) for (const name of ofPolicy) this.#move(name, taken, Number.POSITIVE_INFINITY);
    for (const name of order) this.#move(name, taken, most - taken.size);
    for (const name of last) if (taken.size < most) this.#move(name, taken, 1);
    return taken;
  }

  /** Takes back what could not be written, but for what has changed since. */
  putBack(older: PendingWrites): void {
    for (const [name, newer] of [...this.#waiting]) {
      this.#waiting.set(name, older.#of(name));
      for (const [key, changes] of newer) this.#put(name, key, changes);
    }
  }

  get changes(): Changes {
    const all = [...this.#waiting.values()].flatMap(waiting => [...waiting.values()]);
    return {
      owners: all.flatMap(({ owners = [] }) => owners),
      goneOwners: all.flatMap(({ goneOwners = [] }) => goneOwners),
      documents: all.flatMap(({ documents = [] }) => documents),
      goneDocuments: all.flatMap(({ goneDocuments = [] }) => goneDocuments),
      ...this.#of('replicated').get(''),
      shares: all.flatMap(({ shares = [] }) => shares),
      goneShares: all.flatMap(({ goneShares = [] }) => goneShares),
      units: all.flatMap(({ units = [] }) => units),
      goneUnits: all.flatMap(({ goneUnits = [] }) => goneUnits),
      roots: all.flatMap(({ roots = [] }) => roots),
      goneRoots: all.flatMap(({ goneRoots = [] }) => goneRoots),
      goneDeltas: all.flatMap(({ goneDeltas = [] }) => goneDeltas),
      events: all.flatMap(({ events = [] }) => events),
      levels: all.flatMap(({ levels = [] }) => levels),
      goneLevels: all.flatMap(({ goneLevels = [] }) => goneLevels),
      ...this.#of('sweep').get(''),
      ...this.#of('goneEventsBefore').get(''),
    };
  }

  #of(name: Name): Waiting {
    return this.#waiting.get(name) ?? new Map();
  }

  #put(name: Name, key: string, changes: Changes): void {
    const waiting = this.#of(name);
    const before = waiting.get(key);
    waiting.set(key, before === undefined ? changes : { ...changes, ...joined(before, changes) });
  }

  #move(name: Name, to: PendingWrites, most: number): void {
    const waiting = this.#of(name);
    let left = most;
    for (const [key, changes] of waiting) {
      if (left <= 0) return;
      left -= 1;
      to.#put(name, key, changes);
      waiting.delete(key);
    }
  }
}

/** The parts of two changes of the same thing to which both contribute. */
function joined(before: Changes, after: Changes): Changes {
  if (before.goneEventsBefore !== undefined && after.goneEventsBefore !== undefined) {
    return { goneEventsBefore: Math.max(before.goneEventsBefore, after.goneEventsBefore) };
  }
  const [versions, lineage] = [before.replicated?.lineage?.versions, after.replicated?.lineage];
  if (after.replicated === undefined || versions === undefined || lineage === undefined) return {};
  const { version: to } = after.replicated;
  const stays = versions.filter(({ version }) => version >= lineage.since && version < to);
  const joinedLineage = { since: lineage.since, versions: [...stays, ...lineage.versions] };
  return { replicated: { ...after.replicated, lineage: joinedLineage } };
}

/** A name that no other two have; quickly made, for a hundred thousand may wait at once. */
function both(one: string, other: string): string {
  return `${one.length}:${one}${other}`;
}
