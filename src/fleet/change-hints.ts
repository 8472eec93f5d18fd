/**
 * Passes changes in storage that another host walks on to that host.
 *
 * Anybody who may push can cause as many of these messages as they like. So paths are gathered while a
 * message is sent; beyond a limit, changes are left to the next sweep.
 */

import { z } from 'zod';
import type { SharedStore } from '../store/index.ts';
import { SerialQueue } from '../turns.ts';

interface ChangeHintsOptions {
  readonly store: Pick<SharedStore, 'say'>;
  /** Called with each path that a host reports, by its name on all hosts. The path may be wrong. */
  heard(sharedPath: string): void;
}

const mostWaiting = 1000;
/** Limit of a message: the longest path of the system, with all characters escaped in JSON. */
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
  /** Paths whose messages are not sent yet. */
  readonly #waiting = new Set<string>();
  readonly #messages = new SerialQueue();

  constructor(options: ChangeHintsOptions) {
    this.#options = options;
  }

  /** Handles a message of a host. */
  said(text: string): void {
    const path = pathIn(text);
    if (path !== null) this.#options.heard(path);
  }

  passOn(path: string): void {
    if (this.#waiting.size >= mostWaiting || this.#waiting.has(path)) return;
    this.#waiting.add(path);
    const send = async () => {
      if (this.#waiting.delete(path)) await this.#options.store.say(JSON.stringify({ is: 'changed', path }));
    };
    // The next sweep finds changes whose hint is lost.
    this.#messages.run(send).catch(() => {});
  }

  close(): void {
    this.#waiting.clear();
  }
}

/** Returns the path of a message; null if it is no such message. */
function pathIn(text: string): string | null {
  if (text.length > longestText) return null;
  try {
    return changed.safeParse(JSON.parse(text)).data?.path ?? null;
  } catch {
    return null;
  }
}
