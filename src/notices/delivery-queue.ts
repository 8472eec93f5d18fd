/**
 * Deliveries and the other documents of notices. Changes count at once, even while the store cannot be
 * written, and are written when it is back.
 */

import { hash } from 'node:crypto';
import { ChangeSet, type Documents, type Kind } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { SerialQueue } from '../serial-queue.ts';
import { deliveryKind, type NoticeDocument, noticeKinds, openFaultKind, type Target } from './kinds.ts';

/** Most pending deliveries; of more, the oldest become dead. */
const mostPending = 10_000;
/** Most dead deliveries; of more, the oldest are forgotten. */
const mostDead = 2000;

export class DeliveryQueue {
  readonly #documents: Pick<Documents, 'snapshot' | 'transact'>;
  #changed: ChangeSet;
  readonly #saves = new SerialQueue();
  #forgotten = 0;

  constructor(documents: Pick<Documents, 'snapshot' | 'transact'>) {
    this.#documents = documents;
    this.#changed = new ChangeSet(documents.snapshot);
  }

  /** Number of dead deliveries that were forgotten since the start because there were too many. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** The documents in force, with all changes that are not written yet. */
  get documents(): ChangeSet {
    return this.#changed;
  }

  /** Adds a delivery of a notice to a target. Does nothing if there is one already. */
  add(notice: NoticeDocument, to: Target, host: string | null, now: number): void {
    const where = to.via === 'webhook' ? `webhook ${to.name}` : `mail ${to.address}`;
    const key = `${notice.id}-${hash('sha256', where).slice(0, digits)}`;
    if (this.documents.get(deliveryKind, key) !== undefined) return;
    const untried = { state: 'pending', createdAt: now, attempts: 0, nextAt: now, fault: null } as const;
    this.documents.put(deliveryKind, key, { notice, to, host, ...untried });
  }

  /** Enforces the limits of pending and dead deliveries. */
  bound(): void {
    if ([...this.documents.all(deliveryKind)].length <= Math.min(mostDead, mostPending)) return;
    const entries = [...this.documents.all(deliveryKind)].sort(([, a], [, b]) => a.createdAt - b.createdAt);
    const pending = entries.filter(([, { state }]) => state === 'pending');
    const given = pending.slice(0, Math.max(0, pending.length - mostPending));
    for (const [key, delivery] of given) {
      const fault = `${mostPending} newer notices wait${delivery.fault === null ? '' : `; ${delivery.fault}`}`;
      this.documents.put(deliveryKind, key, { ...delivery, state: 'dead', fault });
    }
    const dead = [...entries.filter(([, { state }]) => state === 'dead'), ...given];
    const gone = dead.slice(0, Math.max(0, dead.length - mostDead));
    for (const [key] of gone) this.documents.remove(deliveryKind, key);
    this.#forgotten += gone.length;
  }

  /**
   * Forgets what is not written yet and concerns all hosts, because another host sends for all now. A delivery
   * that is over stays so.
   */
  leaveToOthers(): void {
    const { documents } = this;
    const isOwn = (kind: Kind<unknown>, key: string): boolean =>
      kind === openFaultKind || (kind === deliveryKind && documents.get(deliveryKind, key)?.host !== null);
    this.#keep(isOwn);
  }

  /** Writes all changes. True: written. False: the store is away, and they wait for the next call. */
  save(): Promise<boolean> {
    return this.#saves.run(() => this.#save());
  }

  async #save(): Promise<boolean> {
    const taken = this.#changed;
    if (taken.isEmpty) return true;
    // A copy takes the changes that are made meanwhile.
    this.#keep(() => true);
    try {
      await this.#documents.transact(({ changes }) => copyChanges(taken, changes));
    } catch (error) {
      if (error instanceof SoftquotaError && error.code === 'store_away') return false;
      throw error;
    }
    this.#keep(({ name }, key, document) => taken.changed.get(name)?.get(key) !== document);
    return true;
  }

  #keep(isKept: IsKept): void {
    const kept = new ChangeSet(this.#documents.snapshot);
    copyChanges(this.#changed, kept, isKept);
    this.#changed = kept;
  }
}

/** Digits of the target's hash in the key of a delivery. */
const digits = 8;

type IsKept = (kind: Kind<unknown>, key: string, document: unknown) => boolean;

function copyChanges({ changed }: ChangeSet, to: ChangeSet, isKept: IsKept = () => true): void {
  for (const kind of noticeKinds) {
    for (const [key, document] of changed.get(kind.name) ?? []) {
      if (!isKept(kind, key, document)) continue;
      if (document === null) to.remove(kind, key);
      else to.put(kind, key, document);
    }
  }
}
