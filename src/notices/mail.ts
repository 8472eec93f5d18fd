/**
 * Mails: their templates, those in `[mail] TEMPLATES` or else those of the package, and the SMTP server.
 *
 * A template is text with `{{name}}` for a value, and `{{#name}}…{{/name}}` for a part that is repeated for
 * each entry of a list, or is there once if the value is not empty; `{{^name}}…{{/name}}` is there if it is
 * empty. A template cannot run code or read files.
 */

import { join } from 'node:path';
import { createTransport, type SMTPTransportOptions } from 'nodemailer';
import { readBounded } from '../bounded/index.ts';
import type { MailSettings } from '../config/index.ts';
import { messageOf } from '../errors.ts';
import type { Log } from '../log.ts';
import { templatesDirectory } from '../package.ts';
import { escapeHtml, printable } from '../text.ts';
import { certificateFault } from './webhook.ts';

/** The kinds of mails; each has a template for text and one for HTML. */
export type MailName = 'owner' | 'admin' | 'digest';

interface RenderedMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

interface Pair {
  readonly subject: MailTemplate;
  readonly text: MailTemplate;
  readonly html: MailTemplate;
}

const common = ['message', 'site', 'at', 'host'];
const names: Readonly<Record<MailName, ReadonlySet<string>>> = {
  owner: new Set([
    ...common,
    ...['owner', 'used', 'limit', 'percent', 'what', 'grace_until', 'grace_below', 'kinds', 'largest'],
    ...['name', 'size', 'page', 'unsubscribe'],
  ]),
  admin: new Set([...common, 'owner', 'details', 'name', 'value', 'page']),
  digest: new Set([
    ...common,
    ...['since', 'owners', 'over', 'grace', 'near', 'stored', 'growth', 'promised', 'free', 'full_at'],
    ...['refusals', 'requests', 'dead', 'worst', 'name', 'state', 'percent', 'page'],
  ]),
};

const subjectLine = /^Subject: ([^\n]{1,500})\n+/;
const longestSubject = 150;

export interface MailTemplates {
  render(name: MailName, view: View): RenderedMail;
}

/**
 * Reads the templates. Logs an invalid file in the administrator's `directory`, and uses that of the package.
 */
export function readMailTemplates(directory: string | null, log: Pick<Log, 'error'>): MailTemplates {
  const read = (name: MailName): Pair => {
    const text = found(`${name}.txt`, directory, log, written => textOf(written, names[name]));
    const html = found(`${name}.html`, directory, log, written => parseMailTemplate(written, names[name]));
    return { ...text, html };
  };
  const pairs = { owner: read('owner'), admin: read('admin'), digest: read('digest') };
  return { render: (name, view) => rendered(pairs[name], view) };
}

function rendered(pair: Pair, view: View): RenderedMail {
  const plain = (value: string) => value;
  const subject = render(pair.subject, view, plain).replaceAll(/\s+/g, ' ').trim();
  return {
    subject: subject.length > longestSubject ? `${subject.slice(0, longestSubject - 1)}…` : subject,
    text: render(pair.text, view, plain),
    html: render(pair.html, view, escapeHtml),
  };
}

function found<T>(
  name: string,
  directory: string | null,
  log: Pick<Log, 'error'>,
  read: (text: string) => T,
): T {
  const own = directory === null ? null : join(directory, name);
  if (own !== null) {
    try {
      const text = textIn(own);
      if (text !== null) return read(text);
    } catch (error) {
      const why = messageOf(error);
      log.error({ file: own, why }, `the template ${own} cannot be used, so that of the package is: ${why}`);
    }
  }
  const text = textIn(join(templatesDirectory, name));
  if (text === null) throw new Error(`the package has no template ${name}`);
  return read(text);
}

function textOf(written: string, values: ReadonlySet<string>): Pick<Pair, 'subject' | 'text'> {
  const [line, subject] = subjectLine.exec(written) ?? [];
  if (line === undefined || subject === undefined) throw new Error('does not begin with a line Subject: …');
  return {
    subject: parseMailTemplate(subject, values),
    text: parseMailTemplate(written.slice(line.length), values, 1 + linesBefore(line, line.length)),
  };
}

/** Reads a file; null: there is none. */
function textIn(path: string): string | null {
  const file = readBounded(path, { follow: true });
  if (file.kind === 'absent') return null;
  if (file.kind !== 'file' || !file.whole) throw new Error('not a file of at most 1 MiB');
  return file.bytes.toString('utf8');
}

export interface View {
  readonly [name: string]: string | readonly View[];
}

type MailTemplate = readonly Part[];

type Part =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'value'; readonly name: string }
  | {
      readonly is: 'section';
      readonly name: string;
      readonly isInverted: boolean;
      readonly parts: Part[];
    };

const mostCharacters = 262_144;
const mostRendered = 1_000_000;
const mark = /\{\{([#^/]?)\s{0,9}(\w{1,40})\s{0,9}\}\}/g;

/**
 * Parses a template. Throws an Error that names the line. `names`: known values; `firstLine`: that of `text`.
 */
function parseMailTemplate(text: string, names: ReadonlySet<string>, firstLine = 1): MailTemplate {
  if (text.length > mostCharacters) throw new Error(`longer than ${mostCharacters} characters`);
  const whole: Part[] = [];
  const open: { readonly name: string; readonly parts: Part[]; readonly line: number }[] = [];
  let at = 0;
  const parts = () => open.at(-1)?.parts ?? whole;
  const lineAt = (place: number) => firstLine + linesBefore(text, place);
  for (const match of text.matchAll(mark)) {
    const [written, sign = '', name = ''] = match;
    const line = lineAt(match.index);
    parts().push({ is: 'text', text: text.slice(at, match.index) });
    at = match.index + written.length;
    // A section mark alone on its line leaves no empty line.
    const isAlone = (match.index === 0 || text[match.index - 1] === '\n') && text[at] === '\n';
    if (sign !== '' && isAlone) at += 1;
    if (!names.has(name)) {
      throw new Error(`line ${line}: there is no value ${name}; known are ${[...names].join(', ')}`);
    }
    if (sign === '') parts().push({ is: 'value', name });
    else if (sign === '/') {
      const last = open.pop();
      if (last?.name !== name) throw new Error(`line ${line}: ${written} ends nothing that is open`);
    } else {
      const inner: Part[] = [];
      parts().push({ is: 'section', name, isInverted: sign === '^', parts: inner });
      open.push({ name, parts: inner, line });
    }
  }
  const [unended] = open;
  if (unended !== undefined) throw new Error(`line ${unended.line}: {{#${unended.name}}} has no end`);
  const rest = text.slice(at);
  if (rest.includes('{{')) throw new Error(`line ${lineAt(at + rest.indexOf('{{'))}: {{ is not closed`);
  whole.push({ is: 'text', text: rest });
  return whole;
}

/** Renders a template. `escaped` escapes values. Values of an inner list hide outer ones of the same name. */
function render(template: MailTemplate, view: View, escaped: (value: string) => string): string {
  let left = mostRendered;
  const rendered = (parts: MailTemplate, values: View): string => {
    let text = '';
    for (const part of parts) {
      text += rendering(part, values);
      if (text.length > left) throw new Error(`more than ${mostRendered} characters`);
    }
    left -= text.length;
    return text;
  };
  const rendering = (part: Part, values: View): string => {
    if (part.is === 'text') return part.text;
    const value = values[part.name] ?? '';
    if (part.is === 'value') return typeof value === 'string' ? escaped(value) : '';
    if (part.isInverted) return value.length === 0 ? rendered(part.parts, values) : '';
    if (typeof value === 'string') return value === '' ? '' : rendered(part.parts, values);
    return value.map(entry => rendered(part.parts, { ...values, ...entry })).join('');
  };
  return rendered(template, view);
}

function linesBefore(text: string, at: number): number {
  return text.slice(0, at).split('\n').length - 1;
}

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
