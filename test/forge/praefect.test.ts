/** A daemon on each Gitaly of a cluster: a repository with several replicas counts once for its owner. */

import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { fleetHost } from '../e2e/fleet-hosts.ts';
import { must } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { startSingle } from '../store/redis-servers.ts';
import { hashOf, openGitlab, placeOf } from './gitlab-world.ts';
import { replicaStorages } from './storages.ts';

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

/** Ids in Praefect, GitLab's path, and the bytes: bob's two, what no project has, and a pool of team's. */
const repositories = [
  { id: 71, kind: 'repositories', of: `${placeOf('@hashed', 5)}.git`, bytes: 300_000 },
  { id: 72, kind: 'repositories', of: `${placeOf('@hashed', 5)}.wiki.git`, bytes: 40_000 },
  { id: 73, kind: 'repositories', of: `${placeOf('@hashed', 99)}.git`, bytes: 5000 },
  { id: 74, kind: 'pools', of: `${placeOf('@pools', 7)}.git`, bytes: 600_000 },
];

function replicaPath({ id, kind }: (typeof repositories)[number]): string {
  const hash = hashOf(id);
  return `@cluster/${kind}/${hash.slice(0, 2)}/${hash.slice(2, 4)}/${id}`;
}

const rows = repositories.flatMap(one => {
  const values = `'default', '${one.of}'`;
  return [
    `INSERT INTO repositories VALUES (${values}, 1, 'gitaly-1', ${one.id}, '${replicaPath(one)}')`,
    ...storages.flatMap(storage => [
      `INSERT INTO storage_repositories VALUES (${values}, '${storage}', 1, ${one.id})`,
      `INSERT INTO repository_assignments VALUES (${values}, '${storage}', ${one.id})`,
    ]),
  ];
});

/** The database of all tests. Those that change it come last. */
const { address, sql } = await openGitlab(t, { more: `${praefectSql}${rows.join(';\n')};` });

/** A host with all replicas. */
async function host(
  t: Test,
  storage: string,
  { redis = null, ready = true }: { readonly redis?: string | null; readonly ready?: boolean } = {},
) {
  const options = { started: false } as const;
  const server =
    redis === null
      ? await Server.open(t, options)
      : await fleetHost(t, { ...options, address: redis, host: `on-${storage}` });
  const root = join(server.folder, 'repositories');
  for (const one of repositories) {
    const path = join(root, replicaPath(one));
    await mkdir(dirname(path), { recursive: true });
    await must('git', ['init', '-q', '--bare', '--template=', path]);
    await must('sh', ['-c', `head -c ${one.bytes} /dev/zero >"$1/objects/filler"`, 'sh', path]);
  }
  await server.configure({
    forge: { KIND: 'gitlab', DATABASE: address, PRAEFECT: address, PRAEFECT_STORAGE: storage },
    ...replicaStorages(root),
    quota: { ENABLED: 'true' },
    'quota.default': { TOTAL: '1G' },
  });
  await server.start({ ready });
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
  /** Waits for what team has in pools here. */
  const hasPool = (bytes: number) =>
    until(
      async () =>
        Math.floor(((await server.usageByLeaf('team'))['size:repos:public'] ?? 0) / 100_000) === bytes ||
        null,
      () => `team does not come to have ${bytes} on ${storage}`,
    );
  return { server, has, hasPool };
}

t.test('a storage that Praefect does not know is named, and those that it has', async t => {
  const { server } = await host(t, 'gitaly-9', { ready: false });
  const told =
    /Praefect has no repository on the storage gitaly-9; it has some on gitaly-1, gitaly-2, gitaly-3/;
  t.match(
    await until(async () => ((await server.reasons()).includes('gitaly-9') ? server.reasons() : null)),
    told,
  );
  t.match((await server.softquota('doctor')).stdout, told);
});

t.test('hosts with one quota that count the same storage are told, by each of them', async t => {
  const redis = (await startSingle(t)).address;
  const first = await host(t, 'gitaly-1', { redis });
  const second = await host(t, 'gitaly-2', { redis });
  const told = async (server: Server) =>
    /shared_twice\): (.*)/.exec((await server.softquota(['doctor'])).stdout)?.[1] ?? null;
  await first.has(3, 4);
  await second.has(3, 4);
  t.equal(await told(first.server), null);

  await second.server.stop();
  await second.server.configure({ forge: { PRAEFECT_STORAGE: 'gitaly-1' } });
  await second.server.start();
  await first.has(6, 8);
  for (const { server } of [first, second])
    t.match(
      await until(() => told(server)),
      /^the hosts on-gitaly-1, on-gitaly-2 .*PRAEFECT_STORAGE = gitaly-1$/,
    );
});

t.test('a repository and a pool of a cluster count once, for the storage that is their primary', async t => {
  const first = await host(t, 'gitaly-1');
  const second = await host(t, 'gitaly-2');
  await first.has(3, 4);
  await second.has(0, 0);
  await first.hasPool(6);
  await second.hasPool(0);
  const names = (await first.server.softquota(['usage', 'bob'])).stdout;
  t.match(names, /bob\/project-5 /);
  t.match(names, /bob\/project-5\.wiki /);
  t.notMatch(names, /@cluster/);
  const pools = (await first.server.softquota(['usage', 'team'])).stdout;
  t.match(pools, /pool of team\/platform\/deep\/project-4 /);

  await sql(`UPDATE repositories SET "primary" = 'gitaly-2' WHERE repository_id IN (71, 74)`);
  await second.has(3, 0);
  await first.has(0, 4);
  await second.hasPool(6);
  await first.hasPool(0);
  t.pass('after a failover the other storage counts them');
  await sql('UPDATE projects SET namespace_id = 2 WHERE id = 4');
  await second.hasPool(0);
  t.pass('a pool goes with the project that it was made from');

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

  await t.test('replicas that count on another storage are not taken for nobody’s', async () => {
    /** Waits for so many directories of nobody, among all that are here. */
    const unowned = (count: number) =>
      until(
        async () =>
          (await first.server.softquota(['doctor'])).stdout.includes(
            `belong to nobody: ${count} directories without a known owner`,
          ) || null,
        () => `it does not come to ${count}`,
      );
    await unowned(1);
    await sql('DELETE FROM projects WHERE id = 5');
    await unowned(3);
    await first.server.stop();
    await first.server.start();
    await unowned(3);
  });
});
