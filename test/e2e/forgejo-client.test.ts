/**
 * A client for Forgejo as it is published, on a running daemon: nothing of it is changed, and it knows
 * nothing of softquota.
 */

import * as forgejo from '@llamaduck/forgejo-ts';
import { createClient, createConfig } from '@llamaduck/forgejo-ts/client';
import t from 'tap';
import { account, addressOf, tokenOf } from './accounts.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { Server } from './server.ts';

const server = await Server.open(t, { repositories: ['alice/app'] });
const address = await addressOf(server);

/** Client as its manual makes it. */
function clientWith(headers: Readonly<Record<string, string>>) {
  return createClient(createConfig({ baseURL: `${address}api/v1`, headers }));
}

const adminToken = await account(server, 'root', { isAdmin: true });
const admin = clientWith({ Authorization: `token ${adminToken}` });
const repository = server.path('alice/app');
const clone = await Clone.of(server, repository);
await clone.commit(300_000);
await clone.git('push', '-q', 'origin', 'main');
await server.usageIs('alice', used => used > 300_000);
const alice = clientWith({ Authorization: `Bearer ${await tokenOf(server, 'alice', ['all'])}` });

const git = { name: 'git', limit: 200_000, subjects: ['size:git:all'] };
const assets = { name: 'assets', limit: -1, subjects: ['size:assets:all'] };
/** The rules as they are given back: Forgejo's clients pass over what they do not know. */
const shown = [git, assets].map(rule => ({ ...rule, per: 'owner' }));

t.test("Forgejo's client creates rules and groups, and finds them again", async t => {
  const rule = await forgejo.adminCreateQuotaRule({ client: admin, body: git });
  t.match(rule, { status: 201, data: git });
  const group = await forgejo.adminCreateQuotaGroup({
    client: admin,
    body: { name: 'small', rules: [{ name: 'git' }, assets] },
  });
  t.match(group, { status: 201, data: { name: 'small', rules: [git, assets] } });

  t.strictSame((await forgejo.adminListQuotaRules({ client: admin })).data, shown);
  t.strictSame((await forgejo.adminListQuotaGroups({ client: admin })).data, [
    { name: 'small', rules: shown },
  ]);
  const path = { quotagroup: 'small' };
  t.match(await forgejo.adminGetQuotaGroup({ client: admin, path }), {
    status: 200,
    data: { name: 'small' },
  });
  t.match(await forgejo.adminGetQuotaRule({ client: admin, path: { quotarule: 'assets' } }), {
    status: 200,
    data: assets,
  });
});

t.test('it puts a user into a group, whose next push is refused by the rule in it', async t => {
  const path = { quotagroup: 'small', username: 'alice' };
  await clone.commit(1000);
  t.match(await forgejo.adminAddUserToQuotaGroup({ client: admin, path }), { status: 204 });
  t.match(await forgejo.adminListUsersInQuotaGroup({ client: admin, path }), {
    status: 200,
    data: [{ login: 'alice' }],
  });
  const refused = await clone.push();
  t.equal(refused.code, 1);
  t.match(refused.said, /^Quota exceeded: alice's repositories and LFS objects use \d+ kB of 200 kB/);
  t.match(refused.said, /^Decided by rule "git" of group "small"\.$/m);
});

t.test('it reads what a user stores, to the byte, and who is limited by what', async t => {
  const bytes = await counted(repository);
  const { status, data } = await forgejo.adminGetUserQuota({ client: admin, path: { username: 'alice' } });
  t.equal(status, 200);
  t.equal(data?.used?.size?.repos?.private, bytes);
  t.strictSame(data?.groups, [{ name: 'small', rules: shown }]);

  const own = await forgejo.userGetQuota({ client: alice });
  t.equal(own.data?.used?.size?.repos?.private, bytes, 'alice sees her own');
  t.strictSame(own.data?.groups, [{ rules: shown.map(({ name: _, ...rule }) => rule) }], 'and no names');
  const may = async (subject: string) =>
    (await forgejo.userCheckQuota({ client: alice, query: { subject } })).data;
  t.equal(await may('size:repos:private'), false);
  t.equal(await may('size:assets:packages:all'), true);
  t.strictSame((await forgejo.userListQuotaPackages({ client: alice, query: { page: 1 } })).data, []);
});

t.test('it changes a rule, and takes a user out of a group; each is in force at the next push', async t => {
  const edited = await forgejo.adminEditQuotaRule({
    client: admin,
    path: { quotarule: 'git' },
    body: { limit: 100_000 },
  });
  t.match(edited, { status: 200, data: { ...git, limit: 100_000 } });
  t.match((await clone.push()).said, /kB of 100 kB/);
  const path = { quotagroup: 'small', username: 'alice' };
  t.match(await forgejo.adminRemoveUserFromQuotaGroup({ client: admin, path }), { status: 204 });
  t.match(await clone.push(), { code: 0, said: '' });

  const chosen = await forgejo.adminSetUserQuotaGroups({
    client: admin,
    path: { username: 'alice' },
    body: { groups: ['small'] },
  });
  t.equal(chosen.status, 204);
  await clone.commit(1000);
  t.equal((await clone.push()).code, 1);
});
