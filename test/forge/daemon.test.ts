/**
 * A daemon beside a Gitea: what its database says counts, and what changes there is known by the next poll.
 */

import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { must } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { dataArchive, expected, type RunSql, writeSqlite } from './fixture.ts';
import { namedStorages } from './storages.ts';

t.setTimeout(300_000);

interface World {
  readonly server: Server;
  readonly database: string;
  readonly write: RunSql;
}

async function open(t: Test): Promise<World> {
  const server = await Server.open(t, { started: false });
  const { folder } = server;
  await mkdir(join(folder, 'gitea'));
  await must('tar', ['-xzf', fileURLToPath(dataArchive), '-C', join(folder, 'gitea')]);
  const database = join(folder, 'gitea', 'gitea.db');
  const write = writeSqlite(database);
  await server.configure({
    forge: { KIND: 'gitea', DATABASE: `sqlite:${database}` },
    ...namedStorages(`${folder}/gitea/data/gitea-repositories`),
    quota: { ENABLED: 'true' },
    metrics: { ENABLED: 'true' },
    'quota.default': { TOTAL: '1G' },
  });
  return { server, database, write };
}

/** An owner's account, as the API tells it; null: there is none. */
async function account(server: Server, name: string): Promise<Readonly<Record<string, unknown>> | null> {
  const { status, text } = await server.ask('admin', `/api/v1/admin/users/${encodeURIComponent(name)}`);
  return status === 200 ? JSON.parse(text) : null;
}

async function members(server: Server, organization: string): Promise<readonly string[]> {
  const { text } = await server.ask('admin', `/api/v1/admin/orgs/${organization}/members`);
  const list: readonly { readonly username: string; readonly role: string }[] = JSON.parse(text);
  return list.map(({ username, role }) => `${username}: ${role}`).sort();
}

t.test('every owner has what was uploaded, with the name, type and visibility of the forge', async t => {
  const { server } = await open(t);
  await server.start();
  // Figures come before accounts at the very first reading.
  await until(async () => (await account(server, 'acme'))?.type === 'organization' || null);
  await until(async () => (await members(server, 'acme')).length > 0 || null);
  const { owners, types } = expected;
  for (const [owner, leaves] of Object.entries(owners)) {
    t.strictSame(await server.usageByLeaf(owner), leaves, owner);
    const known = await account(server, owner);
    t.equal(known?.username, owner, 'as the forge spells it');
    t.equal(known?.type, types[owner] ?? 'user');
  }
  t.equal((await account(server, 'root-admin'))?.is_admin, true);
  t.match((await account(server, 'alice'))?.email, /@/);
  t.match(await members(server, 'acme'), [/: owner$/]);

  const findings = await server.softquota(['doctor', '--json']);
  t.match(findings.stdout, /forge_unowned/);
  const { nobody } = JSON.parse((await server.ask('admin', '/api/v1/admin/quota/overview')).text);
  const orphans = nobody.kinds.find(({ kind }: { kind: string }) => kind === 'packages_orphaned');
  t.match(orphans, { what: /blobs of packages/, mend: /the forge removes them after a day/ });
  t.ok(orphans.bytes > 0 && nobody.bytes >= orphans.bytes, 'what belongs to nobody is on the overview');

  const { text } = await server.ask('admin', '/metrics');
  const metered = [...text.matchAll(/^softquota_usage_bytes\{subject="(.*)",source="(.*)"\} (\d+)$/gm)];
  for (const leaf of Object.keys(owners.alice ?? {})) {
    const isWalked = leaf.startsWith('size:repos:') || leaf === 'size:assets:wiki';
    const wanted = Object.values(owners).reduce((sum, leaves) => sum + (leaves[leaf] ?? 0), 0);
    const found = metered
      .filter(([, subject]) => subject === leaf)
      .map(([, , source, bytes]) => [source, bytes]);
    t.same(
      Object.fromEntries(found),
      { walked: isWalked ? wanted : 0, reported: 0, forge: isWalked ? 0 : wanted },
      `${leaf} by source`,
    );
  }

  const put = await server.ask('trusted', '/v1/sources/forge', { method: 'PUT', body: '' });
  t.equal(put.status, 409, 'no program puts the figures of the forge');

  await server.stop();
  await server.configure({ forge: { KIND: null } });
  await server.start();
  const objects = async () => (await server.usageByLeaf('alice'))['size:git:lfs'];
  t.equal(await objects(), owners.alice?.['size:git:lfs'], 'perhaps app.ini was cut');
  t.equal((await server.softquota(['scan', '--accept-moved'])).code, 0);
  t.equal((await objects()) ?? 0, 0, 'somebody said that no forge is read any more');
});

t.test('what changes in the forge is known by the next poll', async t => {
  const { server, database, write } = await open(t);
  await server.start();
  const owner = 'dave-new';
  const group = { name: 'friends', rules: [] };
  await server.ask('admin', '/api/v1/admin/quota/groups', { body: group });
  await server.ask('admin', `/api/v1/admin/users/${owner}/quota/groups`, { body: { groups: ['friends'] } });
  const before = await account(server, owner);

  const root = join(database, '..', 'data', 'gitea-repositories');
  write("UPDATE user SET name = 'Dave3', lower_name = 'dave3' WHERE name = 'dave-new'");
  write("UPDATE repository SET owner_name = 'Dave3' WHERE owner_name = 'dave-new'");
  await rename(join(root, 'dave-new'), join(root, 'dave3'));
  const after = await until(() =>
    account(server, 'Dave3').then(known => (known?.id === before?.id ? known : null)),
  );
  t.equal(after.username, 'Dave3', 'a renamed user is the same one');
  const groups = await server.ask('admin', '/api/v1/admin/users/Dave3/quota');
  t.match(groups.text, /friends/, 'and is in the same groups');
  await server.scan();
  t.equal(await server.usage('Dave3'), 32_702, 'and has the same bytes');
  await until(async () => ((await account(server, owner)) === null ? true : null));
  t.pass('nobody has the old name');

  const alice = expected.owners.alice ?? {};
  write("UPDATE repository SET is_private = 1 WHERE owner_name = 'alice'");
  const all = (alice['size:repos:public'] ?? 0) + (alice['size:repos:private'] ?? 0);
  await until(async () => ((await server.usageByLeaf('alice'))['size:repos:private'] === all ? true : null));
  t.pass('repositories that become private count as private');

  write(
    "DELETE FROM lfs_meta_object WHERE repository_id IN (SELECT id FROM repository WHERE owner_name = 'alice')",
  );
  await until(async () => ((await server.usageByLeaf('alice'))['size:git:lfs'] === undefined ? true : null));
  t.pass('deleted LFS objects count no more');

  write(
    "INSERT INTO org_user (uid, org_id, is_public) SELECT u.id, o.id, 0 FROM user u, user o WHERE u.name = 'eve' AND o.name = 'acme'",
  );
  await until(async () => ((await members(server, 'acme')).includes('eve: member') ? true : null));
  t.pass('a new member of an organization is one here');

  write("DELETE FROM org_user WHERE uid = (SELECT id FROM user WHERE name = 'eve')");
  write("DELETE FROM repository WHERE owner_name = 'eve'; DELETE FROM user WHERE name = 'eve'");
  await must('rm', ['-r', join(root, 'eve')]);
  await server.scan();
  write("UPDATE user SET email = 'somebody@git.example' WHERE name = 'alice'");
  await until(async () => ((await account(server, 'eve')) === null ? true : null));
  const { email } = await until(() =>
    account(server, 'alice').then(known => (known?.email === 'somebody@git.example' ? known : null)),
  );
  t.equal(email, 'somebody@git.example');
});

t.test('an owner whose new name somebody else has keeps the old one, and doctor says so', async t => {
  const { server, write } = await open(t);
  await server.start();
  const [alice, carol] = await Promise.all(
    ['alice', 'carol.c_d'].map(name => until(() => account(server, name))),
  );
  await server.ask('admin', '/api/v1/admin/users', { body: { username: 'walter', email: 'w@git.example' } });
  write("UPDATE user SET name = 'Walter', lower_name = 'walter' WHERE name = 'carol.c_d'");
  const { stdout } = await until(async () => {
    const doctor = await server.softquota(['doctor', '--json']);
    return doctor.stdout.includes('forge_owner_refused') ? doctor : null;
  });
  t.match(stdout, /Walter of the forge cannot be taken over: there is an owner Walter already/);
  t.equal((await account(server, 'carol.c_d'))?.id, carol?.id, 'nobody is given what is another one’s');

  // Names that two users exchange go with their ids, also while the daemon does not run.
  await server.stop();
  write("UPDATE user SET name = 'x', lower_name = 'x' WHERE name = 'alice'");
  write("UPDATE user SET name = 'alice', lower_name = 'alice' WHERE name = 'Walter'");
  write("UPDATE user SET name = 'carol.c_d', lower_name = 'carol.c_d' WHERE name = 'x'");
  await server.start();
  t.equal((await account(server, 'carol.c_d'))?.id, alice?.id);
  t.equal((await account(server, 'alice'))?.id, carol?.id);
});

t.test('a forge that cannot be read leaves the last figures, and says what is wrong', async t => {
  const { server, database, write } = await open(t);
  await server.start();
  const used = await server.usage('alice');

  write('ALTER TABLE lfs_meta_object RENAME COLUMN size TO bytes');
  const reasons = await until(async () => (await server.reasons()) || null);
  t.match(reasons, /lfs_meta_object|no such column/);
  const schema = await until(async () => {
    const { stdout } = await server.softquota(['doctor', '--json']);
    return stdout.includes('lfs_meta_object.size is missing') ? stdout : null;
  });
  t.match(schema, /forge_away/, 'doctor names the column');
  t.equal(await server.usage('alice'), used, 'the last figures count');
  const check = await server.ask('gate', '/v1/check?owner=alice&subject=size:git:lfs');
  t.equal(check.status, 200, 'nothing is refused for it');

  write('ALTER TABLE lfs_meta_object RENAME COLUMN bytes TO size');
  await server.ready();
  t.pass('it recovers by itself');

  await rename(database, `${database}.away`);
  t.match(await until(async () => (await server.reasons()) || null), /gitea\.db/);
  t.equal(await server.usage('alice'), used);
  await rename(`${database}.away`, database);
  await server.ready();

  const names = Array.from({ length: 30 }, (_, n) => `user-${n}`);
  const rows = names.map(name => `('${name}', '${name}', '${name}@git.example', '', 0, '', '')`);
  write(
    `INSERT INTO user (lower_name, name, email, passwd, type, avatar, avatar_email) VALUES ${rows.join()}`,
  );
  await until(() => account(server, 'user-29'));
  write("DELETE FROM user WHERE name LIKE 'user-%'");
  await until(async () => {
    const { stdout } = await server.softquota(['doctor', '--json']);
    return stdout.includes('forge_owners_absent') || null;
  });
  t.not(await account(server, 'user-29'), null, 'nobody is deleted where most go at once');
  await server.done('scan --accept-moved');
  await until(async () => (await account(server, 'user-29')) === null || null);
  t.not(await account(server, 'alice'), null, 'those who are still there stay');
  t.notMatch((await server.softquota('doctor --json')).stdout, /forge_owners_absent/);
});

t.test('repositories that are gone at once, as in a migration, lift no limit', async t => {
  const { server, write } = await open(t);
  await server.start();
  await until(() => account(server, 'alice'));
  const rule = { name: 'lfs', limit: 100_000, subjects: ['size:git:lfs'] };
  await server.admin('/admin/quota/groups', { body: { name: 'small', rules: [rule] } });
  await server.admin('/admin/users/alice/quota/groups', { body: { groups: ['small'] } });
  const check = async () =>
    (await server.ask('gate', '/v1/check?owner=alice&subject=size:git:lfs&size=1')).status;
  t.equal(await check(), 413);

  write('CREATE TABLE kept AS SELECT * FROM repository; DELETE FROM repository');
  const reasons = await until(async () => (await server.reasons()) || null);
  t.match(reasons, /cannot be believed since .* 22 of 22 of repositories, of 7 owners/);
  t.match(reasons, /[\d.]+ kB of [\d.]+ kB of size:git:lfs, of 4 owners/);
  t.equal(await check(), 413, 'the last figures count');
  const doctor = await server.softquota('doctor --json');
  t.match(doctor.stdout, /"forge_rows_gone"[^}]*softquota scan --accept-moved/);

  await server.stop();
  await server.start({ ready: false });
  t.match(await until(async () => (await server.reasons()).includes('cannot be believed') || null), true);
  t.equal(await check(), 413, 'also after a restart');
  write('INSERT INTO repository SELECT * FROM kept');
  await server.ready();
  t.equal(await check(), 413, 'a reading that has them counts');

  write('DELETE FROM repository');
  await until(async () => (await server.reasons()) || null);
  t.equal(await check(), 413);
  await server.done('scan --accept-moved');
  await server.ready();
  t.equal(await check(), 200, 'what an administrator accepts counts');
});
