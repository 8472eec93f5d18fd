/** Pages that users see of themselves and of their organizations, in Chromium. */

import t from 'tap';
import { sessionsOf } from '../api/people.ts';
import { World } from '../api/world.ts';
import { oddNames } from './realm.ts';
import { barriersInAnyLook, isLoaded, reads, readsNoMore, Web, wordsOf } from './world.ts';

t.setTimeout(900_000);

const lfs = 'size:git:lfs';
const repositories = 'size:repos:private';

const world = await World.open(t, { settings: { hooks: { CONTACT: 'quota@forge.example' } } });
await world.post('/admin/quota/rules', { name: 'total', limit: 10_000_000_000, subjects: ['size:all'] });
await world.post('/admin/quota/groups', { name: 'free', rules: [{ name: 'total' }] });
for (const name of ['alice', 'acme']) await world.must(204, 'PUT', `/admin/quota/groups/free/users/${name}`);
await world.report('alice', lfs, 3_000_000_000, 'objects');
await world.report('alice', repositories, 9_000_000_000, 'the-largest');
await world.report('alice', repositories, 400_000_000, 'a-small-one');
await world.report('acme', 'size:assets:packages:all', 9_500_000_000, oddNames.script);
for (const [index, name] of Object.values(oddNames).entries()) {
  await world.report('acme', repositories, 1000 - index, name);
}
await world.gate('POST', '/v1/check', { owner: 'alice', subject: repositories, actor: oddNames.override });
const web = await Web.open(t);

t.test('a refused user reads why, what takes most, and whom to ask, and when it is over', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await reads(tab, 'Rule “total” of group “free” allows 10 GB for everything together', 'main');
  await reads(tab, '12.4 GB are stored (124 %). To add data again, free at least 2.4 GB.', 'main');
  await reads(tab, 'You cannot add data. You can still delete data.', 'main');
  await tab.click('main ::-p-text(All groups and rules for this decision)');
  await reads(tab, 'deciding rule', 'main');
  await reads(tab, 'In every group that could allow this, a limit is exceeded.', 'main');
  const [largest] = await wordsOf(tab, 'main [aria-label^="Repositories and other"] tbody tr');
  t.match(largest, /^the-largest .*9 GB/);
  await reads(tab, 'If that is not enough, ask for more space: quota@forge.example', 'main');
  await reads(tab, 'the server’s next garbage collection (git gc)', 'main');
  await reads(tab, 'private repositories, 1 time by x\\u{202e}gnp.exe; 12.4 GB of 10 GB', 'main');

  await world.report('alice', repositories, 0, 'the-largest');
  await reads(tab, 'You can push and upload.', 'main');
  await readsNoMore(tab, 'the-largest', 'main');
  await reads(tab, 'You can add data again.', '[aria-live]');
  await world.report('alice', repositories, 9_000_000_000, 'the-largest');
  await reads(tab, 'You cannot add data.', 'main');
});

t.test('in report mode it says that everything is let through all the same', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await reads(tab, 'You cannot add data.', 'main');
  world.reload({ quota: { MODE: 'report' } });
  await reads(tab, 'At present refusals are only recorded, and everything is allowed.', 'main');
  t.match(await tab.read('main'), 'would be refused');
  world.reload({});
  await reads(tab, 'You cannot add data.', 'main');
});

t.test('who owns an organization sees it as their own, and who is only a member does not', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await reads(tab, 'My organizations', 'main');
  await tab.click('main ::-p-text(acme)');
  await reads(tab, 'You can still push and upload, but there is little space left for data.', 'main');
  await reads(tab, '9.5 GB', 'main');

  const member = await web.signedIn(world.url, await world.newToken('carol', ['all']), 'organizations/acme');
  await reads(member, 'Cannot show what is stored', 'main');
  await member.go(new URL('owners', world.url).href);
  await isLoaded(member);
  t.equal(await member.read('h1'), 'For administrators only');
});

t.test('a page says that its figures are old, and shows none that its reader may no longer see', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'organizations/acme');
  await reads(tab, '9.5 GB', 'main');
  const body = JSON.stringify({ message: 'it is broken' });
  let isBroken = true;
  await tab.page.setRequestInterception(true);
  tab.page.on('request', request =>
    isBroken && request.url().endsWith('/quota/report')
      ? request.respond({ status: 500, contentType: 'application/json', body })
      : request.continue(),
  );
  await reads(tab, 'These figures are old: It is broken.', 'main [role=status]');
  t.match(await tab.read('main'), '9.5 GB');
  isBroken = false;
  await readsNoMore(tab, 'These figures are old', 'main');
  const membership = '/admin/orgs/acme/members/alice';
  await world.remove(membership);
  await reads(tab, 'Cannot show what is stored', 'main');
  t.notMatch(await tab.read('main'), '9.5 GB');
  await world.must(204, 'PUT', membership, { body: { role: 'owner' } });
  await reads(tab, '9.5 GB', 'main');
});

t.test('every limit tells its reasons on request, without a mouse', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('bob', ['all']), 'mine');
  await reads(tab, 'Everything', 'main');
  await tab.page.focus('main button[aria-expanded]');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'The limit for everybody sets no limit for everything together.', '.effect');
  await tab.page.keyboard.press('Enter');
  await readsNoMore(tab, 'The limit for everybody', 'main');
  t.equal(await tab.page.evaluate('document.activeElement?.getAttribute("aria-expanded")'), 'false');
});

t.test('names that would do harm are only text', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'organizations/acme');
  await isLoaded(tab);
  for (const name of Object.values(oddNames)) {
    await reads(tab, name === oddNames.override ? 'x\\u{202e}gnp.exe' : name, 'main');
  }
  t.match(await tab.page.title(), 'acme');
  t.same(tab.complaints, []);
});

t.test('a token is made, shown once, and revoked after asking', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('bob', ['all']), 'mine/tokens');
  await tab.click('main ::-p-text(New token)');
  await tab.fill('dialog input[type=text]', oddNames.script);
  await tab.fill('dialog input[type=date]', '2030-01-31');
  await tab.click('dialog button[type=submit]');
  const made = await tab.read('dialog output');
  t.equal((await world.call('GET', '/user/quota', { token: made })).status, 200);
  await tab.page.keyboard.press('Escape');
  await reads(tab, oddNames.script, 'main');
  t.notMatch(await tab.page.content(), made, 'it is nowhere any more');

  const revoke = 'main ::-p-xpath(//tr[contains(., "<script>")]//button)';
  await tab.click(revoke);
  await reads(tab, 'This cannot be undone.', 'dialog');
  await tab.click('dialog button[type=button]');
  t.equal((await world.call('GET', '/user/quota', { token: made })).status, 200, 'not yet');
  await tab.click(revoke);
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, oddNames.script, 'main');
  t.equal((await world.call('GET', '/user/quota', { token: made })).status, 401);
});

t.test('all sessions but this one end at once, also where one has ended meanwhile', async t => {
  const token = await world.newToken('carol', ['all']);
  for (let each = 0; each < 2; each++) await web.signedIn(world.url, token, 'mine');
  const tab = await web.signedIn(world.url, token, 'mine/tokens');
  await reads(tab, 'this session', 'main');
  await tab.click('main ::-p-text(End all others)');
  await reads(tab, ' sessions?', 'dialog');
  const sessions = await sessionsOf(world, 'carol');
  const [first] = sessions.toSorted((a, b) => a.created_at.localeCompare(b.created_at));
  await world.remove(`/users/carol/sessions/${first?.id}`);
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, ' sessions?', 'dialog');
  await readsNoMore(tab, 'End all others', 'main');
  t.equal((await sessionsOf(world, 'carol')).length, 1);
  await reads(tab, 'this session', 'main');
});

t.test('nothing keeps anybody out, on a desk and on a phone, light and dark', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']));
  const nobody = await web.tab();
  for (const path of ['mine', 'organizations/acme', 'mine/tokens', 'sign-in']) {
    await tab.go(new URL(path, world.url).href);
    await isLoaded(tab);
    t.same(await barriersInAnyLook(tab), [], path);
  }
  await nobody.go(new URL('sign-in#code=none', world.url).href);
  await reads(nobody, 'The link is invalid', 'main');
  t.same(await barriersInAnyLook(nobody), [], 'sign-in by nobody');
});
