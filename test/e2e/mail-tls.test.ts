/** Mails over TLS: who is not who the certificate says gets no mail, and no password. */

import t, { type Test } from 'tap';
import { Mailbox } from '../notices/mailbox.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type Certificate, certificateIn } from './certificate.ts';
import { Server } from './server.ts';

const password = 'never in the log';

interface World {
  readonly server: Server;
  readonly mailbox: Mailbox;
}

const certificate = (t: Test, names?: string) => certificateIn(temporaryFolder(t), names);

/** A daemon that is not started, and the SMTP server that it hands mails to. */
async function open(
  t: Test,
  { key, certificate: shown }: Certificate,
  tls: 'starttls' | 'tls',
): Promise<World> {
  const mailbox = await Mailbox.open(t, {
    user: 'quota',
    password,
    tls: { key, certificate: shown, isFirst: tls === 'tls' },
  });
  const server = await Server.open(t, {
    started: false,
    ini: {
      server: { ROOT_URL: 'https://git.example/quota/' },
      mail: {
        HOST: '127.0.0.1',
        PORT: String(mailbox.port),
        TLS: tls,
        USER: 'quota',
        PASSWORD: password,
        FROM: 'quota@git.example',
        ADMINS: 'root@git.example',
        ADMIN_EVENTS: 'threshold',
      },
    },
  });
  return { server, mailbox };
}

for (const tls of ['starttls', 'tls'] as const) {
  t.test(`${tls}: a server with a trusted certificate gets the mail and the password`, async t => {
    const made = await certificate(t);
    const { server, mailbox } = await open(t, made, tls);
    await server.start({ env: { NODE_EXTRA_CA_CERTS: made.certificateFile } });
    t.match(await server.softquota('notices test mail'), { code: 0, stdout: /^Delivered/ });
    t.match(mailbox.take(), [{ to: 'root@git.example' }]);
    t.same([mailbox.signIns, mailbox.inClear], [['quota'], 0]);
    t.notMatch(server.daemon.log, password);
  });
}

t.test('a server whose certificate is not trusted gets neither, and administrators read why', async t => {
  const { server, mailbox } = await open(t, await certificate(t), 'starttls');
  await server.start();
  const tried = await server.softquota('notices test mail');
  t.match(tried, { code: 1, stdout: /^Not delivered to mail: / });
  const why = `the certificate of 127.0.0.1:${mailbox.port} is not trusted: self-signed certificate`;
  t.ok(tried.stdout.includes(why), tried.stdout);
  t.same([mailbox.mails, mailbox.signIns], [[], []]);
  t.notMatch(server.daemon.log + tried.stdout, password);
});

t.test('a certificate of another name is not trusted, whoever signed it', async t => {
  const made = await certificate(t, 'DNS:mail.example');
  const { server, mailbox } = await open(t, made, 'tls');
  await server.start({ env: { NODE_EXTRA_CA_CERTS: made.certificateFile } });
  const tried = await server.softquota('notices test mail');
  t.match(tried, { code: 1, stdout: /is not trusted: .*127\.0\.0\.1 is not in the cert's list/ });
  t.same([mailbox.mails, mailbox.signIns], [[], []]);
});
