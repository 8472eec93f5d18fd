/** Delivers due notices, a few at a time to each place. Repeats failed attempts after growing pauses. */

import type { Documents } from '../documents/index.ts';
import type { SecretKeys } from '../identity/index.ts';
import type { Log } from '../log.ts';
import { isoTime } from '../text.ts';
import type { NoticePlace } from '../wire/index.ts';
import {
  type Delivery,
  type DeliveryQueue,
  deliveryKind,
  type NoticeDocument,
  type Target,
} from './deliveries.ts';
import type { MailTemplates } from './mail.ts';
import { type MailTarget, type NoticeSettings, ownerInMail } from './recipients.ts';
import { mailView, type ViewOptions } from './views.ts';

export interface SenderOptions extends ViewOptions {
  readonly documents: Pick<Documents, 'owners' | 'snapshot'>;
  readonly keys: SecretKeys;
  readonly queue: DeliveryQueue;
  readonly log: Pick<Log, 'error' | 'warn'>;
  settings(): NoticeSettings;
  /** Milliseconds since 1970. */
  now(): number;
}

/** Counts of deliveries to one place since the start of the daemon. */
type Sent = Pick<NoticePlace, 'failed' | 'last_sent_at' | 'sent'>;

/** Tells whether this host sends a delivery now. */
type IsMine = (delivery: Delivery) => boolean;

const nothingSent: Sent = { sent: 0, failed: 0, last_sent_at: null };
const mostAtOnce = 4;
const firstWaitMs = 2000;
const longestWaitMs = 6 * 3_600_000;
const growth = 4;
const giveUpMs = 3 * 86_400_000;
/** Milliseconds for running deliveries when the daemon stops; the gate needs most of that time. */
const lastMs = 1000;

export class Sender {
  readonly #options: SenderOptions;
  readonly #sending = new Map<string, Promise<void>>();
  readonly #busy = new Map<string, number>();
  /** Due deliveries by place, which wait for the end of another one. */
  #waiting = new Map<string, (readonly [id: string, delivery: Delivery])[]>();
  readonly #sent = new Map<string, Sent>();
  readonly #end = new AbortController();
  #templates: { readonly of: string | null; readonly read: MailTemplates } | null = null;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  sentTo(place: string): Sent {
    return this.#sent.get(place) ?? nothingSent;
  }

  /** Begins to send due deliveries, faults first. */
  begin(isMine: IsMine): void {
    const { queue, now } = this.#options;
    const due = [...queue.documents.all(deliveryKind)]
      .filter(([id, delivery]) => {
        const isDue = delivery.state === 'pending' && delivery.nextAt <= now();
        return isDue && isMine(delivery) && !this.#sending.has(id);
      })
      .sort(([, a], [, b]) => rankOf(a) - rankOf(b) || a.nextAt - b.nextAt || a.createdAt - b.createdAt);
    this.#waiting = Map.groupBy(due, ([, { to }]) => placeNameOf(to));
    for (const place of this.#waiting.keys()) {
      for (let started = 0; started < mostAtOnce; started++) this.#startNext(place, isMine);
    }
  }

  /** Starts the next delivery to a place, and after a successful one at once the next. */
  #startNext(place: string, isMine: IsMine): void {
    const busy = this.#busy.get(place) ?? 0;
    if (this.#end.signal.aborted || busy >= mostAtOnce) return;
    const [id = ''] = this.#waiting.get(place)?.shift() ?? [];
    const delivery = this.#options.queue.documents.get(deliveryKind, id);
    if (delivery?.state !== 'pending' || !isMine(delivery)) return;
    this.#busy.set(place, busy + 1);
    const sending = this.#send(id, delivery, place, isMine).then(isSent => {
      this.#busy.set(place, (this.#busy.get(place) ?? 1) - 1);
      this.#sending.delete(id);
      if (isSent) this.#startNext(place, isMine);
    });
    this.#sending.set(id, sending);
  }

  async settled(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending.values());
  }

  /**
   * Waits for running deliveries, and aborts slow ones, which are tried again after the next start. A mail
   * that the server accepted just then comes twice: the daemon has no time to wait for the answer.
   */
  async close(): Promise<void> {
    this.#waiting.clear();
    const timer = setTimeout(() => this.#end.abort(), lastMs);
    await this.settled();
    clearTimeout(timer);
    this.#end.abort();
  }

  /** Returns true if the delivery is over without a fault. */
  async #send(id: string, delivery: Delivery, place: string, isMine: IsMine): Promise<boolean> {
    const { notice, to } = delivery;
    const { queue, log, now } = this.#options;
    let fault: string | null;
    try {
      fault = await this.deliver(id, notice, to);
    } catch (error) {
      // A bug, which would happen again, must not stop other deliveries.
      log.error({ err: error, notice: notice.id }, 'a notice could not be made up');
      fault = 'internal error; the log has more';
    }
    // Another host may have the delivery meanwhile, and knows better.
    if (fault === null || isMine(delivery)) this.#take(id, place, fault);
    await queue.save().catch(error => {
      log.error({ err: error, at: now() }, 'what was delivered could not be written');
    });
    return fault === null;
  }

  #take(id: string, place: string, fault: string | null): void {
    const { queue, log, now, settings } = this.#options;
    const delivery = queue.documents.get(deliveryKind, id);
    const before = this.sentTo(place);
    const at = now();
    if (fault === null) {
      this.#sent.set(place, { ...before, sent: before.sent + 1, last_sent_at: isoTime(at) });
      if (delivery !== undefined) queue.documents.remove(deliveryKind, id);
      return;
    }
    this.#sent.set(place, { ...before, failed: before.failed + 1 });
    if (delivery === undefined) return;
    const attempts = delivery.attempts + 1;
    const { to } = delivery;
    const isWanted = to.via === 'mail' || settings().webhooks.some(({ name }) => name === to.name);
    const endsAt = delivery.createdAt + (isWanted ? giveUpMs : 0);
    const isOver = at >= endsAt;
    // Waits for 2 s, 8 s, 32 s … 6 h.
    const waitMs = Math.min(firstWaitMs * growth ** (attempts - 1), longestWaitMs);
    const nextAt = isOver ? at : Math.min(at + waitMs, endsAt);
    const state = isOver ? 'dead' : 'pending';
    queue.documents.put(deliveryKind, id, { ...delivery, attempts, fault, state, nextAt });
    const told = { delivery: id, to: place, attempts, fault };
    if (isOver) log.warn(told, 'a notice could not be delivered: softquota notices send-again tries again');
    else if (attempts === 1) log.warn(told, 'a notice could not be delivered yet');
  }

  /** Reads the templates again before the next mail. */
  reconfigure(): void {
    this.#templates = null;
  }

  /** Delivers a notice. Returns null if it is delivered or no longer wanted, or else the reason. */
  deliver(id: string, notice: NoticeDocument, to: Target): Promise<string | null> {
    return to.via === 'webhook' ? this.#post(notice, to.name) : this.#mail(id, notice, to);
  }

  async #post(notice: NoticeDocument, name: string): Promise<string | null> {
    const { settings, now } = this.#options;
    const hook = settings().webhooks.find(one => one.name === name);
    if (hook === undefined) return `there is no section [webhook.${name}] any more`;
    const { postWebhook } = await import('./webhook.ts');
    return postWebhook(hook, { id: notice.id, body: bodyOf(notice), now: now(), signal: this.#end.signal });
  }

  async #mail(id: string, notice: NoticeDocument, to: MailTarget): Promise<string | null> {
    const { address, ownerId } = to;
    const options = this.#options;
    const { settings, documents, keys, baseUrl } = options;
    const { mail } = settings();
    if (mail === null) return 'there is no [mail] HOST any more';
    const owner = ownerId === null ? notice.owner : ownerInMail(notice, to, documents);
    if (owner === undefined) return null;
    const token = ownerId === null ? null : keys.seal(String(ownerId), purpose);
    const unsubscribe = token && `${baseUrl()}unsubscribe?${new URLSearchParams({ token })}`;
    const [name, view] = await mailView(options, { ...notice, owner }, unsubscribe);
    const templates = await this.#templatesIn(mail.templates);
    const { sendMail } = await import('./mail.ts');
    const rendered = templates.render(name, view);
    const messageId = `${id}@${new URL(baseUrl()).hostname}`;
    const { signal } = this.#end;
    return sendMail(mail, { ...rendered, to: address, messageId, unsubscribe, at: notice.at, signal });
  }

  async #templatesIn(directory: string | null): Promise<MailTemplates> {
    if (this.#templates?.of !== directory) {
      const { readMailTemplates } = await import('./mail.ts');
      this.#templates = { of: directory, read: readMailTemplates(directory, this.#options.log) };
    }
    return this.#templates.read;
  }
}

const mostBodyBytes = 65_536;

function rankOf({ notice }: Delivery): number {
  return notice.type === 'fault' ? 0 : 1;
}

export function placeNameOf(to: Target): string {
  return to.via === 'webhook' ? to.name : 'mail';
}

/** Returns the body in the format of Standard Webhooks; leaves out the changes if it is too long. */
function bodyOf({ type, at, data }: NoticeDocument): string {
  const body = (of: object) => JSON.stringify({ type, timestamp: isoTime(at), data: of });
  const whole = body(data);
  if (Buffer.byteLength(whole) <= mostBodyBytes) return whole;
  const { changes: _, ...others } = data;
  return body({ ...others, is_shortened: true });
}

const purpose = 'unsubscribe from notices';

/** Returns the id of the owner in an unsubscribe token; null: the token is invalid. */
export function ownerUnsubscribing(keys: SecretKeys, token: string): number | null {
  const opened = keys.open(token, purpose);
  return opened !== null && /^\d{1,16}$/.test(opened) ? Number(opened) : null;
}
