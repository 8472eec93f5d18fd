/** Limits of other things than of an owner, in Chromium: made, seen in lists, and told to those they bind. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { measure, repository } from '../api/people.ts';
import { World } from '../api/world.ts';
import { barriersInAnyLook, choose, field, opener, reads, readsNoMore, Web, wordsOf } from './world.ts';

t.setTimeout(900_000);

const world = await World.open(t);
const lfs = 'size:git:lfs';
await world.report('alice', lfs, 60_000_000, 'objects');
await world.report('bob', lfs, 30_000_000, 'objects');
await world.report('carol', lfs, 3_000_000, 'objects');
const web = await Web.open(t);
const token = await world.newToken('admin1', ['all']);
const tab = await web.signedIn(world.url, token);

const open = opener(world.url, tab);

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
  t.match(await wordsOf(tab, 'main form label'), [
    'Name of the rule',
    'What is limited',
    'Limit',
    'Everything',
  ]);
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
  await reads(tab, 'Limits for each file change nothing about what is stored. They decide when', '.effect');
  await tab.click('::-p-text(Create the rule)');
  await reads(tab, 'Rule big-files', 'h1');
  const json = await world.get('/admin/quota/rules/big-files');
  t.strictSame(json, { name: 'big-files', limit: 1e8, subjects: ['size:all'], per: 'file' });
});

t.test('lists and pages of rules say whether each has a limit, or all together', async t => {
  const make = (name: string, limit: number, per: string) =>
    world.post('/admin/quota/rules', { name, limit, subjects: ['size:all'], per });
  await make('each-member', 1e10, 'owner');
  await make('pool', 9e10, 'group');
  await make('each-repository', 4e9, 'repository');
  await make('each-push', 2e9, 'push');
  const names = ['each-member', 'pool', 'each-repository', 'each-push', 'big-files'];
  const rules = names.map(name => ({ name }));
  await world.post('/admin/quota/groups', { name: 'lab', rules });
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
  const scans = await world.get('/admin/quota/scans');
  await open('scans');
  await tab.page.focus(field('Add an owner'));
  await tab.page.keyboard.type('bo');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'bob', 'main form li.mark');
  t.equal(await tab.page.$eval(field('Add an owner'), input => Reflect.get(input, 'value')), '');
  await tab.page.keyboard.press('Enter');
  await tab.page.keyboard.type('nobody has this name');
  await tab.page.keyboard.press('Enter');
  await reads(tab, "No other owner's name contains this text.", 'main form');
  t.same(await world.get('/admin/quota/scans'), scans, 'no scan is started');
});

/** Words about the pool, for an owner with so much of it. */
const share = (own: string) =>
  `all members of course together have 93 MB of 80 MB, of which the owner has ${own}`;

t.test('an administrator makes a pool, and sees first whom it would hit, and with what share', async t => {
  await open('groups');
  await tab.click('main ::-p-text(New group)');
  await tab.fill(field('Name of the group'), 'course');
  await tab.click('::-p-text(Add a new rule)');
  await tab.fill(field('Name of the rule'), 'course-pool');
  await choose(tab, 'What is limited', 'group');
  await tab.fill(field('Limit'), '80 MB');
  for (const name of ['alice', 'bob', 'carol']) {
    await tab.page.focus(field('Add an owner'));
    await tab.page.keyboard.type(name);
    await tab.page.keyboard.press('Enter');
    await reads(tab, name, 'main form li.mark');
  }
  await reads(tab, '3 owners would be newly refused', '.effect');
  await reads(tab, `everything: ${share('60 MB')}`, '.effect');
  await reads(tab, `everything: ${share('3 MB')}`, '.effect');
  const targets = await tab.page.$$eval('.effect li > a', links => links.map(({ target }) => target));
  t.same([...new Set(targets)], ['_blank'], 'a look at an owner does not leave the form');
  await world.must(404, 'GET', '/admin/quota/groups/course');
  t.same(await barriersInAnyLook(tab), []);
  await tab.click('::-p-text(Create the group)');
  await reads(tab, 'Group course', 'h1');
});

t.test('the page of the group has the sum, and the members with their shares, largest first', async t => {
  await reads(tab, '93 MB of 80 MB', 'main');
  await reads(tab, '116 %', 'main');
  await reads(tab, '✕ over the limit', 'main');
  const rows = await wordsOf(tab, '[aria-label="Members, largest first"] tbody tr');
  t.same(rows, ['alice 60 MB 75 %', 'bob 30 MB 37 %', 'carol 3 MB 3 %']);
  const bar = await tab.page.$eval('main .bar', element => element.getAttribute('aria-label'));
  t.equal(bar, 'alice: 60 MB, bob: 30 MB, carol: 3 MB; limit 80 MB');
  await reads(tab, `carol 3 MB everything: ${share('3 MB')}`, 'main');
  t.same(await barriersInAnyLook(tab), []);
});

t.test('a member sees the sum, the limit and the own share, and nobody else', async t => {
  await world.gate('POST', '/v1/check', { owner: 'carol', subject: lfs, actor: 'carol' });
  const own = await web.signedIn(world.url, await world.newToken('carol', ['all']), 'mine');
  await reads(own, 'Limits shared with other members', 'main');
  await reads(own, 'All members of course together:', 'main');
  await reads(own, '93 MB of 80 MB', 'main');
  const legend = await wordsOf(own, 'main section[aria-label=course] .legend li');
  t.same(legend, ['Your share 3 MB', 'Other members 90 MB']);
  await reads(
    own,
    'Rule “course-pool” of group “course” allows 80 MB for everything together of all members of the group. 93 MB are stored (116 %). To add data again, the members together have to free at least 13 MB.',
    'main',
  );
  await reads(own, `LFS objects, 1 time by carol; ${share('3 MB')}`, 'main');
  t.notMatch(await own.page.content(), /alice|bob/);
  t.notOk(await own.page.$('section.panel:first-of-type .bar > .limit'), 'the bar of her own has no mark');
  t.same(await barriersInAnyLook(own), []);
});

t.test('administrators read everywhere that the limit is that of all together', async t => {
  await open('owners');
  await reads(tab, 'all members together', 'tr:has(a[href$="carol"])');
  await open('owners/carol');
  await reads(tab, '93 MB of 80 MB (all members of course together; own share: 3 MB)', 'main');
  await tab.click('main td button[aria-expanded]');
  await reads(tab, 'The members of the group together are over a limit that they share.', '.effect');
  await reads(tab, 'course-pool of course: 93 MB of 80 MB (all members of course together', '.effect');
  await open('events?kind=refusal');
  await reads(tab, `LFS objects, 1 time by carol; ${share('3 MB')}`, 'main');
  t.same(await barriersInAnyLook(tab), []);
});

t.test('a limit of each file is made on a phone without a mouse', async t => {
  await tab.page.setViewport({ width: 390, height: 800 });
  const trials: (string | undefined)[] = [];
  tab.page.on('request', request => {
    if (request.url().includes('/simulate')) trials.push(request.postData());
  });
  await open('rules');
  await tab.page.focus('main ::-p-text(New rule)');
  const { keyboard } = tab.page;
  await keyboard.press('Enter');
  await tab.page.waitForFunction('document.activeElement?.type === "text"');
  await keyboard.type('phone-files');
  await keyboard.press('Tab');
  await keyboard.type('each f');
  await reads(tab, 'Each single file that is pushed or uploaded', 'main form');
  await keyboard.press('Tab');
  await keyboard.type('50 MB');
  for (const group of ['course', 'lab']) {
    await tab.page.focus(`::-p-aria(${group})`);
    await keyboard.press('Space');
  }
  await tab.page.waitForSelector('main form button[type=submit]:not(:disabled)');
  await tab.page.focus('main form button[type=submit]');
  await keyboard.press('Enter');
  await reads(tab, 'Rule phone-files', 'h1');
  await reads(tab, '50 MB for each file', 'main dl');
  t.same(trials, [...new Set(trials)], 'what was saved is not tried again');
  await open('owners/carol');
  await tab.click('main td button[aria-expanded]');
  await reads(
    tab,
    'phone-files of course: 50 MB for each file (asked when a push or an upload comes)',
    '.effect',
  );
  await tab.page.setViewport({ width: 1280, height: 800 });
  t.same(
    tab.complaints.filter(complaint => !/status of 4(04|22)/.test(complaint)),
    [],
  );
});

t.test('the page of an owner lists repositories over or near their limit', async t => {
  for (const [name, bytes] of [
    ['bob/over', 2_100_000],
    ['bob/near', 1_900_000],
    ['bob/small', 1000],
  ] as const) {
    writeFileSync(join(repository(world, name), 'objects/data'), Buffer.alloc(bytes));
  }
  await measure(world);
  await open('owners/bob');
  await readsNoMore(tab, 'Repositories over or near their limit', 'main');
  await world.put('/admin/quota/groups/lab/users/bob');
  await world.patch('/admin/quota/rules/course-pool', { limit: 8e7, mode: 'report' });
  await open('rules/each-repository');
  await tab.click('::-p-text(Edit)');
  await tab.fill(field('Limit'), '2 MB');
  await reads(tab, '1 owner would be newly refused', '.effect');
  await reads(tab, ': bob/over has 2.1 MB of 2 MB', '.effect');
  await tab.click('::-p-text(Save the rule)');
  await reads(tab, '1 owner is refused because of this rule', 'main');
  await tab.click('::-p-text(Edit)');
  await tab.fill(field('Limit'), '3 MB');
  await reads(tab, ': bob/over, while the owner has 34 MB of 10 GB', '.effect');
  await open('owners/bob');
  await reads(tab, 'Repositories over or near their limit', 'main');
  const rows = await wordsOf(tab, 'main [aria-label^="Repositories over"] tbody tr');
  t.match(rows, [
    /^bob\/over ✕ over the limit 2\.1 MB of 2 MB 105 % by rule each-repository of group lab$/,
    /^bob\/near ! near the limit 1\.9 MB of 2 MB 95 % by rule each-repository of group lab$/,
  ]);
  t.equal(rows.length, 2);
  t.same(await barriersInAnyLook(tab), []);
});
