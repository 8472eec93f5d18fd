/**
 * Shares usage through the store: reports that on this host, and reads that on other hosts.
 *
 * Each change is reported soon, and all usage anew if the store does not have the last report. A new report
 * reads and compares what the store has, and only then makes other hosts read everything. So they never see
 * less than before.
 *
 * Reading takes the changes of other hosts since the last time, or all of their usage, some owners at a time.
 * If the store has lost the usage of a host, its last known usage counts until the host reports again or is
 * forgotten.
 */

import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SoftquotaError } from '../errors.ts';
import { forgeSource, type Ledger, type UsageShares } from '../ledger/index.ts';
import {
  type LargeUnit,
  placeIn,
  type SharedStore,
  type ShareRecord,
  type ToldShare,
  usageIn,
  usageText,
} from '../store/index.ts';
import { inSlices, SerialQueue } from '../turns.ts';

interface UsageTellerOptions {
  readonly ledger: Pick<Ledger, 'documents' | 'shares' | 'sources' | 'walks' | 'watch'>;
  readonly store: Pick<SharedStore, 'state' | 'tellUsage' | 'usageTexts'>;
  readonly host: string;
  /** Tells whether this host reads a forge. */
  readonly hasForge: boolean;
  /** Resolves with false if the usage of these owners must not be reported now. Rejects with `store_away`. */
  mayTell(ownerKeys: readonly string[]): Promise<boolean>;
  /** Returns the name of an owner who may not be on record in the store. */
  unrecordedName(ownerKey: string): string | undefined;
  /** Called when the store has all usage. */
  told(): void;
  /** Called when an attempt has failed. Never rejects. */
  failed(error: unknown): Promise<void>;
  /** Least milliseconds between two writes; 50 unless given. */
  readonly pauseMs?: number;
}

/** Leaves of which a forge reports nothing: after a sweep they are known. */
const walkedLeaves = new Set(['size:repos:public', 'size:repos:private', 'size:assets:wiki']);
/** Limit of owners in one write: enough to make a large first report fast, few enough to delay nobody. */
const mostAtOnce = 250;
/** Milliseconds after a failure until the next attempt. */
const retryMs = 1000;

export class UsageTeller {
  readonly #options: UsageTellerOptions;
  /** Texts that the store has, by owner's key. */
  readonly #told = new Map<string, string>();
  /** Owners whose usage may have changed. */
  readonly #changed = new Set<string>();
  /** Owners of whom the store has more than this host knows so far, before it is `#isMeasured`. */
  readonly #unmeasured = new Set<string>();
  /** Position of the store after the last write; null: its content is not known. */
  #place: { readonly epoch: string; readonly number: number } | null = null;
  #isComparing = false;
  #unwatch: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  readonly #tellings = new SerialQueue();
  /** Time of the next write at the earliest, on the monotonic clock. */
  #restUntil = 0;

  constructor(options: UsageTellerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unwatch ??= this.#options.ledger.watch(ownerKey => {
      if (ownerKey !== null) this.#changed.add(ownerKey);
      this.#wake();
    });
    this.#wake();
  }

  /**
   * Checks whether the store is at the position of the last write, and whether all usage is known by now.
   * `place`: the position in the store; undefined: none.
   */
  compare(place: string | undefined): void {
    if (this.#isMeasured) this.#changeUnmeasured();
    if (this.#isComparing || this.#place === null || place === placeText(this.#place)) return;
    this.#isComparing = true;
    // A write under way may have reached the store already.
    void this.#tellings.run(async () => {
      const { store, host } = this.#options;
      try {
        const there = (await store.state()).usage.get(host);
        if (this.#place !== null && there !== placeText(this.#place)) this.#place = null;
      } catch {
        // The next sync says that the store is away, or compares again.
      } finally {
        this.#isComparing = false;
      }
    });
    this.#wake();
  }

  /** Stops after a last attempt. */
  async close(): Promise<void> {
    await this.#tellAll();
    this.#unwatch?.();
    this.#unwatch = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /**
   * Tells whether a sweep has ended, and the forge was read if there is one: before, what this host knows may
   * be a part of what it stores.
   */
  get #isMeasured(): boolean {
    const { ledger, hasForge } = this.#options;
    if (hasForge && ledger.sources.report(forgeSource) === undefined) return false;
    return ledger.walks.lastSweep !== null;
  }

  #changeUnmeasured(): void {
    if (this.#unmeasured.size === 0) return;
    for (const ownerKey of this.#unmeasured) this.#changed.add(ownerKey);
    this.#unmeasured.clear();
    this.#wake();
  }

  #wake(): void {
    if (this.#timer !== null || this.#unwatch === null) return;
    const waitMs = Math.max(this.#restUntil - performance.now(), 0);
    this.#timer = setTimeout(() => void this.#tellAll(), waitMs).unref();
  }

  /** Reports all changes. Calls run one after the other. */
  #tellAll(): Promise<void> {
    return this.#tellings.run(async () => {
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      if (this.#unwatch === null) return;
      const { told, failed, pauseMs = 50 } = this.#options;
      try {
        let isTold = true;
        if (this.#place === null) isTold = await this.#tellAnew();
        while (isTold && this.#changed.size > 0) isTold = await this.#tellSome();
        this.#restUntil = performance.now() + (isTold ? pauseMs : retryMs);
        if (isTold) told();
        else this.#wake();
      } catch (error) {
        await failed(error);
        this.#restUntil = performance.now() + retryMs;
        this.#wake();
      }
    });
  }

  /** Reports some changes. False: nothing may be reported now, or the store is at another position. */
  async #tellSome(): Promise<boolean> {
    const place = this.#place;
    if (place === null) return false;
    const next = { ...place, number: place.number + 1 };
    const outcome = await this.#tell(placeText(place), placeText(next));
    if (outcome === 'told') this.#place = next;
    else if (outcome === 'conflict') this.#place = null;
    return outcome !== 'conflict' && outcome !== 'not now';
  }

  /**
   * Compares all usage with that in the store, and makes other hosts read it again. Returns as `#tellSome`
   * does.
   */
  async #tellAnew(): Promise<boolean> {
    const { ledger, store, host, mayTell } = this.#options;
    if (!(await mayTell([]))) return false;
    const from = (await store.state()).usage.get(host) ?? null;
    this.#told.clear();
    const strayFields: string[] = [];
    for await (const page of store.usageTexts(host)) {
      for (const [ownerKey, text, field] of page) {
        if (ownerKey === null) strayFields.push(field);
        else this.#told.set(ownerKey, text);
      }
    }
    for (const ownerKey of this.#told.keys()) this.#changed.add(ownerKey);
    await inSlices(ledger.documents.owners.all, ({ key }) => this.#changed.add(key));
    while (this.#changed.size > 0) {
      const outcome = await this.#tell(from, null);
      if (outcome === 'conflict' || outcome === 'not now') return false;
    }
    const place = { epoch: randomBytes(8).toString('hex'), number: 0 };
    const opening = {
      from,
      to: placeText(place),
      usage: new Map(),
      gone: [],
      largest: new Map(),
      strayFields,
    };
    if ((await store.tellUsage(host, opening)) === 'conflict') return false;
    this.#place = place;
    return true;
  }

  /** Reports the usage of some changed owners; `nothing`: the store has it all. */
  async #tell(from: string | null, to: string | null): Promise<'told' | 'nothing' | 'conflict' | 'not now'> {
    const { ledger, store, host, mayTell, unrecordedName } = this.#options;
    const ownerKeys: string[] = [];
    for (const key of this.#changed) if (ownerKeys.push(key) === mostAtOnce) break;
    if (!(await mayTell(ownerKeys))) return 'not now';
    for (const ownerKey of ownerKeys) this.#changed.delete(ownerKey);
    const usage = new Map<string, string>();
    const largest = new Map<string, readonly LargeUnit[]>();
    const names = new Map<string, string>();
    const gone: string[] = [];
    try {
      const told = await ledger.shares.toldOf(ownerKeys);
      for (const [at, ownerKey] of ownerKeys.entries()) {
        const one = told[at] ?? null;
        const text = one === null ? undefined : usageText(one.share, one.largest);
        if (text === this.#told.get(ownerKey)) continue;
        if (!this.#isMeasured && this.#hasMore(ownerKey, one?.share)) this.#unmeasured.add(ownerKey);
        else if (one === null || text === undefined) gone.push(ownerKey);
        else {
          usage.set(ownerKey, text);
          largest.set(ownerKey, one.largest);
          const name = unrecordedName(ownerKey);
          if (name !== undefined && name !== ownerKey) names.set(ownerKey, name);
        }
      }
      if (usage.size + gone.length === 0) {
        // Nothing was waited for, so others had no turn yet.
        await nextTurn();
        return 'nothing';
      }
      if ((await store.tellUsage(host, { from, to, usage, gone, largest, names })) === 'conflict') {
        for (const ownerKey of ownerKeys) this.#changed.add(ownerKey);
        return 'conflict';
      }
    } catch (error) {
      for (const ownerKey of ownerKeys) this.#changed.add(ownerKey);
      // It is unknown whether this was written.
      this.#place = null;
      throw error;
    }
    for (const [ownerKey, text] of usage) this.#told.set(ownerKey, text);
    for (const ownerKey of gone) this.#told.delete(ownerKey);
    return 'told';
  }

  /**
   * Tells whether the store has more bytes of an owner on this host, of the kinds that are not all known here
   * yet. A damaged text counts as none.
   */
  #hasMore(ownerKey: string, share: ShareRecord | undefined): boolean {
    const text = this.#told.get(ownerKey);
    if (text === undefined) return false;
    const isSwept = this.#options.ledger.walks.lastSweep !== null;
    const sumOf = ({ bytes }: Pick<ShareRecord, 'bytes'>) =>
      Object.entries(bytes)
        .filter(([leaf]) => !(isSwept && walkedLeaves.has(leaf)))
        .reduce((sum, [, each]) => sum + each, 0);
    try {
      return sumOf(usageIn(ownerKey, this.#options.host, text)) > sumOf(share ?? { bytes: {} });
    } catch {
      return false;
    }
  }
}

function placeText({ epoch, number }: { readonly epoch: string; readonly number: number }): string {
  return `${epoch} ${number}`;
}

interface UsageReaderOptions {
  readonly shares: Pick<UsageShares, 'lookThrough' | 'takeShares'>;
  readonly store: Pick<SharedStore, 'usage' | 'usageAfter'>;
  readonly host: string;
}

/** A read of all usage on a host, as far as it has come. */
interface Reading {
  readonly place: string;
  readonly pages: AsyncIterator<readonly ToldShare[]>;
  /** Owners whose usage was read already. */
  readonly seen: Set<string>;
}

export class UsageReader {
  readonly #options: UsageReaderOptions;
  /** Position up to which the usage on each other host is known. */
  readonly #known = new Map<string, string>();
  readonly #readings = new Map<string, Reading>();
  /** Some changes of a host are still to be read. */
  #isBehind = false;

  constructor(options: UsageReaderOptions) {
    this.#options = options;
  }

  /** Tells whether some usage is still to be read. */
  get isReading(): boolean {
    return this.#readings.size > 0 || this.#isBehind;
  }

  /**
   * Reads the usage of the hosts up to these positions, until the deadline on the monotonic clock; the rest
   * is left to the next time. Usage that cannot be read keeps no other host's from being read. Rejects with
   * `store_away` or `store_refused`.
   */
  async sync(places: ReadonlyMap<string, string>, deadline: number): Promise<void> {
    this.#isBehind = false;
    // A read continues only while the host is listed.
    for (const host of this.#readings.keys()) if (!places.has(host)) this.#readings.delete(host);
    let refused: SoftquotaError | null = null;
    for (const [host, place] of places) {
      if (host === this.#options.host) continue;
      try {
        // A restored store may be at the known position again, while another one is being read.
        if (this.#known.get(host) === place) this.#readings.delete(host);
        else if (place === 'forgotten') await this.#end(host, { place, seen: new Set() });
        else await this.#follow(host, place, deadline);
      } catch (error) {
        if (!(error instanceof SoftquotaError && error.code === 'store_refused')) throw error;
        refused = error;
      }
    }
    if (refused !== null) throw refused;
  }

  /** Begins anew with reads that another server has answered in part. */
  lost(): void {
    this.#readings.clear();
  }

  async #follow(host: string, place: string, deadline: number): Promise<void> {
    const [known, now] = [placeIn(this.#known.get(host) ?? ''), placeIn(place)];
    if (known !== null && known.epoch === now?.epoch && known.number < now.number) {
      this.#readings.delete(host);
      return this.#goOn(host, known, deadline);
    }
    const reading = this.#readings.get(host) ?? this.#begin(host, place);
    // Reads at least one page, so that earlier hosts do not keep later ones from being read.
    do {
      const { done, value } = await reading.pages.next().catch((error: unknown) => {
        // An iterator that has thrown would seem to be at its end.
        this.#readings.delete(host);
        throw error;
      });
      if (done === true) return this.#end(host, reading);
      this.#options.shares.takeShares(host, value);
      for (const [ownerKey] of value) reading.seen.add(ownerKey);
    } while (performance.now() < deadline);
  }

  #begin(host: string, place: string): Reading {
    const pages = this.#options.store.usage(host)[Symbol.asyncIterator]();
    const reading = { place, pages, seen: new Set<string>() };
    this.#readings.set(host, reading);
    return reading;
  }

  /** Ends a read: deletes the usage of owners that it did not find. Later changes come after its position. */
  async #end(host: string, { place, seen }: Pick<Reading, 'place' | 'seen'>): Promise<void> {
    this.#readings.delete(host);
    const { shares } = this.#options;
    const gone: string[] = [];
    await shares.lookThrough(share => {
      if (share.host === host && !seen.has(share.ownerKey)) gone.push(share.ownerKey);
    });
    await inSlices(gone, ownerKey => shares.takeShares(host, [[ownerKey, null]]));
    this.#known.set(host, place);
  }

  async #goOn(
    host: string,
    { epoch, number: from }: { readonly epoch: string; readonly number: number },
    deadline: number,
  ): Promise<void> {
    let number = from;
    let isMore: boolean;
    do {
      const changes = await this.#options.store.usageAfter(host, number);
      this.#options.shares.takeShares(host, changes.shares);
      ({ number, isMore } = changes);
    } while (isMore && performance.now() < deadline);
    if (isMore) this.#isBehind = true;
    this.#known.set(host, `${epoch} ${number}`);
  }
}
