/**
 * Changes in storage that another host walks, passed on to that host.
 *
 * Anybody who may push may have as much of it told as they like. So paths are gathered while others are on
 * their way, and past a number of them they are left to the next sweep.
 */

import { z } from 'zod';
import type { SharedStore } from '../store/index.ts';

interface ChangeHintsOptions {
  readonly store: Pick<SharedStore, 'say'>;
  /** Called with each path that a host reports, by all hosts' name for it. It may be wrong. */
  heard(sharedPath: string): void;
}

const mostWaiting = 1000;
/** The longest path that the system takes, with what JSON makes of its odder characters. */
const longestText = 32_768;

const changed = z.strictObject({
  is: z.literal('changed'),
  path: z.string().refine(path =>
    path
      .split('/')
      .slice(1)
      .every(name => !/^\.{0,2}$|\0/.test(name)),
  ),
});

export class ChangeHints {
  readonly #options: ChangeHintsOptions;
  /** The messages that are sent next, by their text. */
  readonly #waiting = new Set<string>();
  #isSaying = false;

  constructor(options: ChangeHintsOptions) {
    this.#options = options;
  }

  /** Takes what a host said. */
  said(text: string): void {
    const path = pathIn(text);
    if (path !== null) this.#options.heard(path);
  }

  passOn(path: string): void {
    if (this.#waiting.size < mostWaiting) this.#waiting.add(JSON.stringify({ is: 'changed', path }));
    if (!this.#isSaying) void this.#say();
  }

  close(): void {
    this.#waiting.clear();
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
}

/** Null where it is none. */
function pathIn(text: string): string | null {
  if (text.length > longestText) return null;
  try {
    return changed.safeParse(JSON.parse(text)).data?.path ?? null;
  } catch {
    return null;
  }
}
