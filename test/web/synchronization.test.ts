/**
 * Sign-ins of Chromium at a real provider: what its claims make of quota groups is what the shared cases say.
 * The ordinary run has every fifth of them; test/oauth/vectors and test/gate/claims have all.
 */

import t from 'tap';
import { groupsOf, userOf } from '../api/people.ts';
import type { Tab } from '../e2e/browser.ts';
import { realProvider } from '../oauth/provider.ts';
import { vectors } from '../oauth/vectors.ts';
import { groups, SignInWorld } from '../oauth/world.ts';
import { some } from '../run-length.ts';
import { Web } from './world.ts';

t.setTimeout(1_200_000);

const provider = await realProvider(t);
const signIns = await SignInWorld.open(t, provider);
const { world } = signIns;
const web = await Web.open(t);
for (const name of vectors.existingGroups.filter(group => !groups.includes(group))) {
  await world.must(201, 'POST', '/admin/quota/groups', { body: { name, rules: [] } });
}

const source = `/admin/auths/${signIns.id}`;
const total = async () => (await signIns.events()).length;

/** User who is signed in in this tab afterwards. */
async function signIn(tab: Tab, name: string, claims: object): Promise<string> {
  provider.someone = { subject: `sub of ${name}`, claims: { preferred_username: name, ...claims } };
  await tab.go(signIns.begin.href);
  return String(await tab.page.evaluate('fetch("/api/v1/session").then(a => a.json()).then(s => s.login)'));
}

// A user in no group yet comes for the first time; one in a group has come before.
const known = await web.tab();
t.equal(await signIn(known, 'known', {}), 'known');

for (const [index, one] of some([...vectors.cases.entries()], 5)) {
  const { note, mapping, claimName, claims, current, removal, result = [] } = one;
  t.test(`${note}, ${JSON.stringify(claims)}, removal ${removal ? 'on' : 'off'}`, async t => {
    const isRefused = one.refusedWhenSaved === true;
    const settings = { quota_group_claim_name: claimName, quota_group_map_removal: removal };
    const body = { ...settings, quota_group_map: mapping };
    await world.must(isRefused ? 422 : 200, 'PATCH', source, { body });
    if (isRefused) return;
    const isNew = current.length === 0;
    const name = isNew ? `new-${index}` : 'known';
    const tab = isNew ? await web.tab() : known;
    if (!isNew)
      await world.must(204, 'POST', '/admin/users/known/quota/groups', { body: { groups: current } });
    const before = await total();

    t.equal(await signIn(tab, name, claims), name);
    t.same((await groupsOf(world, name)).sort(), result);
    const told = (await signIns.events()).slice(before);
    t.match(told, [{ owner: name, via: 'sign-in', source: { id: signIns.id }, groups: result }]);
    t.equal(told.length, 1, 'with one event');
    t.same(
      [...current.filter(group => !told[0]?.removed.includes(group)), ...(told[0]?.added ?? [])].sort(),
      result,
    );

    t.equal(await signIn(tab, name, claims), name);
    t.same((await groupsOf(world, name)).sort(), result, 'the next sign-in changes nothing');
    t.match((await signIns.events()).slice(before + 1), [{ owner: name, added: [], removed: [] }]);
    t.equal(await total(), before + 2);
    if (isNew) await tab.page.browserContext().close();
  });
}

t.test('nothing else was laid down of anybody', async t => {
  t.notOk((await userOf(world, 'known')).is_admin);
  const { json } = await world.must(200, 'GET', '/admin/quota/events?kind=policy&owner=new-0');
  t.same(json, []);
  t.same(signIns.faults, []);
});
