/** Delivers one notice to one place, at once, with the link by which its owner unsubscribes. */

import type { Documents } from '../documents/index.ts';
import { wantsMail } from '../identity/index.ts';
import type { Log } from '../log.ts';
import type { SecretKeys } from '../oauth/index.ts';
import { isoTime } from '../text/index.ts';
import type { Delivery, NoticeDocument, Target } from './kinds.ts';
import type { NoticeSettings } from './recipients.ts';
import type { MailTemplates, RenderedMail } from './templates.ts';
import { adminView, digestView, ownerView, type ViewOptions } from './views.ts';

export interface DeliverOptions extends ViewOptions {
  readonly documents: Pick<Documents, 'snapshot'>;
  readonly keys: SecretKeys;
  readonly log: Pick<Log, 'error'>;
  /** Settings as they are now. */
  settings(): NoticeSettings;
  /** Milliseconds since 1970. */
  now(): number;
}

/** The id of a delivery, with what is to be delivered. */
interface Sending extends Pick<Delivery, 'notice' | 'to'> {
  readonly id: string;
  readonly signal: AbortSignal;
}

const mostBodyBytes = 65_536;

export class Deliverer {
  readonly #options: DeliverOptions;
  #templates: { readonly of: string | null; readonly read: MailTemplates } | null = null;

  constructor(options: DeliverOptions) {
    this.#options = options;
  }

  /** Reads the templates again before the next mail. */
  reconfigure(): void {
    this.#templates = null;
  }

  /** Null: it was delivered, or nobody wants it any more; else why not. */
  deliver({ id, notice, to, signal }: Sending): Promise<string | null> {
    return to.via === 'webhook' ? this.#post(notice, to.name, signal) : this.#mail(id, notice, to);
  }

  async #post(notice: NoticeDocument, name: string, signal: AbortSignal): Promise<string | null> {
    const { settings, now } = this.#options;
    const hook = settings().webhooks.find(one => one.name === name);
    if (hook === undefined) return `there is no section [webhook.${name}] any more`;
    const { postWebhook } = await import('./webhook.ts');
    return postWebhook(hook, { id: notice.id, body: bodyOf(notice), now: now(), signal });
  }

  async #mail(
    id: string,
    notice: NoticeDocument,
    { address, ownerId }: Extract<Target, { readonly via: 'mail' }>,
  ): Promise<string | null> {
    const { settings, documents, keys, baseUrl } = this.#options;
    const { mail } = settings();
    if (mail === null) return 'there is no [mail] HOST any more';
    if (ownerId !== null && !wantsMail(documents.snapshot, ownerId)) return null;
    const unsubscribe = ownerId === null ? null : unsubscribeLink(keys, ownerId, baseUrl());
    const rendered = await this.#rendered(notice, mail.templates, unsubscribe);
    const { sendMail } = await import('./mailer.ts');
    const messageId = `${id}@${new URL(baseUrl()).hostname}`;
    return sendMail(mail, { ...rendered, to: address, messageId, unsubscribe, at: notice.at });
  }

  async #rendered(
    notice: NoticeDocument,
    directory: string | null,
    unsubscribe: string | null,
  ): Promise<RenderedMail> {
    const options = this.#options;
    const templates = await this.#templatesIn(directory);
    if (notice.type === 'digest') return templates.render('digest', digestView(options, notice));
    if (unsubscribe === null) return templates.render('admin', adminView(options, notice));
    return templates.render('owner', await ownerView(options, notice, unsubscribe));
  }

  async #templatesIn(directory: string | null): Promise<MailTemplates> {
    if (this.#templates?.of !== directory) {
      const { readMailTemplates } = await import('./templates.ts');
      this.#templates = { of: directory, read: readMailTemplates(directory, this.#options.log) };
    }
    return this.#templates.read;
  }
}

/** Body in the form of Standard Webhooks. */
function bodyOf({ type, at, data }: NoticeDocument): string {
  const body = (of: object) => JSON.stringify({ type, timestamp: isoTime(at), data: of });
  const whole = body(data);
  if (Buffer.byteLength(whole) <= mostBodyBytes) return whole;
  const { changes: _, ...others } = data;
  return body({ ...others, is_shortened: true });
}

const purpose = 'unsubscribe from notices';

/** `baseUrl` ends with a slash. */
export function unsubscribeLink(keys: SecretKeys, ownerId: number, baseUrl: string): string {
  const address = new URL('unsubscribe', baseUrl);
  address.searchParams.set('token', keys.seal(String(ownerId), purpose));
  return address.href;
}

/** The id of the owner; null: it is no such token. */
export function ownerUnsubscribing(keys: SecretKeys, token: string): number | null {
  const opened = keys.open(token, purpose);
  return opened !== null && /^\d{1,16}$/.test(opened) ? Number(opened) : null;
}
