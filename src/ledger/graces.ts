/**
 * Begins and ends graces. A grace begins when an owner is first seen over a limit, and ends when the owner is
 * below it again, or the limit has no grace any more. A limit of a group's members together has one grace for
 * all of them.
 *
 * Decisions read graces from memory. If no grace has begun, a decision assumes that it begins now, so it does
 * not matter that the owner is seen a little later. A grace counts here at once, and is written as soon as
 * the store can be written. If hosts share a quota, only one of them at a time begins and ends graces.
 *
 * Allowances end here, too: at their time watchers are notified, an event is recorded, and a day later the
 * record is removed. No decision depends on this, since decisions ignore an allowance from its end on.
 */

import type { Documents, Kind } from '../documents/index.ts';
import { messageOf, SoftquotaError } from '../errors.ts';
import {
  type AllowanceDocument,
  allowanceIn,
  auditAllowance,
  dueAt,
  everyAllowance,
  type GraceDocument,
  graceKind,
  type Policy,
  poolGraceKind,
  stepToEnd,
} from '../policy/index.ts';
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
import type { SteadyClock } from './steady-clock.ts';

interface GracesLedger {
  readonly documents: Documents;
  readonly policy: Policy;
  readonly settings: LedgerSettings;
  readonly pools: { of(group: string, owner: null): PooledBytes };
  readonly steadyClock: SteadyClock;
  readonly walks: { readonly lastSweep: SweepRecord | null };
  ownerById(id: number): OwnerUsage | undefined;
  ownerUsage(ownerName: string): OwnerUsage;
  standing(owner: Pick<OwnerUsage, 'id' | 'allowance'>): Standing;
  watch(watcher: Watcher): () => void;
}

interface OwnerGracesOptions extends LedgerParts {
  readonly ledger: GracesLedger;
}

interface GraceStart {
  /** Least pause between two rounds, in milliseconds; default: a second. */
  readonly pauseMs?: number | undefined;
  /** Tells whether this host begins graces, and ends them and allowances, now; default: always. */
  readonly isTurn?: (() => boolean) | undefined;
}

/** Wakes up at least this often, since somebody may set the clock. */
const longestWaitMs = 60_000;
const hourMs = 3_600_000;
const mostAtOnce = 1000;
/** Most allowances that end in one round. Each is a transaction, and no grace is written meanwhile. */
const mostEnded = 50;

const kinds = [graceKind, poolGraceKind] as const;

const nothingBegun: ReadonlyMap<string | null, RunningGrace> = new Map();

export class OwnerGraces {
  readonly #options: OwnerGracesOptions;
  /** Documents to write, by kind and key; an empty document stands for a removal. */
  readonly #pending = new Map<Kind<GraceDocument>, Map<string, GraceDocument>>(
    kinds.map(kind => [kind, new Map()]),
  );
  #loop: ReconcileLoop | null = null;
  #isTurn: () => boolean = () => true;
  #timer: NodeJS.Timeout | undefined;
  #hourly: NodeJS.Timeout | undefined;
  /** Ends up to this time have been announced. */
  #endedUntil = 0;
  /** The last reason why something could not be written: the same reason is logged only once. */
  #trouble: string | null = null;

  constructor(options: OwnerGracesOptions) {
    this.#options = options;
  }

  /** Returns the graces of an owner; null: no limit has a grace. `ownerId` is null for an unknown owner. */
  of(ownerId: number | null): Graces | null {
    return this.#isSet ? this.now(ownerId) : null;
  }

  /** Returns the graces of an owner, even if no limit has a grace. */
  now(ownerId: number | null): Graces {
    return this.#gracesIn(ownerId === null ? undefined : this.#documentOf(graceKind, String(ownerId)));
  }

  /** Returns the graces of a group's members together; null: no limit has a grace. */
  ofPool(group: string): Graces | null {
    return this.#isSet ? this.poolNow(group) : null;
  }

  /** Returns the graces of a group's members together, even if no limit has a grace. */
  poolNow(group: string): Graces {
    return this.#gracesIn(this.#documentOf(poolGraceKind, group));
  }

  #gracesIn(document: GraceDocument | undefined): Graces {
    const begun = document?.map(({ rule, since, isReported }) => [rule, { since, isReported }] as const);
    return { now: this.#options.clock.wall(), begun: begun === undefined ? nothingBegun : new Map(begun) };
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
    // A grace of a wrong clock begins anew once the clock is steady.
    this.#hourly = setInterval(() => this.#loop?.reconcileAll(), hourMs).unref();
    this.#wait();
  }

  takeTurn(): void {
    this.#loop?.reconcileAll();
  }

  /** Announces the graces and allowances whose time has run out, also after somebody set the clock. */
  reconsider(): void {
    const { documents } = this.#options.ledger;
    const now = this.#options.clock.wall();
    for (const { ownerId, until } of this.#ends()) {
      if (until <= this.#endedUntil || until > now) continue;
      const owner = ownerId === null ? null : documents.owners.byId(ownerId);
      if (owner !== undefined) this.#options.tell(owner?.key ?? null);
    }
    this.#endedUntil = now;
    this.#wait();
  }

  /** Resolves once all that has begun or ended by now is written, or the write has failed. */
  async settled(): Promise<void> {
    await this.#loop?.settled();
  }

  async close(): Promise<void> {
    await this.#loop?.close();
    this.#loop = null;
    clearTimeout(this.#timer);
    clearInterval(this.#hourly);
  }

  get #isSet(): boolean {
    const { policy, settings } = this.#options.ledger;
    return (settings.graceMs ?? 0) > 0 || policy.hasGrace;
  }

  #documentOf(kind: Kind<GraceDocument>, key: string): GraceDocument | undefined {
    const pending = this.#pending.get(kind)?.get(key);
    return pending ?? this.#options.ledger.documents.snapshot.get(kind, key);
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
    // The change of the document notifies the watchers of all members once it is written.
    return false;
  }

  /** Begins and ends the graces of a document. Leaves it unchanged if the bytes cannot be added up. */
  #follow(
    kind: Kind<GraceDocument>,
    key: string,
    see: () => { readonly passed: PassedLimits; readonly isStale: () => boolean },
  ): void {
    const { ledger, clock } = this.#options;
    const isSteady = ledger.steadyClock.isSteady();
    const before = this.#documentOf(kind, key) ?? [];
    if (!this.#isTurn() || (!this.#isSet && before.length === 0)) return;
    try {
      const { passed, isStale } = see();
      const mayBeStale = () => ledger.walks.lastSweep === null || isStale();
      const after = documentAfter(before, passed, clock.wall(), isSteady, mayBeStale);
      if (JSON.stringify(after) !== JSON.stringify(before)) this.#pending.get(kind)?.set(key, after);
    } catch (error) {
      if (!(error instanceof SoftquotaError && error.code === 'sum_too_large')) throw error;
    }
  }

  async #finish(everybody: boolean): Promise<void> {
    const { documents } = this.#options.ledger;
    // The graces that this host saw in its turn are not written over those of another one.
    if (!this.#isTurn()) for (const pending of this.#pending.values()) pending.clear();
    else if (everybody) this.#endGone();
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
    if (this.#isTurn()) await this.#endAllowances();
    this.#trouble = null;
    this.reconsider();
  }

  /** Ends allowances that are due. Each change of an owner's allowances begins another round. */
  async #endAllowances(): Promise<void> {
    const { documents } = this.#options.ledger;
    const now = this.#options.clock.wall();
    const isDue = (allowance: AllowanceDocument) => dueAt(allowance, now) <= now;
    const due = [...everyAllowance(documents.snapshot)].filter(([, allowance]) => isDue(allowance));
    for (const [ownerId, { id }] of due.slice(0, mostEnded)) {
      await documents.transact(transaction => {
        const allowance = allowanceIn(transaction.changes, ownerId, id);
        if (allowance === undefined || !isDue(allowance)) return;
        const isEnd = stepToEnd(transaction.changes, ownerId, allowance, now);
        const owner = transaction.ownerById(ownerId);
        if (isEnd && owner !== undefined) transaction.auditAs(auditAllowance(owner, 'ended', allowance));
      });
    }
  }

  /** Removes the graces of removed owners, and of groups without a limit of their members together. */
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
      const words = 'graces and ends of allowances count, and are written when the store can be written';
      this.#options.log.warn({ reason }, words);
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

  /** Yields the ends of written graces and allowances with their owners; null: a grace of a group. */
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
    const now = this.#options.clock.wall();
    for (const [ownerId, allowance] of everyAllowance(documents.snapshot))
      yield { until: dueAt(allowance, now), ownerId };
  }
}

/** Returns the graces after these passed limits. While usage may be stale, no grace ends. */
function documentAfter(
  before: GraceDocument,
  passed: PassedLimits,
  now: number,
  isSteady: boolean,
  isStale: () => boolean,
): GraceDocument {
  const kept = before.flatMap(entry => {
    const still = passed.get(entry.rule);
    if (still === undefined) return isStale() ? [entry] : [];
    const { isReported } = still;
    // A limit that only reported did not warn the owner. Its grace begins anew when it refuses.
    const isBegunAnew = entry.isReported && !isReported;
    // A begin in the future comes from a wrong clock: that of then, if that of now is steady.
    const isKept = !isBegunAnew && (entry.since <= now || !isSteady);
    return [{ ...entry, since: isKept ? entry.since : now, isReported }];
  });
  const known = new Set(before.map(({ rule }) => rule));
  const begun = [...passed].flatMap(([rule, { isReported }]) =>
    known.has(rule) ? [] : [{ rule, since: now, isReported }],
  );
  return [...kept, ...begun];
}
