/** The keys of notices: where webhooks go, and how mails are sent. */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { type ConfigEntry, key, keysOf, type Values, type ValuesOf } from './key.ts';
import * as kind from './kinds.ts';

export const noticeTypes = [
  'threshold',
  'grace',
  'refusal',
  'request',
  'allowance',
  'policy',
  'fault',
] as const;

export type NoticeType = (typeof noticeTypes)[number];

const typesExpected = `Write some of ${noticeTypes.join(', ')}, separated by commas`;
const types = kind.listOf(kind.oneOf(noticeTypes), typesExpected);

const hookUrl = kind.textKind(text => {
  if (text.length > 2000) return 'too long';
  return isHookUrl(text) ? null : 'not an http or https address without a user and a fragment';
}, 'Write an address such as https://chat.example/hooks/softquota');

function isHookUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.username === '' && url.password === '' && !text.includes('#');
}

/** Secrets in the form of Standard Webhooks: base64 of 24 to 64 bytes. */
const hookSecrets = kind.secrets(
  ',',
  isHookSecret,
  'not a secret',
  'Write whsec_ and 24 to 64 random bytes in base64, such as `echo whsec_$(openssl rand -base64 32)` prints; a previous secret can follow, separated by a comma',
);

function isHookSecret(text: string): boolean {
  const base64 = text.replace(/^whsec_/, '');
  if (base64.length > 100 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return false;
  const { length } = Buffer.from(base64, 'base64');
  return base64.length % 4 === 0 && length >= 24 && length <= 64;
}

const mailbox = /^[^\s@<>,;:"()[\]\\]{1,64}@[A-Za-z0-9.-]{1,253}$/;

const mailAddress: kind.ValueType<string> = kind.matching(
  mailbox,
  'not a mail address',
  'Write a mail address such as root@git.example',
);

const senderAddress: kind.ValueType<string> = kind.matching(
  isSender,
  'not a mail address',
  'Write a mail address such as quota@git.example, or softquota <quota@git.example>',
);

function isSender(text: string): boolean {
  const [, name, address = ''] = /^([^<>\p{Cc}]{1,100})<([^<>]{1,320})>$/u.exec(text) ?? [];
  return mailbox.test(name === undefined ? text : address);
}

export const webhookSection = /^webhook\.[a-z0-9_-]{1,40}$/;

export function webhookKeys(section: string) {
  return keysOf(section, {
    url: key('URL', kind.optional(hookUrl), {
      doc: 'The address that notices are posted to. It is not shown anywhere, since it may contain a key.',
      example: 'https://chat.example/hooks/softquota',
      secret: 'whole',
    }),
    secrets: key('SECRET', hookSecrets, {
      doc: 'The secret that notices are signed with, as the receiver has it: `whsec_` and 24 to 64 bytes in base64. While a second one follows it, separated by a comma, each notice has a signature by both.',
      example: 'whsec_UkVQTEFDRS1USElTLUJZLVJBTkRPTS1CWVRFUw==',
      secret: 'whole',
    }),
    events: key('EVENTS', types, {
      words: 'all',
      doc: `The notices that are sent there: ${noticeTypes.join(', ')}.`,
      example: 'threshold, refusal, fault',
    }),
    allowPrivate: key('ALLOW_PRIVATE', kind.networks, {
      doc: 'Addresses inside your own network that may be connected to. Without it, loopback, private, link-local and other special addresses are refused, whatever name or redirect leads there.',
      example: '10.1.2.3',
    }),
  });
}

export const mail = keysOf('mail', {
  host: key('HOST', kind.optional(kind.listenAddress), {
    doc: 'The SMTP server that mails are handed to. Without it no mail is sent.',
    example: 'mail.example',
  }),
  port: key('PORT', kind.wholeNumber(1, 65_535), {
    text: '587',
    doc: 'Its port.',
  }),
  tls: key('TLS', kind.oneOf(['starttls', 'tls', 'none']), {
    text: 'starttls',
    doc: '`starttls` (required of the server), `tls` from the first byte on (port 465), or `none`.',
  }),
  user: key('USER', kind.optional(kind.line), {
    doc: 'The user to sign in as at the SMTP server.',
    example: 'softquota',
  }),
  password: key('PASSWORD', kind.optional(kind.line), {
    doc: 'The password of USER; better in a file that SOFTQUOTA__MAIL__PASSWORD__FILE names.',
    example: 'a password',
    secret: 'whole',
  }),
  from: key('FROM', kind.optional(senderAddress), {
    doc: 'The sender of mails, with or without a name.',
    example: 'softquota <quota@git.example>',
  }),
  admins: key(
    'ADMINS',
    kind.listOf(mailAddress, 'Write mail addresses, separated by commas, such as root@git.example'),
    {
      words: 'all administrators with an address',
      doc: 'Where mails to administrators go.',
      example: 'root@git.example',
    },
  ),
  ownerEvents: key('OWNER_EVENTS', types, {
    text: 'threshold, grace, request, allowance',
    doc: 'The notices that owners get by mail if they are about them: threshold, grace, refusal, request and allowance can be.',
  }),
  adminEvents: key('ADMIN_EVENTS', types, {
    text: 'request, fault',
    doc: `The notices that administrators get by mail: ${noticeTypes.join(', ')}.`,
  }),
  digest: key('DIGEST', kind.optional(kind.cron), {
    text: '0 8 * * 1',
    doc: 'When administrators get a summary of the time since the one before, as a cron expression in local time; empty: never.',
  }),
  templates: key('TEMPLATES', kind.optional(kind.path), {
    words: 'those of the package',
    doc: 'A directory with templates of your own. Each file there replaces the one of the same name of the package.',
    example: '/etc/softquota/mail',
  }),
});

export type WebhookSettings = ValuesOf<ReturnType<typeof webhookKeys>> & {
  readonly name: string;
  readonly url: string;
};

export type MailSettings = ValuesOf<typeof mail> & { readonly host: string; readonly from: string };

const mostWebhooks = 50;

export function webhookSettings(entries: readonly ConfigEntry[], values: Values): readonly WebhookSettings[] {
  const sections = new Set(
    entries.map(({ section }) => section).filter(section => webhookSection.test(section)),
  );
  return [...sections].sort().flatMap((section, index): WebhookSettings[] => {
    const keys = webhookKeys(section);
    const { url, ...settings } = values.takeAll(keys);
    if (url === null) values.refuse(keys.url, `is missing. ${keys.url.expected}.`);
    if (settings.secrets.length === 0) values.refuse(keys.secrets, `is missing. ${keys.secrets.expected}.`);
    if (section === 'webhook.mail') {
      const message = 'a webhook cannot have the name mail, which stands for mails: rename the section.';
      values.refuse(keys.url, message);
    }
    if (index >= mostWebhooks) values.refuse(keys.url, `at most ${mostWebhooks} webhooks are possible.`);
    return url === null ? [] : [{ name: section.slice('webhook.'.length), url, ...settings }];
  });
}

/** Null without HOST. */
export function mailSettings(values: Values, base: string, rootUrl: string | null): MailSettings | null {
  const settings = values.takeAll(mail);
  const { host, from, tls, user, password, templates } = settings;
  if (host === null) return null;
  if (from === null) values.refuse(mail.from, `is missing. ${mail.from.expected}.`);
  if (rootUrl === null) {
    const message = 'mails contain links, which need [server] ROOT_URL, such as https://git.example/quota/.';
    values.refuse(mail.host, message);
  }
  if (user !== null && password === null) {
    values.refuse(mail.user, 'needs PASSWORD, or SOFTQUOTA__MAIL__PASSWORD__FILE with the name of a file.');
  }
  if (password !== null && tls === 'none' && !isThisHost(host)) {
    const message =
      'would send the password in clear to another host. Write starttls or tls, or leave USER out.';
    values.refuse(mail.tls, message);
  }
  return {
    ...settings,
    host,
    from: from ?? '',
    templates: templates === null ? null : resolve(base, templates),
  };
}

function isThisHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
