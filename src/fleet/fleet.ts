/** The part of a daemon that takes part in a shared quota, from its start to its end. */

import type { EventStore, SharedDocuments } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { SerialQueue } from '../serial-queue.ts';
import {
  type Away,
  AwayState,
  type HostRecord,
  type PolicyChange,
  type Position,
  type ServerAdvice,
  type SharedStore,
  type VolatileChange,
} from '../store/index.ts';
import { AdviceWatch } from './advice-watch.ts';
import type { Divergence } from './divergence.ts';
import { DocumentFollower } from './document-follower.ts';
import { LogFollower } from './following.ts';
import { Membership } from './membership.ts';
import type { FleetMessage } from './messages.ts';
import type { NameTaken } from './name.ts';
import { Outbox } from './outbox.ts';
import { repair } from './repair.ts';
import { UsageReplica } from './usage-replica.ts';
import { VolatileDocuments } from './volatile.ts';
import type { Mounted, Walkers } from './walkers.ts';

export interface FleetOptions {
  readonly ledger: Ledger;
  /** Closed together with the fleet. */
  readonly store: SharedStore;
  readonly host: string;
  /** Secret that proves the host to be the same after a restart. */
  readonly token: string;
  /** The version of softquota. */
  readonly version: string;
  /** The storage that other hosts mount, too; none unless given. */
  readonly mounted?: Mounted;
  readonly log: Log;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds between two looks at the store; a second unless given. */
  readonly everyMs?: number;
  /**
   * Milliseconds after which policy is changed at the earliest on a server that takes another's place; 1200
   * unless given.
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

/** Milliseconds between two looks at the store. */
const usualMs = 1000;

/**
 * Long enough for all hosts to find the server, and short enough for an administrator to be answered in time.
 */
const usualSettleMs = 1200;

export class Fleet implements SharedDocuments {
  readonly #options: FleetOptions;
  readonly #membership: Membership;
  readonly #documents: DocumentFollower;
  readonly #volatile: VolatileDocuments;
  readonly #usage: UsageReplica;
  readonly #outbox: Outbox;
  readonly #following: LogFollower;
  readonly #adviceWatch: AdviceWatch;
  /** Null: none was told, or that it is over. */
  #loggedDivergence: string | null = null;
  readonly #away: AwayState;
  #timer: NodeJS.Timeout | null = null;
  #unfollow: (() => void) | null = null;
  readonly #looks = new SerialQueue();
  /** A look that has not begun yet. */
  #nextLook: Promise<void> | null = null;
  #isClosed = false;

  private constructor(options: FleetOptions) {
    this.#options = options;
    const { ledger, store, host, log, token, version, now } = options;
    const { mounted = new Map(), settleMs = usualSettleMs, everyMs = usualMs } = options;
    this.#away = new AwayState({
      log,
      now,
      awayWords: 'the shared store cannot be used at the moment, so the last known data is used',
      backWords: 'the shared store can be used again',
    });
    const { replica, shares } = ledger;
    const tell = (message: FleetMessage) => this.#on(message);
    const asMember = { ledger, store, host, token, version, mounted, log, now, everyMs, tell };
    const membership = new Membership(asMember);
    const volatile = new VolatileDocuments({ documents: ledger.documents, store });
    const documents = new DocumentFollower({ replica, volatile, store, settleMs, tell });
    const usage = new UsageReplica({ shares, store, host, documents, tell });
    this.#membership = membership;
    this.#volatile = volatile;
    this.#documents = documents;
    this.#usage = usage;
    const outbox = new Outbox({ ledger, store, host, membership, tell });
    this.#outbox = outbox;
    this.#following = new LogFollower({ documents, usage, store, membership });
    this.#adviceWatch = new AdviceWatch({
      store: { advice: () => this.advice() },
      log,
    });
  }

  /** Does what follows from a part's message. */
  #on(message: FleetMessage): void {
    const { ledger, log } = this.#options;
    switch (message.is) {
      case 'name lost':
        this.#membership.dropTurn();
        break;
      case 'name regained':
        this.#outbox.tellEverything();
        this.#usage.readAgain();
        break;
      case 'store fell back':
        this.#outbox.enrollEverybody();
        this.#volatile.lost();
        ledger.eventLog.enqueue({ events: ledger.eventLog.recent });
        break;
      case 'changes restored':
        log.warn(
          { changes: message.count },
          'the shared store has lost the last changes of the policy in force: they are written again',
        );
        break;
      case 'owners met':
        this.#documents.meet(message.owners);
        break;
      case 'owners enrolled':
        this.#outbox.enrolled(message.owners);
        break;
      case 'own shares asked':
        this.#outbox.beginReconcile();
        break;
      case 'own shares found':
        this.#outbox.reconcile(message.shares);
        break;
      case 'telling failed':
        this.#away.failed(message.error);
    }
  }

  /**
   * Joins the others. Where the store is away, what was known last serves. Rejects with `configuration` where
   * a living daemon has this host's name, and with `store_refused`; the store is closed then.
   */
  static async open(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options);
    const { documents, eventLog, shares } = options.ledger;
    documents.shareWith(fleet);
    eventLog.shareWith(fleet.#events());
    shares.shareWith({ isStale: () => fleet.#away.current !== null || !fleet.#following.isComplete });
    try {
      await fleet.#membership.begin();
    } catch (error) {
      await options.store.close();
      throw error;
    }
    await fleet.#look();
    return fleet;
  }

  /**
   * From now on the others are told, and followed. `turned` is called whenever it has become this host's
   * turn to tell what all of them see.
   */
  start(turned: () => void = () => {}): void {
    this.#membership.start(turned);
    this.#unfollow ??= this.#options.store.follow(() => void this.#lookAgain());
    this.#outbox.start();
    this.#next();
  }

  /** Tells whether it is this host that tells what all of them see. */
  get isTelling(): boolean {
    return this.#membership.isTelling;
  }

  /** The hosts that walk what several of them mount. */
  get walkers(): Walkers {
    return this.#membership.walkers;
  }

  get state(): FleetState {
    return {
      away: this.#away.current,
      divergence: this.#documents.divergence,
      nameTaken: this.#membership.nameTaken,
    };
  }

  async commit(change: PolicyChange, basis: Position, mark: string): Promise<Position | null> {
    this.#rejectIfDiverged();
    const { failoverDelay } = this.#documents;
    // A change upon a store that was not looked at yet may take the place of what it has lost.
    if (!failoverDelay.hasMet) return null;
    await failoverDelay.settled();
    if (await this.#outbox.enroll()) return null;
    const position = await this.#options.store.commit(change, basis, mark, failoverDelay.server);
    if (position !== null) this.#outbox.enrolled(change.owners ?? []);
    return position;
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
    await this.#following.sync();
    this.#rejectIfDiverged();
  }

  /**
   * Those that the store knows, and those that it has lost and whose usage counts here. Rejects with
   * `store_away`.
   */
  hosts(): Promise<readonly HostRecord[]> {
    return this.#membership.hosts();
  }

  /** Rejects with `conflict` while it lives, `not_found` where there is none, `store_away`. */
  async forgetHost(host: string): Promise<void> {
    await this.#options.store.forgetHost(host);
    await this.#following.sync();
  }

  /** A sweep of all that this host stores has ended: what it no longer names as shared others may walk. */
  async swept(): Promise<void> {
    await this.#outbox.settled();
    await this.walkers.leave().catch(() => {});
  }

  advice(): Promise<readonly ServerAdvice[]> {
    return this.#options.store.advice(this.#documents.divergence?.why === 'emptied');
  }

  /**
   * Decides what the policy is from now on, on all hosts: the one in force here, or the one in the store.
   * Rejects with `conflict` where they are the same, or somebody else decided meanwhile, and with
   * `store_away`.
   */
  async repair(policy: 'known' | 'stored'): Promise<void> {
    const { ledger, store, log } = this.#options;
    await repair(policy, {
      replica: ledger.replica,
      shares: ledger.shares,
      store,
      documents: this.#documents,
      following: this.#following,
      log,
    });
  }

  async close(): Promise<void> {
    const { store } = this.#options;
    this.#isClosed = true;
    this.#unfollow?.();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#membership.stopKeeping();
    await this.#looks.idle();
    await this.#outbox.close();
    this.walkers.close();
    await this.#options.ledger.eventLog.close();
    if (this.#away.current === null) {
      await this.#membership.leave();
    }
    await store.close();
  }

  /**
   * Takes all that is new, and whatever this host has to do for all. Never rejects: a later look is
   * another chance.
   */
  async #look(): Promise<void> {
    try {
      await this.#following.sync();
      this.#back();
      this.#logDivergence();
      if (this.#membership.hasName) await this.#membership.takeTurn();
    } catch (error) {
      this.#away.failed(error);
    }
    await this.#adviceWatch.look();
  }

  /** One after the other; what asks for the next one meanwhile gets the same. */
  #lookAgain(): Promise<void> {
    this.#nextLook ??= this.#looks.run(async () => {
      this.#nextLook = null;
      if (!this.#isClosed) await this.#look();
    });
    return this.#nextLook;
  }

  #next(): void {
    if (this.#isClosed) return;
    const { everyMs = usualMs } = this.#options;
    const waitMs = this.#following.isReading && this.#away.current === null ? 0 : everyMs;
    this.#timer = setTimeout(() => void this.#lookAgain().then(() => this.#next()), waitMs).unref();
  }

  /** The shared store, where what happened here waits as long as the name is another's. */
  #events(): EventStore {
    const { store } = this.#options;
    return {
      events: query => store.events(query),
      levels: () => store.levels(),
      write: async changes => {
        const message = this.#membership.nameTaken?.message;
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

  #back(): void {
    if (!this.#away.succeeded()) return;
    // Another server may answer in its place, which had not heard everything.
    this.#outbox.tellEverything();
    this.#adviceWatch.anew();
  }
}
