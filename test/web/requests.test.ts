/**
 * In Chromium: a refused user asks for more, an administrator answers, and the allowance ends to the second.
 */

import t from 'tap';
import { World } from '../api/world.ts';
import { oddNames } from './realm.ts';
import { barriersInAnyLook, isLoaded, pressOnce, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(900_000);

const lfs = 'size:git:lfs';
const day = 86_400_000;

const world = await World.open(t, {
  settings: { 'quota.default': { TOTAL: '10G' }, server: { ROOT_URL: 'https://quota.example/' } },
});
const usual = { owner: 'alice', subject: lfs };
await world.report('alice', lfs, 12_400_000_000, 'objects');
await world.report('acme', lfs, 11_000_000_000, 'objects');
const web = await Web.open(t);

/** `2027-01-31`, so many days from now, where the browser is. */
const inDays = (days: number) => {
  const date = new Date(Date.now() + days * day);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map(n => String(n).padStart(2, '0'))
    .join('-');
};

t.test('the refusal leads to the page, where the form is filled in; the answer is read there', async t => {
  const { status, text } = await world.gate('POST', '/v1/check', usual);
  t.equal(status, 413, text);
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await reads(tab, 'You cannot add data.', 'main');
  await tab.click('main ::-p-text(Ask for more space)');
  const form = 'form[aria-label="Ask for more space"]';
  await tab.page.waitForSelector(form);
  const filled = await tab.page.$$eval(`${form} input, ${form} textarea`, fields =>
    fields.map(field => field.value),
  );
  t.match(filled, ['2.4 GB', inDays(30), /^12\.4 GB of 10 GB are used \(124 %\)\.$/]);
  await tab.fill(`${form} textarea`, oddNames.script);
  await tab.click(`${form} button[type=submit]`);
  await reads(tab, 'Your request waits for an answer from an administrator.', 'main');
  await readsNoMore(tab, 'Send the request', 'main');

  const office = await web.signedIn(world.url, await world.newToken('admin1', ['all']));
  await office.click('nav ::-p-text(Requests)');
  await reads(office, oddNames.script, 'main tbody');
  await reads(office, '2.4 GB', 'main tbody');
  await office.click('main ::-p-xpath(//tr[contains(., "alice")]//button[starts-with(., "Grant")])');
  await office.fill('dialog input[type=text]:not(.code)', 'until the release');
  await office.click('dialog button[type=submit]');
  await reads(office, 'No request waits for an answer.', 'main');
  await office.page.select('main select', 'granted');
  await reads(office, 'until the release', 'main tbody');

  await reads(tab, 'You can still push and upload, but there is little space left', 'main');
  await reads(tab, 'granted by admin1: 2.4 GB until', 'main');
  await reads(tab, 'until the release', 'main');
  t.match(await tab.read('main'), /12\.4 GB of 12\.4 GB \(includes 2\.4 GB extra until /);
  t.equal((await world.gate('POST', '/v1/check', usual)).status, 200);
  await office.go(new URL('events?kind=request', world.url).href);
  await reads(office, 'request granted', 'main');
  await reads(office, 'more space requested', 'main');
});

t.test('a request is declined with words, and withdrawn by who made it', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'organizations/acme');
  const send = async () => {
    await tab.click('main ::-p-text(Ask for more space)');
    await tab.click('form[aria-label="Ask for more space"] button[type=submit]');
    await reads(tab, 'Your request waits for an answer from an administrator.', 'main');
  };
  await send();
  const office = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'requests');
  await reads(office, 'Asked by alice', 'main');
  await office.click('main ::-p-xpath(//tr[contains(., "acme")]//button[starts-with(., "Decline")])');
  await office.fill('dialog input', 'delete the old builds first');
  await office.click('dialog button[type=submit]');
  await reads(tab, 'declined by admin1', 'main');
  await reads(tab, 'delete the old builds first', 'main');
  await send();
  await tab.click('main ::-p-text(Withdraw)');
  await tab.click('dialog button[type=submit]');
  await reads(tab, 'withdrawn', 'main');
  t.same(tab.complaints, []);
});

t.test('the name of who asks turns no words of the page round', async t => {
  await world.report(oddNames.override, lfs, 1);
  const token = await world.newToken(oddNames.override, ['all']);
  await world.must(201, 'POST', '/user/quota/requests', { token, body: { bytes: 1, why: 'a test' } });
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'requests');
  await tab.click('main ::-p-xpath(//tr[contains(., "gnp.exe")]//button[starts-with(., "Decline")])');
  await reads(tab, 'x\\u{202e}gnp.exe sees your answer.', 'dialog');
  t.notMatch(await tab.page.content(), '\u202e');
  await tab.fill('dialog input', 'no');
  await tab.click('dialog button[type=submit]');
  await reads(tab, 'No request waits for an answer.', 'main');
});

t.test('nobody grants themselves: the page says why', async () => {
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'mine');
  await tab.click('main ::-p-text(Ask for more space)');
  await tab.click('form[aria-label="Ask for more space"] button[type=submit]');
  await reads(tab, 'Your request waits for an answer from an administrator.', 'main');
  await tab.go(new URL('requests', world.url).href);
  await tab.click('main ::-p-xpath(//tr[contains(., "admin1")]//button[starts-with(., "Grant")])');
  await tab.click('dialog button[type=submit]');
  await reads(tab, 'Nobody gives more space to themselves', 'dialog');
});

t.test('allowances are given and ended on the page of an owner', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'owners/acme');
  await tab.click('main ::-p-text(Give an allowance)');
  t.notMatch(await tab.read('dialog'), '-1');
  for (const size of ['-1', '0']) {
    await tab.fill('dialog input.code', size);
    await reads(tab, 'Write a size above 0, such as 5G', 'dialog');
  }
  await tab.fill('dialog input.code', '2G');
  await tab.fill('dialog input[type=date]', inDays(3));
  await tab.fill('dialog input[type=text]:not(.code)', 'a migration');
  await tab.click('dialog button[type=submit]');
  await reads(tab, 'a migration', 'main');
  await reads(tab, '11 GB of 12 GB (includes 2 GB extra until ', 'main');
  await reads(tab, 'allowance given', 'main');
  await tab.click('main ::-p-xpath(//section[.//h2[.="Allowances"]]//tbody//button)');
  await tab.click('dialog button[type=submit]');
  await reads(tab, 'None. The limits are those of the rules.', 'main');
  await reads(tab, '11 GB of 10 GB', 'main');
  await reads(tab, 'allowance ended', 'main');
  t.same(tab.complaints, []);
});

t.test('what the configuration grants is granted at once, and the form says how much that is', async t => {
  world.reload({ requests: { AUTO_GRANT: '3G for 14d, once in 90d' } });
  await world.report('carol', lfs, 11_000_000_000, 'objects');
  const tab = await web.signedIn(world.url, await world.newToken('carol', ['all']), 'mine');
  await tab.click('main ::-p-text(Ask for more space)');
  await reads(tab, 'Up to 3 GB for at most 14 days are granted at once, once in 90 days.', 'main form');
  const lastDay = 'form[aria-label="Ask for more space"] input[type=date]';
  t.equal(await tab.page.$eval(lastDay, field => field.value), inDays(14));
  await tab.click('form[aria-label="Ask for more space"] button[type=submit]');
  await reads(tab, 'granted automatically: 1 GB until', 'main');
  await reads(tab, 'You can still push and upload', 'main');
  world.reload({});
});

t.test('behind the last page there is the last page, not the word that nothing waits', async t => {
  const office = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'requests?page=2');
  await reads(office, '1 request', '.pager');
  await reads(office, 'admin1', 'main tbody');
  t.notMatch(await office.read('main'), 'No request waits for an answer.');
});

t.test('what is being sent is not sent twice', async () => {
  const tab = await web.signedIn(world.url, await world.newToken('carol', ['all']), 'mine');
  await tab.click('main ::-p-text(Ask for more space)');
  const send = 'form[aria-label="Ask for more space"] button[type=submit]';
  await tab.page.waitForSelector(send);
  await pressOnce(tab, send);
  await reads(tab, 'Your request waits for an answer from an administrator.', 'main');
  const office = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'scans');
  await isLoaded(office);
  await pressOnce(office, 'main form button[type=submit]');
  await reads(office, 'The scan is done.', '[aria-live]');
});

t.test('nothing keeps anybody out, on a desk and on a phone, light and dark', async t => {
  const alice = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await world.must(201, 'POST', '/user/quota/requests', {
    as: 'bob',
    body: { bytes: 1, why: oddNames.long },
  });
  const bob = await web.signedIn(world.url, await world.newToken('bob', ['all']), 'mine');
  const office = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'requests');
  for (const [tab, path] of [
    [alice, 'mine'],
    [bob, 'mine'],
    [office, 'requests'],
    [office, 'owners/alice'],
    [office, 'events?kind=allowance'],
  ] as const) {
    await tab.go(new URL(path, world.url).href);
    await isLoaded(tab);
    if (tab === alice) {
      await tab.click('main ::-p-text(Ask for more space)');
      await tab.page.waitForSelector('form[aria-label="Ask for more space"]');
    }
    t.same(await barriersInAnyLook(tab), [], path);
  }
});
