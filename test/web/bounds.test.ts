/** Limits of other things than of an owner, in Chromium: made, seen in lists, and told to those they bind. */

import t from 'tap';
import { World } from '../api/world.ts';
import type { Tab } from '../e2e/browser.ts';
import { barriersInAnyLook, choose, field, isLoaded, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(900_000);

const world = await World.open(t);
const lfs = 'size:git:lfs';
await world.report('alice', lfs, 60_000_000, 'objects');
await world.report('bob', lfs, 30_000_000, 'objects');
await world.report('carol', lfs, 3_000_000, 'objects');
const web = await Web.open(t);
const token = await world.newToken('admin1', ['all']);
const tab = await web.signedIn(world.url, token);

const open = async (path: string) => {
  await tab.go(new URL(path, world.url).href);
  await isLoaded(tab);
};
const labels = ({ page }: Tab) => page.$$eval('main form label', all => all.map(each => each.innerText));

t.test('the form of a rule has the fields that suit what is limited', async t => {
  await open('rules');
  await tab.click('main ::-p-text(New rule)');
  await tab.fill(field('Name of the rule'), 'big-files');
  await tab.fill(field('Limit'), '100 MB');
  await tab.fill(field('Grace'), '7d');
  for (const scope of ['repository', 'push', 'file']) {
    await choose(tab, 'What is limited', scope);
    await readsNoMore(tab, 'Grace', 'main form');
  }
  t.match(await labels(tab), ['Name of the rule', 'What is limited', 'Limit', 'Everything']);
  await choose(tab, 'What is limited', 'group');
  await reads(tab, 'it limits the sum of what they all store', 'main form');
  await reads(tab, 'Grace', 'main form');
  await choose(tab, 'What is limited', 'file');
  await reads(tab, 'Each single file that is pushed or uploaded may have this size', 'main form');
  t.same(await barriersInAnyLook(tab), []);
});

t.test('a limit of 0 for each file is refused in the words of the API, and not asked about', async t => {
  await tab.fill(field('Limit'), '0');
  const fault = 'expected more than 0, or -1 for unlimited, for each file';
  await reads(tab, `This limit is not possible: ${fault}.`, 'main form');
  t.equal(await tab.page.$eval(field('Limit'), input => input.getAttribute('aria-invalid')), 'true');
  t.ok(await tab.page.$('main form button[type=submit]:disabled'));
  const body = { name: 'big-files', limit: 0, subjects: ['size:all'], per: 'file' };
  t.match((await world.must(422, 'POST', '/admin/quota/rules', { body })).json, {
    message: new RegExp(fault),
  });
  await tab.fill(field('Limit'), '100 MB');
  await tab.click('::-p-text(Create the rule)');
  await reads(tab, 'Rule big-files', 'h1');
  const { json } = await world.must(200, 'GET', '/admin/quota/rules/big-files');
  t.strictSame(json, { name: 'big-files', limit: 1e8, subjects: ['size:all'], per: 'file' });
});

t.test('lists and pages of rules say whether each has a limit, or all together', async t => {
  const make = (name: string, limit: number, per: string) =>
    world.must(201, 'POST', '/admin/quota/rules', { body: { name, limit, subjects: ['size:all'], per } });
  await make('each-member', 1e10, 'owner');
  await make('pool', 9e10, 'group');
  await make('each-repository', 4e9, 'repository');
  await make('each-push', 2e9, 'push');
  const names = ['each-member', 'pool', 'each-repository', 'each-push', 'big-files'];
  const rules = names.map(name => ({ name }));
  await world.must(201, 'POST', '/admin/quota/groups', { body: { name: 'lab', rules } });
  const words: Readonly<Record<string, string>> = {
    'each-member': '10 GB for each member',
    pool: '90 GB for all members together',
    'each-repository': '4 GB for each repository',
    'each-push': '2 GB for each push',
    'big-files': '100 MB for each file',
  };
  await open('rules');
  for (const [name, limit] of Object.entries(words)) await reads(tab, limit, `tr:has(a[href$="${name}"])`);
  t.same(await barriersInAnyLook(tab), []);
  await open('groups/lab');
  for (const limit of Object.values(words)) await reads(tab, `${limit} (everything)`, 'main');
  await tab.click('::-p-text(Edit)');
  for (const limit of Object.values(words)) await reads(tab, `${limit} (everything)`, 'main form');
  await open('rules/pool');
  await reads(tab, words.pool ?? '', 'main dl');
});

t.test('Enter in the search for owners adds the first match, and sends no form', async t => {
  await open('groups/lab');
  await tab.click('::-p-text(Edit)');
  await tab.page.focus(field('Add an owner'));
  await tab.page.keyboard.type('ali');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'alice', 'main form li.mark');
  t.equal(await tab.page.$eval(field('Add an owner'), input => Reflect.get(input, 'value')), '');
  await tab.page.keyboard.press('Enter');
  await tab.page.keyboard.type('nobody has this name');
  await tab.page.keyboard.press('Enter');
  await reads(tab, "No other owner's name contains this text.", 'main form');
  t.same((await world.must(200, 'GET', '/admin/quota/groups/lab/users')).json, [], 'nothing is saved');

  const scans = (await world.must(200, 'GET', '/admin/quota/scans')).json;
  await open('scans');
  await tab.page.focus(field('Add an owner'));
  await tab.page.keyboard.type('bob');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'bob', 'main form li.mark');
  t.same((await world.must(200, 'GET', '/admin/quota/scans')).json, scans, 'no scan is started');
});
