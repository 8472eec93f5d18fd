/** The `[webhook.NAME]` sections and `[mail]`. */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { MailSettings, WebhookSettings } from './config.ts';
import type { ConfigEntry } from './fault.ts';
import { mail, webhookKeys, webhookSection } from './keys-notices.ts';
import type { Values } from './values.ts';

const mostWebhooks = 50;

/** In the order of their names. */
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
      values.refuse(
        keys.url,
        'a webhook cannot have the name mail, which stands for mails: rename the section.',
      );
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
    values.refuse(
      mail.host,
      'mails contain links, which need [server] ROOT_URL, such as https://git.example/quota/.',
    );
  }
  if (user !== null && password === null) {
    values.refuse(mail.user, 'needs PASSWORD, or SOFTQUOTA__MAIL__PASSWORD__FILE with the name of a file.');
  }
  if (password !== null && tls === 'none' && !isThisHost(host)) {
    values.refuse(
      mail.tls,
      'would send the password in clear to another host. Write starttls or tls, or leave USER out.',
    );
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
