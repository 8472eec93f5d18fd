/**
 * In Chromium, on a desk and on a phone: what an administrator does who manages limits, by mouse and by
 * keyboard alone; and what those whose limits they are see instead.
 */

import t from 'tap';
import { World } from '../api/world.ts';
import { barriers, field, opener, reads, readsNoMore, tabTo, Web, wordsOf } from './world.ts';

t.setTimeout(900_000);

const lfs = 'size:git:lfs';
const world = await World.open(t, { settings: { 'quota.default': { TOTAL: '1M' } } });
await world.report('alice', lfs, 2_000_000, 'objects');
await world.report('bob', lfs, 900_000, 'objects');
const web = await Web.open(t);
const admin = await web.signedIn(world.url, await world.newToken('admin1', ['all']));
const alice = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');

const open = opener(world.url, admin);
const openAsAlice = opener(world.url, alice);

async function enterAt(words: string): Promise<void> {
  await tabTo(admin, words);
  await admin.page.keyboard.press('Enter');
}

t.test('a server without groups says who gets what, and a group is made by the keyboard alone', async t => {
  await open('policy');
  await reads(admin, 'Everybody has 1 MB in all, the limit for everybody (TOTAL', 'main');
  await reads(admin, 'Create a group', 'main');
  t.notOk(await admin.page.$('main details[open]'), 'JSON is for those who ask for it');
  await enterAt('Create a group');
  await reads(admin, 'Groups', 'h1');
  await enterAt('New group');
  await admin.page.waitForSelector('main form input:focus');
  await admin.page.keyboard.type('lab');
  await enterAt('Add a new rule');
  await admin.page.focus(field('Name of the rule'));
  await admin.page.keyboard.type('room');
  await admin.page.focus(field('Limit'));
  await admin.page.keyboard.type('100 GB');
  await reads(admin, '100 GB: 100,000,000,000 bytes', 'main');
  await reads(admin, 'Nothing would change for any of', '.effect');
  await admin.page.focus(field('Add an owner'));
  await admin.page.keyboard.type('alice');
  await admin.page.keyboard.press('Enter');
  await reads(admin, 'alice', 'fieldset .mark');
  t.equal((await world.call('GET', '/admin/quota/groups/lab')).status, 404, 'nothing is saved by that key');
  await reads(admin, '1 owner would be newly allowed', '.effect');
  await reads(admin, 'Each user and each organization in the group may store this much', 'main');
  await admin.page.waitForSelector('button[type=submit]:not(:disabled)');
  await enterAt('Create the group');
  await reads(admin, 'Group lab', 'h1');
  await reads(admin, '100 GB for each member', 'main');
  await reads(admin, 'Nobody is refused because of this group.', 'main');
  await reads(admin, '1 owner would be refused without this group', 'main');
  await open('policy');
  await reads(admin, '100 GB for each member (everything)', 'main tbody');
  await reads(admin, 'Everybody in no group has 1 MB', 'main');
});

t.test('what was saved is undone where it was saved, and says which limit became which', async t => {
  await open('rules/room');
  await enterAt('Edit');
  await admin.page.waitForSelector(field('Limit'));
  await admin.page.focus(field('Limit'));
  await admin.page.keyboard.down('Control');
  await admin.page.keyboard.press('a');
  await admin.page.keyboard.up('Control');
  await admin.page.keyboard.type('100 kB');
  await reads(admin, '1 owner would be newly refused', '.effect');
  await admin.page.waitForSelector('button[type=submit]:not(:disabled)');
  await enterAt('Save the rule');
  await reads(admin, 'Saved', 'main h2');
  await reads(admin, 'limit: 100 GB → 100 kB', 'main');
  await reads(admin, 'Nobody is refused because of this rule.', 'main');
  await enterAt('Undo');
  await reads(admin, 'Change back rule room', 'dialog');
  await admin.page.waitForSelector('dialog button[type=submit]:not(:disabled)');
  await enterAt('Undo');
  await readsNoMore(admin, 'Undo this change?');
  t.match(await world.get('/admin/quota/rules/room'), { limit: 100e9 });
  await open('events?kind=policy&q=room');
  await reads(admin, 'limit: 100 kB → 100 GB', 'main tbody');
  await admin.click('main tbody tr:nth-child(1) button');
  await reads(admin, 'Undo this change?', 'dialog');
  await admin.page.keyboard.press('Escape');
});

t.test('a group that does not exist yet is one link away', async t => {
  await open('groups/staff');
  await admin.click('main ::-p-text(Create it)');
  await reads(admin, 'Name of the group', 'main');
  t.equal(await admin.page.$eval('main input', input => input.value), 'staff');
});

t.test('the bar has seven entries, and each old address its place below one of them', async t => {
  await open('');
  const entries = await wordsOf(admin, 'nav[aria-label=Pages] > ul:first-of-type a');
  t.match(entries, ['Overview', 'Owners', 'Repositories', 'Policy', 'Requests', 'Activity', 'Settings']);
  t.equal(entries.length, 7);
  for (const [entry, paths] of [
    ['Policy', ['policy', 'groups', 'groups/lab', 'rules', 'rules/room']],
    ['Activity', ['events', 'scans', 'notices']],
    ['Settings', ['admin/auths', 'tokens', 'hosts']],
  ] as const)
    for (const path of paths) {
      await open(path);
      t.equal(await admin.page.$eval('nav[aria-label=Pages] [aria-current]', link => link.innerText), entry);
      t.ok(await admin.page.$(`nav[aria-label=${entry}] [aria-current]`), path);
    }
});

t.test(
  'who is no administrator sees usage, space and requests, and no command of administrators',
  async t => {
    await world.remove('/admin/quota/groups/lab/users/alice');
    await openAsAlice('mine');
    const entries = await wordsOf(alice, 'nav[aria-label=Pages] > ul:first-of-type a');
    t.same(entries, ['Usage', 'Space', 'Requests']);
    await reads(alice, '▲ limit 1 MB', 'main');
    await reads(alice, 'Oldest figure:', 'main');
    await openAsAlice('requests');
    await alice.click('main ::-p-text(Ask for more space)');
    await alice.click('form[aria-label="Ask for more space"] button[type=submit]');
    await reads(alice, 'Your request waits for an answer', 'main');
    await openAsAlice('space/alice');
    t.notMatch(await alice.read('main'), /systemctl|worker/);
  },
);

t.test('an open request is announced, and its dialog shows what both make together', async t => {
  await open('');
  await reads(admin, '1 request for more space waits for an answer.', 'main');
  await reads(admin, 'Requests 1', 'nav');
  await admin.page.setViewport({ width: 390, height: 800 });
  await open('requests');
  t.match(await admin.read('main tbody'), /until \d{4}-\d\d-\d\d/);
  t.same(await barriers(admin), []);
  await admin.click('main ::-p-xpath(//tr[contains(., "alice")]//button[starts-with(., "Grant")])');
  await reads(admin, 'Everything: 2 MB of 1 MB now (200 %), 2 MB of 2 MB with this (100 %).', 'dialog');
  await reads(admin, 'may store this much more than the rules allow, until the end of that day', 'dialog');
  await admin.click('dialog button[type=submit]');
  await reads(admin, 'No request waits for an answer.', 'main');
});

t.test('one limit is one row on the page of an owner, on a phone as well', async t => {
  for (const width of [390, 1280]) {
    await admin.page.setViewport({ width, height: 800 });
    await open('owners/bob');
    const rows = await wordsOf(admin, 'section[aria-label="Deciding limits, by kind of data"] tbody tr');
    t.equal(rows.length, 1);
    await admin.click('main td button[aria-expanded]');
    await reads(admin, 'Limit for everybody (TOTAL)', '.effect');
    t.same(await barriers(admin), [], `${width} pixels wide`);
  }
  const unexpected = admin.complaints.filter(complaint => !/status of 404 .*groups\/staff/.test(complaint));
  t.same(unexpected, []);
});
