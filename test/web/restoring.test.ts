/** The undoing of a change of the policy, on the page of events. */

import t from 'tap';
import { apply } from '../api/any-policy.ts';
import { World } from '../api/world.ts';
import type { Tab } from '../e2e/browser.ts';
import { barriers, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(600_000);

const world = await World.open(t);
await world.report('lena', 'size:git:lfs', 75);
await world.report('nora', 'size:git:lfs', 10);
await apply(world, {
  rules: [{ name: 'lfs', limit: 100, subjects: ['size:git:lfs'] }],
  groups: [{ name: 'team', rules: ['lfs'], users: ['lena', 'nora'] }],
});
const web = await Web.open(t);
const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'events');

/** Opens the dialog for the newest, or the next, change of the policy with this text. */
async function restore(page: Tab, q: string, row = 1): Promise<void> {
  await page.go(new URL(`events?kind=policy&q=${q}`, world.url).href);
  await page.click(`main tbody tr:nth-child(${row}) summary`);
  await page.click(`main tbody tr:nth-child(${row}) details button`);
  await page.page.waitForSelector('dialog');
}

const limit = (bytes: number) =>
  world.must(200, 'PATCH', '/admin/quota/rules/lfs', { body: { limit: bytes } });

t.test('what was before is in force again, as a new change, and its effect was shown first', async t => {
  await limit(50);
  await restore(tab, 'lfs');
  await reads(tab, 'Change back rule lfs', 'dialog');
  await reads(tab, '1 owner would be newly allowed', 'dialog');
  t.same(await barriers(tab), []);
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'Undo this change?');
  t.match((await world.must(200, 'GET', '/admin/quota/rules/lfs')).json, { limit: 100 });
  const { json } = await world.must(200, 'GET', '/admin/quota/events?kind=policy&limit=1&q=lfs');
  t.match(json, [{ action: 'edited', name: 'lfs', by: { name: 'admin1' }, after: { limit: 100 } }]);
});

t.test('it is refused with words where the same was changed again since', async t => {
  await limit(70);
  await limit(80);
  await restore(tab, 'lfs', 2);
  await reads(tab, 'The rule lfs has been changed again since.', 'dialog');
  t.same(await tab.page.$$('dialog button[type=submit]'), []);
  await tab.page.keyboard.press('Escape');
  await readsNoMore(tab, 'This change cannot be undone');
});

t.test('a deleted group comes back with who was in it; not without its rules', async t => {
  await world.must(204, 'DELETE', '/admin/quota/groups/team');
  await restore(tab, 'team');
  await reads(tab, 'Create again group team', 'dialog');
  await reads(tab, 'Create again groups of lena', 'dialog');
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'Undo this change?');
  const { json } = await world.must(200, 'GET', '/admin/quota/groups/team/users');
  t.match(json, [{ login: 'lena' }, { login: 'nora' }]);
  await world.must(204, 'DELETE', '/admin/quota/groups/team');
  await world.must(204, 'DELETE', '/admin/quota/rules/lfs');
  await restore(tab, 'team');
  await reads(tab, 'team needs the rule lfs, which no longer exists.', 'dialog');
});

t.test('a created rule is deleted again, and nothing else is offered to be restored', async t => {
  await world.must(201, 'POST', '/admin/quota/rules', { body: { name: 'fresh', limit: 1, subjects: [] } });
  await restore(tab, 'fresh');
  await reads(tab, 'Delete rule fresh', 'dialog');
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'Undo this change?');
  await world.must(404, 'GET', '/admin/quota/rules/fresh');
  await world.must(201, 'POST', '/admin/users', { body: { username: 'petra' } });
  await tab.go(new URL('events?kind=policy&q=petra', world.url).href);
  await tab.click('main tbody tr summary');
  t.same(await tab.page.$$('main details button'), []);
});
