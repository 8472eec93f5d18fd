/**
 * The times at which tokens and sessions were last used. They are known at once, and written together from
 * time to time, so that no request waits for a write.
 */

import type { ChangeSet, Documents, Snapshot } from '../documents/index.ts';
import type { Log } from '../log.ts';
import { SerialQueue, type Work } from '../turns.ts';
import { sessionKind, tokenKind, useKind } from './kinds.ts';

interface UsesOptions {
  readonly documents: Pick<Documents, 'transact'>;
  readonly log: Pick<Log, 'warn'>;
  /** Least time between two writes, in milliseconds. */
  readonly everyMs: number;
}

export class Uses {
  readonly #options: UsesOptions;
  /** Uses that are not written yet: milliseconds since 1970 by the key of the token or session. */
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

  /** Writes after the write that is under way. Never rejects. */
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

/** Removes uses of removed tokens and sessions, since a use can be written during the removal. */
export function* forgetUsesOfGone(changes: ChangeSet): Work<void> {
  for (const [key] of changes.all(useKind)) {
    if (!isThere(changes, key)) changes.remove(useKind, key);
    yield;
  }
}

function isThere(changes: ChangeSet, key: string): boolean {
  return changes.get(tokenKind, key) !== undefined || changes.get(sessionKind, key) !== undefined;
}
