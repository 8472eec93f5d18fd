/**
 * Notices units that are made, removed or renamed between two sweeps, by the directories above them.
 *
 * A thread for each disk looks at these (see `Directories`). What it tells is where something may have
 * changed; each such place is walked like a unit that somebody said has changed, and the walk decides. Where
 * most of a root's units go at once, that is left to a sweep, which can tell a deletion from a disk that is
 * away. A thread that waits for a disk for too long is left behind for one that keeps away from there.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { isWithin, type Layout, outermost, type Root, walkedRoots } from '../layout/index.ts';
import { entryUrl } from '../package.ts';
import type { Hangs } from './hangs.ts';
import type { WatcherReport, WatcherRequest, WatcherStart } from './messages.ts';
import type { ScannerOptions } from './options.ts';
import { haveMostVanished } from './roots.ts';
import { lookedAt, monotonic, newShared, type Shared, stuckMs } from './shared.ts';
import { endThread, startThread } from './thread.ts';

interface WatchOptions extends Pick<ScannerOptions, 'knownBelow' | 'knownBytes' | 'log'> {
  /** Walks what is at this path. Never rejects. */
  readonly measure: (path: string) => Promise<unknown>;
  readonly sweep: () => void;
  readonly hangs: Hangs;
  readonly hungAfterMs: number;
}

/** The roots on one disk, which one thread watches. */
interface Group {
  readonly layout: Layout;
  readonly roots: readonly Root[];
}

interface Watcher {
  readonly thread: Worker;
  readonly shared: Shared;
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
}

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
  readonly #options: WatchOptions;
  #watchers: Watcher[] = [];
  #layout: Layout | null = null;
  /** The threads that were told to end and have not. */
  readonly #ending = new Set<Worker>();
  /** The roots that nobody watches, because too many threads wait for disks. */
  #unwatched: Group[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(options: WatchOptions) {
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
    const everyMs = Math.min(noteMs, this.#options.hungAfterMs / looksEach);
    this.#timer ??= setInterval(() => this.#lookAfter(), everyMs).unref();
  }

  /** Ends the threads, and gives how many hang in the system and had to be left. */
  async close(withinMs: number): Promise<number> {
    clearInterval(this.#timer ?? undefined);
    this.#end();
    const ended = await Promise.all([...this.#ending].map(thread => endThread(thread, withinMs)));
    return ended.filter(hasEnded => !hasEnded).length;
  }

  #end(): void {
    this.#unwatched = [];
    for (const watcher of this.#watchers.splice(0)) this.#leave(watcher);
  }

  /** Tells a thread to end, and waits for nothing. */
  #leave(watcher: Watcher): void {
    const { thread } = watcher;
    thread.removeAllListeners();
    // Errors of a thread that is being ended concern nobody.
    thread.on('error', () => {});
    this.#ending.add(thread);
    thread.on('exit', () => {
      this.#ending.delete(thread);
      watcher.release?.();
      const next = this.#unwatched.shift();
      if (next !== undefined) this.#start(next);
    });
    void thread.terminate();
  }

  /** Notes the threads that wait for a disk, and has others go on where they do so for long. */
  #lookAfter(): void {
    const { hangs, hungAfterMs, log } = this.#options;
    for (const watcher of [...this.#watchers]) {
      const { shared, group, roots } = watcher;
      const milliseconds = stuckMs(shared);
      const path = lookedAt(shared);
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
      if (this.#ending.size <= mostEnding) {
        this.#start(group);
        continue;
      }
      this.#unwatched.push(group);
      log.error(
        { roots },
        'new and removed units are noticed by sweeps only: too many threads wait for disks',
      );
    }
  }

  #start(group: Group): void {
    const { hangs, log } = this.#options;
    const shared = newShared();
    const start: WatcherStart = { ...group, shared: shared.buffer, avoided: hangs.avoided() };
    const thread = startThread(entryUrl('scan/watcher'), 'watcher', start);
    thread.unref();
    const roots = group.roots.map(({ path }) => path);
    const walks = new Set<Promise<unknown>>();
    const watcher: Watcher = {
      thread,
      shared,
      group,
      roots,
      release: null,
      waitedMs: 0,
      first: new Set(),
      walks,
      isSlow: false,
    };
    this.#watchers.push(watcher);
    thread.on('message', (report: WatcherReport) => {
      this.#take(watcher, report).then(
        () => {
          const request: WatcherRequest = { avoided: hangs.avoided() };
          thread.postMessage(request);
        },
        error => log.error({ err: error, roots }, 'what changed on the disk could not be taken'),
      );
    });
    thread.on('error', error => {
      log.error({ err: error, roots }, 'new and removed units are noticed by sweeps only: a thread ended');
    });
  }

  async #take(watcher: Watcher, report: WatcherReport): Promise<void> {
    const { knownBytes, log, sweep } = this.#options;
    if (report.type === 'found') {
      for (const path of report.paths) {
        watcher.first?.add(path);
        // A sweep has walked, or is about to walk, the known units that the first pass finds.
        if (watcher.first === null || knownBytes(path) === undefined) await this.#walk(watcher, path);
      }
      return;
    }
    this.#tellPace(watcher, report);
    if (watcher.first !== null) await this.#walkMissing(watcher, watcher.first);
    watcher.first = null;
    for (const { root, gone, hasVanished } of report.missed) {
      if (hasVanished) {
        log.warn({ root }, 'most units of a storage root have gone at once; a sweep finds out why');
        sweep();
      }
      for (const path of gone) if (knownBytes(path) !== undefined) await this.#walk(watcher, path);
    }
  }

  /** Walks what was known and was not found by the first pass. */
  async #walkMissing(watcher: Watcher, found: ReadonlySet<string>): Promise<void> {
    const missing: string[] = [];
    const { hangs, knownBelow } = this.#options;
    const avoided = hangs.avoided();
    let looked = 0;
    for (const path of knownBelow('/')) {
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

  #tellPace(watcher: Watcher, { directories, milliseconds }: Extract<WatcherReport, { type: 'pass' }>): void {
    const isSlow = milliseconds > slowMs;
    if (watcher.first === null && isSlow === watcher.isSlow) return;
    watcher.isSlow = isSlow;
    const seconds = Math.ceil(milliseconds / 1000);
    const { roots } = watcher;
    this.#options.log.info({ roots, directories, seconds }, 'the directories above the units are watched');
  }
}
