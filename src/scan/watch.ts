/**
 * Notices units that are made, removed or renamed between two sweeps, by the directories above them.
 *
 * A thread for each disk looks at these (see `Directories`). What it tells is where something may have
 * changed; each such place is walked like a unit that somebody said has changed, and the walk decides. Where
 * most of a root's units go at once, that is left to a sweep, which can tell a deletion from a disk that is
 * away. A thread that waits for a disk for too long is left behind for one that keeps away from there.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isWithin, type Layout, outermost, type Root, walkedRoots } from '../layout/index.ts';
import type { Watched } from './messages.ts';
import type { ScannerParts } from './options.ts';
import { haveMostVanished } from './roots.ts';
import { monotonic } from './shared.ts';
import { DiskThread } from './thread.ts';

interface WatchOptions {
  /** Walks what is at this path. Never rejects. */
  readonly measure: (path: string) => Promise<unknown>;
  readonly sweep: () => void;
}

/** The roots on one disk, which one thread watches. */
interface Group {
  readonly layout: Layout;
  readonly roots: readonly Root[];
}

interface Watcher {
  readonly thread: DiskThread;
  readonly group: Group;
  readonly roots: readonly string[];
  /** While it waits for a disk: what is to be called once it has come back. */
  release: (() => void) | null;
  /** Time without progress when that was last looked at. */
  waitedMs: number;
  /** The units that the first pass found; null after it. */
  first: Set<string> | null;
  /** Walks that were asked for and are not over. */
  readonly walks: Set<Promise<unknown>>;
  isSlow: boolean;
  isLeft: boolean;
}

/** From the beginning of a pass to the next one. */
const everyMs = 2000;
/** Rest of a thread, as a multiple of the time that it works. */
const restPerWork = { first: 3, later: 19 } as const;
const mostThreads = 8;
/** Number of threads that may be waited for after they were told to end. */
const mostEnding = 8;
/** A thread that has not got on for so long waits for a disk. */
const noteMs = 1000;
const looksEach = 10;
const mostWalks = 64;
/** With the pause between two passes it takes longer than five seconds to notice something. */
const slowMs = 3000;
const knownTogether = 5000;

export class Watch {
  readonly #parts: ScannerParts;
  readonly #options: WatchOptions;
  #watchers: Watcher[] = [];
  #layout: Layout | null = null;
  /** The threads that were told to end and have not. */
  readonly #ending = new Set<DiskThread>();
  /** The roots that nobody watches, because too many threads wait for disks. */
  #unwatched: Group[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ScannerParts, options: WatchOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Watches the storage as it lies now; nothing happens where it lies as before. */
  look(layout: Layout): void {
    if (isDeepStrictEqual(layout, this.#layout)) return;
    this.#layout = layout;
    this.#end();
    const roots = outermost(walkedRoots(layout).filter(({ state }) => state === 'present'));
    const byDisk = [...Map.groupBy(roots, ({ device }) => device).values()];
    const groups = [...byDisk.slice(0, mostThreads - 1), byDisk.slice(mostThreads - 1).flat()];
    for (const group of groups) if (group.length > 0) this.#start({ layout, roots: group });
    const lookMs = Math.min(noteMs, this.#parts.hungAfterMs / looksEach);
    this.#timer ??= setInterval(() => this.#lookAfter(), lookMs).unref();
  }

  /** Ends the threads, and gives how many hang in the system and had to be left. */
  async close(withinMs: number): Promise<number> {
    clearInterval(this.#timer ?? undefined);
    this.#end();
    const ended = await Promise.all([...this.#ending].map(thread => thread.close(withinMs)));
    return ended.filter(hasEnded => !hasEnded).length;
  }

  #end(): void {
    this.#unwatched = [];
    for (const watcher of this.#watchers.splice(0)) this.#leave(watcher);
  }

  /** Tells a thread to end, and waits for nothing. */
  #leave(watcher: Watcher): void {
    const { thread } = watcher;
    watcher.isLeft = true;
    this.#ending.add(thread);
    void thread.ended.then(() => {
      this.#ending.delete(thread);
      watcher.release?.();
      const next = this.#unwatched.shift();
      if (next !== undefined) this.#start(next);
    });
    void thread.close(0);
  }

  /** Notes the threads that wait for a disk, and has others go on where they do so for long. */
  #lookAfter(): void {
    const { hangs, hungAfterMs, options } = this.#parts;
    const { log } = options;
    for (const watcher of [...this.#watchers]) {
      const { thread, group } = watcher;
      const { milliseconds, path } = thread.at() ?? { milliseconds: 0, path: '' };
      const isWaiting = path !== '' && milliseconds >= Math.min(noteMs, hungAfterMs);
      if (!isWaiting || milliseconds < watcher.waitedMs) {
        watcher.release?.();
        watcher.release = null;
      }
      watcher.waitedMs = milliseconds;
      if (!isWaiting) continue;
      watcher.release ??= hangs.track(path, monotonic() - milliseconds);
      if (milliseconds < hungAfterMs) continue;
      this.#watchers.splice(this.#watchers.indexOf(watcher), 1);
      this.#leave(watcher);
      // Another one keeps away from what hangs, which may be one directory of many on that disk.
      if (this.#ending.size <= mostEnding) this.#start(group);
      else {
        this.#unwatched.push(group);
        const roots = group.roots.map(({ path }) => path);
        log.error(
          { roots },
          'new and removed units are noticed by sweeps only: too many threads wait for disks',
        );
      }
    }
  }

  #start(group: Group): void {
    const roots = group.roots.map(({ path }) => path);
    const watcher: Watcher = {
      thread: new DiskThread('watcher'),
      group,
      roots,
      release: null,
      waitedMs: 0,
      first: new Set(),
      walks: new Set(),
      isSlow: false,
      isLeft: false,
    };
    this.#watchers.push(watcher);
    this.#follow(watcher).catch(error => {
      if (watcher.isLeft) return;
      const message = 'new and removed units are noticed by sweeps only: a thread ended';
      this.#parts.options.log.error({ err: error, roots }, message);
    });
  }

  /**
   * Has a thread look again and again. It begins a pass every two seconds and works for a twentieth of the
   * time, for a quarter in the first pass: with so many directories that a pass takes longer, it takes
   * longer.
   */
  async #follow(watcher: Watcher): Promise<void> {
    let passBegun = monotonic();
    for (;;) {
      const avoided = this.#parts.hangs.avoided();
      const watched = await watcher.thread.ask({ ask: 'watch', ...watcher.group }, { avoided });
      const restMs = watched.milliseconds * restPerWork[watcher.first === null ? 'later' : 'first'];
      const passMs = monotonic() - passBegun;
      await this.#take(watcher, watched, passMs);
      if (watched.pass === null) await delay(restMs, null, { ref: false });
      else {
        await delay(Math.max(everyMs - passMs, restMs), null, { ref: false });
        passBegun = monotonic();
      }
      if (watcher.isLeft) return;
    }
  }

  async #take(watcher: Watcher, { found, pass }: Watched, passMs: number): Promise<void> {
    const { knownBytes, log } = this.#parts.options;
    for (const path of found) {
      watcher.first?.add(path);
      // A sweep has walked, or is about to walk, the known units that the first pass finds.
      if (watcher.first === null || knownBytes(path) === undefined) await this.#walk(watcher, path);
    }
    if (pass === null) return;
    this.#tellPace(watcher, pass.directories, passMs);
    if (watcher.first !== null) await this.#walkMissing(watcher, watcher.first);
    watcher.first = null;
    for (const { root, gone, hasVanished } of pass.missed) {
      if (hasVanished) {
        log.warn({ root }, 'most units of a storage root have gone at once; a sweep finds out why');
        this.#options.sweep();
      }
      for (const path of gone) if (knownBytes(path) !== undefined) await this.#walk(watcher, path);
    }
  }

  /** Walks what was known and was not found by the first pass. */
  async #walkMissing(watcher: Watcher, found: ReadonlySet<string>): Promise<void> {
    const missing: string[] = [];
    const { hangs, options } = this.#parts;
    const avoided = hangs.avoided();
    let looked = 0;
    for (const path of options.knownBelow('/')) {
      const isLooked = !avoided.some(place => isWithin(path, place));
      if (isLooked && !found.has(path) && watcher.roots.some(root => isWithin(path, root)))
        missing.push(path);
      looked += 1;
      // Others want to be served meanwhile.
      if (looked % knownTogether === 0) await new Promise(setImmediate);
    }
    // The sweep that a start begins with finds out why.
    if (haveMostVanished(missing.length, looked)) return;
    for (const path of missing) await this.#walk(watcher, path);
  }

  /** Asks for a walk, and waits for others where there are many. */
  async #walk({ walks }: Watcher, path: string): Promise<void> {
    if (walks.size >= mostWalks) await Promise.race(walks);
    const walk = this.#options.measure(path).finally(() => walks.delete(walk));
    walks.add(walk);
  }

  #tellPace(watcher: Watcher, directories: number, milliseconds: number): void {
    const isSlow = milliseconds > slowMs;
    if (watcher.first === null && isSlow === watcher.isSlow) return;
    watcher.isSlow = isSlow;
    const seconds = Math.ceil(milliseconds / 1000);
    const { roots } = watcher;
    this.#parts.options.log.info(
      { roots, directories, seconds },
      'the directories above the units are watched',
    );
  }
}
