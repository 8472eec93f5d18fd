/**
 * The hosts that count, whether or not the shared store still knows them, and the name of this one among
 * them.
 *
 * The name is kept as long as the daemon gives signs of life. A daemon does not start while a running one
 * with another token has its name. A running daemon continues even if it loses the name, but reports nothing
 * under it until the name is free. With the name it may have the task, which one host has at a time, of
 * reporting what all hosts see: crossings of thresholds.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { SoftquotaError } from '../errors.ts';
import { isWithin } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import type { ClaimOutcome, HostClaim, HostRecord, SharedStore } from '../store/index.ts';

interface HostNameOptions {
  readonly store: Pick<SharedStore, 'claim' | 'leaveTask' | 'release' | 'takeTask'>;
  readonly host: string;
  /** Secret that proves the host to be the same after a restart. */
  readonly token: string;
  readonly version: string;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Returns what other hosts should know of this one. */
  about(): Pick<HostClaim, 'isParted' | 'praefectStorage' | 'readsForge' | 'roots'>;
}

/** Why another daemon has the name. */
export interface NameTaken {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly message: string;
}

/** Milliseconds in which a running daemon claims its name again after the store has lost it. */
const renewalMs = 1200;
const task = 'thresholds';
/**
 * Milliseconds for which a turn is used: less than the store keeps a silent host's task, so that never two
 * hosts use it.
 */
const turnMs = 8000;

export class HostName {
  readonly #options: HostNameOptions;
  readonly #life = randomUUID();
  #isHeld = false;
  #taken: NameTaken | null = null;
  /** Tells whether no claim was answered yet. */
  #begins = true;
  /** Called when the turn becomes this host's; null: it does not take turns yet. */
  #turned: (() => void) | null = null;
  /** End of the turn, on the monotonic clock. */
  #turnUntil = 0;

  constructor(options: HostNameOptions) {
    this.#options = options;
  }

  /** Null: this daemon has the name, or no other is known to have it. */
  get taken(): NameTaken | null {
    return this.#taken;
  }

  /** Tells whether this daemon may report under the name, by the last claim. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Allows `takeTurn` to take the turn; `turned` is called whenever it becomes this host's. */
  start(turned: () => void): void {
    this.#turned = turned;
  }

  /** Tells whether it is this host's turn to report what all hosts see. */
  get isTelling(): boolean {
    return this.#isHeld && performance.now() < this.#turnUntil;
  }

  /** Takes or keeps the turn, if no other host has it. Rejects with `store_away`. */
  async takeTurn(): Promise<void> {
    if (this.#turned === null) return;
    const { store, host } = this.#options;
    const until = performance.now() + turnMs;
    const had = performance.now() < this.#turnUntil;
    this.#turnUntil = (await store.takeTask(task, host)) ? until : 0;
    if (!had && performance.now() < this.#turnUntil) this.#turned();
  }

  /** Leaves the turn to other hosts, if this one has it. Rejects with `store_away`. */
  async leaveTurn(): Promise<void> {
    if (performance.now() >= this.#turnUntil) return;
    this.#turnUntil = 0;
    await this.#options.store.leaveTask(task, this.#options.host);
  }

  /** Takes the name. Rejects with `configuration` if another daemon has it, and with `store_away`. */
  async begin(): Promise<void> {
    const { host } = this.#options;
    if ((await this.#claimFirst()) === 'taken') throw new SoftquotaError('configuration', takenMessage(host));
  }

  /** Keeps the name, or takes it again. Rejects with `store_away`. */
  async keep(): Promise<void> {
    const { host, log, now } = this.#options;
    const outcome = this.#begins ? await this.#claimFirst() : await this.#claim(null);
    this.#isHeld = outcome === 'kept';
    if (this.#isHeld && this.#taken !== null) {
      const takenSince = new Date(this.#taken.since).toISOString();
      log.info({ host, takenSince }, `the HOST_ID ${host} belongs to this daemon again`);
      this.#taken = null;
    } else if (!this.#isHeld && this.#taken === null) {
      const message = `${takenMessage(host)}; until then this daemon does not share its usage`;
      this.#taken = { since: now(), message };
      log.error({ host }, message);
    }
  }

  /** Releases the name and the turn, so that another daemon may have them at once. Never rejects. */
  async release(): Promise<void> {
    const { store, host, token, version } = this.#options;
    await this.leaveTurn().catch(() => {});
    await store.release({ host, token, life: this.#life, version }).catch(() => {});
  }

  async #claimFirst(): Promise<ClaimOutcome> {
    let outcome = await this.#claim('unsure');
    if (outcome === 'unknown') {
      await delay(renewalMs);
      outcome = await this.#claim('sure');
    }
    this.#begins = false;
    this.#isHeld = outcome === 'kept';
    return outcome;
  }

  #claim(begins: HostClaim['begins']): Promise<ClaimOutcome> {
    const { store, host, token, version, about } = this.#options;
    const life = this.#life;
    return store.claim({ host, token, life, version, begins: begins ?? null, ...about() });
  }
}

function takenMessage(host: string): string {
  return `[server] HOST_ID = ${host}: another running daemon uses this HOST_ID in the shared store. Each host needs its own`;
}

interface HostsOptions {
  readonly shares: Pick<Ledger['shares'], 'countsFrom' | 'others' | 'storedByHost'>;
  readonly store: Pick<SharedStore, 'hosts'>;
  readonly host: string;
  /** In milliseconds since 1970. */
  now(): number;
}

const dayMs = 86_400_000;

export class Hosts {
  readonly #options: HostsOptions;
  readonly #begunAt: number;
  /** Records of the hosts as the store last listed them, by name. */
  readonly #listed = new Map<string, HostRecord>();
  /** Null: the store was never read, so the number is not known yet. */
  #lately: number | null = null;
  /** Null: the store was never read. */
  #countsForge: boolean | null = null;

  constructor(options: HostsOptions) {
    this.#options = options;
    this.#begunAt = options.now();
  }

  /**
   * The number of hosts, this one included, that were heard of in the day before the store was last read.
   * Before the first read, all hosts with known usage count.
   */
  get lately(): number {
    this.#lately ??= 1 + this.#options.shares.others.size;
    return this.#lately;
  }

  /**
   * Tells whether this host counts what a forge stores: of those that have read it, the first by name does.
   * One that is silent keeps that, as its figures count until it is forgotten. Null: not known yet.
   */
  get countsForge(): boolean | null {
    return this.#countsForge;
  }

  /**
   * Returns the hosts that the store knows, and those that it has lost but whose usage counts here. The
   * latter were last seen as last listed, or else when they last walked something. Rejects with `store_away`.
   */
  async all(): Promise<readonly HostRecord[]> {
    const { shares, host: ownHost } = this.#options;
    const listed = await this.look();
    const there = new Set([ownHost, ...listed.map(({ host }) => host)]);
    const stored = [...(await shares.storedByHost())].filter(([host]) => !there.has(host));
    return [
      ...listed,
      ...stored.map(([host, { measuredAt }]) => {
        const known = this.#listed.get(host);
        const { seenAt = measuredAt ?? this.#begunAt, version = '', roots = null } = known ?? {};
        const { praefectStorage = null, readsForge = false } = known ?? {};
        return { host, seenAt, isAlive: false, version, isParted: false, roots, praefectStorage, readsForge };
      }),
    ];
  }

  /** Reads the hosts, and remembers them for times when the store is away. Rejects with `store_away`. */
  async look(): Promise<readonly HostRecord[]> {
    const { shares, store, host: ownHost, now } = this.#options;
    const listed = await store.hosts();
    for (const record of listed) this.#listed.set(record.host, record);
    const others = listed.filter(({ host, seenAt }) => host !== ownHost && now() - seenAt <= dayMs);
    this.#lately = 1 + others.length;
    const there = new Set(listed.map(({ host }) => host));
    // Looking for the usage of a host that is not listed passes through all usage.
    for (const host of this.#listed.keys())
      if (!there.has(host) && !shares.countsFrom(host)) this.#listed.delete(host);
    this.#countsForge = ![...this.#listed.values()].some(
      ({ host, readsForge }) => readsForge && host < ownHost,
    );
    return listed;
  }
}

/** Returns the hosts that walk a directory or one above it. */
export function walkersOf(source: string, hosts: readonly HostRecord[]): readonly HostRecord[] {
  return hosts.filter(({ roots }) => roots?.some(root => root.isWalked && isWithin(source, root.source)));
}

/** Returns the directories that a host walks and other hosts mount as well. */
export function walkedForOthers(one: HostRecord, hosts: readonly HostRecord[]): string[] {
  const others = hosts.filter(({ host }) => host !== one.host).flatMap(({ roots }) => roots ?? []);
  return (one.roots ?? [])
    .filter(({ isWalked }) => isWalked)
    .map(({ source }) => source)
    .filter(source => others.some(other => !other.isWalked && isWithin(other.source, source)))
    .sort();
}
