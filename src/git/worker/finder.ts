/** Finds the repositories in the storage, and notices those that come and go. */

import { isDeepStrictEqual } from 'node:util';
import {
  isWithin,
  type Layout,
  outermost,
  resolveLayout,
  type StorageSettings,
  walkedRoots,
} from '../../layout/index.ts';
import { Directories } from '../../scan/index.ts';
import type { Pace } from './pace.ts';

export interface FinderOptions {
  readonly storages: readonly StorageSettings[];
  /** Names of directories that are left out. */
  readonly exclude: readonly string[];
  found(paths: readonly string[]): void;
  gone(path: string): void;
  isStopped(): boolean;
}

const layoutEveryMs = 10_000;

export class RepositoryFinder {
  readonly #options: FinderOptions;
  #layout: Layout | null = null;
  /** On the monotonic clock. */
  #layoutAt = Number.NEGATIVE_INFINITY;
  #directories: readonly Directories[] = [];

  constructor(options: FinderOptions) {
    this.#options = options;
  }

  /** The storage roots that a path lies in. */
  rootsAround(path: string): readonly string[] {
    return (this.#layout?.roots ?? []).map(root => root.path).filter(root => isWithin(path, root));
  }

  /** Places where a repository may be that cannot be looked into, each with the code of the error. */
  get unread(): ReadonlyMap<string, string> {
    return new Map(this.#directories.flatMap(({ unread }) => [...unread]));
  }

  /** Looks at the directories above the repositories, where they became others. */
  async pass(pace: Pace): Promise<void> {
    const { found, gone, isStopped } = this.#options;
    this.#resolve();
    for (const directories of this.#directories) {
      const steps = directories.pass();
      for (let step = steps.next(); !isStopped(); step = steps.next()) {
        found(directories.takeFound());
        if (step.done === true) {
          for (const path of step.value.gone) gone(path);
          break;
        }
        await pace.step();
      }
    }
  }

  /** The directories above the repositories, as the storage lies now; a root that is missing may come. */
  #resolve(): void {
    const now = performance.now();
    if (now - this.#layoutAt < layoutEveryMs) return;
    this.#layoutAt = now;
    const { storages, exclude } = this.#options;
    const layout = resolveLayout(storages, exclude);
    if (isDeepStrictEqual(layout, this.#layout)) return;
    this.#layout = layout;
    const roots = outermost(walkedRoots(layout).filter(({ state }) => state === 'present'));
    this.#directories = roots.map(root => new Directories(layout, root));
  }
}
