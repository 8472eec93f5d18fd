/**
 * Keeps repositories guarded: finds new ones in the storage, puts hooks in, and puts back what somebody takes
 * out.
 *
 * It looks at the directories above the repositories some times a second, which tells of new ones, and goes
 * round the hooks of all known repositories. Both take a small part of a core: with many thousands of
 * repositories a round takes longer. Git and forges still write into a new repository when it appears, so it
 * is looked after again and again for some seconds.
 */

import { isWithin, type StorageSettings } from '../../layout/index.ts';
import type { Log } from '../../log.ts';
import type { WorkerReport } from '../../wire/index.ts';
import { type Guard, type Guarded, hooksSignature } from '../hooks/guard.ts';
import { reasonOf } from '../hooks/reason.ts';
import { RepositoryFinder } from './finder.ts';
import { Pace } from './pace.ts';

export interface KeepHooksOptions {
  readonly storages: readonly StorageSettings[];
  /** Names of directories that are left out. */
  readonly exclude: readonly string[];
  /** All of them are a forge's, also where nothing in them says so yet. */
  readonly isForge: boolean;
  readonly guard: Guard;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called after something changed in the report. */
  readonly changed: () => void;
}

interface Known {
  /** The signature of the hooks after the last look; null: there was none. */
  signature: string | null;
  isGuarded: boolean;
  /** Why it is not guarded. */
  why: string | null;
}

/** A repository that appeared, and is looked after again when the next of these times is over. */
interface Young {
  readonly since: number;
  next: number;
}

/** Milliseconds after a repository appeared. */
const looksAfter = [0, 100, 300, 600, 1000, 2000, 5000, 15_000, 60_000];
const passEveryMs = 200;
/** Rest for each part of work: half a core's time at first, a fifth for new ones, a twentieth on rounds. */
const restAtFirst = 1;
const restForNew = 4;
const restForRound = 19;
const roundEveryMs = 1000;
const mostNamed = 20;
const longestWhy = 1000;
/** Characters as JSON; the daemon takes 64 KiB. */
const mostReported = 20_000;

export class KeepHooks {
  readonly #options: KeepHooksOptions;
  readonly #known = new Map<string, Known>();
  readonly #young = new Map<string, Young>();
  readonly #stop = new AbortController();
  readonly #finder: RepositoryFinder;
  /** Roots below which a repository of a forge was seen. */
  readonly #forgeRoots = new Set<string>();
  /** Places where a repository may be that the worker cannot look into, and why. */
  #unread: ReadonlyMap<string, string> = new Map();
  #putBack = 0;
  #lastPutBack: string | null = null;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: KeepHooksOptions) {
    this.#options = options;
    const { storages, exclude } = options;
    this.#finder = new RepositoryFinder({
      storages,
      exclude,
      found: paths => this.#meet(paths),
      gone: path => this.#forget(path),
      isStopped: () => this.#isStopped,
    });
  }

  /**
   * Resolves once every repository that is there now has been looked after. New ones do not wait for that.
   */
  async start(): Promise<void> {
    const { signal } = this.#stop;
    const pace = new Pace(restForNew, signal);
    await this.#pass(pace);
    const first = [...this.#young.keys()];
    this.#young.clear();
    const watching = this.#watch(pace);
    await this.#goThrough(first, new Pace(restAtFirst, signal));
    this.#ended = Promise.all([watching, this.#goRound(new Pace(restForRound, signal))]);
  }

  report(): NonNullable<WorkerReport['hooks']> {
    const unguarded = [...this.#known].flatMap(([path, { isGuarded, why }]) =>
      isGuarded || why === null ? [] : [{ path, why }],
    );
    for (const [path, code] of this.#unread) unguarded.push({ path, why: unreadable(code) });
    const first: { path: string; why: string }[] = [];
    let length = 0;
    for (const { path, why } of unguarded.slice(0, mostNamed)) {
      const place = { path, why: why.slice(0, longestWhy) };
      length += JSON.stringify(place).length;
      if (length > mostReported) break;
      first.push(place);
    }
    return {
      repositories: this.#known.size,
      unguarded: { count: unguarded.length, first },
      put_back: { count: this.#putBack, last: this.#lastPutBack },
    };
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #watch(pace: Pace): Promise<void> {
    while (!this.#isStopped) {
      await pace.pause(passEveryMs);
      await this.#pass(pace);
      await this.#lookAfterYoung(pace);
    }
  }

  async #pass(pace: Pace): Promise<void> {
    await this.#finder.pass(pace);
    const before = this.#unread;
    this.#unread = this.#finder.unread;
    const isSame =
      before.size === this.#unread.size && [...before.keys()].every(path => this.#unread.has(path));
    if (isSame) return;
    for (const [path, code] of this.#unread)
      if (!before.has(path)) this.#options.log.warn({ path, why: unreadable(code) }, notGuarded);
    this.#options.changed();
  }

  #meet(paths: readonly string[]): void {
    for (const path of paths) {
      this.#known.set(path, { signature: null, isGuarded: false, why: null });
      this.#young.set(path, { since: performance.now(), next: 0 });
    }
  }

  #forget(path: string): void {
    this.#known.delete(path);
    this.#young.delete(path);
  }

  async #lookAfterYoung(pace: Pace): Promise<void> {
    for (const [path, young] of this.#young) {
      if (this.#isStopped) return;
      const age = performance.now() - young.since;
      if (age < (looksAfter[young.next] ?? 0)) continue;
      while (age >= (looksAfter[young.next] ?? Number.POSITIVE_INFINITY)) young.next += 1;
      const isGuarded = await this.#lookAfter(path);
      // A guarded repository that nothing has touched for so long is left to the round.
      if (young.next === looksAfter.length || (isGuarded && age > settledMs)) this.#young.delete(path);
      await pace.step();
    }
  }

  /** Goes round all that is known, and looks after what became another. */
  async #goRound(pace: Pace): Promise<void> {
    while (!this.#isStopped) {
      const begun = performance.now();
      await this.#goThrough([...this.#known.keys()], pace);
      await pace.pause(Math.max(roundEveryMs - (performance.now() - begun), passEveryMs));
    }
  }

  async #goThrough(paths: readonly string[], pace: Pace): Promise<void> {
    for (const path of paths) {
      if (this.#isStopped) return;
      if (!this.#young.has(path)) await this.#lookAfter(path);
      await pace.step();
    }
  }

  /** Guards a repository where it changed since it was guarded; true if it is guarded. */
  async #lookAfter(path: string): Promise<boolean> {
    const known = this.#known.get(path);
    if (known === undefined) return false;
    const { guard, log, changed } = this.#options;
    let signature: string | null = null;
    let fault: string | null = null;
    try {
      signature = await hooksSignature(path);
    } catch (error) {
      fault = reasonOf(error);
    }
    if (signature !== null && signature === known.signature) return known.isGuarded;
    if (signature === null) {
      // Without a fault it is gone, or nothing of it is there yet: the directories above tell.
      if (this.#take(known, null, { isGuarded: false, why: fault })) {
        if (fault !== null) log.warn({ path, why: fault }, notGuarded);
        changed();
      }
      return false;
    }
    const wasGuarded = known.isGuarded;
    const found = await guard.guard(path, this.#isInForge(path));
    if (found.isForge) this.#rememberForge(path);
    const isGuarded = found.is === 'guarded';
    if (found.put && wasGuarded) {
      this.#putBack += 1;
      this.#lastPutBack = path;
      log.warn({ path }, 'the hooks were taken out or replaced; they are back');
      changed();
    } else if (found.put) log.info({ path }, 'the hooks are put in');
    for (const file of found.skipped ?? [])
      log.warn({ path, file }, 'a hook that was there is not executable, so it does not run');
    // A repository that is not guarded is tried again each time; one that changed meanwhile, also by this,
    // once more.
    const after = isGuarded ? await hooksSignature(path).catch(() => null) : null;
    const settled = after === signature ? signature : null;
    if (this.#take(known, settled, { isGuarded, why: whyOf(found) })) {
      if (found.is === 'fault') log.warn({ path, why: found.why }, notGuarded);
      changed();
    }
    return isGuarded;
  }

  /** Keeps what was found; true if a fault came or went. */
  #take(known: Known, signature: string | null, { isGuarded, why }: Omit<Known, 'signature'>): boolean {
    const isOther = known.why !== why;
    Object.assign(known, { signature, isGuarded, why });
    return isOther;
  }

  #isInForge(path: string): boolean {
    return this.#options.isForge || [...this.#forgeRoots].some(root => isWithin(path, root));
  }

  #rememberForge(path: string): void {
    for (const root of this.#finder.rootsAround(path)) this.#forgeRoots.add(root);
  }
}

const settledMs = 5000;
const notGuarded = 'a repository is not guarded';

function unreadable(code: string): string {
  return `it cannot be looked into (${code}): the worker runs as the user ${process.geteuid?.() ?? -1}`;
}

function whyOf({ is, why }: Guarded): string | null {
  return is === 'fault' ? (why ?? 'its hooks cannot be put in') : null;
}
