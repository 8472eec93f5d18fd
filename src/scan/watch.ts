/**
 * Notices units that are made, removed or renamed between two sweeps, by the directories above them.
 *
 * A thread for each disk looks at these (see `Directories`). What it tells is where something may have
 * changed; each such place is walked like a unit that somebody said has changed, and the walk decides. Where
 * most of a root's units go at once, that is left to a sweep, which can tell a deletion from a disk that is
 * away.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { isWithin, type Layout, outermost, walkedRoots } from '../layout/index.ts';
import type { WatcherReport, WatcherStart } from './messages.ts';
import type { Log } from './options.ts';
import { haveMostVanished } from './roots.ts';
import { codeOf, endThread, startThread } from './thread.ts';

export interface WatchOptions {
  /** Walks what is at this path. Never rejects. */
  readonly measure: (path: string) => Promise<unknown>;
  readonly sweep: () => void;
  readonly knownBytes: (path: string) => number | undefined;
  readonly knownBelow: (path: string) => Iterable<string>;
  readonly log: Log;
}

interface Watcher {
  readonly thread: Worker;
  readonly roots: readonly string[];
  /** The units that the first pass found; null after it. */
  first: Set<string> | null;
  /** Walks that were asked for and are not over. */
  readonly walks: Set<Promise<unknown>>;
  isSlow: boolean;
}

const mostThreads = 8;
const mostWalks = 64;
/** With the pause between two passes it takes longer than five seconds to notice something. */
const slowMs = 3000;
const knownTogether = 5000;

export class Watch {
  readonly #options: WatchOptions;
  #watchers: Watcher[] = [];
  #layout: Layout | null = null;
  readonly #ending = new Set<Promise<boolean>>();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Watches the storage as it lies now; nothing happens where it lies as before. */
  look(layout: Layout): void {
    if (isDeepStrictEqual(layout, this.#layout)) return;
    this.#layout = layout;
    this.#end(0);
    const roots = outermost(walkedRoots(layout).filter(({ state }) => state === 'present'));
    const byDisk = [...Map.groupBy(roots, ({ device }) => device).values()];
    const groups = [...byDisk.slice(0, mostThreads - 1), byDisk.slice(mostThreads - 1).flat()];
    for (const group of groups) if (group.length > 0) this.#start({ layout, roots: group });
  }

  /** Ends the threads, and gives how many hang in the system and had to be left. */
  async close(withinMs: number): Promise<number> {
    this.#end(withinMs);
    const ended = await Promise.all(this.#ending);
    return ended.filter(hasEnded => !hasEnded).length;
  }

  #end(withinMs: number): void {
    for (const { thread } of this.#watchers.splice(0)) {
      thread.removeAllListeners();
      // What it meets while it ends concerns nobody.
      thread.on('error', () => {});
      const ending = endThread(thread, withinMs);
      this.#ending.add(ending);
      ending.then(() => this.#ending.delete(ending));
    }
  }

  #start(start: WatcherStart): void {
    const { log } = this.#options;
    const thread = startThread(codeOf('watcher'), 'watcher', start);
    thread.unref();
    const roots = start.roots.map(({ path }) => path);
    const watcher: Watcher = { thread, roots, first: new Set(), walks: new Set(), isSlow: false };
    this.#watchers.push(watcher);
    thread.on('message', (report: WatcherReport) => {
      this.#take(watcher, report).then(
        () => thread.postMessage('go on'),
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
        // What the first pass finds and is known has been walked, or is about to be, by a sweep.
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
    let looked = 0;
    for (const path of this.#options.knownBelow('/')) {
      if (!found.has(path) && watcher.roots.some(root => isWithin(path, root))) missing.push(path);
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
