/**
 * The graces of owners: begun when an owner is first seen over a limit, and ended when the owner is below it
 * again, or the limit has no grace any more. A limit of a group's members together has one for all of them.
 *
 * A decision reads what has begun from memory. Where nothing has begun yet it decides as if it began now, so
 * the moment until an owner is seen makes no difference. What has begun counts here at once, and is written
 * as soon as the store takes it. Where hosts share a quota, one at a time begins and ends graces.
 */

import type { Documents, Kind } from '../documents/index.ts';
import { messageOf, SoftquotaError } from '../errors.ts';
import { type GraceDocument, graceKind, type Policy, poolGraceKind } from '../policy/index.ts';
import {
  type Graces,
  type PassedLimits,
  type PooledBytes,
  passedLimits,
  passedPoolLimits,
  type RunningGrace,
  type Standing,
} from '../quota/index.ts';
import type { SweepRecord } from '../store/index.ts';
import type { LedgerParts, LedgerSettings, OwnerUsage } from './options.ts';
import { ReconcileLoop, type Watcher } from './reconcile-loop.ts';

interface GracesLedger {
  readonly documents: Documents;
  readonly policy: Policy;
  readonly settings: LedgerSettings;
  readonly pools: { of(group: string, owner: null): PooledBytes };
  readonly walks: { readonly lastSweep: SweepRecord | null };
  ownerById(id: number): OwnerUsage | undefined;
  ownerUsage(ownerName: string): OwnerUsage;
  standing(owner: Pick<OwnerUsage, 'id' | 'allowance'>): Standing;
  watch(watcher: Watcher): () => void;
}

interface OwnerGracesOptions extends LedgerParts {
  readonly ledger: GracesLedger;
  /** Tells the watchers that decisions about an owner are others, though no bytes are; null: about anybody. */
  announce(ownerKey: string | null): void;
}

interface GraceStart {
  /** Milliseconds between two rounds, at least; a second unless given. */
  readonly pauseMs?: number | undefined;
  /** Tells whether it is this host that begins and ends graces; always unless given. */
  readonly isTurn?: (() => boolean) | undefined;
}

/** The clock may be set, so it is read again from time to time. */
const longestWaitMs = 60_000;
const mostAtOnce = 1000;

const kinds = [graceKind, poolGraceKind] as const;

const nothingBegun: ReadonlyMap<string | null, RunningGrace> = new Map();

export class OwnerGraces {
  readonly #options: OwnerGracesOptions;
  /** By the key of the document: what is not written yet; an empty one is to be taken out. */
  readonly #pending = new Map<Kind<GraceDocument>, Map<string, GraceDocument>>(
    kinds.map(kind => [kind, new Map()]),
  );
  /** The documents as decisions read them, by themselves. */
  readonly #read = new WeakMap<GraceDocument, ReadonlyMap<string | null, RunningGrace>>();
  #loop: ReconcileLoop | null = null;
  #isTurn: () => boolean = () => true;
  #timer: NodeJS.Timeout | undefined;
  /** When it was last looked for graces that have ended. */
  #endedUntil = 0;
  /** Why they could not be written; it is tried again and again, and told once. */
  #trouble: string | null = null;

  constructor(options: OwnerGracesOptions) {
    this.#options = options;
  }

  /** The graces of an owner now; null: no limit has a grace. `ownerId` is null for an unknown owner. */
  of(ownerId: number | null): Graces | null {
    return this.#isSet ? this.now(ownerId) : null;
  }

  /** Graces of an owner, read also if no limit has one. */
  now(ownerId: number | null): Graces {
    return this.#gracesIn(ownerId === null ? undefined : this.#documentOf(graceKind, String(ownerId)));
  }

  /** The graces of a group's members together; null: no limit has a grace. */
  ofPool(group: string): Graces | null {
    return this.#isSet ? this.poolNow(group) : null;
  }

  /** Graces of a group's members together, read also if no limit has one. */
  poolNow(group: string): Graces {
    return this.#gracesIn(this.#documentOf(poolGraceKind, group));
  }

  #gracesIn(document: GraceDocument | undefined): Graces {
    return {
      now: this.#options.clock.wall(),
      begun: document === undefined ? nothingBegun : this.#begunIn(document),
    };
  }

  start({ pauseMs, isTurn }: GraceStart = {}): void {
    if (isTurn !== undefined) this.#isTurn = isTurn;
    this.#endedUntil = this.#options.clock.wall();
    this.#loop = new ReconcileLoop({
      ledger: this.#options.ledger,
      pauseMs,
      reconcile: ownerKey => this.#reconcile(ownerKey),
      reconcilePool: group => this.#reconcilePool(group),
      finish: everybody => this.#finish(everybody),
      onFailed: error => this.#failed(error),
    });
    this.#loop.start();
  }

  takeTurn(): void {
    this.#loop?.reconcileAll();
  }

  /** Tells of graces that have ended by now, whatever moved the clock. */
  reconsider(): void {
    const { documents } = this.#options.ledger;
    const now = this.#options.clock.wall();
    for (const { ownerId, until } of this.#ends()) {
      if (until <= this.#endedUntil || until > now) continue;
      const owner = ownerId === null ? null : documents.owners.byId(ownerId);
      if (owner !== undefined) this.#options.announce(owner?.key ?? null);
    }
    this.#endedUntil = now;
    this.#wait();
  }

  /** Resolves once all that has begun or ended by now is written, or could not be. */
  async settled(): Promise<void> {
    await this.#loop?.settled();
  }

  async close(): Promise<void> {
    await this.#loop?.close();
    this.#loop = null;
    clearTimeout(this.#timer);
  }

  get #isSet(): boolean {
    const { policy, settings } = this.#options.ledger;
    return (settings.graceMs ?? 0) > 0 || policy.hasGrace;
  }

  #documentOf(kind: Kind<GraceDocument>, key: string): GraceDocument | undefined {
    const pending = this.#pending.get(kind)?.get(key);
    return pending ?? this.#options.ledger.documents.snapshot.get(kind, key);
  }

  #begunIn(document: GraceDocument): ReadonlyMap<string | null, RunningGrace> {
    const known = this.#read.get(document);
    if (known !== undefined) return known;
    const begun = new Map(document.map(({ rule, since, isReported }) => [rule, { since, isReported }]));
    this.#read.set(document, begun);
    return begun;
  }

  #reconcile(ownerKey: string): void {
    const { ledger } = this.#options;
    const owner = ledger.documents.owners.named(ownerKey);
    if (owner === undefined) return;
    this.#follow(graceKind, String(owner.id), () => {
      const { usage, unreachable, allowance, id, stale } = ledger.ownerUsage(ownerKey);
      const standing = ledger.standing({ id, allowance });
      return { passed: passedLimits(ledger.settings, standing, usage, unreachable), isStale: () => stale };
    });
  }

  #reconcilePool(group: string): boolean {
    const { ledger } = this.#options;
    const compiled = ledger.policy.pool(group);
    if (compiled === null) return false;
    this.#follow(poolGraceKind, group, () => {
      const passed = passedPoolLimits(ledger.settings, compiled, ledger.pools.of(group, null));
      const isStale = () => ledger.policy.membersOf(group).some(id => ledger.ownerById(id)?.stale === true);
      return { passed, isStale };
    });
    // All members are told once it is written.
    return false;
  }

  /** Begins and ends the graces of a document. It stays as it is where bytes cannot be added up. */
  #follow(
    kind: Kind<GraceDocument>,
    key: string,
    see: () => { readonly passed: PassedLimits; readonly isStale: () => boolean },
  ): void {
    const { ledger, clock } = this.#options;
    const before = this.#documentOf(kind, key) ?? [];
    if (!this.#isTurn() || (!this.#isSet && before.length === 0)) return;
    try {
      const { passed, isStale } = see();
      const mayBeStale = () => ledger.walks.lastSweep === null || isStale();
      const after = documentAfter(before, passed, clock.wall(), mayBeStale);
      if (JSON.stringify(after) !== JSON.stringify(before)) this.#pending.get(kind)?.set(key, after);
    } catch (error) {
      if (!(error instanceof SoftquotaError && error.code === 'sum_too_large')) throw error;
    }
  }

  async #finish(everybody: boolean): Promise<void> {
    const { documents } = this.#options.ledger;
    if (everybody && this.#isTurn()) this.#endGone();
    const waiting = kinds.flatMap(kind =>
      [...(this.#pending.get(kind) ?? [])].map(([key, document]) => ({ kind, key, document })),
    );
    for (let at = 0; at < waiting.length; at += mostAtOnce) {
      const some = waiting.slice(at, at + mostAtOnce);
      await documents.transact(({ changes }) => {
        for (const { kind, key, document } of some) {
          if (document.length === 0) changes.remove(kind, key);
          else changes.put(kind, key, document);
        }
      });
      for (const { kind, key, document } of some) {
        const pending = this.#pending.get(kind);
        if (pending?.get(key) === document) pending.delete(key);
      }
    }
    this.#trouble = null;
    this.reconsider();
  }

  /** Takes out those of owners who are gone, and of groups that have no such limit any more. */
  #endGone(): void {
    const { documents, policy } = this.#options.ledger;
    const { snapshot } = documents;
    for (const [key] of snapshot.all(graceKind)) {
      if (documents.owners.byId(Number(key)) === undefined) this.#pending.get(graceKind)?.set(key, []);
    }
    for (const [group] of snapshot.all(poolGraceKind)) {
      if (!policy.pooled.has(group)) this.#pending.get(poolGraceKind)?.set(group, []);
    }
  }

  #failed(error: unknown): void {
    const reason = messageOf(error);
    if (reason !== this.#trouble) {
      this.#options.log.warn({ reason }, 'graces count, and are written when the store can be written');
    }
    this.#trouble = reason;
  }

  #wait(): void {
    clearTimeout(this.#timer);
    const now = this.#options.clock.wall();
    let next = Number.POSITIVE_INFINITY;
    for (const { until } of this.#ends()) if (until > now) next = Math.min(next, until);
    if (this.#loop === null || next === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.reconsider(), Math.min(next - now, longestWaitMs)).unref();
  }

  /** The end of each grace that has begun, and whose it is; null: that of a group. */
  *#ends(): Generator<{ readonly until: number; readonly ownerId: number | null }> {
    const { policy, settings, documents } = this.#options.ledger;
    const usual = settings.graceMs ?? 0;
    for (const kind of kinds) {
      for (const [key, document] of documents.snapshot.all(kind)) {
        const ownerId = kind === graceKind ? Number(key) : null;
        for (const { rule, since } of document) {
          const own = rule === null ? undefined : policy.graceMsOf(rule);
          yield { until: since + (own ?? usual), ownerId };
        }
      }
    }
  }
}

/** Returns the graces after these passed limits. If usage may be stale, nobody is back below one. */
function documentAfter(
  before: GraceDocument,
  passed: PassedLimits,
  now: number,
  isStale: () => boolean,
): GraceDocument {
  const kept = before.flatMap(entry => {
    const still = passed.get(entry.rule);
    if (still === undefined) return isStale() ? [entry] : [];
    // An owner who was not warned is warned from now on.
    const isBegunAnew = entry.isReported && !still.isReported;
    // One that begins later than now was begun by a clock that was wrong.
    if (!isBegunAnew && entry.since <= now) return [entry];
    return [{ ...entry, since: now, isReported: entry.isReported && still.isReported }];
  });
  const known = new Set(before.map(({ rule }) => rule));
  const begun = [...passed].flatMap(([rule, { isReported }]) =>
    known.has(rule) ? [] : [{ rule, since: now, isReported }],
  );
  return [...kept, ...begun];
}
