/** Graces and report mode in the web UI: set in forms, shown to administrators and owners, undone. */

import t from 'tap';
import { World } from '../api/world.ts';

import { barriers, choose, field, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(600_000);

const world = await World.open(t);
world.reload({ quota: { ENABLED: 'true' } });
await world.report('alice', 'size:git:lfs', 1050);
await world.must(200, 'PUT', '/admin/quota/policy', {
  body: {
    rules: [{ name: 'total', limit: 1000, subjects: ['size:all'] }],
    groups: [{ name: 'free', rules: ['total'], users: ['alice'] }],
  },
});
const web = await Web.open(t);
const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'rules/total');

t.test('a rule is given a grace, and what that changes is shown before it is saved', async t => {
  await reads(tab, 'as configured', 'main');
  await tab.click('::-p-text(Edit)');
  await tab.fill(field('Grace'), 'soon');
  await reads(tab, 'Write a whole number and s, m, h, d or w', 'main');
  await tab.fill(field('Grace'), '7d');
  await tab.fill(field('Grace up to'), '20 %');
  await reads(tab, '1 owner would be newly allowed', '.effect');
  t.same(await barriers(tab), []);
  await tab.click('::-p-text(Save the rule)');
  await reads(tab, 'grace 1w, up to 20 % over', 'main');
  const { json } = await world.must(200, 'GET', '/admin/quota/rules/total');
  t.strictSame(json, {
    name: 'total',
    limit: 1000,
    subjects: ['size:all'],
    grace: 604_800,
    grace_most: '20 %',
  });
});

t.test('the owner is shown as over the limit, in the grace, with its end', async t => {
  await tab.go(new URL('', world.url).href);
  await reads(tab, '1 in their grace', 'main');
  await tab.go(new URL('owners?state=grace', world.url).href);
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
  t.match((await world.must(200, 'GET', '/admin/quota/rules/total')).json, { mode: 'report' });
  await tab.go(new URL('rules', world.url).href);
  await reads(tab, 'report mode', 'main');
  await tab.go(new URL('owners/alice', world.url).href);
  await tab.click('main td button[aria-expanded]');
  await reads(tab, 'If the rules in report mode were in force', '.effect');
  await tab.go(new URL('events?kind=policy&q=total', world.url).href);
  await tab.click('main tbody tr:nth-child(1) summary');
  await tab.click('main tbody tr:nth-child(1) details button');
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'Undo this change?');
  const { json } = await world.must(200, 'GET', '/admin/quota/rules/total');
  t.notMatch(json, { mode: 'report' });
  t.match(json, { grace: 604_800 });
});
