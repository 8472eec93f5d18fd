/**
 * Beside a real Gitea or Forgejo: whatever is stored, renamed, transferred and deleted there counts rightly a
 * moment later. Only the long run builds them.
 */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Server } from '../e2e/server.ts';
import { isFound, startBeside } from './counting.ts';
import { type ForgeKind, idOf, RealForge } from './real-forge.ts';
import { startMariadb, startPostgres } from './servers.ts';

t.setTimeout(3_600_000);

/** The lines of `[database]` by what it is. */
const databases: Readonly<Record<string, (t: Test) => Promise<string>>> = {
  'SQLite, DELETE': async () => 'DB_TYPE = sqlite3\nSQLITE_JOURNAL_MODE = DELETE',
  'SQLite, WAL': async () => 'DB_TYPE = sqlite3\nSQLITE_JOURNAL_MODE = WAL',
  PostgreSQL: async t => {
    const server = await startPostgres(t);
    await server.sql("CREATE ROLE gitea LOGIN PASSWORD 'secret'");
    await server.sql('CREATE DATABASE gitea OWNER gitea');
    return `DB_TYPE = postgres\nHOST = ${server.host}\nNAME = gitea\nUSER = gitea\nPASSWD = secret\nSSL_MODE = disable`;
  },
  MariaDB: async t => {
    const server = await startMariadb(t);
    await server.sql(
      "CREATE DATABASE gitea CHARACTER SET utf8mb4; CREATE USER gitea@'%' IDENTIFIED BY 'secret'",
    );
    await server.sql("GRANT ALL ON gitea.* TO gitea@'%'");
    return `DB_TYPE = mysql\nHOST = ${server.host}\nNAME = gitea\nUSER = gitea\nPASSWD = secret`;
  },
};

for (const [name, database] of Object.entries(databases)) {
  t.test(`what a real Gitea (${name}) stores counts at once, for whom it belongs to`, async t =>
    countsAtOnce(t, 'gitea', await database(t)),
  );
}

t.test('what a real Forgejo stores counts at once, for whom it belongs to', t =>
  countsAtOnce(t, 'forgejo', 'DB_TYPE = sqlite3'),
);

async function countsAtOnce(t: Test, kind: ForgeKind, database: string): Promise<void> {
  const server = await Server.open(t, { started: false });
  const folder = join(server.folder, kind);
  const forge = await RealForge.start(t, { kind, folder, database });
  for (const username of ['Alice', 'bob']) await forge.user(username);
  for (const name of ['app', 'other']) {
    await forge.ask('POST', '/api/v1/admin/users/Alice/repos', { name, auto_init: true });
  }
  const content = randomBytes(50_000);
  await forge.lfs('Alice/app', content);

  await isFound(t, server, kind, folder, forge.repositories, content.length);
  const { comes, has } = await startBeside(t, server, kind, forge.config, forge.repositories);
  await forge.user('dora');
  await comes('a new user is known', async () =>
    (await server.ask('admin', '/api/v1/admin/users/dora')).text.includes('"dora"'),
  );

  await comes('an LFS object counts', has('Alice', 'size:git:lfs', 50_000));
  await forge.lfs('Alice/other', content);
  await forge.lfs('Alice/other', randomBytes(7));
  await comes('the same object in another repository counts once', has('Alice', 'size:git:lfs', 50_007));
  await forge.ask('PUT', '/api/packages/Alice/generic/thing/1.0/file.bin', randomBytes(30_000));
  await comes('a package counts', has('Alice', 'size:assets:packages:all', 30_000));
  const release = await forge.ask('POST', '/api/v1/repos/Alice/app/releases', { tag_name: 'v1' });
  await forge.attach(`/api/v1/repos/Alice/app/releases/${idOf(release)}/assets`, randomBytes(2000));
  await comes('a file of a release counts', has('Alice', 'size:assets:attachments:releases', 2000));
  await forge.ask('POST', '/api/v1/repos/Alice/app/issues', { title: 'it fails' });
  await forge.attach('/api/v1/repos/Alice/app/issues/1/assets', randomBytes(300));
  await comes('an attachment counts', has('Alice', 'size:assets:attachments:issues', 300));

  await server.scan();
  await comes(
    'repositories are public',
    async () => ((await server.usageByLeaf('Alice'))['size:repos:public'] ?? 0) > 0,
  );
  await forge.ask('PATCH', '/api/v1/repos/Alice/app', { private: true });
  await forge.ask('PATCH', '/api/v1/repos/Alice/other', { private: true });
  await comes('and private from now on', has('Alice', 'size:repos:public', undefined));

  await server.ask('admin', '/api/v1/admin/quota/groups', { body: { name: 'friends', rules: [] } });
  await server.ask('admin', '/api/v1/admin/users/Alice/quota/groups', { body: { groups: ['friends'] } });
  await forge.ask('POST', '/api/v1/admin/users/Alice/rename', { new_username: 'Carol' });
  await comes('a renamed user has everything', has('Carol', 'size:git:lfs', 50_007));
  await comes('and is in the same groups', async () =>
    (await server.ask('admin', '/api/v1/admin/users/Carol/quota')).text.includes('friends'),
  );

  await forge.ask('POST', '/api/v1/repos/Carol/app/transfer', { new_owner: 'bob' });
  await comes('a transferred repository takes its objects along', has('bob', 'size:git:lfs', 50_000));
  t.ok(await has('Carol', 'size:git:lfs', 50_007)(), 'the other repository still has them');
  await comes('and its attachments', has('Carol', 'size:assets:attachments:issues', undefined));
  await forge.ask('DELETE', '/api/v1/packages/Carol/generic/thing/1.0');
  await comes('a deleted package counts no more', has('Carol', 'size:assets:packages:all', undefined));
  await forge.ask('DELETE', '/api/v1/repos/bob/app');
  await comes('nor does a deleted repository', has('bob', 'size:git:lfs', undefined));
}
