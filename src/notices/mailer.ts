/** Sends mails to the SMTP server. */

import { createTransport, type SMTPTransportOptions } from 'nodemailer';
import type { MailSettings } from '../config/index.ts';
import { messageOf } from '../errors.ts';
import { printable } from '../text.ts';
import type { RenderedMail } from './templates.ts';
import { certificateFault } from './webhook.ts';

const connectMs = 10_000;
const silentMs = 15_000;
/** Time limit of a mail; short, since an administrator waits for a test mail. */
const wholeMs = 25_000;

interface OutgoingMail extends RenderedMail {
  readonly to: string;
  /** The message id without the brackets. */
  readonly messageId: string;
  /** The address to unsubscribe; null: the recipient cannot unsubscribe. */
  readonly unsubscribe: string | null;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/** Sends a mail. Returns null if the server has accepted it, or else the reason. */
export async function sendMail(settings: MailSettings, mail: OutgoingMail): Promise<string | null> {
  const transport = createTransport(transportOptions(settings));
  const { unsubscribe } = mail;
  const timeout = AbortSignal.timeout(wholeMs);
  // RFC 8058: one click in the mail program unsubscribes.
  const unsubscribing = unsubscribe !== null && {
    'List-Unsubscribe': `<${unsubscribe}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  };
  try {
    await transport.sendMail({
      from: settings.from,
      to: { name: '', address: mail.to },
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      date: new Date(mail.at),
      messageId: `<${mail.messageId}>`,
      headers: { 'Auto-Submitted': 'auto-generated', ...unsubscribing },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal: AbortSignal.any([mail.signal, timeout]),
    });
    return null;
  } catch (error) {
    if (timeout.aborted) return `no answer within ${wholeMs / 1000} s`;
    if (mail.signal.aborted) return 'the daemon stopped before there was an answer';
    const { host, port } = settings;
    return printable(certificateFault(error, `${host}:${port}`) ?? messageOf(error)).slice(0, 300);
  } finally {
    transport.close();
  }
}

function transportOptions(settings: MailSettings): SMTPTransportOptions {
  const { host, port, tls, user, password } = settings;
  return {
    host,
    port,
    secure: tls === 'tls',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(user === null || password === null ? {} : { auth: { user, pass: password } }),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    dnsTimeout: connectMs,
    socketTimeout: silentMs,
    logger: false,
  };
}
