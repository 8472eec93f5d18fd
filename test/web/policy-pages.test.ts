/**
 * Pages of administrators: their requests to the daemon, the order of their rows, the undoing of a change of
 * the policy, and rules with a grace or in report mode.
 */

import t from 'tap';
import { wholePolicy } from '../../src/wire/index.ts';
import { apply } from '../api/any-policy.ts';
import { namesIn } from '../api/people.ts';
import { World } from '../api/world.ts';
import { until } from '../e2e/ask.ts';
import {
  barriers,
  choose,
  field,
  isLoaded,
  lookAt,
  opener,
  reads,
  readsNoMore,
  Web,
  wordsOf,
} from './world.ts';

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
const tab = await web.signedIn(world.url, token);
const open = opener(world.url, tab);

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
  await tab.go(new URL('groups', world.url).href);
  await isAsked(2);
  t.same(statuses, [200, 304]);
  await isLoaded(tab);
  await world.post('/admin/quota/groups', { name: 'brand-new', rules: [] });
  await isAsked(3);
  await reads(tab, 'brand-new', 'main');
  t.equal(statuses.at(2), 200);
});

t.test('where no hosts share the quota, nothing asks for others, and the page of hosts says so', async t => {
  const tab = await web.signedIn(world.url, token);
  await isLoaded(tab);
  await tab.click('nav ::-p-text(Settings)');
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
  for (const body of rules) await world.post('/admin/quota/rules', body);
  const before = await world.get('/admin/quota/rules');
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

/** Opens the dialog for the newest, or the next, change of the policy with this text. */
async function restore(q: string, row = 1): Promise<void> {
  await tab.go(new URL(`events?kind=policy&q=${q}`, world.url).href);
  await tab.click(`main tbody tr:nth-child(${row}) button`);
  await tab.page.waitForSelector('dialog');
}

const limit = (bytes: number) => world.patch('/admin/quota/rules/lfs', { limit: bytes });

t.test('what was before is in force again, as a new change, and its effect was shown first', async t => {
  await world.report('lena', 'size:git:lfs', 75);
  await world.report('nora', 'size:git:lfs', 10);
  await apply(world, {
    rules: [{ name: 'lfs', limit: 100, subjects: ['size:git:lfs'] }],
    groups: [{ name: 'team', rules: ['lfs'], users: ['lena', 'nora'] }],
  });
  await limit(50);
  await restore('lfs');
  await reads(tab, 'Change back rule lfs', 'dialog');
  await reads(tab, '1 owner would be newly allowed', 'dialog');
  t.same(await barriers(tab), []);
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'Undo this change?');
  t.match(await world.get('/admin/quota/rules/lfs'), { limit: 100 });
  const json = await world.get('/admin/quota/events?kind=policy&limit=1&q=lfs');
  t.match(json, [{ action: 'edited', name: 'lfs', by: { name: 'admin1' }, after: { limit: 100 } }]);
});

t.test('it is refused with words where the same was changed again since', async t => {
  await limit(70);
  await limit(80);
  await restore('lfs', 2);
  await reads(tab, 'The rule lfs has been changed again since.', 'dialog');
  t.same(await tab.page.$$('dialog button[type=submit]'), []);
  await tab.page.keyboard.press('Escape');
  await readsNoMore(tab, 'This change cannot be undone');
});

t.test('a deleted group comes back with who was in it; not without its rules', async t => {
  await world.remove('/admin/quota/groups/team');
  await restore('team');
  await reads(tab, 'Create again group team', 'dialog');
  await reads(tab, 'Create again groups of lena', 'dialog');
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'Undo this change?');
  const json = await world.get('/admin/quota/groups/team/users');
  t.match(json, [{ login: 'lena' }, { login: 'nora' }]);
  await world.remove('/admin/quota/groups/team');
  await world.remove('/admin/quota/rules/lfs');
  await restore('team');
  await reads(tab, 'team needs the rule lfs, which no longer exists.', 'dialog');
});

t.test('a group of more members than one answer lists comes back with all of them', async t => {
  const users = Array.from({ length: 1100 }, (_, at) => `member-${at}`);
  const { version: _, ...policy } = wholePolicy.parse(await world.get('/admin/quota/policy'));
  const groups = [...policy.groups, { name: 'crowd', rules: [], users }];
  await world.put('/admin/quota/policy?create_users=true', { ...policy, groups });
  await world.remove('/admin/quota/groups/crowd');
  await restore('crowd');
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'Undo this change?');
  const { groups: after } = wholePolicy.parse(await world.get('/admin/quota/policy'));
  t.equal(after.find(({ name }) => name === 'crowd')?.users.length, users.length);
});

t.test('where the first owners found are in the group already, more of the name is asked for', async t => {
  const first = await namesIn(world, '?q=member-&limit=20');
  await world.post('/admin/quota/groups', { name: 'twenty', rules: [] });
  for (const name of first) await world.must(204, 'PUT', `/admin/quota/groups/twenty/users/${name}`);
  await open('groups/twenty');
  await tab.click('main ::-p-text(Edit)');
  await tab.fill(field('Add an owner'), 'member-');
  const found = 'ul[aria-label="Owners found"]';
  await reads(tab, 'The first 20 are chosen already: type more of the name.', found);
  await tab.fill(field('Add an owner'), 'member-9');
  await reads(tab, 'member-9', found);
  t.equal((await wordsOf(tab, `${found} button`)).at(0), '+ member-9');
  await world.remove('/admin/quota/groups/twenty');
});

t.test('the last members are shown where the page that was open has no more', async t => {
  const { version: _, ...policy } = wholePolicy.parse(await world.get('/admin/quota/policy'));
  const fewer = (count: number) =>
    world.put('/admin/quota/policy', {
      ...policy,
      groups: policy.groups.map(group => ({ ...group, users: group.users.slice(0, count) })),
    });
  await fewer(51);
  await open('groups/crowd');
  await tab.click('main .pager ::-p-text(Next)');
  await reads(tab, '51 to 51 of 51 members', 'main');
  await fewer(50);
  await lookAt(tab);
  await reads(tab, '50 members', 'main h2');
  await reads(tab, 'member-0', 'main');
  t.notMatch(await tab.read('main'), 'This group has no members');
  await world.remove('/admin/quota/groups/crowd');
});

t.test('a list of events is not asked for again by itself once older ones are shown', async t => {
  const tab = await web.signedIn(world.url, token, 'events');
  const asked = (part: string) => tab.requests.filter(url => url.includes(part)).length;
  await tab.click('main ::-p-text(Show older events)');
  await until(() => (asked('after=') > 0 ? true : null));
  const before = { events: asked('/quota/events'), session: asked('/session') };
  // The session is asked for as often.
  await until(() => (asked('/session') > before.session + 2 ? true : null));
  t.equal(asked('/quota/events'), before.events);
});

t.test('a policy is not applied over a change that was made after its effect was shown', async t => {
  const inForce = wholePolicy.parse(await world.get('/admin/quota/policy'));
  await open('policy');
  await tab.click('main summary');
  await tab.fill('main textarea', JSON.stringify(inForce));
  await tab.click('main ::-p-text(Show the effect)');
  await reads(tab, 'Nothing would change', '.effect');
  const targets = await tab.page.$$eval('.effect .faults a', links => links.map(({ target }) => target));
  t.same([...new Set(targets)], ['_blank'], 'a look at a rule does not leave the form');
  await world.post('/admin/quota/groups', { name: 'late', rules: [] });
  await lookAt(tab);
  await reads(tab, 'late', '[aria-label="Groups with their limits"]');
  const apply = async () => {
    await tab.click('main ::-p-text(Apply this policy)');
    await tab.click('dialog button[type=submit]');
  };
  await apply();
  await reads(tab, 'the policy has changed since that version', 'dialog');
  await world.get('/admin/quota/groups/late');
  await tab.click('dialog ::-p-text(Cancel)');
  await tab.click('main ::-p-text(Show the effect)');
  await apply();
  await readsNoMore(tab, 'Apply this policy?');
  await world.must(404, 'GET', '/admin/quota/groups/late');
});

t.test('the effect in an open form is that of the policy in force; without it nothing is saved', async t => {
  await world.report('zoe', 'size:git:lfs', 50);
  await world.post('/admin/quota/rules', { name: 'loose', limit: 1000, subjects: ['size:git:lfs'] });
  await world.post('/admin/quota/groups', { name: 'crew', rules: [{ name: 'loose' }] });
  const tab = await web.signedIn(world.url, token, 'rules/loose');
  await tab.click('main ::-p-text(Edit)');
  await tab.fill(field('Limit'), '10');
  await reads(tab, 'Nothing would change', '.effect');
  const trials = Promise.withResolvers<'continue' | 'fail'>();
  let next: Promise<'continue' | 'fail'> = trials.promise;
  let isPolicyNew = false;
  await tab.page.setRequestInterception(true);
  tab.page
    .on('response', response => {
      isPolicyNew ||= response.url().endsWith('/admin/quota/policy') && response.status() === 200;
    })
    .on('request', async request => {
      const isTrial = request.url().includes('/simulate');
      await (isTrial && (await next) === 'fail' ? request.respond({ status: 500 }) : request.continue());
    });
  await world.must(204, 'PUT', '/admin/quota/groups/crew/users/zoe');
  await until(async () => {
    await lookAt(tab);
    return isPolicyNew ? true : null;
  });
  const disabled = 'main form button[type=submit]:disabled';
  await tab.page.waitForSelector(disabled);
  trials.resolve('continue');
  await reads(tab, '1 owner would be newly refused', '.effect');
  next = Promise.resolve('fail');
  await tab.fill(field('Limit'), '20');
  await reads(tab, 'Cannot show what would change.', '.effect');
  t.ok(await tab.page.$(disabled));
  await tab.click('main form ::-p-text(Cancel)');
  await tab.click('main ::-p-text(Delete)');
  await reads(tab, 'Cannot show what would change.', 'dialog');
  t.ok(await tab.page.$('dialog button[type=submit]:disabled'));
  await tab.click('dialog ::-p-text(Cancel)');
  await tab.go(new URL('policy', world.url).href);
  await tab.click('main summary');
  await tab.fill('main textarea', JSON.stringify({ rules: [], groups: [] }));
  await tab.click('main ::-p-text(Show the effect)');
  await reads(tab, 'Cannot show what would change.', '.effect');
  t.equal(await tab.page.$('main ::-p-text(Apply this policy)'), null);
  await world.remove('/admin/quota/groups/crew');
  await world.remove('/admin/quota/rules/loose');
});

t.test('a created rule is deleted again, and nothing else is offered to be restored', async t => {
  await world.post('/admin/quota/rules', { name: 'fresh', limit: 1, subjects: [] });
  await restore('fresh');
  await reads(tab, 'Delete rule fresh', 'dialog');
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'Undo this change?');
  await world.must(404, 'GET', '/admin/quota/rules/fresh');
  await world.post('/admin/users', { username: 'petra' });
  await tab.go(new URL('events?kind=policy&q=petra', world.url).href);
  await reads(tab, 'petra', 'main tbody');
  t.same(await tab.page.$$('main tbody button'), []);
});

t.test('a rule is given a grace, and what that changes is shown before it is saved', async t => {
  await world.report('alice', 'size:git:lfs', 1050);
  await apply(world, {
    rules: [{ name: 'total', limit: 1000, subjects: ['size:all'] }],
    groups: [{ name: 'free', rules: ['total'], users: ['alice'] }],
  });
  await tab.go(new URL('rules/total', world.url).href);
  await reads(tab, 'as configured', 'main');
  await tab.click('::-p-text(Edit)');
  await tab.fill(field('Grace'), 'soon');
  await reads(tab, 'Write a whole number and s, m, h, d or w', 'main');
  await tab.fill(field('Grace'), '7d');
  await tab.fill(field('Grace up to'), '20 %');
  await tab.fill(field('Warn at'), '50, 101');
  await reads(tab, 'Write whole percentages from 1 to 100', 'main');
  await tab.fill(field('Warn at'), '80, 50');
  await reads(tab, '1 owner would be newly allowed', '.effect');
  t.same(await barriers(tab), []);
  await tab.click('::-p-text(Save the rule)');
  await reads(tab, 'grace 1w, up to 20 % over', 'main');
  await reads(tab, '50, 80 %', 'main');
  await tab.click('::-p-text(Edit)');
  t.equal(await tab.page.$eval(field('Warn at'), input => Reflect.get(input, 'value')), '50, 80');
  await tab.click('::-p-text(Cancel)');
  const json = await world.get('/admin/quota/rules/total');
  t.strictSame(json, {
    name: 'total',
    limit: 1000,
    subjects: ['size:all'],
    grace: 604_800,
    grace_most: '20 %',
    per: 'owner',
    warn_at: [50, 80],
  });
});

t.test('the owner is shown as over the limit, in the grace, with its end', async t => {
  await tab.go(new URL('', world.url).href);
  await reads(tab, '1 in their grace', 'main');
  await tab.go(new URL('owners?state=grace', world.url).href);
  await reads(tab, '! over the limit, in its grace', 'main');
  const overOrNear = await tab.page.$$eval(
    'main option',
    options => options.find(({ innerText }) => innerText === 'over or near the limit')?.value,
  );
  await tab.go(new URL(`owners?state=${overOrNear}`, world.url).href);
  await reads(tab, '! over the limit, in its grace', 'main');
  await tab.go(new URL('owners/alice', world.url).href);
  await reads(tab, 'grace until', 'main');
  t.same(await barriers(tab), []);
  const own = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await reads(own, 'You can still push and upload until refusals begin: on ', 'main');
  await reads(own, 'or at 1.2 kB', 'main');
});

t.test('a rule is put in report mode, and back by an undo', async t => {
  await tab.go(new URL('rules/total', world.url).href);
  await tab.click('::-p-text(Edit)');
  await choose(tab, 'Mode of the rule', 'report');
  await tab.click('::-p-text(Save the rule)');
  await reads(tab, 'report: what it would refuse is only recorded', 'main');
  t.match(await world.get('/admin/quota/rules/total'), { mode: 'report' });
  await tab.go(new URL('rules', world.url).href);
  await reads(tab, 'report mode', 'main');
  await tab.go(new URL('owners/alice', world.url).href);
  await tab.click('main td button[aria-expanded]');
  await reads(tab, 'If the rules in report mode were in force', '.effect');
  await tab.go(new URL('events?kind=policy&q=total', world.url).href);
  await tab.click('main tbody tr:nth-child(1) button');
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'Undo this change?');
  const json = await world.get('/admin/quota/rules/total');
  t.notMatch(json, { mode: 'report' });
  t.match(json, { grace: 604_800 });
});

t.test('a rule only warns, and whoever passes its limit reads it', async () => {
  await tab.go(new URL('rules/total', world.url).href);
  await tab.click('::-p-text(Edit)');
  await choose(tab, 'Mode of the rule', 'warn');
  await tab.click('::-p-text(Save the rule)');
  await reads(tab, 'warn: whoever passes the limit is told, and refused nothing', 'main');
  const own = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await reads(own, 'you are over the limit of total, which only warns: ', 'main');
  await world.patch('/admin/quota/rules/total', { mode: 'enforce' });
});
