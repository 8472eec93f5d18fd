/** A daemon on each Gitaly of a cluster: a repository with several replicas counts once for its owner. */

import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { must } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { dividedArtifacts, gitlabRows, gitlabTables, hashOf } from './gitlab-world.ts';
import { openMade } from './made.ts';

t.setTimeout(300_000);

/** The tables of Praefect that say where replicas lie, as its migrations make them. */
const praefectSql = `
  CREATE TABLE repositories (virtual_storage text NOT NULL, relative_path text NOT NULL, generation bigint,
    "primary" text, repository_id bigint PRIMARY KEY, replica_path text);
  CREATE TABLE storage_repositories (virtual_storage text NOT NULL, relative_path text NOT NULL,
    storage text NOT NULL, generation bigint NOT NULL, repository_id bigint NOT NULL,
    PRIMARY KEY (repository_id, storage));
  CREATE TABLE repository_assignments (virtual_storage text NOT NULL, relative_path text NOT NULL,
    storage text NOT NULL, repository_id bigint NOT NULL, PRIMARY KEY (repository_id, storage));
`;

const storages = ['gitaly-1', 'gitaly-2', 'gitaly-3'];

/** Ids in Praefect, GitLab's path, and the bytes: all of bob, but for what no project has. */
const repositories = [
  { id: 71, kind: 'repositories', of: relative('@hashed', 5, '.git'), bytes: 300_000, isBobs: true },
  { id: 72, kind: 'repositories', of: relative('@hashed', 5, '.wiki.git'), bytes: 40_000, isBobs: true },
  { id: 73, kind: 'repositories', of: relative('@hashed', 99, '.git'), bytes: 5000, isBobs: false },
];

function relative(kind: string, id: number, end: string): string {
  const hash = hashOf(id);
  return `${kind}/${hash.slice(0, 2)}/${hash.slice(2, 4)}/${hash}${end}`;
}

function replicaPath({ id, kind }: (typeof repositories)[number]): string {
  const hash = hashOf(id);
  return `@cluster/${kind}/${hash.slice(0, 2)}/${hash.slice(2, 4)}/${id}`;
}

async function open(t: Test) {
  const database = await openMade(
    t,
    'postgres',
    gitlabTables,
    gitlabRows('p_ci_job_artifacts'),
    dividedArtifacts + praefectSql,
  );
  for (const one of repositories) {
    const values = `'default', '${one.of}'`;
    await database.sql(
      `INSERT INTO repositories VALUES (${values}, 1, 'gitaly-1', ${one.id}, '${replicaPath(one)}')`,
    );
    for (const storage of storages)
      await database.sql(
        `INSERT INTO storage_repositories VALUES (${values}, '${storage}', 1, ${one.id});
         INSERT INTO repository_assignments VALUES (${values}, '${storage}', ${one.id})`,
      );
  }
  return database;
}

/** A host with all replicas. */
async function host(t: Test, address: string, storage: string) {
  const server = await Server.open(t, { started: false });
  const root = join(server.folder, 'repositories');
  for (const one of repositories) {
    const path = join(root, replicaPath(one));
    await mkdir(dirname(path), { recursive: true });
    await must('git', ['init', '-q', '--bare', '--template=', path]);
    await must('sh', ['-c', `head -c ${one.bytes} /dev/zero >"$1/objects/filler"`, 'sh', path]);
  }
  await server.configure({
    forge: { KIND: 'gitlab', DATABASE: address, PRAEFECT: address, PRAEFECT_STORAGE: storage },
    'storage.repos': { PATH: `${root}/@cluster/repositories/*/*/{repo}`, OWNER: 'forge' },
    'storage.wiki': { PATH: null },
    'storage.lfs': { PATH: null },
    'storage.attachments.issues': { PATH: null },
    quota: { ENABLED: 'true' },
    'quota.default': { TOTAL: '1G' },
  });
  await server.start();
  let last = '';
  /** Waits for what bob has in repositories and wikis here. */
  const has = (repos: number, wiki: number) =>
    until(
      async () => {
        const found = await server.usageByLeaf('bob');
        last = JSON.stringify(found);
        const [git = 0, assets = 0] = ['size:repos:private', 'size:assets:wiki'].map(leaf => found[leaf]);
        return Math.floor(git / 100_000) === repos && Math.floor(assets / 10_000) === wiki ? true : null;
      },
      () => `bob does not come to have ${repos} and ${wiki} on ${storage}: ${last}`,
    );
  return { server, has };
}

t.test('a repository of a cluster counts once, for the storage that is its primary', async t => {
  const { address, sql } = await open(t);
  const first = await host(t, address, 'gitaly-1');
  const second = await host(t, address, 'gitaly-2');
  await first.has(3, 4);
  await second.has(0, 0);
  const names = (await first.server.softquota(['usage', 'bob'])).stdout;
  t.match(names, /bob\/project-5 /);
  t.match(names, /bob\/project-5\.wiki /);
  t.notMatch(names, /@cluster/);

  await sql(`UPDATE repositories SET "primary" = 'gitaly-2' WHERE repository_id = 71`);
  await second.has(3, 0);
  await first.has(0, 4);
  t.pass('after a failover the other storage counts it');

  await sql(`UPDATE repositories SET "primary" = NULL`);
  await first.has(3, 4);
  await second.has(0, 0);
  t.pass('without a primary it is the first assigned one by name');
  await sql(`DELETE FROM repository_assignments WHERE storage = 'gitaly-1'`);
  await second.has(3, 4);
  await first.has(0, 0);

  await sql('ALTER TABLE repositories RENAME TO away');
  const reasons = await until(async () => {
    const said = await second.server.reasons();
    return said.includes('forge') ? said : null;
  });
  t.match(reasons, /repositories/);
  await second.has(3, 4);
  await second.server.scan();
  await second.has(3, 4);
  t.pass('while Praefect cannot be read, the last choice stays');
  await sql('ALTER TABLE away RENAME TO repositories');
  await until(async () => ((await second.server.reasons()) === '' ? true : null));
});
