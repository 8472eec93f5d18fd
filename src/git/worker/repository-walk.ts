/** Finds the repositories for all of the worker's jobs, and reports those that disappear. */

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  isWithin,
  type Layout,
  objectsPathOf,
  outermost,
  resolving,
  type StorageSettings,
  walkedRoots,
} from '../../layout/index.ts';
import type { Log } from '../../log.ts';
import { Directories } from '../../scan/index.ts';

interface RepositoryWalkOptions {
  readonly storages: readonly StorageSettings[];
  readonly exclude: readonly string[];
  readonly everyMs: number;
}

interface RepositoryTask {
  /** Takes a repository that is new, or has replaced another one at its path, which is not `gone` then. */
  found(path: string): void;
  gone(path: string): void;
}

/** The input of each of the worker's jobs. */
export interface JobOptions {
  readonly repositories: RepositoryWalk;
  /** See `seesAllProcesses`. */
  readonly isAlone: boolean;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called when there is something new to report. */
  readonly changed: () => void;
}

const layoutEveryMs = 10_000;
/** Interval of searches for new links, each of which takes as long as a walk. */
const linksEveryMs = 900_000;
const restPerWork = 4;

export class RepositoryWalk {
  readonly #options: RepositoryWalkOptions;
  readonly #tasks: RepositoryTask[] = [];
  readonly #stop = new AbortController();
  readonly #pace = new Pace(restPerWork, this.signal);
  #layout: Layout | null = null;
  /** Times of the last layout and the last search for links, on the monotonic clock. */
  #layoutAt = Number.NEGATIVE_INFINITY;
  #linksAt = Number.NEGATIVE_INFINITY;
  /** The links that the last search found and that may be followed. */
  #links: readonly string[] = [];
  #directories: readonly Directories[] = [];
  #first: Promise<void> | null = null;
  #walks: Promise<void> = Promise.resolve();

  constructor(options: RepositoryWalkOptions) {
    this.#options = options;
  }

  /** Fires when this is closed: each job ends then. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Adds a job; all have to be added before the start. */
  add(task: RepositoryTask): void {
    this.#tasks.push(task);
  }

  /** Starts the walks unless they run already; resolves once the first walk is over. */
  start(): Promise<void> {
    if (this.#first === null) {
      this.#first = this.#walk();
      this.#walks = this.#first.then(() => this.#goOn());
    }
    return this.#first;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#walks;
  }

  rootsAround(path: string): readonly string[] {
    return (this.#layout?.roots ?? []).map(root => root.path).filter(root => isWithin(path, root));
  }

  /** The directory of a repository's objects; its `objects` may be a link that is followed. */
  objectsPathOf(path: string): string {
    return objectsPathOf(this.#layout?.links ?? new Map(), path);
  }

  /** Unreadable places that may be repositories, each with the code of the error. */
  get unread(): ReadonlyMap<string, string> {
    return new Map(this.#directories.flatMap(({ unread }) => [...unread]));
  }

  async #goOn(): Promise<void> {
    while (!this.signal.aborted) {
      await this.#pace.pause(this.#options.everyMs);
      await this.#walk();
    }
  }

  /** Reads the directories above the repositories that have changed. */
  async #walk(): Promise<void> {
    await this.#resolve();
    for (const directories of this.#directories) {
      const steps = directories.pass();
      for (let step = steps.next(); !this.signal.aborted; step = steps.next()) {
        for (const path of directories.takeFound()) for (const task of this.#tasks) task.found(path);
        if (step.done === true) {
          for (const path of step.value.gone) for (const task of this.#tasks) task.gone(path);
          break;
        }
        await this.#pace.step();
      }
    }
  }

  /** Resolves the storage again, since missing roots and links may have appeared. */
  async #resolve(): Promise<void> {
    const now = performance.now();
    if (now - this.#layoutAt < layoutEveryMs) return;
    this.#layoutAt = now;
    const { storages, exclude } = this.#options;
    const isToSearch = now - this.#linksAt >= linksEveryMs;
    if (isToSearch) this.#linksAt = now;
    const steps = resolving(storages, exclude, isToSearch ? null : this.#links);
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) {
      await this.#pace.step();
      if (this.signal.aborted) return;
    }
    const layout = step.value;
    // Only a search changes the list, so that a link whose disk is away for a moment is tried again.
    if (isToSearch) this.#links = [...layout.links.keys()];
    if (isDeepStrictEqual(layout, this.#layout)) return;
    this.#layout = layout;
    const roots = outermost(walkedRoots(layout).filter(({ state }) => state === 'present'));
    this.#directories = roots.map(root => new Directories(layout, root));
  }
}

const sliceMs = 10;

/** Divides work into slices with pauses between them, so that it takes only a part of a core. */
export class Pace {
  readonly #restPerWork: number;
  readonly #stopped: AbortSignal;
  #sliceBegun = performance.now();
  #usedBefore = process.cpuUsage();

  /** `restPerWork`: how long it rests after working, as a multiple of that. */
  constructor(restPerWork: number, stopped: AbortSignal) {
    this.#restPerWork = restPerWork;
    this.#stopped = stopped;
  }

  get isStopped(): boolean {
    return this.#stopped.aborted;
  }

  /** Pauses if the slice is over; call it after each step. Waiting for disks or processors is no work. */
  async step(): Promise<void> {
    const passedMs = performance.now() - this.#sliceBegun;
    if (passedMs < sliceMs) return;
    const { user, system } = process.cpuUsage(this.#usedBefore);
    await this.pause(Math.min(passedMs, (user + system) / 1000) * this.#restPerWork);
  }

  /** Resolves after the time, or as soon as the work is stopped. */
  async pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#stopped }).catch(() => {});
    this.#sliceBegun = performance.now();
    this.#usedBefore = process.cpuUsage();
  }
}
