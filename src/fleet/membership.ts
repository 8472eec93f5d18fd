/**
 * This host among the others: its name, whose turn it is to tell, who walks what several hosts mount, and who
 * there is.
 */

import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import type { HostRecord, SharedStore } from '../store/index.ts';
import { Hosts } from './hosts.ts';
import { Lease } from './lease.ts';
import type { Tell } from './messages.ts';
import { HostName, type NameTaken } from './name.ts';
import { type Mounted, Walkers } from './walkers.ts';

interface MembershipOptions {
  readonly ledger: Ledger;
  readonly store: SharedStore;
  readonly host: string;
  /** Secret that proves the host to be the same after a restart. */
  readonly token: string;
  /** The version of softquota. */
  readonly version: string;
  readonly mounted: Mounted;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds between two claims of the name. */
  readonly everyMs: number;
  readonly tell: Tell;
}

/**
 * Milliseconds after which the name is kept by itself, should a look take long; it is lost after ten seconds.
 */
const beatMs = 2500;

export class Membership {
  readonly walkers: Walkers;
  readonly #hosts: Hosts;
  readonly #lease: Lease;
  readonly #name: HostName;
  #beat: NodeJS.Timeout | null = null;

  constructor({ ledger, store, host, mounted, log, now, tell, ...name }: MembershipOptions) {
    this.walkers = new Walkers({ ledger, store, host, mounted, log });
    this.#hosts = new Hosts({ shares: ledger.shares, store, host, begunAt: now() });
    this.#lease = new Lease({ store, host });
    // A host that was forgotten meanwhile, and walks no more what it walked, must not tell of it.
    this.#name = new HostName({ ...name, store, host, log, now, tell, kept: () => this.walkers.look() });
  }

  /** Takes the name, and keeps it. Rejects with `configuration` where a living daemon has it. */
  async begin(): Promise<void> {
    try {
      await this.#name.begin();
    } catch (error) {
      if (error instanceof SoftquotaError && error.code === 'configuration') throw error;
      // The looks find that the store is away, and have the name taken later.
    }
    this.#beat = setInterval(() => void this.#name.keep(beatMs).catch(() => {}), beatMs).unref();
  }

  /** From now on it may become this host's turn; `turned` is called whenever it has. */
  start(turned: () => void): void {
    this.#lease.start(turned);
  }

  /** Keeps the name; whether something may be told under it now. Rejects with `store_away`. */
  async mayTell(): Promise<boolean> {
    await this.#name.keep();
    return this.#name.mayTell;
  }

  /** Tells whether something may be told under the name, by the last claim. */
  get hasName(): boolean {
    return this.#name.mayTell;
  }

  /** Null: the name is this host's own. */
  get nameTaken(): NameTaken | null {
    return this.#name.taken;
  }

  /** Tells whether it is this host that tells what all of them see. */
  get isTelling(): boolean {
    return this.#lease.isOwn;
  }

  /** Takes the turn where no other host has it. Rejects with `store_away`. */
  takeTurn(): Promise<void> {
    return this.#lease.take();
  }

  /** It is no longer sure whose turn it is. */
  dropTurn(): void {
    this.#lease.drop();
  }

  /**
   * Lists those that the store knows, and those that it has lost and whose usage counts here. Rejects with
   * `store_away`.
   */
  hosts(): Promise<readonly HostRecord[]> {
    return this.#hosts.all();
  }

  stopKeeping(): void {
    if (this.#beat !== null) clearInterval(this.#beat);
    this.#beat = null;
  }

  /** Leaves turn and name to others, where the store takes that. */
  async leave(): Promise<void> {
    await this.#lease.leave().catch(() => {});
    await this.#name.release().catch(() => {});
  }
}
