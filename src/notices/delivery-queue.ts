/**
 * Deliveries and the other documents of notices. Changes count at once, even while the store cannot be
 * written, and are written when it is back.
 */

import { hash } from 'node:crypto';
import type { Documents, Kind } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { SerialQueue } from '../serial-queue.ts';
import { deliveryKind, type NoticeDocument, type Target } from './kinds.ts';

/** Most pending deliveries; of more, the oldest become dead. */
const mostPending = 10_000;
/** Most dead deliveries; of more, the oldest are forgotten. */
const mostDead = 2000;

interface Change {
  readonly kind: Kind<unknown>;
  readonly key: string;
  /** Null: the document is removed. */
  readonly document: unknown;
}

export class DeliveryQueue {
  readonly #documents: Pick<Documents, 'snapshot' | 'transact'>;
  /** Changes that are not written yet, by kind and key. */
  readonly #changes = new Map<string, Change>();
  readonly #saves = new SerialQueue();
  #forgotten = 0;

  constructor(documents: Pick<Documents, 'snapshot' | 'transact'>) {
    this.#documents = documents;
  }

  /** Number of dead deliveries that were forgotten since the start because there were too many. */
  get forgotten(): number {
    return this.#forgotten;
  }

  get<T>(kind: Kind<T>, key: string): T | undefined {
    const change = this.#changes.get(nameOf(kind, key));
    if (change === undefined) return this.#documents.snapshot.get(kind, key);
    return change.document === null ? undefined : kind.schema.parse(change.document);
  }

  *all<T>(kind: Kind<T>): Generator<readonly [key: string, document: T]> {
    for (const entry of this.#documents.snapshot.all(kind)) {
      if (!this.#changes.has(nameOf(kind, entry[0]))) yield entry;
    }
    for (const change of this.#changes.values()) {
      if (change.kind.name === kind.name && change.document !== null)
        yield [change.key, kind.schema.parse(change.document)];
    }
  }

  put<T>(kind: Kind<T>, key: string, document: T): void {
    this.#change({ kind, key, document });
  }

  remove(kind: Kind<unknown>, key: string): void {
    this.#change({ kind, key, document: null });
  }

  /** Adds a delivery of a notice to a target. Does nothing if there is one already. */
  add(notice: NoticeDocument, to: Target, host: string | null, now: number): void {
    const where = to.via === 'webhook' ? `webhook ${to.name}` : `mail ${to.address}`;
    const key = `${notice.id}-${hash('sha256', where).slice(0, digits)}`;
    if (this.get(deliveryKind, key) !== undefined) return;
    const untried = { state: 'pending', createdAt: now, attempts: 0, nextAt: now, fault: null } as const;
    this.put(deliveryKind, key, { notice, to, host, ...untried });
  }

  /** Enforces the limits of pending and dead deliveries. */
  bound(): void {
    if ([...this.all(deliveryKind)].length <= Math.min(mostDead, mostPending)) return;
    const entries = [...this.all(deliveryKind)].sort(([, a], [, b]) => a.createdAt - b.createdAt);
    const pending = entries.filter(([, { state }]) => state === 'pending');
    const given = pending.slice(0, Math.max(0, pending.length - mostPending));
    for (const [key, delivery] of given) {
      const fault = `${mostPending} newer notices wait${delivery.fault === null ? '' : `; ${delivery.fault}`}`;
      this.put(deliveryKind, key, { ...delivery, state: 'dead', fault });
    }
    const dead = [...entries.filter(([, { state }]) => state === 'dead'), ...given];
    const gone = dead.slice(0, Math.max(0, dead.length - mostDead));
    for (const [key] of gone) this.remove(deliveryKind, key);
    this.#forgotten += gone.length;
  }

  /** Writes all changes. True: written. False: the store is away, and they wait for the next call. */
  save(): Promise<boolean> {
    return this.#saves.run(() => this.#save());
  }

  async #save(): Promise<boolean> {
    const taken = [...this.#changes];
    if (taken.length === 0) return true;
    try {
      await this.#documents.transact(({ changes }) => {
        for (const [, { kind, key, document }] of taken) {
          if (document === null) changes.remove(kind, key);
          else changes.put(kind, key, document);
        }
      });
    } catch (error) {
      if (error instanceof SoftquotaError && error.code === 'store_away') return false;
      throw error;
    }
    // A change that was made meanwhile is another object, and stays.
    for (const [name, change] of taken) if (this.#changes.get(name) === change) this.#changes.delete(name);
    return true;
  }

  #change(change: Change): void {
    this.#changes.set(nameOf(change.kind, change.key), change);
  }
}

/** Digits of the target's hash in the key of a delivery. */
const digits = 8;

function nameOf({ name }: Kind<unknown>, key: string): string {
  return `${name}\0${key}`;
}
