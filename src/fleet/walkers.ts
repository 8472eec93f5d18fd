/**
 * Chooses the host that walks storage which several hosts mount: one host, named in the shared store, so that
 * it counts once.
 *
 * The host that took it first keeps it until it is forgotten, or its configuration no longer has the name.
 * A host that does not walk it has none of its units: what was counted before goes as soon as another walks
 * it, and before anything more is told. So while the store is away whoever has units of it walked it last,
 * and goes on. A lease that expires would make two hosts count the same data meanwhile.
 */

import type { Ledger } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import type { Leaf } from '../quota/index.ts';
import type { SharedStore } from '../store/index.ts';
import { ChangeHints } from './change-hints.ts';

/** The names of what several hosts mount, and the kinds of data that lie there. */
export type Mounted = ReadonlyMap<string, ReadonlySet<Leaf>>;

interface WalkersOptions {
  readonly ledger: {
    readonly shares: Pick<Ledger['shares'], 'others'>;
    readonly units: Pick<Ledger['units'], 'units'>;
    readonly walks: Pick<Ledger['walks'], 'drop'>;
  };
  readonly store: Pick<SharedStore, 'hosts' | 'leaveWalk' | 'listen' | 'say' | 'takeWalk' | 'walkers'>;
  readonly host: string;
  readonly mounted: Mounted;
  readonly log: Pick<Log, 'info'>;
}

interface WalkersHooks {
  /** This host walks something that it did not walk, or the other way round. */
  changed(): void;
  /**
   * Something changed in what this host walks: a path below the directory that its templates begin with.
   */
  heard(name: string, path: string): void;
}

/**
 * Time that the former walker has to take its storage again after the store was emptied, and lost its name.
 */
const leftMs = 3000;

export class Walkers {
  readonly #options: WalkersOptions;
  readonly #changeHints: ChangeHints;
  #mounted: Mounted;
  #own: Set<string>;
  /** The storage that other hosts walk, as far as that is known. */
  readonly #others = new Map<string, string>();
  /** Times since which nobody walks a storage, on the monotonic clock. */
  readonly #freeSince = new Map<string, number>();
  #hooks: WalkersHooks | null = null;
  #looking: Promise<void> | null = null;

  constructor(options: WalkersOptions) {
    this.#options = options;
    this.#mounted = options.mounted;
    this.#own = this.#counted();
    this.#changeHints = new ChangeHints({
      store: options.store,
      isFor: name => this.isOwn(name),
      heard: (name, path) => this.#hooks?.heard(name, path),
    });
  }

  start(hooks: WalkersHooks): void {
    this.#hooks = hooks;
    this.#changeHints.start();
  }

  /** Takes what the configuration says now; who walks what is new in it is found out at the next look. */
  configure(mounted: Mounted): void {
    this.#mounted = mounted;
    this.#own = new Set([...this.#own, ...this.#counted()].filter(name => mounted.has(name)));
  }

  /** Tells whether this host walks it. */
  isOwn(name: string): boolean {
    return this.#own.has(name);
  }

  /** The storage that this host does not walk, and the host that does; null where none is known. */
  get elsewhere(): readonly { readonly name: string; readonly walker: string | null }[] {
    return [...this.#mounted.keys()]
      .filter(name => !this.#own.has(name))
      .map(name => ({ name, walker: this.#others.get(name) ?? null }));
  }

  /** Gives what each host walks for all. Rejects with `store_away`. */
  async byHost(): Promise<ReadonlyMap<string, readonly string[]>> {
    const walkers = [...(await this.#options.store.walkers())];
    const byHost = Map.groupBy(walkers, ([, host]) => host);
    return new Map([...byHost].map(([host, its]) => [host, its.map(([name]) => name).sort()]));
  }

  /** Tells the host that walks it, as far as it can be told: what is lost its next sweep finds. */
  passOn(name: string, path: string): void {
    this.#changeHints.passOn(name, path);
  }

  /** Finds out who walks what, and takes what nobody does. To be called by a host that has its name. */
  look(): Promise<void> {
    if (this.#mounted.size === 0) return Promise.resolve();
    // The caller may go on only after the units that another host walks were dropped.
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const walkers = await this.#options.store.walkers();
    for (const name of this.#mounted.keys()) {
      const walker = walkers.get(name) ?? (await this.#take(name));
      if (walker !== null) await this.#walks(name, walker);
    }
  }

  /** Gives up what the configuration no longer names. To be called when nothing of it is told any more. */
  async leave(): Promise<void> {
    const { store, host } = this.#options;
    for (const [name, walker] of await store.walkers()) {
      if (walker === host && !this.#mounted.has(name)) await store.leaveWalk(name, host);
    }
  }

  close(): void {
    this.#changeHints.close();
  }

  /** The one who walks it now; null: it is left to the one who did. */
  async #take(name: string): Promise<string | null> {
    const { ledger, store, host } = this.#options;
    const since = this.#freeSince.get(name) ?? performance.now();
    this.#freeSince.set(name, since);
    if (!this.#own.has(name)) {
      // A store that was emptied does not know of hosts that have ended, one of which may have walked it:
      // what that one said of it counts until it is forgotten. If it comes back, it has time to take it
      // again.
      const listed = new Set((await store.hosts()).map(each => each.host));
      if ([...ledger.shares.others].some(other => !listed.has(other))) {
        this.#freeSince.set(name, performance.now());
        return null;
      }
      if (this.#others.has(name) && performance.now() - since < leftMs) return null;
    }
    return store.takeWalk(name, host);
  }

  async #walks(name: string, walker: string): Promise<void> {
    const { ledger, host, log } = this.#options;
    this.#freeSince.delete(name);
    if (walker === host) {
      this.#others.delete(name);
      if (this.#own.has(name)) return;
      this.#own.add(name);
      log.info({ name }, `this host walks ${name} from now on, for all that mount it`);
      this.#hooks?.changed();
      return;
    }
    if (this.#others.get(name) !== walker) log.info({ name, walker }, `${name} is walked by another host`);
    this.#others.set(name, walker);
    if (!this.#own.delete(name)) return;
    // Before its units are dropped, so that no walk brings one back.
    this.#hooks?.changed();
    await ledger.walks.drop(this.#mounted.get(name) ?? new Set());
  }

  /** The kinds of data that this host has units of. */
  #counted(): Set<string> {
    const leaves = new Set<Leaf>();
    for (const { kind, leaf } of this.#options.ledger.units.units) if (kind === 'walked') leaves.add(leaf);
    const counted = [...this.#mounted].filter(([, its]) => [...its].some(leaf => leaves.has(leaf)));
    return new Set(counted.map(([name]) => name));
  }
}
