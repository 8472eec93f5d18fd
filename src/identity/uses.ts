/**
 * When tokens and sessions were last used: known at once, written now and then and all together, so that no
 * request waits for a write or makes one.
 */

import type { ChangeSet, Documents, Snapshot } from '../documents/index.ts';
import type { Log } from '../log.ts';
import { SerialQueue } from '../serial-queue.ts';
import { sessionKind, tokenKind, useKind } from './kinds.ts';

export interface UsesOptions {
  readonly documents: Pick<Documents, 'transact'>;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds between two writes, at least. */
  readonly everyMs: number;
}

export class Uses {
  readonly #options: UsesOptions;
  /** Not written yet, or just being written; milliseconds since 1970, by the keys of what was used. */
  readonly #pending = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  readonly #writes = new SerialQueue();

  constructor(options: UsesOptions) {
    this.#options = options;
  }

  enqueue(key: string, at: number): void {
    this.#pending.set(key, at);
    this.#writeLater();
  }

  /** Returns the last use that is not written yet; null if none waits. */
  lastOf(key: string): number | null {
    return this.#pending.get(key) ?? null;
  }

  async close(): Promise<void> {
    await this.#write();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #writeLater(): void {
    this.#timer ??= setTimeout(() => void this.#write(), this.#options.everyMs).unref();
  }

  /** After the write that is under way. Never rejects. */
  #write(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    return this.#writes.run(() => this.#writePending());
  }

  async #writePending(): Promise<void> {
    const uses = new Map(this.#pending);
    if (uses.size === 0) return;
    try {
      await this.#options.documents.transact(({ changes }) => {
        // A deleted entry stays deleted, and a later use that is already known stays.
        for (const [key, at] of uses) {
          const isNews = isThere(changes, key) && (keptUseOf(changes, key) ?? 0) < at;
          if (isNews) changes.put(useKind, key, { at });
        }
      });
      for (const [key, at] of uses) if (this.#pending.get(key) === at) this.#pending.delete(key);
    } catch (error) {
      const words = 'when tokens and sessions were last used could not be kept; it is tried again';
      this.#options.log.warn({ err: error }, words);
      this.#writeLater();
    }
  }
}

export function keptUseOf(snapshot: Snapshot, key: string): number | null {
  return snapshot.get(useKind, key)?.at ?? null;
}

export function forgetUse(changes: ChangeSet, key: string): void {
  if (keptUseOf(changes, key) !== null) changes.remove(useKind, key);
}

/** A use may be written while what was used goes. */
export function forgetUsesOfGone(changes: ChangeSet): void {
  for (const [key] of [...changes.all(useKind)]) if (!isThere(changes, key)) changes.remove(useKind, key);
}

function isThere(changes: ChangeSet, key: string): boolean {
  return changes.get(tokenKind, key) !== undefined || changes.get(sessionKind, key) !== undefined;
}
