/**
 * The graces of owners: begun when an owner is first seen over a limit, and ended when the owner is below it
 * again, or the limit has no grace any more.
 *
 * A decision reads what has begun from memory. Where nothing has begun yet it decides as if it began now, so
 * the moment until an owner is seen makes no difference. What has begun counts here at once, and is written
 * as soon as the store takes it. Where hosts share a quota, one at a time begins and ends graces.
 */

import type { Documents } from '../documents/index.ts';
import { messageOf, SoftquotaError } from '../errors.ts';
import { type GraceDocument, graceKind, type Policy } from '../policy/index.ts';
import {
  type Graces,
  type PassedLimits,
  passedLimits,
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
  readonly walks: { readonly lastSweep: SweepRecord | null };
  ownerUsage(ownerName: string): OwnerUsage;
  standing(owner: Pick<OwnerUsage, 'id' | 'allowance'>): Standing;
  watch(watcher: Watcher): () => void;
}

interface OwnerGracesOptions extends LedgerParts {
  readonly ledger: GracesLedger;
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

const nothingBegun: ReadonlyMap<string | null, RunningGrace> = new Map();

export class OwnerGraces {
  readonly #options: OwnerGracesOptions;
  /** By the owner's id: what is not written yet; an empty one is to be taken out. */
  readonly #pending = new Map<number, GraceDocument>();
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
    const document = ownerId === null ? undefined : this.#documentOf(ownerId);
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
    for (const [ownerId, until] of this.#ends()) {
      const owner = until > this.#endedUntil && until <= now ? documents.owners.byId(ownerId) : undefined;
      if (owner !== undefined) this.#options.tell(owner.key);
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

  #documentOf(ownerId: number): GraceDocument | undefined {
    const pending = this.#pending.get(ownerId);
    return pending ?? this.#options.ledger.documents.snapshot.get(graceKind, String(ownerId));
  }

  #begunIn(document: GraceDocument): ReadonlyMap<string | null, RunningGrace> {
    const known = this.#read.get(document);
    if (known !== undefined) return known;
    const begun = new Map(document.map(({ rule, since, isReported }) => [rule, { since, isReported }]));
    this.#read.set(document, begun);
    return begun;
  }

  #reconcile(ownerKey: string): void {
    const { ledger, clock } = this.#options;
    const owner = ledger.documents.owners.named(ownerKey);
    if (owner === undefined || !this.#isTurn()) return;
    const before = this.#documentOf(owner.id) ?? [];
    if (!this.#isSet && before.length === 0) return;
    const seen = this.#passedBy(ownerKey);
    if (seen === null) return;
    const after = documentAfter(before, seen.passed, clock.wall(), seen.isStale);
    if (JSON.stringify(after) !== JSON.stringify(before)) this.#pending.set(owner.id, after);
  }

  /** Null where the owner's bytes cannot be added up. */
  #passedBy(ownerKey: string): { readonly passed: PassedLimits; readonly isStale: boolean } | null {
    const { ledger } = this.#options;
    try {
      const owner = ledger.ownerUsage(ownerKey);
      const passed = passedLimits(ledger.settings, ledger.standing(owner), owner.usage, owner.unreachable);
      return { passed, isStale: owner.stale || ledger.walks.lastSweep === null };
    } catch (error) {
      if (error instanceof SoftquotaError && error.code === 'sum_too_large') return null;
      throw error;
    }
  }

  async #finish(everybody: boolean): Promise<void> {
    const { documents } = this.#options.ledger;
    if (everybody && this.#isTurn()) {
      for (const [key] of documents.snapshot.all(graceKind)) {
        if (documents.owners.byId(Number(key)) === undefined) this.#pending.set(Number(key), []);
      }
    }
    const waiting = [...this.#pending];
    for (let at = 0; at < waiting.length; at += mostAtOnce) {
      const some = waiting.slice(at, at + mostAtOnce);
      await documents.transact(({ changes }) => {
        for (const [ownerId, document] of some) {
          if (document.length === 0) changes.remove(graceKind, String(ownerId));
          else changes.put(graceKind, String(ownerId), document);
        }
      });
      for (const [ownerId, document] of some) {
        if (this.#pending.get(ownerId) === document) this.#pending.delete(ownerId);
      }
    }
    this.#trouble = null;
    this.reconsider();
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
    for (const [, until] of this.#ends()) if (until > now) next = Math.min(next, until);
    if (this.#loop === null || next === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.reconsider(), Math.min(next - now, longestWaitMs)).unref();
  }

  /** The end of each grace that has begun, with the owner's id. */
  *#ends(): Generator<readonly [ownerId: number, until: number]> {
    const { ledger } = this.#options;
    const { snapshot } = ledger.documents;
    const usual = ledger.settings.graceMs ?? 0;
    for (const [key, document] of snapshot.all(graceKind)) {
      for (const { rule, since } of document) {
        const own = rule === null ? undefined : ledger.policy.graceMsOf(rule);
        yield [Number(key), since + (own ?? usual)];
      }
    }
  }
}

/** Returns the graces after these passed limits. If usage may be stale, nobody is back below one. */
function documentAfter(
  before: GraceDocument,
  passed: PassedLimits,
  now: number,
  isStale: boolean,
): GraceDocument {
  const kept = before.flatMap(entry => {
    const still = passed.get(entry.rule);
    if (still === undefined) return isStale ? [entry] : [];
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
