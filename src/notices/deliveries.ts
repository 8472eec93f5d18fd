/**
 * Deliveries and the other documents of notices. All are volatile: hosts that share a quota have the same
 * ones, and backups do not have them. Changes count at once, even while the store cannot be written, and are
 * written when it is back.
 */

import { hash } from 'node:crypto';
import { z } from 'zod';
import { noticeTypes } from '../config/index.ts';
import { ChangeSet, type Documents, type Kind } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { SerialQueue } from '../turns.ts';

const whole = z.number().int();

/** Adds the notices that are not events: a test, and the summary for administrators. */
const allTypes = [...noticeTypes, 'test', 'digest'] as const;

const notice = z.strictObject({
  /** The id of the notice, the same each time it is sent; without dots. */
  id: z.string(),
  type: z.enum(allTypes),
  /** Milliseconds since 1970, like all times here. */
  at: whole,
  owner: z.string().nullable(),
  /** A sentence for people. */
  message: z.string(),
  data: z.record(z.string(), z.unknown()),
});

export type NoticeDocument = Readonly<z.infer<typeof notice>>;

const target = z.discriminatedUnion('via', [
  /** The name of a `[webhook.NAME]` section. */
  z.strictObject({ via: z.literal('webhook'), name: z.string() }),
  z.strictObject({
    via: z.literal('mail'),
    address: z.string(),
    /** The owner who can unsubscribe; null: an administrator. */
    ownerId: whole.nullable(),
    /** The owner whom the mail is about; null: for administrators, or of 0.2.0: see `notice.owner`. */
    aboutId: whole.nullable().default(null),
  }),
]);

export type Target = Readonly<z.infer<typeof target>>;

const delivery = z.strictObject({
  notice,
  to: target,
  /** The only host that sends it; null: the host that sends for all. */
  host: z.string().nullable(),
  state: z.enum(['pending', 'dead']),
  createdAt: whole,
  attempts: whole,
  /** The time of the next attempt. */
  nextAt: whole,
  /** The reason why the last attempt failed; null: no attempt yet. */
  fault: z.string().nullable(),
});

export type Delivery = Readonly<z.infer<typeof delivery>>;

export const deliveryKind: Kind<Delivery> = { name: 'delivery', durability: 'volatile', schema: delivery };

const position = z.strictObject({
  /** Events before this time are ignored. */
  floor: whole,
  /** Events with a notice: the id, the time, and the number of refusals in the notice (else 1). */
  seen: z.array(z.tuple([z.string(), whole, whole])).readonly(),
  /** The time of the last summary; null: none. */
  digestAt: whole.nullable(),
});

export type ReadPosition = Readonly<z.infer<typeof position>>;

export const positionKind: Kind<ReadPosition> = {
  name: 'notice-position',
  durability: 'volatile',
  schema: position,
};

const openFault = z.strictObject({ id: z.string(), since: whole, reason: z.string() });

/** Open faults that have a notice. The key is a JSON array of host, kind of fault and place. */
export const openFaultKind: Kind<Readonly<z.infer<typeof openFault>>> = {
  name: 'open-fault',
  durability: 'volatile',
  schema: openFault,
};

export const noticeKinds: readonly Kind<unknown>[] = [deliveryKind, positionKind, openFaultKind];

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
   * Forgets what is not written yet and concerns all hosts, because another host sends for all now. A
   * delivery that is over stays so.
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
