/** Connects a daemon with the other hosts of a shared quota, from its start to its end. */

import type { EventStore, SharedDocuments } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { forgeSource, type Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import {
  type AwayState,
  eventPages,
  type HostRecord,
  type PolicyChange,
  type Position,
  type ServerAdvice,
  type SharedStore,
  type VolatileChange,
} from '../store/index.ts';
import { SerialQueue } from '../turns.ts';
import { AdviceWatch } from './advice-watch.ts';
import { ChangeHints } from './change-hints.ts';
import { DocumentFollower } from './document-follower.ts';
import { HostName, Hosts } from './hosts.ts';
import { type FleetState, storeStates } from './state.ts';
import { UsageReader, UsageTeller } from './usage.ts';
import { VolatileDocuments } from './volatile.ts';

export interface FleetOptions {
  readonly ledger: Ledger;
  /** Closed together with the fleet. */
  readonly store: SharedStore;
  readonly host: string;
  /** Secret that proves the host to be the same after a restart. */
  readonly token: string;
  readonly version: string;
  /** See `HostRecord`; null unless given. */
  readonly praefectStorage?: string | null;
  /** Tells whether this host reads a forge; false unless given. */
  readonly hasForge?: boolean;
  readonly log: Log;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds between two syncs with the store; a second unless given. */
  readonly everyMs?: number;
  /**
   * Milliseconds before the first change of policy on a server that takes another's place; 1200 unless given:
   * long enough for all hosts to find the server, and short enough to answer an administrator in time.
   */
  readonly settleMs?: number;
}

/** Functions of the daemon that the fleet calls. */
interface FleetHooks {
  /** Called when it becomes this host's turn to report what all hosts see. */
  turned?(): void;
  /** Returns the directories that this host's storage begins with; null: not known yet. */
  roots?(): HostRecord['roots'];
  /** Called for a change at a path, by its name on all hosts. The path may be wrong. */
  heard?(sharedPath: string): void;
}

/** Usual milliseconds between two syncs with the store. */
const usualMs = 1000;
/** Milliseconds for reading usage in one sync, before the policy is read again. */
const readingMs = 30;
/** A longer time for the same, while nobody is served yet. */
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
  /** The message of the divergence that was logged last; null: none, or its end was logged. */
  #loggedDivergence: string | null = null;
  readonly #away: AwayState;
  readonly #untold: AwayState;
  #timer: NodeJS.Timeout | null = null;
  #beat: NodeJS.Timeout | null = null;
  readonly #syncs = new SerialQueue();
  /** A sync that has not begun yet. */
  #nextSync: Promise<void> | null = null;
  /** Times of the last sync and of the last claim of the name in one, on the monotonic clock. */
  #syncedAt = Number.NEGATIVE_INFINITY;
  #keptAt = Number.NEGATIVE_INFINITY;
  /** Everything was read once. */
  #isComplete = false;
  #isClosed = false;

  private constructor(options: FleetOptions) {
    this.#options = options;
    const { ledger, store, host, log, now, praefectStorage = null, hasForge = false } = options;
    const { settleMs = 1200 } = options;
    const { documents, replica, shares, sources } = ledger;
    ({ away: this.#away, untold: this.#untold } = storeStates({ log, now }));
    const about = () => {
      const hasRead = sources.report(forgeSource) !== undefined;
      return {
        isParted: this.#documents.divergence !== null,
        roots: this.#roots(),
        praefectStorage,
        readsForge: hasForge && !hasRead ? null : hasRead,
      };
    };
    this.#name = new HostName({ ...options, about });
    this.#changeHints = new ChangeHints({ store, heard: path => this.#heard(path) });
    this.#hosts = new Hosts({ shares, store, host, now });
    this.#volatile = new VolatileDocuments({ documents, store });
    this.#documents = new DocumentFollower({
      ...{ documents, replica, store, settleMs, log },
      begin: () => this.#bringAlong(),
      sync: () => this.#sync(),
    });
    this.#usage = new UsageReader({ shares, store, host });
    this.#teller = new UsageTeller({
      ledger,
      store,
      host,
      hasForge,
      mayTell: ownerKeys => this.#mayTell(ownerKeys),
      unrecordedName: ownerKey => this.#documents.unrecordedName(ownerKey),
      told: () => this.#untold.succeeded(),
      failed: error => this.#tellingFailed(error),
    });
    this.#adviceWatch = new AdviceWatch({ store: { advice: () => this.advice() }, log });
  }

  /**
   * Joins the other hosts. If the store is away, the last known data is used. Rejects with `configuration` if
   * a running daemon has this host's name, and with `store_refused`; the store is closed then.
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
      // Later syncs report that the store is away, and claim the name.
    }
    await fleet.#look();
    return fleet;
  }

  /** Starts to report to the other hosts and to follow them. */
  start({ turned = () => {}, roots = () => null, heard = () => {} }: FleetHooks = {}): void {
    const { store, everyMs = usualMs } = this.#options;
    this.#roots = roots;
    this.#heard = heard;
    this.#name.start(turned);
    store.follow({ changed: () => void this.#look(), said: text => this.#changeHints.said(text) });
    // A sync may take longer than the name lasts without a claim.
    this.#beat ??= setInterval(() => void this.#name.keep().catch(() => {}), everyMs).unref();
    this.#teller.start();
    this.#next();
  }

  /** Tells whether it is this host's turn to report what all hosts see. */
  get isTelling(): boolean {
    return this.#name.isTelling;
  }

  get state(): FleetState {
    return {
      away: this.#away.current,
      untold: this.#away.current === null ? this.#untold.current : null,
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

  /** Gives none to a daemon whose name another one has, or whose policy has diverged. */
  async takeLease(name: string): Promise<boolean> {
    const { store, host } = this.#options;
    const { divergence } = this.#documents;
    return this.#name.isHeld && divergence === null && (await store.takeTask(name, host));
  }

  async catchUp(): Promise<void> {
    await this.#sync();
    this.#rejectIfDiverged();
  }

  /**
   * Returns the hosts of the store, and those that it has lost but whose usage counts. Rejects with
   * `store_away`.
   */
  hosts(): Promise<readonly HostRecord[]> {
    return this.#hosts.all();
  }

  /**
   * Removes a host and its usage. Rejects with `conflict` while its daemon runs, `not_found`, `store_away`.
   */
  async forgetHost(host: string): Promise<void> {
    const { store, ledger } = this.#options;
    await store.forgetHost(host, ledger.shares.countsFrom(host));
    await this.#sync();
  }

  /** See `Hosts`. */
  get countsForge(): boolean | null {
    return this.#hosts.countsForge;
  }

  /** Has the host that walks a path measure it, if the message arrives. */
  passOn(sharedPath: string): void {
    this.#changeHints.passOn(sharedPath);
  }

  /** The latest advice, at most about half a minute old. */
  get lastAdvice(): readonly ServerAdvice[] {
    return this.#adviceWatch.advice;
  }

  advice(): Promise<readonly ServerAdvice[]> {
    return this.#options.store.advice(this.#documents.wasEmptied);
  }

  /**
   * Sets the policy of all hosts: the one in force here, or the one in the store. Rejects with `conflict` if
   * they are the same or somebody else decided meanwhile, and with `store_away`.
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

  /** Syncs and checks for advice. Never rejects: the next one tries again. */
  async #look(): Promise<void> {
    if (this.#isClosed) return;
    await this.#sync().catch(() => {});
    await this.#adviceWatch.look();
  }

  /**
   * Takes over all changes of other hosts up to now, and their usage, unless that takes long: then the rest
   * is left to the next sync. Syncs run one after the other; calls before the next one begins share it.
   * Rejects with `store_away` or `store_refused`.
   */
  #sync(): Promise<void> {
    this.#nextSync ??= this.#syncs.run(async () => {
      this.#nextSync = null;
      try {
        await this.#syncNow();
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
    const { host, ledger, everyMs = usualMs } = this.#options;
    const begun = performance.now();
    // Each message of a change causes a sync, and not each claims the name.
    const isNameDue = !this.#name.isHeld || begun - this.#keptAt >= everyMs / 2;
    if (isNameDue) await this.#keepName();
    const { state, isOtherServer } = await this.#documents.sync();
    this.#logDivergence();
    if (isNameDue) await this.#keepTurn();
    if (isOtherServer) {
      ledger.eventLog.enqueue({ events: ledger.eventLog.recent });
      this.#volatile.lost();
      this.#usage.lost();
    }
    if (this.#documents.divergence === null) await this.#volatile.sync(state.volatile);
    this.#teller.compare(state.usage.get(host));
    // Usage that another host told and nobody can read keeps this host from telling nothing.
    this.#syncedAt = begun;
    const budgetMs = this.#beat === null ? openingMs : readingMs;
    await this.#usage.sync(state.usage, performance.now() + budgetMs);
  }

  async #keepName(): Promise<void> {
    await this.#name.keep();
    // Those who need the list report that it cannot be read.
    await this.#hosts.look().catch(() => {});
    this.#keptAt = performance.now();
  }

  /** Leaves the turn to others while this host cannot write what it decides in its turn. */
  async #keepTurn(): Promise<void> {
    if (this.#documents.divergence !== null) await this.#name.leaveTurn();
    else if (this.#name.isHeld) await this.#name.takeTurn();
  }

  #next(): void {
    if (this.#isClosed) return;
    const { everyMs = usualMs } = this.#options;
    const waitMs = this.#usage.isReading && this.#away.current === null ? 0 : everyMs;
    this.#timer = setTimeout(() => void this.#look().then(() => this.#next()), waitMs).unref();
  }

  /** Tells whether usage may be reported now, and puts its owners on record. Rejects with `store_away`. */
  async #mayTell(ownerKeys: readonly string[]): Promise<boolean> {
    const { everyMs = usualMs } = this.#options;
    // Another daemon may have the name by now.
    if (performance.now() - this.#syncedAt > everyMs) await this.#sync();
    if (!this.#name.isHeld) return false;
    // If this has to be done later, their usage counts all the same.
    await this.#documents.enroll(ownerKeys);
    return true;
  }

  /** Notes that the store takes no usage, unless it is away itself, which the sync says. */
  async #tellingFailed(error: unknown): Promise<void> {
    if (this.#away.current === null) await this.#sync().catch(() => {});
    if (this.#away.current === null) this.#untold.failed(error);
  }

  /** Copies the events and levels of this host into a new store. */
  async #bringAlong(): Promise<void> {
    const { ledger, store } = this.#options;
    const { own } = ledger.eventLog;
    for await (const events of eventPages(own)) if (events.length > 0) await store.write({ events });
    await store.write({ levels: await own.levels() });
  }

  /** The events of the shared store; while another daemon has the name, writes are rejected, and wait. */
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

  /** Logs the beginning, a change and the end of a divergence. */
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
