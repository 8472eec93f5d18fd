/**
 * Notices units that are made, removed or renamed between two sweeps, by the directories above them.
 *
 * One thread for each disk watches these directories (see `Directories`) and reports where something may have
 * changed. Each such path is walked like a unit that was reported as changed, and the walk decides. If most
 * of a root's units go at once, a sweep decides, which can tell a deletion from a lost disk. A thread that
 * hangs is left behind, and another one avoids its disk.
 */

import { isDeepStrictEqual } from 'node:util';
import { isWithin, type Layout, outermost, type Root, walkedRoots } from '../layout/index.ts';
import { inSlices } from '../turns.ts';
import type { Watched } from './directories.ts';
import type { ScannerParts } from './disk-threads.ts';
import { haveMostVanished } from './roots.ts';

interface WatchOptions {
  /** Walks what is at this path. Never rejects. */
  readonly measure: (path: string) => Promise<unknown>;
  readonly sweep: () => void;
}

/** The roots on one disk, which one thread watches. */
interface Watcher {
  readonly roots: readonly string[];
  /** The units that the first pass found; null after it. */
  first: Set<string> | null;
  /** Walks that were requested and are not over. */
  readonly walks: Set<Promise<unknown>>;
  isSlow: boolean;
}

const mostThreads = 8;
const mostWalks = 64;
/** Length of a pass from which, with the pause between two, changes are noticed only after five seconds. */
const slowMs = 3000;

export class Watch {
  readonly #parts: ScannerParts;
  readonly #options: WatchOptions;
  #layout: Layout | null = null;
  #stop = new AbortController();

  constructor(parts: ScannerParts, options: WatchOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Watches the storage of a layout; does nothing if the layout is the same as before. */
  look(layout: Layout): void {
    if (isDeepStrictEqual(layout, this.#layout)) return;
    this.#layout = layout;
    this.lookAnew();
  }

  /** Starts again, with all disks that answer now. */
  lookAnew(): void {
    this.close();
    this.#stop = new AbortController();
    const layout = this.#layout;
    if (layout === null) return;
    const roots = outermost(walkedRoots(layout).filter(({ state }) => state === 'present'));
    const byDisk = [...Map.groupBy(roots, ({ device }) => device).values()];
    const groups = [...byDisk.slice(0, mostThreads - 1), byDisk.slice(mostThreads - 1).flat()];
    for (const group of groups) if (group.length > 0) void this.#follow(layout, group, this.#stop.signal);
  }

  /** Stops watching, without waiting for threads. */
  close(): void {
    this.#stop.abort();
  }

  async #follow(layout: Layout, roots: readonly Root[], signal: AbortSignal): Promise<void> {
    const { threads, options } = this.#parts;
    const paths = roots.map(({ path }) => path);
    const watcher: Watcher = { roots: paths, first: null, walks: new Set(), isSlow: false };
    const failed = (error: unknown): void => {
      if (signal.aborted) return;
      const message = 'new and removed units are noticed by sweeps only: a thread ended';
      options.log.error({ err: error, roots: paths }, message);
    };
    let taken = Promise.resolve();
    const part = (watched: Watched): void => {
      taken = taken.then(() => (signal.aborted ? undefined : this.#take(watcher, watched))).catch(failed);
    };
    await threads.askAround('watch', [layout, roots], { part, signal }).catch(failed);
  }

  async #take(watcher: Watcher, { isFirst, found, pass }: Watched): Promise<void> {
    const { figures, log } = this.#parts.options;
    if (isFirst) watcher.first ??= new Set();
    for (const path of found) {
      watcher.first?.add(path);
      // A sweep has walked, or is about to walk, the known units that the first pass finds.
      if (!isFirst || figures.knownBytes(path) === undefined) await this.#walk(watcher, path);
    }
    if (pass === null) return;
    this.#tellPace(watcher, pass.directories, pass.milliseconds);
    if (watcher.first !== null) await this.#walkMissing(watcher, watcher.first);
    watcher.first = null;
    for (const { root, gone, hasVanished } of pass.missed) {
      if (hasVanished) {
        log.warn({ root }, 'most units of a storage root have gone at once; a sweep finds out why');
        this.#options.sweep();
        continue;
      }
      for (const path of gone) if (figures.knownBytes(path) !== undefined) await this.#walk(watcher, path);
    }
  }

  /** Walks the known units that the first pass did not find. */
  async #walkMissing(watcher: Watcher, found: ReadonlySet<string>): Promise<void> {
    const missing: string[] = [];
    const { threads, options } = this.#parts;
    const avoided = threads.avoided();
    let known = 0;
    await inSlices(options.figures.knownBelow('/'), path => {
      if (!watcher.roots.some(root => isWithin(path, root))) return;
      known += 1;
      if (!found.has(path) && !avoided.some(place => isWithin(path, place))) missing.push(path);
    });
    // The first sweep after the start finds out why.
    if (haveMostVanished(missing.length, known)) return;
    for (const path of missing) await this.#walk(watcher, path);
  }

  /** Requests a walk; if many are under way, waits for one of them first. */
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
