/** Requests of administrators' pages to the daemon, and the order in which they show rows. */

import t from 'tap';
import { World } from '../api/world.ts';
import { until } from '../e2e/ask.ts';
import { barriers, isLoaded, reads, Web } from './world.ts';

t.setTimeout(600_000);

const world = await World.open(t);
for (const [owner, bytes] of [
  ['alice', 3_000_000],
  ['bob', 1_000_000],
  ['carol', 2_000_000],
] as const) {
  await world.report(owner, 'size:git:lfs', bytes);
}
const web = await Web.open(t);
const token = await world.newToken('admin1', ['all']);

t.test('the largest owners come first, and the heading of a column turns the order round', async t => {
  const tab = await web.signedIn(world.url, token, 'owners');
  const isInOrder = async (...expected: readonly string[]) => {
    let names: readonly string[] = [];
    await until(
      async () => {
        names = await tab.page.$$eval('tbody tr > :first-child', cells => cells.map(cell => cell.innerText));
        const among = names.filter(name => expected.includes(name));
        return among.join() === expected.join() ? true : null;
      },
      () => `${expected} expected, but in ${names}`,
    );
  };
  await isInOrder('alice', 'carol', 'bob', 'acme');
  t.ok(await tab.page.$('th[aria-sort=descending]'));
  await tab.click('thead ::-p-text(Stored)');
  await isInOrder('acme', 'bob', 'carol', 'alice');
  t.ok(await tab.page.$('th[aria-sort=ascending]'));
  await tab.click('thead ::-p-text(Owner)');
  await isInOrder('acme', 'alice', 'bob', 'carol');
  await tab.click('thead ::-p-text(Owner)');
  await isInOrder('carol', 'bob', 'alice', 'acme');
});

t.test('a policy that the page has is not sent again until it is another one', async t => {
  const tab = await web.signedIn(world.url, token);
  const statuses: number[] = [];
  tab.page.on('response', response => {
    if (response.url().endsWith('/admin/quota/policy')) statuses.push(response.status());
  });
  /** Comes back to the page until it has asked that many times. */
  const isAsked = (times: number) =>
    until(async () => {
      if (statuses.length >= times) return true;
      await tab.page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))');
      return null;
    });
  await tab.click('nav ::-p-text(Groups)');
  await isAsked(2);
  t.same(statuses, [200, 304]);
  await isLoaded(tab);
  await world.must(201, 'POST', '/admin/quota/groups', { body: { name: 'brand-new', rules: [] } });
  await isAsked(3);
  await reads(tab, 'brand-new', 'main');
  t.equal(statuses.at(2), 200);
});

t.test('where no hosts share the quota, nothing asks for others, and the page of hosts says so', async t => {
  const tab = await web.signedIn(world.url, token);
  await isLoaded(tab);
  await tab.click('nav ::-p-text(Hosts)');
  await reads(tab, 'This host does not share its quota with other hosts.', 'main');
  t.same(
    tab.requests.filter(url => /quota\/(hosts|store)$/.test(url)),
    [],
  );
});

t.test('a long list of rules is shown a page at a time, and searched by the name', async t => {
  const rules = Array.from({ length: 60 }, (_, at) => ({
    name: `rule-${String(at).padStart(2, '0')}`,
    limit: 1,
    subjects: ['size:all'],
  }));
  for (const body of rules) await world.must(201, 'POST', '/admin/quota/rules', { body });
  const before = (await world.must(200, 'GET', '/admin/quota/rules')).json;
  const total = Array.isArray(before) ? before.length : 0;
  const tab = await web.signedIn(world.url, token, 'rules');
  await reads(tab, `1 to 50 of ${total} rules`, 'main');
  t.equal((await tab.page.$$('main tbody tr')).length, 50);
  t.same(await barriers(tab), []);
  await tab.click('main ::-p-text(Next)');
  await reads(tab, `51 to ${total} of ${total} rules`, 'main');
  t.equal((await tab.page.$$('main tbody tr')).length, total - 50);
  await tab.page.type('main input[type=search]', 'RULE-3');
  await reads(tab, '10 rules', '.pager');
  t.match(tab.page.url(), /\/rules\?q=RULE-3$/, 'the address has the search');
  await tab.page.type('main input[type=search]', 'x');
  await reads(tab, 'No rule matches the search.', 'main');
});
