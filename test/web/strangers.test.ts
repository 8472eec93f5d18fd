/** Input of strangers, to Chromium: names from a provider that lies. */

import t from 'tap';
import { printable } from '../../src/text.ts';
import { hostileProvider } from '../identity/oauth/hostile-provider.ts';
import { SignInWorld } from '../identity/oauth/world.ts';
import { oddNames } from './realm.ts';
import { reads, Web } from './world.ts';

t.setTimeout(600_000);

const provider = await hostileProvider(t);
const signIns = await SignInWorld.open(t, provider, {
  quota_group_map: { [oddNames.script]: ['gold', oddNames.image] },
});
const { world } = signIns;
const web = await Web.open(t);
const admin = await world.newToken('admin1', ['all']);

t.test('whatever a provider calls people and groups is only text', async t => {
  const claims = {
    sub: oddNames.image,
    preferred_username: oddNames.script,
    name: oddNames.image,
    groups: [oddNames.script, oddNames.image],
  };
  provider.lies = { claims, userinfo: { sub: oddNames.image } };
  const theirs = await web.tab();
  await theirs.go(signIns.begin.href);
  await theirs.go(new URL('sign-in', world.url).href);
  await reads(theirs, `You are signed in as ${oddNames.script}.`, 'main');
  t.match(await signIns.events(), [{ owner: oddNames.script, added: ['gold'], skipped: [oddNames.image] }]);

  const tab = await web.signedIn(world.url, admin, 'admin/auths');
  await tab.click('main ::-p-text(Edit)');
  await reads(tab, printable(oddNames.image), 'main table');
  await tab.fill('main form:last-of-type textarea', JSON.stringify(claims));
  const paste = await tab.page.$$eval('main textarea', found => found.length);
  t.equal(paste, 2, 'the mapping, and claims to try');
  for (const { page } of [theirs, tab]) {
    t.match(await page.title(), / · softquota$/, 'it runs nothing');
    t.notOk(await page.$('main img, main script, header img, header script'), 'it has no element of a name');
  }
});
