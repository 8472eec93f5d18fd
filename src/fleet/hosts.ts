/**
 * Lists the hosts that count, whether or not the shared store still knows them, and which of them walk
 * storage that several hosts mount.
 */

import { isWithin } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import type { HostRecord, SharedStore } from '../store/index.ts';

interface HostsOptions {
  readonly shares: Pick<Ledger['shares'], 'others' | 'storedByHost'>;
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
   * Tells whether this host counts what a forge stores: of those that read the forge, the first by name does.
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
    const { store, host: ownHost, now } = this.#options;
    const listed = await store.hosts();
    for (const record of listed) this.#listed.set(record.host, record);
    const others = listed.filter(({ host, seenAt }) => host !== ownHost && now() - seenAt <= dayMs);
    this.#lately = 1 + others.length;
    this.#countsForge = listed.every(({ host, readsForge }) => !readsForge || host >= ownHost);
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
