/** `[webhook.NAME]` and `[mail]`: what is taken, refused, and never shown. */

import t from 'tap';
import { merged } from '../../src/config/index.ts';
import { configOf, faultsOf, load, loadText } from './written.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const hook = `[webhook.chat]\nURL = https://chat.example/hook?key=hidden\nSECRET = ${secret}\n`;
const mail = `[server]\nROOT_URL = https://git.example/\n[mail]\nHOST = mail.example\nFROM = softquota <quota@git.example>\n`;

t.test('a webhook has a name, an address and a secret', async t => {
  t.match(configOf(t, hook), {
    webhooks: [
      {
        name: 'chat',
        url: 'https://chat.example/hook?key=hidden',
        secrets: [secret],
        events: [],
        allowPrivate: [],
      },
    ],
    mail: null,
  });
  t.match(configOf(t, ''), { webhooks: [], mail: null });
  t.match(faultsOf(t, '[webhook.chat]\nEVENTS = fault\n'), [
    /\[webhook\.chat\] URL: is missing\. Write an address such as/,
    /\[webhook\.chat\] SECRET: is missing\. Write whsec_/,
  ]);
  const named = hook.replace('webhook.chat', 'webhook.mail');
  t.match(faultsOf(t, named), [/\[webhook\.mail\] URL: a webhook cannot have the name mail/]);
  for (const [line, fault] of [
    ['URL = ftp://chat.example/', /not an http or https address/],
    ['URL = https://user:pass@chat.example/', /not an http or https address without a user/],
    ['SECRET = too-short', /\[webhook\.chat\] SECRET: not a secret\. Write whsec_/],
    ['EVENTS = threshold, weather', /"weather" is not one of the possible values\. Write some of threshold/],
    ['ALLOW_PRIVATE = 10.0.0.0/99', /not an address/],
  ] as const) {
    const [key = ''] = line.split(' ');
    const others = hook.split('\n').filter(each => !each.startsWith(`${key} `));
    const faults = faultsOf(t, [...others, line].join('\n'));
    t.equal(faults.length, 1, line);
    t.match(faults[0], fault);
  }
});

t.test('how long webhooks are tried is no setting any more, and each key of it is named', async t => {
  t.match(loadText(t, `${hook}TIMEOUT = 5s\nGIVE_UP = 1d\n`), {
    ok: true,
    notes: [/^app\.ini:4: \[webhook\.chat\] TIMEOUT: this key is gone/, /GIVE_UP: this key is gone/],
  });
});

t.test('no address, secret or password of notices is shown in a fault', async t => {
  const faults = faultsOf(
    t,
    `[webhook.chat]\nURL = chat.example/hidden-key\nSECRET = hidden-secret\n${mail}USER = quota\nPASSWORD = hidden-words\nTLS = none\n`,
  );
  t.equal(faults.length, 3);
  t.notMatch(faults.join(), 'hidden');
});

t.test('mail needs a sender and an address for its links, and sends no password in clear', async t => {
  t.match(configOf(t, mail).mail, {
    host: 'mail.example',
    port: 587,
    tls: 'starttls',
    from: 'softquota <quota@git.example>',
    ownerEvents: ['threshold', 'grace', 'request', 'allowance'],
    adminEvents: ['request', 'fault'],
    digest: '0 8 * * 1',
    templates: null,
  });
  t.match(faultsOf(t, '[mail]\nHOST = mail.example\n'), [
    /\[mail\] HOST = "mail\.example": mails contain links, which need \[server\] ROOT_URL/,
    /\[mail\] FROM: is missing/,
  ]);
  t.match(faultsOf(t, `${mail}USER = quota\n`), [/\[mail\] USER = "quota": needs PASSWORD/]);
  const open = `${mail}USER = quota\nPASSWORD = words\nTLS = none\n`;
  t.match(faultsOf(t, open), [/\[mail\] TLS = "none": would send the password in clear to another host/]);
  t.same(faultsOf(t, open.replace('mail.example', '127.0.0.1')), []);
  t.match(faultsOf(t, `${mail}ADMINS = root\n`), [/"root" is not a mail address/]);
  t.equal(configOf(t, `${mail}DIGEST =\n`).mail?.digest, null);
  t.match(load(t, '[mail]\nUSER = quota\n').notes, ['[mail] has no HOST, so its USER has no effect.']);
});

t.test('mails that come with their ROOT_URL by a reload begin with the next start', async t => {
  const [before, after] = [configOf(t, ''), configOf(t, mail)];
  t.equal(merged(before, after).mail, null);
  t.equal(merged(after, after).mail, after.mail);
});
