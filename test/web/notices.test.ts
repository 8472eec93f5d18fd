/** The page of notices, and the switch for one's own mails, in Chromium. */

import t, { type Test } from 'tap';
import { z } from 'zod';
import { World } from '../api/world.ts';
import { until } from '../e2e/ask.ts';
import { Mailbox } from '../notices/mailbox.ts';
import { Receiver } from '../notices/receiver.ts';
import { barriers, barriersInAnyLook, isLoaded, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(900_000);

const web = await Web.open(t);

t.test('where nothing is configured the page says how, and nobody is offered mails', async t => {
  const world = await World.open(t);
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']));
  await tab.click('nav ::-p-text(Activity)');
  await tab.click('nav ::-p-text(Notices)');
  await reads(tab, 'A section [webhook.NAME] of app.ini', 'main');
  t.same(await barriers(tab), []);
  await tab.go(new URL('mine', world.url).href);
  await isLoaded(tab);
  const answered = await tab.page.evaluate(
    `fetch('/api/v1/user/quota/notices').then(answer => answer.json())`,
  );
  t.match(answered, { sends: false });
  t.notMatch(await tab.read('main'), 'Send me mails');
  t.same(tab.complaints, []);
});

/** A webhook, and mails. */
async function configured(t: Test) {
  const receiver = await Receiver.open(t);
  const mailbox = await Mailbox.open(t);
  const world = await World.open(t, {
    settings: {
      server: { ROOT_URL: 'https://git.example/' },
      mail: {
        HOST: '127.0.0.1',
        PORT: String(mailbox.port),
        TLS: 'none',
        FROM: 'quota@git.example',
        ADMINS: 'root@git.example',
      },
    },
  });
  const hook = {
    URL: receiver.url,
    SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    EVENTS: 'policy',
    ALLOW_PRIVATE: '127.0.0.1',
  };
  world.reload({ 'webhook.chat': hook });
  await until(() => (world.log.some(line => line.includes('notices are made of what')) ? true : null));
  return { receiver, mailbox, world, hook };
}

const fails: Receiver['answer'] = response => void response.writeHead(500).end();
const takes: Receiver['answer'] = response => void response.writeHead(200).end();

t.test('dead notices are shown with their fault, and sent again one by one or all at once', async t => {
  const { receiver, world, hook } = await configured(t);
  receiver.answer = fails;
  const rule = (name: string) =>
    world.post('/admin/quota/rules', { name, limit: 1e9, subjects: ['size:all'] });
  for (const name of ['one', 'two', 'three']) await rule(name);
  await until(() => (receiver.came.length >= 3 ? true : null));
  // Notices that wait for a webhook that is gone are given up at the next attempt.
  world.reload({ 'webhook.other': hook });
  await until(async () => {
    const json = await world.get('/admin/quota/notices?state=dead');
    const { deliveries } = z.object({ deliveries: z.array(z.unknown()) }).parse(json);
    return deliveries.length === 3 ? true : null;
  });
  world.reload({ 'webhook.chat': hook });
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'notices');
  const deadRows = async () => (await tab.page.$$('main tbody .mark.bad')).length;
  const becomes = (count: number) => until(async () => ((await deadRows()) === count ? true : null));
  await becomes(3);
  await reads(tab, 'there is no section [webhook.chat] any more', 'main [aria-label^="Places"] tbody');
  await reads(tab, 'The policy was changed by admin1: created rule two.', 'main');

  await tab.go(new URL('notices', world.url).href);
  await isLoaded(tab);
  t.same(await barriersInAnyLook(tab), []);

  receiver.answer = takes;
  receiver.taken.length = 0;
  await tab.click('main ::-p-xpath(//tr[contains(., "rule two")]//button)');
  await readsNoMore(tab, 'created rule two', 'main');
  t.match(
    receiver.taken.map(({ json }) => json),
    [{ type: 'policy', data: { changes: [{ name: 'two' }] } }],
  );
  t.equal(await deadRows(), 2);
  await tab.click('main ::-p-text(Send all again)');
  await reads(tab, 'Nothing waits, and nothing is dead.', 'main');
  await readsNoMore(tab, 'Send all again', 'main');
  t.equal(receiver.taken.length, 3);
  t.same(tab.complaints, []);
});

t.test('a test says whether it was delivered, and goes to the address that is typed', async t => {
  const { receiver, mailbox, world } = await configured(t);
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'notices');
  const open = (place: string) =>
    tab.click(`main ::-p-xpath(//tr[contains(., "${place}")]//button[starts-with(., "Send a test")])`);
  receiver.answer = fails;
  await open('chat');
  await tab.click('dialog button[type=submit]');
  await reads(tab, `Not delivered: 127.0.0.1:${receiver.port} answered 500.`, 'dialog');
  t.same(await barriers(tab), []);
  receiver.answer = takes;
  await tab.click('dialog button[type=submit]');
  await reads(tab, 'The test was delivered to chat.', '[aria-live]');
  t.equal(receiver.taken.at(-1)?.json.type, 'test');
  await open('mail');
  await tab.click('dialog button[type=submit]');
  await reads(tab, 'The test was delivered to mail.', '[aria-live]');
  await open('mail');
  await tab.fill('dialog input[type=email]', 'somebody@git.example');
  t.same(await barriers(tab), []);
  await tab.click('dialog button[type=submit]');
  await until(() => (mailbox.mails.length === 2 ? true : null));
  t.same(
    mailbox.take().map(({ to }) => to),
    ['root@git.example', 'somebody@git.example'],
  );
});

t.test('everybody switches their own mails off and on', async t => {
  const { world } = await configured(t);
  await world.patch('/admin/users/alice', { email: 'alice@git.example' });
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await reads(tab, 'They go to alice@git.example.', 'main');
  const wished = z.object({ mail: z.boolean() });
  const becomes = (mail: boolean) =>
    until(async () => {
      const json = await world.get('/user/quota/notices', { as: 'alice' });
      return wished.parse(json).mail === mail ? true : null;
    });
  const checked = () => tab.page.$eval('main input[type=checkbox]', box => box.checked);
  t.equal(await checked(), true);
  for (const mail of [false, true]) {
    await tab.click('main ::-p-text(Send me mails about my usage)');
    await becomes(mail);
    await tab.go(new URL('mine', world.url).href);
    await reads(tab, 'They go to', 'main');
    t.equal(await checked(), mail);
  }
  t.same(await barriersInAnyLook(tab), []);
  const bob = await web.signedIn(world.url, await world.newToken('bob', ['all']), 'mine');
  await reads(bob, 'The server does not know your mail address.', 'main');
  t.same(tab.complaints, []);
});
