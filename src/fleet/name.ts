/**
 * The name that this host has among the others, and keeps as long as its daemon is heard of.
 *
 * A daemon that starts is refused where a living one has its name. One that serves goes on serving whatever
 * becomes of the name, and tells nothing under it until it has it again: of two that live both, the one that
 * began first has it.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { ClaimOutcome, SharedStore } from '../store/index.ts';
import type { Tell } from './messages.ts';

interface HostNameOptions {
  readonly store: Pick<SharedStore, 'claim' | 'release'>;
  readonly host: string;
  /** Secret that proves the host to be the same after a restart. */
  readonly token: string;
  /** The version of softquota. */
  readonly version: string;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds of a clock that nobody sets; the system's unless given. */
  readonly clock?: () => number;
  /** Waits so many milliseconds of it; by the system's clock unless given. */
  readonly wait?: (ms: number) => Promise<unknown>;
  readonly tell: Tell;
  /**
   * It was claimed again, and something may be told; where this rejects, it is claimed again before anything
   * is.
   */
  kept(): Promise<void>;
  /** Milliseconds between two claims. */
  readonly everyMs: number;
}

/** Why the name is another's. */
export interface NameTaken {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly message: string;
}

/**
 * Silence after which a host may have lost its name to another, even if the store lost every trace of that.
 */
const certainMs = 3000;
/** In this time the process that had the name asks for it, before it tells anything, and stops. */
const handoverMs = 3000;
/** Milliseconds after which it is logged that the daemon before this one may still live. */
const formerMs = 6000;
/** Milliseconds between two looks of a daemon that starts at a store that may have lost the names. */
const lookMs = 200;
/** Looks at most: a store that is emptied again and again is no reason not to start. */
const mostLooks = 50;

export class HostName {
  readonly #options: HostNameOptions;
  readonly #life = randomUUID();
  /** On the monotonic clock. */
  #claimedAt = Number.NEGATIVE_INFINITY;
  #isHeld = false;
  /** When the last claim that gave the name was begun, on the monotonic clock. */
  #heldAt = Number.NEGATIVE_INFINITY;
  /** Time from which this daemon may write under the name, on the monotonic clock. */
  #tellsFrom = Number.POSITIVE_INFINITY;
  /**
   * Time since which it waits for the daemon before it to be silent, on the monotonic clock; null: it does
   * not.
   */
  #waitsSince: number | null = null;
  #taken: NameTaken | null = null;
  /** Another daemon may have told something under the name since this one last did. */
  #wasLost = false;
  #claiming: Promise<void> | null = null;

  constructor(options: HostNameOptions) {
    this.#options = options;
  }

  get #clock(): number {
    return this.#options.clock?.() ?? performance.now();
  }

  /** Null: it is this daemon's, or not known to be another's. */
  get taken(): NameTaken | null {
    return this.#taken;
  }

  /** Tells whether something may be told under the name, by the last claim. */
  get mayTell(): boolean {
    return this.#isHeld && this.#clock >= this.#tellsFrom;
  }

  /**
   * Takes the name at the start. Where the store may have lost who has it, a daemon that lives is given the
   * time to say so. Rejects with `configuration` where one has it, and with `store_away`.
   */
  async begin(): Promise<void> {
    const { host, wait = delay } = this.#options;
    let outcome = await this.#claim();
    for (let looks = 0; outcome === 'young_store' && looks < mostLooks; looks += 1) {
      await wait(lookMs);
      outcome = await this.#claim();
    }
    if (outcome === 'taken') throw new SoftquotaError('configuration', takenMessage(host));
    this.#became(outcome);
  }

  /** Keeps the name, where it was last claimed so long ago. Rejects with `store_away`. */
  async keep(everyMs = this.#options.everyMs): Promise<void> {
    if (this.#clock - this.#claimedAt < everyMs) return;
    this.#claiming ??= this.#claimAnew().finally(() => {
      this.#claiming = null;
    });
    await this.#claiming;
  }

  /** Gives it up, so that another daemon may have it at once. Rejects with `store_away`. */
  async release(): Promise<void> {
    const { store, host, token, version } = this.#options;
    await store.release({ host, token, life: this.#life, version });
  }

  async #claimAnew(): Promise<void> {
    const begun = this.#clock;
    this.#became(await this.#claim());
    if (this.mayTell) await this.#options.kept();
    this.#claimedAt = begun;
  }

  async #claim(): Promise<ClaimOutcome> {
    const { store, host, token, version } = this.#options;
    const begun = this.#clock;
    const isHeld = this.#isHeld && begun - this.#heldAt < certainMs;
    const outcome = await store.claim({ host, token, life: this.#life, version, isHeld });
    if (outcome === 'kept' || outcome === 'regained') this.#heldAt = begun;
    return outcome;
  }

  #became(outcome: ClaimOutcome): void {
    switch (outcome) {
      case 'kept':
        this.#has(this.#clock);
        break;
      case 'regained':
        // The other one had it, whatever was known of that here.
        this.#hasNot(false);
        this.#wasLost = true;
        this.#has(this.#clock + handoverMs);
        break;
      case 'taken':
        this.#hasNot(true);
        break;
      case 'former_life':
      case 'young_store': {
        this.#waitsSince ??= this.#clock;
        this.#hasNot(this.#clock - this.#waitsSince > formerMs);
      }
    }
  }

  #has(tellsFrom: number): void {
    const { host, log, tell } = this.#options;
    this.#waitsSince = null;
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#tellsFrom = tellsFrom;
    if (this.#taken !== null) {
      const takenSince = new Date(this.#taken.since).toISOString();
      log.info({ host, takenSince }, `the HOST_ID ${host} belongs to this daemon again`);
    }
    if (this.#wasLost || this.#taken !== null) tell({ is: 'name regained' });
    this.#taken = null;
    this.#wasLost = false;
  }

  #hasNot(isSaid: boolean): void {
    const { host, log, now, tell } = this.#options;
    if (this.#isHeld) {
      this.#wasLost = true;
      tell({ is: 'name lost' });
    }
    this.#isHeld = false;
    if (!isSaid || this.#taken !== null) return;
    this.#taken = {
      since: now(),
      message: `${takenMessage(host)}; until then this daemon does not share its usage`,
    };
    log.error({ host }, this.#taken.message);
  }
}

function takenMessage(host: string): string {
  return `[server] HOST_ID = ${host}: another running daemon uses this HOST_ID in the shared store. Each host needs its own`;
}
