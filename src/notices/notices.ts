/** Reads events and faults, finds the recipients of their notices, and sends them. */

import { randomBytes } from 'node:crypto';
import { Cron } from 'croner';
import { type Documents, EventIds } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { type Log, sparingLog } from '../log.ts';
import type { Events } from '../overview/index.ts';
import { printable } from '../text.ts';
import { SerialQueue } from '../turns.ts';
import type { NoticePlace } from '../wire/index.ts';
import {
  type Delivery,
  DeliveryQueue,
  deliveryKind,
  type NoticeDocument,
  positionKind,
  type ReadPosition,
  type Target,
} from './deliveries.ts';
import { faultWatch, type PresentFaults } from './faults.ts';
import { readNotices } from './reader.ts';
import { adminAddresses, type NoticeSettings, recipientsOf } from './recipients.ts';
import { placeNameOf, Sender, type SenderOptions } from './sender.ts';
import { type Summary, summaryValues } from './views.ts';

interface NoticesOptions extends Omit<SenderOptions, 'documents' | 'queue' | 'settings'> {
  readonly settings: NoticeSettings;
  readonly documents: Pick<Documents, 'owners' | 'snapshot' | 'takeLease' | 'transact'>;
  readonly events: Pick<Events, 'list'>;
  present(): PresentFaults;
  summary(since: number): Promise<Summary>;
  readonly log: Log;
}

/** Milliseconds between two reads of the record of events. */
const everyMs = 1000;
/** Milliseconds between two reads of the whole last day, since events may be written very late. */
const wholeEveryMs = 600_000;
/** Milliseconds after which an event is usually in the record. */
const writtenMs = 10_000;
const leaseMs = 8000;
const takeLeaseMs = 3000;
const positionKey = 'events';
const lease = 'notices';
const mostDigestMs = 40 * 86_400_000;

export class Notices {
  readonly #options: NoticesOptions;
  readonly #queue: DeliveryQueue;
  readonly #sender: Sender;
  readonly #faultNotices: ReturnType<typeof faultWatch>;
  readonly #ids = new EventIds('n');
  #settings: NoticeSettings;
  #timer: NodeJS.Timeout | null = null;
  readonly #ticks = new SerialQueue();
  #isClosed = false;
  #isStarted = false;
  /** On the monotonic clock, like `#leasedUntil`. */
  #leaseTakenAt = Number.NEGATIVE_INFINITY;
  #leasedUntil = Number.NEGATIVE_INFINITY;
  #wholeAt = Number.NEGATIVE_INFINITY;
  /** Milliseconds since 1970. */
  #readAt = 0;
  readonly #faults = new Set<string>();

  constructor(options: NoticesOptions) {
    const { documents, settings } = options;
    this.#options = options;
    this.#settings = settings;
    this.#queue = new DeliveryQueue(documents);
    this.#sender = new Sender({
      ...options,
      log: sparingLog(options.log),
      queue: this.#queue,
      settings: () => this.#settings,
    });
    this.#faultNotices = faultWatch(this.#queue, options.host, () => options.present());
  }

  /** False: there is no webhook and no mail, so nothing runs. */
  get isOn(): boolean {
    return this.#settings.webhooks.length > 0 || this.#settings.mail !== null;
  }

  start(): void {
    this.#isStarted = true;
    this.#next(0);
  }

  reconfigure(settings: NoticeSettings): void {
    this.#settings = settings;
    this.#sender.reconfigure();
    if (this.#isStarted) this.#next(0);
  }

  /** Makes the notices of new events and faults, and begins to send due deliveries. Never rejects. */
  tick(): Promise<void> {
    return this.#ticks.run(() => this.#tick());
  }

  settled(): Promise<void> {
    return this.#sender.settled();
  }

  /** Lists each webhook, and mail, with counts of deliveries. */
  places(): readonly NoticePlace[] {
    const { webhooks, mail } = this.#settings;
    const events = mail === null ? [] : [...new Set([...mail.ownerEvents, ...mail.adminEvents])];
    const known = [
      ...webhooks.map(({ name, events }) => ({ name, via: 'webhook' as const, events })),
      ...(mail === null ? [] : [{ name: 'mail', via: 'mail' as const, events }]),
    ];
    const deliveries = Map.groupBy(this.deliveries(), ([, { to }]) => placeNameOf(to));
    return known.map(place => {
      const theirs = (deliveries.get(place.name) ?? []).map(([, delivery]) => delivery);
      const dead = theirs.filter(({ state }) => state === 'dead').length;
      const lastFault = theirs.find(({ fault }) => fault !== null)?.fault ?? null;
      const sent = this.#sender.sentTo(place.name);
      return { ...place, pending: theirs.length - dead, dead, ...sent, last_fault: lastFault };
    });
  }

  deliveries(): readonly (readonly [id: string, delivery: Delivery])[] {
    return [...this.#queue.documents.all(deliveryKind)].sort(
      ([idA, a], [idB, b]) => b.createdAt - a.createdAt || (idA < idB ? -1 : 1),
    );
  }

  get forgotten(): number {
    return this.#queue.forgotten;
  }

  /**
   * Sends a dead delivery again, or with null all of them; returns their number. Rejects with `not_found`,
   * `conflict` if the delivery is not dead, or `store_away`.
   */
  async sendAgain(id: string | null): Promise<number> {
    // Otherwise the queue would write an earlier state over this change.
    if (!(await this.#queue.save())) {
      throw new SoftquotaError('store_away', 'the last attempts to send notices are not kept yet');
    }
    const { documents, now } = this.#options;
    const again = { state: 'pending', createdAt: now(), attempts: 0, nextAt: now() } as const;
    const count = await documents.transact(({ changes }) => {
      const found = [...changes.all(deliveryKind)].filter(
        ([key, { state }]) => key === id || (id === null && state === 'dead'),
      );
      if (id !== null && found.length === 0) {
        throw new SoftquotaError('not_found', `there is no notice ${printable(id)} to be delivered`);
      }
      const [waiting] = found.find(([, { state }]) => state !== 'dead') ?? [];
      if (waiting !== undefined) {
        throw new SoftquotaError(
          'conflict',
          `the notice ${printable(waiting)} waits already, and will be sent`,
        );
      }
      for (const [key, delivery] of found) changes.put(deliveryKind, key, { ...delivery, ...again });
      return found.length;
    });
    if (this.#isStarted) this.#next(0);
    return count;
  }

  /**
   * Sends a test notice to a place at once, without the queue. `address` is for `mail`; default: all
   * administrators. Returns the reason of a failure; null: sent. Rejects with `not_found` or `invalid`.
   */
  async test(name: string, address: string | null = null): Promise<string | null> {
    const { documents } = this.#options;
    const { webhooks, mail } = this.#settings;
    const id = `${this.#ids.next()}-${randomBytes(4).toString('hex')}`;
    const { host, now } = this.#options;
    const message = printable(`This is a trial of notices, sent by the host ${host}.`);
    const notice: NoticeDocument = {
      id,
      type: 'test',
      at: now(),
      owner: null,
      message,
      data: { host, message },
    };
    if (webhooks.some(hook => hook.name === name)) {
      return this.#sender.deliver(id, notice, { via: 'webhook', name });
    }
    if (name !== 'mail' || mail === null) {
      const known = this.places().map(place => place.name);
      const words = known.length === 0 ? 'there are none' : `there are ${known.join(', ')}`;
      throw new SoftquotaError('not_found', `nothing is sent to ${printable(name)}: ${words}`);
    }
    const addresses = address === null ? adminAddresses(mail, documents) : [address];
    if (addresses.length === 0) {
      const message = 'no administrator has a mail address: name one, or set [mail] ADMINS';
      throw new SoftquotaError('invalid', message);
    }
    const faults = await Promise.all(
      addresses.map(async (to, index) => {
        const target: Target = { via: 'mail', address: to, ownerId: null, aboutId: null };
        const fault = await this.#sender.deliver(`${id}-${index}`, notice, target);
        return fault === null ? [] : [`${printable(to)}: ${fault}`];
      }),
    );
    return faults.flat()[0] ?? null;
  }

  /** Stops, ends running deliveries (see `Sender`), and writes the queue. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#ticks.idle();
    await this.#sender.close();
    await this.#queue.save().catch(() => false);
  }

  #next(afterMs: number): void {
    if (this.#isClosed || !this.isOn) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      await this.tick();
      this.#next(everyMs);
    }, afterMs).unref();
  }

  async #tick(): Promise<void> {
    if (this.#isClosed || !this.isOn) return;
    const { now, host } = this.#options;
    for (const notice of this.#faultNotices(now())) this.#add(notice, host);
    if (await this.#lead()) await this.#tryTo('events could not be read', () => this.#read());
    this.#queue.bound();
    // Reading may take longer than the lease lasts.
    if (!(await this.#lead())) this.#queue.leaveToOthers();
    await this.#tryTo('notices could not be written', async () => {
      await this.#queue.save();
    });
    this.#sender.begin(delivery => (delivery.host === null ? this.#isLeading : delivery.host === host));
  }

  /** Tries to become, or stay, the one of several hosts that reads events and sends for all. */
  async #lead(): Promise<boolean> {
    const at = performance.now();
    if (at - this.#leaseTakenAt >= takeLeaseMs) {
      this.#leaseTakenAt = at;
      const had = at < this.#leasedUntil;
      try {
        this.#leasedUntil = (await this.#options.documents.takeLease(lease)) ? at + leaseMs : 0;
      } catch {
        // The store is away, and reports this itself. A lease that this host has is valid until its end.
      }
      if (!had) this.#wholeAt = Number.NEGATIVE_INFINITY;
    }
    return this.#isLeading;
  }

  get #isLeading(): boolean {
    return performance.now() < this.#leasedUntil;
  }

  async #read(): Promise<void> {
    const { events, now } = this.#options;
    const at = now();
    const before = this.#queue.documents.get(positionKind, positionKey);
    // A floor in the future comes from a wrong clock.
    if (before === undefined || before.floor > at) {
      this.#queue.documents.put(positionKind, positionKey, {
        floor: at,
        seen: before?.seen ?? [],
        digestAt: null,
      });
      this.#options.log.info({}, 'notices are made of what happens from now on');
      return;
    }
    const isWhole = Math.abs(at - this.#wholeAt) >= wholeEveryMs;
    const since = isWhole ? 0 : this.#readAt - writtenMs;
    const { notices, position } = await readNotices(events, before, { now: at, since });
    if (isWhole) this.#wholeAt = at;
    this.#readAt = at;
    for (const notice of notices) this.#add(notice, null);
    if (JSON.stringify(position.seen) !== JSON.stringify(before.seen))
      this.#queue.documents.put(positionKind, positionKey, position);
    await this.#tryTo('the summary could not be made', async () => {
      const digestAt = await this.#digest(position, at);
      if (digestAt !== position.digestAt)
        this.#queue.documents.put(positionKind, positionKey, { ...position, digestAt });
    });
  }

  /** Makes the summary if it is due; returns the time of the last one. */
  async #digest({ digestAt }: ReadPosition, now: number): Promise<number | null> {
    const { mail } = this.#settings;
    if (mail === null || mail.digest === null) return null;
    // Summaries have just been switched on, so the first one is due later.
    if (digestAt === null) return now;
    // A summary covers no more than this time, even if older ones were missed.
    const since = Math.max(digestAt, now - mostDigestMs);
    const due = new Cron(mail.digest, { mode: '5-part', paused: true }).nextRun(new Date(since));
    if (due === null || due.getTime() > now) return digestAt;
    const dead = this.deliveries().filter(([, { state }]) => state === 'dead').length;
    const data = summaryValues(await this.#options.summary(since), dead);
    const id = `digest-${due.toISOString().replaceAll(/\W/g, '')}`;
    this.#add({ id, type: 'digest', at: now, owner: null, message: 'Summary', data }, null);
    return now;
  }

  #add(notice: NoticeDocument, host: string | null): void {
    const { documents, now } = this.#options;
    for (const to of recipientsOf(notice, this.#settings, documents)) {
      this.#queue.add(notice, to, host, now());
    }
  }

  async #tryTo(words: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#faults.delete(words);
    } catch (error) {
      // The store reports this failure itself.
      if (error instanceof SoftquotaError && error.code === 'store_away') return;
      if (!this.#faults.has(words)) this.#options.log.error({ err: error }, words);
      this.#faults.add(words);
    }
  }
}
