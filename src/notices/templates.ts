/** The templates of mails: those of the package, and in their place those of `[mail] TEMPLATES`. */

import { join } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { messageOf } from '../errors.ts';
import type { Log } from '../log.ts';
import { templatesDirectory } from '../package.ts';
import { escapeHtml } from '../text/index.ts';
import { type MailTemplate, parseMailTemplate, render, type View } from './template.ts';

/** The mails that there are; each has a template for text and one for HTML. */
type MailName = 'owner' | 'admin' | 'digest';

export interface RenderedMail {
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
    ...[
      'owner',
      'used',
      'limit',
      'percent',
      'what',
      'grace_until',
      'grace_below',
      'kinds',
      'largest',
      'name',
      'size',
      'page',
      'unsubscribe',
    ],
  ]),
  admin: new Set([...common, 'owner', 'details', 'name', 'value', 'page']),
  digest: new Set([
    ...common,
    ...['since', 'owners', 'over', 'near', 'stored', 'growth', 'promised', 'free', 'full_at', 'refusals'],
    ...['requests', 'dead', 'worst', 'name', 'state', 'percent', 'page'],
  ]),
};

const subjectLine = /^Subject: ([^\n]{1,500})\n+/;
const longestSubject = 150;

export interface MailTemplates {
  render(name: MailName, view: View): RenderedMail;
}

/** `directory`: an administrator's own. A file there that is no template is told, and not used. */
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
    text: parseMailTemplate(written.slice(line.length), values),
  };
}

/** Null: there is no such file. */
function textIn(path: string): string | null {
  const file = readBounded(path, { follow: true });
  if (file.kind === 'absent') return null;
  if (file.kind !== 'file' || !file.whole) throw new Error('not a file of at most 1 MiB');
  return file.bytes.toString('utf8');
}
