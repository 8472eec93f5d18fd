/**
 * Changes in a place that another host walks, passed on to that host.
 *
 * Hosts may mount the same file system at different places, so a path is told from the directory on that
 * the templates begin with. Anybody who may push may have as much of it told as they like, so paths are
 * gathered while others are on their way, and past a number of them they are left to the next sweep.
 */

import { z } from 'zod';
import type { SharedStore } from '../store/index.ts';

interface ErrandsOptions {
  readonly store: Pick<SharedStore, 'listen' | 'say'>;
  /** Tells whether this host walks what has that name. */
  isFor(name: string): boolean;
  /**
   * Called with a path that another host reports as changed. It may be wrong: all that was checked is that it
   * lies below a directory.
   */
  heard(name: string, path: string): void;
}

const mostWaiting = 1000;
/** The longest path that the system takes, with what JSON makes of its odder characters. */
const longestText = 32_768;

const changed = z.strictObject({
  is: z.literal('changed'),
  name: z.string(),
  path: z.string().refine(path => path.split('/').every(name => !/^\.{0,2}$|\0/.test(name))),
});

export class ChangeHints {
  readonly #options: ErrandsOptions;
  /** The messages that are sent next, by their text. */
  readonly #waiting = new Set<string>();
  #isSaying = false;
  #unlisten: (() => void) | null = null;

  constructor(options: ErrandsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unlisten ??= this.#options.store.listen(text => this.#hear(text));
  }

  passOn(name: string, path: string): void {
    if (this.#waiting.size < mostWaiting) this.#waiting.add(JSON.stringify({ is: 'changed', name, path }));
    if (!this.#isSaying) void this.#say();
  }

  close(): void {
    this.#waiting.clear();
    this.#unlisten?.();
  }

  async #say(): Promise<void> {
    this.#isSaying = true;
    for (const text of this.#waiting) {
      this.#waiting.delete(text);
      // The next sweep finds changes whose hint is lost.
      await this.#options.store.say(text).catch(() => {});
    }
    this.#isSaying = false;
  }

  #hear(text: string): void {
    if (text.length > longestText) return;
    const { data } = changed.safeParse(jsonIn(text));
    if (data !== undefined && this.#options.isFor(data.name)) this.#options.heard(data.name, data.path);
  }
}

/** Undefined where it is none. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
