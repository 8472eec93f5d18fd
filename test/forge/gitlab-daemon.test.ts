/** A daemon beside a GitLab: repositories under hashes count for the owners that its database names. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { Server } from '../e2e/server.ts';
import {
  gitlabExpected,
  gitlabUnowned,
  type HashedRepository,
  makeHashedTree,
  openGitlab,
} from './gitlab-world.ts';
import { hashedStorages } from './storages.ts';

t.setTimeout(300_000);

async function open(t: Test) {
  const database = await openGitlab(t);
  const server = await Server.open(t, { started: false });
  const root = join(server.folder, 'repositories');
  const made = await makeHashedTree(root);
  await server.configure({
    forge: { KIND: 'gitlab', DATABASE: database.address },
    ...hashedStorages(root),
    quota: { ENABLED: 'true' },
    'quota.default': { TOTAL: '1G' },
  });
  return { server, made, sql: database.sql };
}

/** Bytes of an owner by the lists of the one who made them. */
function expected(made: readonly HashedRepository[], owner: string): Readonly<Record<string, number>> {
  const leaves: Record<string, number> = { ...gitlabExpected.top[owner] };
  for (const one of made.filter(each => each.owner === owner)) {
    leaves[one.leaf] = (leaves[one.leaf] ?? 0) + one.bytes;
  }
  return leaves;
}

function matches(server: Server, owner: string, wanted: Readonly<Record<string, number>>): Promise<true> {
  return until(
    async () =>
      JSON.stringify(sorted(await server.usageByLeaf(owner))) === JSON.stringify(sorted(wanted)) || null,
    () => `${owner} does not come to have ${JSON.stringify(wanted)}`,
  );
}

function sorted(leaves: Readonly<Record<string, unknown>>): unknown {
  return Object.entries(leaves).sort(([a], [b]) => (a < b ? -1 : 1));
}

t.test('each repository counts for its owner, and goes with a transfer and a rename', async t => {
  const { server, made, sql } = await open(t);
  await server.start();
  for (const owner of ['Alice', 'bob', 'team']) {
    await matches(server, owner, expected(made, owner));
  }
  t.pass('every owner and leaf is as the maker counted');
  const site = made.find(({ owner, leaf }) => owner === 'bob' && leaf === 'size:repos:private');
  if (site === undefined) throw new Error('bob has a repository');
  const check = await server.ask('gate', `/v1/check?path=${encodeURIComponent(site.path)}`);
  t.match(JSON.parse(check.text), { allowed: true, owner: 'bob', subject: 'size:repos:private' });
  t.match(
    (await server.softquota(['usage', 'bob'])).stdout,
    /bob\/project-5 /,
    'by the name that people know',
  );
  const names = (await server.softquota(['why', 'team'])).stdout;
  t.match(names, /team\/project-2\.wiki /);
  t.match(names, /team\/platform\/project-3\.design /);
  t.match(names, /team\/project-2\/snippets\/2 /);
  t.match((await server.softquota(['why', 'Alice'])).stdout, /Alice\/snippets\/1 /);
  t.notMatch(names, /@hashed|[0-9a-f]{64}/);
  for (const asked of ['team/platform/project-3', 'team/pool of team/platform/deep/project-4']) {
    const { stderr } = await server.softquota(['why', asked]);
    t.match(stderr, /no worker/, `${asked} is found, and a worker would look`);
  }
  t.match((await server.softquota(['why', 'team/project-9'])).stderr, /team has no repository project-9/);
  const scanned = await server.softquota(['scan', 'bob']);
  t.equal(scanned.code, 0, `one owner's are measured, too: ${scanned.stdout}${scanned.stderr}`);
  const { text: largest } = await server.ask('admin', '/api/v1/admin/quota/units?q=Platform/Project-3.d');
  t.match(JSON.parse(largest), [{ owner: 'team', title: 'team/platform/project-3.design', name: /@hashed/ }]);
  const nobodys = made.find(({ owner }) => owner === null)?.path ?? '';
  const other = await server.ask('gate', `/v1/check?path=${encodeURIComponent(nobodys)}`);
  t.notMatch(other.text, /"owner":"(?:team|bob|Alice)"/, 'a repository of no project is nobody’s');
  const overview = JSON.parse((await server.ask('admin', '/api/v1/admin/quota/overview')).text);
  const left = made.filter(({ owner }) => owner === null).reduce((sum, { bytes }) => sum + bytes, 0);
  const told = gitlabUnowned.reduce((sum, { bytes }) => sum + bytes, 0);
  t.match(overview.nobody, {
    bytes: left + told,
    kinds: [
      ...gitlabUnowned.map(({ reason, count, bytes }) => ({ kind: reason, count, bytes, mend: /./ })),
      { kind: 'directories_without_owner', count: 1, bytes: left, mend: /find_project/ },
    ],
  });

  await sql('UPDATE projects SET visibility_level = 20, namespace_id = 10 WHERE id = 5');
  const moved = made.map(one => (one === site ? { ...one, owner: 'team', leaf: 'size:repos:public' } : one));
  await until(async () =>
    (await server.usageByLeaf('bob'))['size:repos:private'] === undefined ? true : null,
  );
  const team = { ...expected(moved, 'team'), 'size:git:lfs': 21_005 };
  await matches(server, 'team', team);
  t.pass('a project that is transferred counts for the other one');

  await sql("UPDATE namespaces SET path = 'crew' WHERE id = 10");
  await matches(server, 'crew', team);
  t.pass('a group that is renamed keeps what it has');
  await server.scan();
  await matches(server, 'crew', team);
  await server.stop();
  await server.start();
  await matches(server, 'crew', team);
});

t.test(
  'a pool whose project is deleted counts for a fork of its owner, else for the oldest fork',
  async t => {
    const { server, made, sql } = await open(t);
    await sql(`INSERT INTO projects (id, namespace_id, visibility_level, path, pool_repository_id) VALUES
    (6, 2, 20, 'fork', 7), (8, 9, 0, 'copy', 7), (9, 1, 20, 'other', 7)`);
    await server.start();
    const pool = made.find(({ path }) => path.includes('@pools'));
    if (pool === undefined) throw new Error('there is a pool');
    const has = (owner: string, leaf: string) =>
      until(
        async () => {
          const { text } = await server.ask('gate', `/v1/check?path=${encodeURIComponent(pool.path)}`);
          const found: { readonly owner: string; readonly subject: string } = JSON.parse(text);
          return (found.owner === owner && found.subject === leaf) || null;
        },
        () => `the pool does not come to count for ${owner} as ${leaf}`,
      );
    const why = async (owner: string) => (await server.softquota(['why', owner])).stdout;
    const deleteProject = (id: number) =>
      sql(`BEGIN; DELETE FROM projects WHERE id = ${id};
      UPDATE pool_repositories SET source_project_id = NULL WHERE source_project_id = ${id}; COMMIT`);
    await has('team', 'size:repos:public');
    t.match(await why('team'), /pool of team\/platform\/deep\/project-4/);
    t.notMatch(await why('team'), /deleted/);

    await deleteProject(4);
    await has('team', 'size:repos:private');
    t.match(
      await why('team'),
      /pool of team\/platform\/copy: what forks of a deleted project have in common/,
    );
    const inherited = async () =>
      JSON.parse((await server.ask('admin', '/api/v1/admin/quota/events?kind=inherited')).text);
    t.strictSame(await inherited(), [], 'nothing has changed for anybody');

    await server.stop();
    await server.start();
    await has('team', 'size:repos:private');
    t.pass('also after a restart');

    await deleteProject(8);
    await has('bob', 'size:repos:public');
    t.match(await why('bob'), /pool of bob\/fork/);
    const [event] = await until(async () => ((await inherited()).length > 0 ? inherited() : null));
    t.match(event, { owner: 'bob', from: 'team', repository: 'pool of bob/fork', bytes: pool.bytes });
    const { stdout } = await server.softquota(['events', '--kind', 'inherited']);
    t.match(stdout, /bob .* of pool of bob\/fork, which counted for team before/);

    await deleteProject(9);
    await sql('DELETE FROM projects WHERE id = 6');
    await until(async () => !(await why('bob')).includes('pool of') || null);
    t.pass('it is nobody’s without a member');
  },
);
