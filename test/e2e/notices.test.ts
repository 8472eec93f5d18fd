/** docs/notices.md, typed as it stands, and hosts that tell together. */

import t from 'tap';
import type { z } from 'zod';
import { noticeList } from '../../src/wire/index.ts';
import { Mailbox } from '../notices/mailbox.ts';
import { Receiver } from '../notices/receiver.ts';
import { startSingle } from '../store/redis-servers.ts';
import { addressOf, tokenOf } from './accounts.ts';
import { until } from './ask.ts';
import { fleetHost } from './fleet-hosts.ts';
import { type Block, iniOf, readGuide, typeOn } from './guide.ts';
import { Server } from './server.ts';

t.setTimeout(600_000);

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const quota = { quota: { ENABLED: 'true' }, 'quota.default': { TOTAL: '1M' } };

function hook(receiver: Receiver): Readonly<Record<string, string>> {
  return { URL: receiver.url, SECRET: secret, ALLOW_PRIVATE: '127.0.0.1', EVENTS: 'threshold' };
}

async function listed(on: Server): Promise<z.infer<typeof noticeList>> {
  return noticeList.parse(await on.admin('/admin/quota/notices'));
}

/** Resolves once one of these reads what happens: what happens from then on is told. */
function reading(...hosts: readonly Server[]): Promise<unknown> {
  return Promise.race(hosts.map(({ daemon }) => daemon.logged(/^notices are made of what happens/)));
}

/** The owners whom the notices are about, each as often as it came under an id of its own. */
function owners(receiver: Receiver): readonly string[] {
  const byId = new Map(receiver.taken.map(({ id, json }) => [id, String(json.data.owner)]));
  return [...byId.values()].sort();
}

t.test('several hosts tell a crossing once, also when the one that tells is gone', async t => {
  const { address } = await startSingle(t);
  const receiver = await Receiver.open(t);
  const ini = { ...quota, 'webhook.chat': hook(receiver) };
  const one = await fleetHost(t, { address, host: 'one', ini });
  const two = await fleetHost(t, { address, host: 'two', ini });
  await reading(one, two);
  receiver.answer = response => void response.writeHead(503).end();
  await one.reports('alice', 2_000_000);
  await two.reports('bob', 2_000_000);
  const both = ['alice', 'bob'];
  for (const each of [one, two]) {
    await until(async () => {
      const found = (await listed(each)).deliveries.map(({ owner }) => owner).sort();
      return found.join() === both.join() ? true : null;
    });
  }
  await one.stop('SIGKILL');
  receiver.taken.length = 0;
  receiver.answer = response => void response.writeHead(200).end();
  await until(() => (owners(receiver).length === 2 ? true : null));
  await two.reports('carol', 2_000_000);
  await until(() => (owners(receiver).length === 3 ? true : null));
  await one.start();
  await one.reports('dave', 2_000_000);
  await until(() => (owners(receiver).includes('dave') ? true : null));
  t.same(owners(receiver), ['alice', 'bob', 'carol', 'dave']);
});

t.test('every command of the manual on notices does what the manual says', async t => {
  const blocks = await readGuide('notices.md');
  const receiver = await Receiver.open(t);
  const mailbox = await Mailbox.open(t);
  const server = await Server.open(t, { started: false, ini: quota });
  const type = async (block: Block | undefined, env: Readonly<Record<string, string>> = {}) => {
    const typed = await typeOn(server, block?.text ?? 'false', { env });
    t.equal(typed.code, 0, `${block?.text}${typed.stdout}${typed.stderr}`);
    return typed.stdout;
  };
  const configurations = blocks.filter(({ kind }) => kind === 'ini');
  for (const block of configurations) await server.configure(iniOf(block));
  await server.configure({
    'webhook.chat': { URL: receiver.url, EVENTS: '' },
    mail: { PORT: String(mailbox.port) },
  });
  await server.start();
  const commands = blocks.filter(({ kind }) => kind === 'sh');
  const named = (words: string) => commands.find(({ text }) => text.includes(words));
  t.match(await type(named('openssl rand')), /^whsec_[A-Za-z0-9+/]{43}=\n$/);
  t.equal(await type(named('notices test chat')), 'Delivered a trial to chat.\n');
  const [received] = receiver.taken;
  const verifying = blocks.find(({ kind }) => kind === 'sh receiver');
  const signature = await type(verifying, {
    secret,
    id: received?.id ?? '',
    timestamp: String(received?.headers['webhook-timestamp']),
    body: received?.body ?? '',
  });
  t.equal(`v1,${signature.trim()}`, received?.headers['webhook-signature']);
  const mailed = await type(named('notices test mail'));
  t.equal(mailed, 'Delivered a trial to mail.\n'.repeat(2));
  t.same(
    mailbox.take().map(({ to }) => to),
    ['root@git.example', 'somebody@git.example'],
  );
  const shown = await type(named('notices list'));
  t.match(shown, /^NAME +SENT +PENDING +DEAD +LAST SENT AT +NOTICES\nchat +0 +0 +0 +- +all\nmail +0 /);
  t.match(shown, /0 notices wait again\.\n$/);
  t.equal(commands.length, 4, 'all were typed');

  await receiver.away();
  const tried = await server.softquota('notices test chat');
  t.match(tried, { code: 1, stdout: /^Not delivered to chat: .*ECONNREFUSED/ });
  for (const [line, code, stderr] of [
    ['notices test nowhere', 1, /nothing is sent to nowhere: there are chat, mail/],
    ['notices send-again', 2, /name one notice, or give --all/],
    ['notices send-again x', 1, /there is no notice x/],
  ] as const)
    t.match(await server.softquota(line), { code, stderr });
});

t.test('the link of a mail asks first, a click of a mail program does not, the API undoes it', async t => {
  const mailbox = await Mailbox.open(t);
  const server = await Server.open(t, {
    ini: {
      ...quota,
      server: { HTTP_PORT: '0', ROOT_URL: 'http://127.0.0.1:1/quota/' },
      mail: { HOST: '127.0.0.1', PORT: String(mailbox.port), TLS: 'none', FROM: 'quota@git.example' },
    },
  });
  const http = await addressOf(server);
  const create = ['user', 'create', 'alice', '--email', 'alice@git.example'];
  t.equal((await server.softquota(create)).code, 0);
  await reading(server);
  await server.reports('alice', 2_000_000);
  await until(() => (mailbox.mails.length > 0 ? true : null));
  const [mail] = mailbox.take();
  const [, asked = ''] = /unsubscribe(\?token=\S+)/.exec(mail?.text ?? '') ?? [];
  const page = await fetch(`${http}quota/unsubscribe${asked}`);
  t.equal(page.status, 200);
  t.match(await page.text(), /<form method="post">/);
  const sha1 = await tokenOf(server, 'alice', ['all']);
  const own = async (init: RequestInit = {}) => {
    const headers = { authorization: `token ${sha1}`, 'content-type': 'application/json' };
    return (await fetch(`${http}api/v1/user/quota/notices`, { ...init, headers })).json();
  };
  const wanted = { mail: true, address: 'alice@git.example', sends: true };
  t.same(await own(), wanted, 'to open the page changes nothing');
  const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
  const clicked = await fetch(`${http}unsubscribe${asked}`, { method: 'POST', body });
  t.match([clicked.status, await clicked.text()], [200, /no more mails[\s\S]*&amp;mail=true/]);
  t.same(await own(), { ...wanted, mail: false });
  const again = await fetch(`${http}unsubscribe${asked}&mail=true`, { method: 'POST' });
  t.match([again.status, await again.text()], [200, /again/]);
  t.same(await own(), wanted, 'the button on the page takes it back');
  t.same(await own({ method: 'PATCH', body: '{"mail": false}' }), { ...wanted, mail: false });
  t.same(await own({ method: 'PATCH', body: '{"mail": true}' }), wanted);
  t.equal((await fetch(`${http}unsubscribe?token=nothing`)).status, 404);
  t.equal((await fetch(`${http}unsubscribe${asked}`, { method: 'PUT' })).status, 405);
});
