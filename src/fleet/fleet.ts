/** The part of a daemon that takes part in a shared quota, from its start to its end. */

import type { EventStore, SharedDocuments } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import {
  type Away,
  type Basis,
  type HostRecord,
  lines,
  newGeneration,
  type PolicyChange,
  type Position,
  type ServerAdvice,
  type SharedStore,
  type VolatileChange,
} from '../store/index.ts';
import { Advised } from './advised.ts';
import { Following } from './following.ts';
import { Hosts } from './hosts.ts';
import { Marks } from './marks.ts';
import { HostName, type NameTaken } from './name.ts';
import { Outbox } from './outbox.ts';
import { repair } from './repair.ts';
import type { Distrust } from './trust.ts';
import { Turn } from './turn.ts';
import { VolatileDocuments } from './volatile.ts';
import { type Mounted, Walkers } from './walkers.ts';

export interface FleetOptions {
  readonly ledger: Ledger;
  /** Closed together with the fleet. */
  readonly store: SharedStore;
  readonly host: string;
  /** By which the machine is known again after a restart, and which no other has. */
  readonly token: string;
  /** Of softquota. */
  readonly version: string;
  /** What other machines mount, too; nothing unless given. */
  readonly mounted?: Mounted;
  readonly log: {
    error(details: object, message: string): void;
    warn(details: object, message: string): void;
    info(details: object, message: string): void;
  };
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds between two looks at the store; a second unless given. */
  readonly everyMs?: number;
  /** Milliseconds after which policy is changed at the earliest on a server that takes another's place; 1200 unless given. */
  readonly settleMs?: number;
  /** Milliseconds between two looks at how its server is set up; half a minute unless given. */
  readonly adviceEveryMs?: number;
}

/** How it stands with the others. */
export interface FleetState {
  /** Null while the shared store answers. */
  readonly away: Away | null;
  /** Null: the policy in the store is the one in force here. */
  readonly distrust: Distrust | null;
  /** Null: this machine's name is its own. */
  readonly nameTaken: NameTaken | null;
}

/** Milliseconds between two looks at the store. */
const usualMs = 1000;

/** So long that all find the server, so short that whoever rules is answered in time. */
const usualSettleMs = 1200;

/** Milliseconds after which the name is kept by itself, should a look take long; it is lost after ten seconds. */
const beatMs = 2500;

export class Fleet implements SharedDocuments {
  /** Who walks what several machines mount. */
  readonly walkers: Walkers;
  readonly #options: FleetOptions;
  readonly #outbox: Outbox;
  readonly #following: Following;
  readonly #advised: Advised;
  readonly #marks: Marks;
  readonly #hosts: Hosts;
  readonly #turn: Turn;
  readonly #name: HostName;
  readonly #volatile: VolatileDocuments;
  /** Null: none was told, or that it is over. */
  #toldDistrust: string | null = null;
  #away: Away | null = null;
  #timer: NodeJS.Timeout | null = null;
  #beat: NodeJS.Timeout | null = null;
  #unfollow: (() => void) | null = null;
  #syncing: Promise<void> = Promise.resolve();
  /** A look that has not begun yet. */
  #nextLook: Promise<void> | null = null;
  #isClosed = false;

  private constructor(options: FleetOptions) {
    this.#options = options;
    const { ledger, store, host, log, mounted = new Map(), adviceEveryMs = 30_000 } = options;
    const { replica, shares } = ledger;
    this.walkers = new Walkers({ ledger, store, host, mounted, log });
    this.#advised = new Advised({ store, log, everyMs: adviceEveryMs });
    this.#hosts = new Hosts({ shares, store, host, begunAt: options.now() });
    this.#turn = new Turn({ store, host });
    this.#volatile = new VolatileDocuments({ replica, store });
    const { token, version, now, everyMs = usualMs } = options;
    this.#name = new HostName({
      ...{ store, host, token, version, log, now, everyMs },
      // Who was forgotten meanwhile, and walks no more what it walked, must not tell of it.
      kept: () => this.walkers.look(),
      lost: () => this.#turn.drop(),
      regained: () => {
        this.#outbox.tellEverything();
        this.#following.readShares();
      },
    });
    this.#marks = new Marks({
      shares,
      store,
      host,
      log,
      lost: () => this.#outbox.tellEverything(),
      over: () => this.#following.readShares(),
    });
    this.#outbox = new Outbox({
      ledger,
      store,
      host,
      // Who was forgotten meanwhile, and walks no more what it walked, must not tell of it.
      mayTell: () => this.#mayTell(),
      met: owners => this.#following.meet(owners),
      failed: error => this.#failed(error),
    });
    this.#following = new Following({
      replica,
      shares,
      volatile: this.#volatile,
      store,
      host,
      before: async () => {
        await this.#mayTell();
      },
      begin: () => this.#begin(),
      lost: () => {
        this.#outbox.enrollEverybody();
        this.#volatile.lost();
        // What was told of the last changes that were asked for here is told again: the store may have lost it.
        ledger.eventLog.enqueue({ events: ledger.documents.recentEvents });
      },
      restored: changes => {
        const message =
          'the shared store had lost the last changes of the policy in force: they are written again';
        log.warn({ changes }, message);
      },
      settleMs: options.settleMs ?? usualSettleMs,
      isLacking: () => this.#marks.isLacking(),
      enrolled: owners => this.#outbox.enrolled(owners),
      looks: () => this.#outbox.looks(),
      found: shares => this.#outbox.found(shares),
    });
  }

  /**
   * Joins the others. Where the store is away, what was known last serves. Rejects with `configuration` where a living
   * daemon has this machine's name, and with `store_refused`; the store is closed then.
   */
  static async open(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options);
    const { documents, eventLog, shares } = options.ledger;
    documents.shareWith(fleet);
    eventLog.shareWith(fleet.#events());
    shares.shareWith({ isStale: () => fleet.#away !== null || !fleet.#following.isComplete });
    try {
      await fleet.#name.begin();
    } catch (error) {
      if (error instanceof SoftquotaError && error.code === 'configuration') {
        await options.store.close();
        throw error;
      }
      // The looks find that the store is away, and have the name taken later.
    }
    fleet.#beat = setInterval(() => void fleet.#name.keep(beatMs).catch(() => {}), beatMs).unref();
    await fleet.#look();
    return fleet;
  }

  /**
   * From now on the others are told, and followed. `turned` is called whenever it has become this machine's turn to tell
   * what all of them see.
   */
  start(turned: () => void = () => {}): void {
    this.#turn.start(turned);
    this.#unfollow ??= this.#options.store.follow(() => void this.#lookAgain());
    this.#outbox.start();
    this.#next();
  }

  /** Whether it is this machine that tells what all of them see. */
  get isTelling(): boolean {
    return this.#turn.isOwn;
  }

  get state(): FleetState {
    return { away: this.#away, distrust: this.#following.distrust, nameTaken: this.#name.taken };
  }

  async commit(change: PolicyChange, basis: Basis, mark: string): Promise<Position | null> {
    this.#mustBeTrusted();
    const { settling } = this.#following;
    await settling.settled();
    if (await this.#outbox.enroll()) return null;
    const position = await this.#options.store.commit(change, basis, mark, settling.server);
    if (position !== null) this.#outbox.enrolled(change.owners ?? []);
    return position;
  }

  async writeVolatile(change: VolatileChange): Promise<void> {
    this.#mustBeTrusted();
    await this.#volatile.write(change);
  }

  takeLease(name: string): Promise<boolean> {
    const { store, host } = this.#options;
    return store.takeTask(name, host);
  }

  async catchUp(): Promise<void> {
    await this.#following.sync();
    this.#mustBeTrusted();
  }

  /** Those that the store knows, and those that it has lost and whose usage counts here. Rejects with `store_away`. */
  hosts(): Promise<readonly HostRecord[]> {
    return this.#hosts.all();
  }

  /** Rejects with `conflict` while it lives, `not_found` where there is none, `store_away`. */
  async forgetHost(host: string): Promise<void> {
    await this.#options.store.forgetHost(host);
    await this.#following.sync();
  }

  /** A sweep of all that this machine stores has ended: what it no longer names as shared others may walk. */
  async swept(): Promise<void> {
    await this.#outbox.settled();
    await this.walkers.leave().catch(() => {});
  }

  advice(): Promise<readonly ServerAdvice[]> {
    return this.#options.store.advice();
  }

  /**
   * Decides what the policy is from now on, on all machines: the one in force here, or the one in the store. Rejects with
   * `conflict` where they are the same, or somebody else decided meanwhile, and with `store_away`.
   */
  async repair(policy: 'known' | 'stored'): Promise<void> {
    const { ledger, store, log } = this.#options;
    await repair(policy, {
      replica: ledger.replica,
      shares: ledger.shares,
      store,
      following: this.#following,
      log,
    });
  }

  async close(): Promise<void> {
    const { store } = this.#options;
    this.#isClosed = true;
    this.#unfollow?.();
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#beat !== null) clearInterval(this.#beat);
    await this.#syncing;
    await this.#outbox.close();
    this.walkers.close();
    await this.#options.ledger.eventLog.close();
    if (this.#away === null) {
      await this.#turn.leave().catch(() => {});
      await this.#name.release().catch(() => {});
    }
    await store.close();
  }

  /** Takes all that is new, and whatever this machine has to do for all. Never rejects: a later look is another chance. */
  async #look(): Promise<void> {
    try {
      await this.#following.sync();
      this.#back();
      this.#tellDistrust();
      if (this.#name.mayTell) {
        await this.#turn.take();
        await this.#marks.look();
      }
    } catch (error) {
      this.#failed(error);
    }
    await this.#advised.look();
  }

  /** One after the other; what asks for the next one meanwhile gets the same. */
  #lookAgain(): Promise<void> {
    this.#nextLook ??= this.#syncing.then(async () => {
      this.#nextLook = null;
      if (!this.#isClosed) await this.#look();
    });
    this.#syncing = this.#nextLook;
    return this.#nextLook;
  }

  #next(): void {
    if (this.#isClosed) return;
    const { everyMs = usualMs } = this.#options;
    const waitMs = this.#following.isReading && this.#away === null ? 0 : everyMs;
    this.#timer = setTimeout(() => void this.#lookAgain().then(() => this.#next()), waitMs).unref();
  }

  /** Keeps the name; whether something may be told under it now. Rejects with `store_away`. */
  async #mayTell(): Promise<boolean> {
    await this.#name.keep();
    return this.#name.mayTell;
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

  /** The first policy of a store: what is known here of owners, and nothing else. */
  async #begin(): Promise<void> {
    const { ledger, store } = this.#options;
    const next = newGeneration();
    const outcome = await store.replace(await ledger.replica.policy(), null, next, []);
    // Where another machine came first, the next look finds its policy.
    if (outcome === 'kept') ledger.replica.apply({}, next, lines);
  }

  /** When it begins, becomes another, and ends. */
  #tellDistrust(): void {
    const { log } = this.#options;
    const message = this.#following.distrust?.message ?? null;
    if (message === this.#toldDistrust) return;
    this.#toldDistrust = message;
    if (message !== null) log.warn({}, message);
    else log.info({}, 'the policy of the shared store is the one in force');
  }

  #mustBeTrusted(): void {
    const { distrust } = this.#following;
    if (distrust !== null) throw new SoftquotaError('store_away', distrust.message);
  }

  #failed(error: unknown): void {
    const { log, now } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#away?.reason !== reason) {
      log.warn(
        { err: error },
        `the shared store cannot be used at the moment, what is known serves: ${reason}`,
      );
    }
    this.#away = { since: this.#away?.since ?? now(), reason };
  }

  #back(): void {
    if (this.#away === null) return;
    const awaySince = new Date(this.#away.since).toISOString();
    this.#options.log.info({ awaySince }, 'the shared store can be used again');
    this.#away = null;
    // Another server may answer in its place, which had not heard everything.
    this.#outbox.tellEverything();
    this.#advised.anew();
  }
}
