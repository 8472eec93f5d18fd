/** The part of a daemon that takes part in a shared quota, from its start to its end. */

import type { EventStore, SharedDocuments } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { SerialQueue } from '../serial-queue.ts';
import {
  type Away,
  AwayState,
  eventPages,
  type HostRecord,
  type PolicyChange,
  type Position,
  type ServerAdvice,
  type SharedStore,
  type VolatileChange,
} from '../store/index.ts';
import { AdviceWatch } from './advice-watch.ts';
import { ChangeHints } from './change-hints.ts';
import type { Divergence } from './divergence.ts';
import { DocumentFollower } from './document-follower.ts';
import { Hosts } from './hosts.ts';
import { HostName, type NameTaken } from './name.ts';
import { UsageReader } from './usage-reader.ts';
import { UsageTeller } from './usage-teller.ts';
import { VolatileDocuments } from './volatile.ts';

export interface FleetOptions {
  readonly ledger: Ledger;
  /** Closed together with the fleet. */
  readonly store: SharedStore;
  readonly host: string;
  /** Secret that proves the host to be the same after a restart. */
  readonly token: string;
  readonly version: string;
  readonly log: Log;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds between two looks at the store; a second unless given. */
  readonly everyMs?: number;
  /**
   * Milliseconds after which policy is changed at the earliest on a server that takes another's place; 1200
   * unless given: long enough for all hosts to find the server, and short enough for an administrator to be
   * answered in time.
   */
  readonly settleMs?: number;
}

/** Problems between this host and the others. */
export interface FleetState {
  /** Null while the shared store answers. */
  readonly away: Away | null;
  /** Null: the policy in the store is the one in force here. */
  readonly divergence: Divergence | null;
  /** Null: this host's name is its own. */
  readonly nameTaken: NameTaken | null;
}

/** Needs of the fleet once the daemon runs, and what it tells the daemon. */
interface FleetHooks {
  /** It has become this host's turn to tell what all of them see. */
  turned?(): void;
  /** The directories that this host's storage begins with; null: not known yet. */
  roots?(): HostRecord['roots'];
  /** Something changed at a path, by the name that all hosts have for it; it may be wrong. */
  heard?(sharedPath: string): void;
}

/** Milliseconds between two looks at the store. */
const usualMs = 1000;
/** Milliseconds that usage is read for until the policy is looked at again. */
const readingMs = 30;
/** Longer, while nobody is served yet. */
const openingMs = 300;

export class Fleet implements SharedDocuments {
  readonly #options: FleetOptions;
  readonly #name: HostName;
  readonly #hosts: Hosts;
  readonly #documents: DocumentFollower;
  readonly #volatile: VolatileDocuments;
  readonly #usage: UsageReader;
  readonly #teller: UsageTeller;
  readonly #adviceWatch: AdviceWatch;
  readonly #changeHints: ChangeHints;
  #roots: () => HostRecord['roots'] = () => null;
  #heard: (sharedPath: string) => void = () => {};
  /** Null: none was told, or that it is over. */
  #loggedDivergence: string | null = null;
  readonly #away: AwayState;
  #timer: NodeJS.Timeout | null = null;
  #beat: NodeJS.Timeout | null = null;
  readonly #syncs = new SerialQueue();
  /** One that has not begun yet. */
  #nextSync: Promise<void> | null = null;
  /** Times of the last look and of the last claim in one, on the monotonic clock. */
  #syncedAt = Number.NEGATIVE_INFINITY;
  #keptAt = Number.NEGATIVE_INFINITY;
  /** Everything was read once. */
  #isComplete = false;
  #isClosed = false;

  private constructor(options: FleetOptions) {
    this.#options = options;
    const { ledger, store, host, log, token, version, now, settleMs = 1200 } = options;
    const { replica, shares } = ledger;
    this.#away = new AwayState({
      log,
      now,
      awayWords: 'the shared store cannot be used at the moment, so the last known data is used',
      backWords: 'the shared store can be used again',
    });
    const about = () => ({ isParted: this.#documents.divergence !== null, roots: this.#roots() });
    this.#name = new HostName({ store, host, token, version, log, now, about });
    this.#changeHints = new ChangeHints({ store, heard: path => this.#heard(path) });
    this.#hosts = new Hosts({ shares, store, host, now });
    this.#volatile = new VolatileDocuments({ documents: ledger.documents, store });
    this.#documents = new DocumentFollower({
      documents: ledger.documents,
      replica,
      store,
      settleMs,
      log,
      begin: () => this.#bringAlong(),
      sync: () => this.#sync(),
    });
    this.#usage = new UsageReader({ shares, store, host });
    this.#teller = new UsageTeller({
      ledger,
      store,
      host,
      mayTell: ownerKeys => this.#mayTell(ownerKeys),
      failed: error => this.#away.failed(error),
    });
    this.#adviceWatch = new AdviceWatch({ store: { advice: () => this.advice() }, log });
  }

  /**
   * Joins the others. Where the store is away, what was known last serves. Rejects with `configuration` where
   * a living daemon has this host's name, and with `store_refused`; the store is closed then.
   */
  static async open(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options);
    const { ledger, store } = options;
    ledger.documents.shareWith(fleet);
    ledger.eventLog.shareWith(fleet.#events());
    ledger.shares.shareWith({
      isStale: () => fleet.#away.current !== null || !fleet.#isComplete,
      countApart: () => (fleet.#away.current === null ? 1 : fleet.#hosts.lately),
      elsewhere: store,
    });
    try {
      await fleet.#name.begin();
    } catch (error) {
      if (!isAway(error)) {
        await store.close();
        throw error;
      }
      // The looks find that the store is away, and have the name taken later.
    }
    await fleet.#look();
    return fleet;
  }

  /** From now on the others are told, and followed. */
  start({ turned = () => {}, roots = () => null, heard = () => {} }: FleetHooks = {}): void {
    const { store, everyMs = usualMs } = this.#options;
    this.#roots = roots;
    this.#heard = heard;
    this.#name.start(turned);
    store.follow({ changed: () => void this.#look(), said: text => this.#changeHints.said(text) });
    // A look may take longer than the name lives.
    this.#beat ??= setInterval(() => void this.#name.keep().catch(() => {}), everyMs).unref();
    this.#teller.start();
    this.#next();
  }

  /** Tells whether it is this host that tells what all of them see. */
  get isTelling(): boolean {
    return this.#name.isTelling;
  }

  get state(): FleetState {
    return {
      away: this.#away.current,
      divergence: this.#documents.divergence,
      nameTaken: this.#name.taken,
    };
  }

  async commit(change: PolicyChange, basis: Position, mark: string): Promise<Position | null> {
    this.#rejectIfDiverged();
    return this.#documents.commit(change, basis, mark);
  }

  async writeVolatile(change: VolatileChange): Promise<void> {
    this.#rejectIfDiverged();
    await this.#volatile.write(change);
  }

  takeLease(name: string): Promise<boolean> {
    const { store, host } = this.#options;
    return store.takeTask(name, host);
  }

  async catchUp(): Promise<void> {
    await this.#sync();
    this.#rejectIfDiverged();
  }

  /** Those of the store, and those that it lost and whose usage counts. Rejects with `store_away`. */
  hosts(): Promise<readonly HostRecord[]> {
    return this.#hosts.all();
  }

  /** Rejects with `conflict` while it lives, `not_found` where there is none, `store_away`. */
  async forgetHost(host: string): Promise<void> {
    const { store, ledger } = this.#options;
    await store.forgetHost(host, ledger.shares.others.has(host));
    await this.#sync();
  }

  /** Has the host that walks it measure a path, as far as it can be told. */
  passOn(sharedPath: string): void {
    this.#changeHints.passOn(sharedPath);
  }

  /** The advice of the last half a minute. */
  get lastAdvice(): readonly ServerAdvice[] {
    return this.#adviceWatch.advice;
  }

  advice(): Promise<readonly ServerAdvice[]> {
    return this.#options.store.advice(this.#documents.wasEmptied);
  }

  /**
   * Decides what the policy is from now on, on all hosts: the one in force here, or the one in the store.
   * Rejects with `conflict` where they are the same, or somebody else decided meanwhile, and with
   * `store_away`.
   */
  async repair(policy: 'known' | 'stored'): Promise<void> {
    await this.#documents.repair(policy);
  }

  async close(): Promise<void> {
    const { store, ledger } = this.#options;
    this.#isClosed = true;
    this.#heard = () => {};
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#syncs.idle();
    await this.#teller.close();
    if (this.#beat !== null) clearInterval(this.#beat);
    this.#changeHints.close();
    await ledger.eventLog.close();
    if (this.#away.current === null && this.#name.isHeld) await this.#name.release();
    await store.close();
  }

  /** Never rejects: a later look is another chance. */
  async #look(): Promise<void> {
    if (this.#isClosed) return;
    await this.#sync().catch(() => {});
    await this.#adviceWatch.look();
  }

  /**
   * Resolves once all that others changed by now is in force here, and what they stored, too, unless there is
   * so much that it is left to the next. One after the other; what asks for the next one meanwhile gets the
   * same. Rejects with `store_away` or `store_refused`.
   */
  #sync(): Promise<void> {
    this.#nextSync ??= this.#syncs.run(async () => {
      this.#nextSync = null;
      try {
        const begun = performance.now();
        await this.#syncNow();
        this.#syncedAt = begun;
        this.#isComplete = !this.#usage.isReading;
        if (this.#away.succeeded()) this.#adviceWatch.anew();
      } catch (error) {
        this.#away.failed(error);
        throw error;
      }
    });
    return this.#nextSync;
  }

  async #syncNow(): Promise<void> {
    const { host, ledger } = this.#options;
    await this.#keepName();
    const { state, isOtherServer } = await this.#documents.sync();
    this.#logDivergence();
    if (isOtherServer) {
      ledger.eventLog.enqueue({ events: ledger.eventLog.recent });
      this.#volatile.lost();
    }
    if (this.#documents.divergence === null) await this.#volatile.sync(state.volatile);
    const budgetMs = this.#beat === null ? openingMs : readingMs;
    await this.#usage.sync(state.usage, performance.now() + budgetMs, isOtherServer);
    this.#teller.compare(state.usage.get(host));
  }

  /** Each message of a change has a look, and not each of these writes. */
  async #keepName(): Promise<void> {
    const { everyMs = usualMs } = this.#options;
    const now = performance.now();
    if (this.#name.isHeld && now - this.#keptAt < everyMs / 2) return;
    await this.#name.keep();
    if (this.#name.isHeld) await this.#name.takeTurn();
    // A list that cannot be read is told by those who ask for it.
    await this.#hosts.look().catch(() => {});
    this.#keptAt = now;
  }

  #next(): void {
    if (this.#isClosed) return;
    const { everyMs = usualMs } = this.#options;
    const waitMs = this.#usage.isReading && this.#away.current === null ? 0 : everyMs;
    this.#timer = setTimeout(() => void this.#look().then(() => this.#next()), waitMs).unref();
  }

  /** Tells whether usage may be told now, of owners whom all hosts know. Rejects with `store_away`. */
  async #mayTell(ownerKeys: readonly string[]): Promise<boolean> {
    const { everyMs = usualMs } = this.#options;
    // The name may be another's by now.
    if (performance.now() - this.#syncedAt > everyMs) await this.#sync();
    if (!this.#name.isHeld) return false;
    // If it has to be done later, what they store counts all the same.
    await this.#documents.enroll(ownerKeys);
    return true;
  }

  /** Puts into a store that is new the events and levels that this host has kept by itself. */
  async #bringAlong(): Promise<void> {
    const { ledger, store } = this.#options;
    const { own } = ledger.eventLog;
    for await (const events of eventPages(own)) if (events.length > 0) await store.write({ events });
    await store.write({ levels: await own.levels() });
  }

  /** The shared store, where what happened here waits as long as the name is another's. */
  #events(): EventStore {
    const { store } = this.#options;
    return {
      events: query => store.events(query),
      levels: () => store.levels(),
      write: async changes => {
        const message = this.#name.taken?.message;
        if (message !== undefined) throw new SoftquotaError('store_away', message);
        await store.write(changes);
      },
    };
  }

  /** When it begins, becomes another, and ends. */
  #logDivergence(): void {
    const { log } = this.#options;
    const message = this.#documents.divergence?.message ?? null;
    if (message === this.#loggedDivergence) return;
    this.#loggedDivergence = message;
    if (message !== null) log.warn({}, message);
    else log.info({}, 'the policy in the shared store is the policy in force again');
  }

  #rejectIfDiverged(): void {
    const { divergence } = this.#documents;
    if (divergence !== null) throw new SoftquotaError('store_away', divergence.message);
  }
}

function isAway(error: unknown): boolean {
  return error instanceof SoftquotaError && error.code === 'store_away';
}
