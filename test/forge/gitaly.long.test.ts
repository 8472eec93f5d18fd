/**
 * A real Gitaly 16.7.0 under quota: what GitLab's git server does around pushes, edits in the browser,
 * merges, housekeeping and pools. Only the long run builds it.
 *
 * The rest of GitLab is its database with made rows, and an internal API that allows everything. Later
 * versions of Gitaly, such as 18.9, are not here: Go's module proxy does not have them. Transactions are an
 * experiment in 16.7.0, whose copies of repositories lie where later versions have none.
 */

import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { Clone } from '../e2e/clone.ts';
import { run } from '../e2e/run.ts';
import { type Ini, Server } from '../e2e/server.ts';
import { openGitlab, placeOf } from './gitlab-world.ts';
import { startWorker } from './guarded-forge.ts';
import {
  type GitalyRepository,
  gitalyPrograms,
  gitalyRepository,
  gitalyUser,
  RealGitaly,
} from './real-gitaly.ts';
import { hashedStorages } from './storages.ts';

t.setTimeout(3_600_000);

const programs = await gitalyPrograms(t);

const alices = gitalyRepository('project', 1, 'alice/app');
const teams = gitalyRepository('project', 2, 'team/app');
const bobs = gitalyRepository('project', 3, 'bob/app');
const fork = gitalyRepository('project', 4, 'bob/fork');
const pool = gitalyRepository('pool', 7, 'team/app');

const rows = {
  users: [
    { id: 11, email: 'alice@git.example', admin: true },
    { id: 12, email: 'bob@git.example', admin: false },
  ],
  namespaces: [
    { id: 1, path: 'alice', owner_id: 11, type: 'User' },
    { id: 2, path: 'bob', owner_id: 12, type: 'User' },
    { id: 10, path: 'team', owner_id: null, type: 'Group' },
  ],
  projects: [
    { id: 1, namespace_id: 1, visibility_level: 0, path: 'app' },
    { id: 2, namespace_id: 10, visibility_level: 0, path: 'app' },
    { id: 3, namespace_id: 2, visibility_level: 0, path: 'app' },
  ],
  pool_repositories: [{ id: 7, disk_path: placeOf('@pools', 7), source_project_id: 2 }],
};

const refusalOf = (owner: string) => new RegExp(`GL-HOOK-ERR: Quota exceeded: ${owner} uses`);

interface Options {
  readonly hasTransactions?: boolean;
  readonly ini?: Ini;
}

function ownerOf({ message }: GitalyRepository): string {
  return message.gl_project_path?.split('/')[0] ?? '';
}

/** A push that has to succeed. */
async function push(clone: Clone, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await clone.push(args.length === 0 ? ['main'] : args);
  if (code !== 0) throw new Error(stderr);
}

/** Everybody may store 3 MB. */
async function open(t: Test, { hasTransactions = false, ini = {} }: Options = {}) {
  const database = await openGitlab(t, { rows });
  const server = await Server.open(t, { started: false });
  for (const place of [server.folder, join(server.folder, 'data')]) await chmod(place, 0o711);
  const folder = join(server.folder, 'gitaly');
  const gitaly = await RealGitaly.start(t, { programs, folder, hasTransactions });
  await gitaly.create(alices, teams, bobs);
  await server.configure({
    forge: { KIND: 'gitlab', DATABASE: database.address },
    server: { SOCKET_MODE: '0666', TRUSTED_MODE: '0666' },
    'quota.default': { TOTAL: '3M' },
    ...hashedStorages(gitaly.storage),
    reclaim: { GIT: gitaly.git },
  });
  await server.configure(ini);
  await server.start();
  await server.done(['hooks', 'install', '--gitlab', gitaly.hooks]);
  await startWorker(t, server, gitalyUser);

  const clone = (repository: GitalyRepository) =>
    Clone.of(server, 'ssh://git.example/it', { env: gitaly.envOf(repository) });
  /** Resolves once the owner's usage is what these repositories take on the disk. */
  const counts = async (owner: string, ...repositories: readonly GitalyRepository[]) => {
    let seen = '';
    await until(
      async () => {
        const [used, stored] = [await server.usage(owner), await gitaly.stored(...repositories)];
        seen = `${owner} uses ${used}, and ${stored} bytes are stored`;
        return used === stored || null;
      },
      () => `${seen}\n${server.daemon.log}`,
    );
  };
  /** A working copy whose first file was pushed, and counts. */
  const filled = async (repository: GitalyRepository, bytes: number) => {
    const made = await clone(repository);
    await made.commit({ 'a.bin': bytes });
    await push(made);
    await counts(ownerOf(repository), repository);
    return made;
  };
  return { server, gitaly, clone, filled, counts, sql: database.sql };
}

t.test('pushes are counted, refused over the limit, and accepted if they free space', async t => {
  const { server, gitaly, clone, counts } = await open(t);
  const alice = await clone(alices);
  await alice.commit({ 'a.bin': 500_000 });
  t.match(await alice.push(), { code: 0 }, 'a push below the limit');
  await counts('alice', alices);
  await alice.commit({ 'b.bin': 4_000_000 });
  t.match(await alice.push(['main', 'main:side']), { code: 0 }, 'the push that passes the limit');
  await counts('alice', alices);

  await alice.git('checkout', '-q', '-b', 'more');
  await alice.commit({ 'c.bin': 1000 });
  const refused = await alice.push(['-f', 'more:main']);
  t.match(refused.stderr, refusalOf('alice'), 'a push over the limit is refused with the lines');
  t.equal(
    gitaly.asked.find(path => !path.endsWith('/check')),
    '/api/v4/internal/allowed',
    'GitLab was asked first',
  );
  t.match(await alice.push(['main:again']), { code: 0 }, 'a branch of commits that are there');
  t.match(await alice.push([':side']), { code: 0 }, 'a deletion of a branch');
  await push(alice, ':again');

  await alice.git('checkout', '-q', '-b', 'small', 'main~1');
  await alice.commit({ 'd.bin': 1000 });
  const smaller = /makes the repository smaller, by 4 MB/;
  t.match(await alice.push(['-f', 'small:main']), { code: 0, stderr: smaller }, 'a smaller history');
  await alice.git('checkout', '-q', '-b', 'small2', 'main~1');
  await alice.commit({ 'e.bin': 900 });
  const second = await until(async () => {
    const pushed = await alice.push(['-f', 'small2:main']);
    return /is under way/.test(pushed.stderr) ? null : pushed;
  });
  const again = /makes the repository smaller/;
  t.match(second, { code: 0, stderr: again }, 'a second one, when the first has ended');
  await counts('alice', alices);

  await gitaly.remove(alices);
  await server.usageIs('alice', bytes => bytes === 0);
  t.pass('a project that is removed counts no more');
});

t.test('over the limit, the browser gets the lines, too, and what GitLab keeps is not freed', async t => {
  const { gitaly, filled, counts } = await open(t);
  const bob = await filled(bobs, 4_500_000);
  const tip = await bob.git('rev-parse', 'main');
  await gitaly.writeRef(bobs, `refs/keep-around/${tip}`, tip);
  await bob.git('checkout', '-q', '--orphan', 'small');
  await bob.git('rm', '-q', '-r', '-f', '.');
  await bob.commit({ 's.bin': 1000 });
  t.match(
    await bob.push(['-f', 'small:main']),
    { code: 1, stderr: /GitLab keeps/ },
    'a smaller history where GitLab keeps the old one: the lines say what to do',
  );
  t.match(
    await gitaly.edit(bobs, 'web.txt'),
    { code: 1, stderr: /PermissionDenied[\s\S]*Quota exceeded: bob/ },
    'an edit in the browser',
  );
  t.match(
    await gitaly.createBranch(bobs, 'new'),
    { code: 0, stdout: /"branch"/ },
    'a new branch in the browser brings nothing',
  );
  await gitaly.writeRef(bobs, 'refs/heads/other', tip);
  t.match(await gitaly.deleteBranch(bobs, 'other'), { code: 0 }, 'a branch is deleted in the browser');
  await counts('bob', bobs);
});

t.test('merges are asked about', async t => {
  const { gitaly, clone, counts } = await open(t);
  const withTopic = async (repository: GitalyRepository, bytes: number) => {
    const one = await clone(repository);
    await one.commit({ 'a.bin': bytes });
    await one.git('checkout', '-q', '-b', 'topic');
    await one.commit({ 'b.bin': 1000 });
    await one.git('checkout', '-q', 'main');
    await one.commit({ 'c.bin': 1000 });
    await push(one, 'main', 'topic');
    return one.git('rev-parse', 'topic');
  };
  const merged = await gitaly.merge(teams, await withTopic(teams, 1000));
  t.match(merged, { code: 0, stdout: /branchUpdate/ }, 'a merge below the limit');
  const topic = await withTopic(bobs, 4_500_000);
  await counts('bob', bobs);
  const refused = { code: 1, stderr: /PermissionDenied[\s\S]*Quota exceeded: bob/ };
  t.match(await gitaly.merge(bobs, topic), refused, 'a merge over the limit');
  await counts('team', teams);
  await counts('bob', bobs);
});

t.test('usage follows edits, packs, housekeeping and pools', async t => {
  const { server, gitaly, filled, counts } = await open(t);
  const team = await filled(teams, 100_000);
  t.match(
    await gitaly.edit(teams, 'web.txt'),
    { code: 0, stdout: /commitId/ },
    'an edit in the browser below the limit',
  );
  await counts('team', teams);
  t.pass('an edit is counted');
  for (const part of [1, 2, 3]) {
    const files = Array.from({ length: 60 }, (_, at) => [`f${part}-${at}`, 300]);
    await team.commit(Object.fromEntries(files));
    await push(team, '-f', 'main');
  }
  await counts('team', teams);
  t.pass('pushes of packs are counted');
  await gitaly.optimize(teams, 'HEURISTICAL');
  await gitaly.optimize(teams, 'EAGER');
  await counts('team', teams);
  t.pass('housekeeping is noticed without a sweep');
  await server.scan();
  await counts('team', teams);

  await gitaly.create(fork);
  await gitaly.createPool(pool, teams);
  for (const member of [teams, fork]) await gitaly.link(pool, member);
  await counts('team', teams, pool);
  t.pass('the pool that a fork of somebody else makes counts for its source');
  await gitaly.fetchInto(pool, teams);
  for (const each of [pool, teams]) await gitaly.optimize(each, 'EAGER');
  await server.scan();
  await counts('team', teams, pool);
  t.pass('so it does after the housekeeping of both');
});

t.test('repositories that are new to the database, wikis and snippets are asked about', async t => {
  const { server, gitaly, filled, sql } = await open(t);
  const alice = await filled(alices, 4_500_000);
  await sql('INSERT INTO snippets (id, author_id, visibility_level) VALUES (1, 11, 0)');
  const snippet = gitalyRepository('snippet', 1, 'snippets/1');
  const others = {
    'a new repository': gitalyRepository('project', 99, 'alice/new'),
    'a wiki': gitalyRepository('wiki', 1, 'alice/app'),
    'the first snippet of the server': snippet,
  };
  const refused = { code: 1, stderr: refusalOf('alice') };
  for (const [name, other] of Object.entries(others)) {
    await gitaly.create(other);
    t.match(await alice.push(['main'], { env: gitaly.envOf(other) }), refused, name);
  }
  const path = encodeURIComponent(join(gitaly.storage, snippet.path));
  await until(async () => {
    const { text } = await server.ask('gate', `/v1/check?path=${path}`);
    return JSON.parse(text).owner === 'alice' || null;
  });
  t.pass('the database says whose the snippet is');
});

t.test('without the daemon the last list counts', async t => {
  const { server, clone, filled } = await open(t);
  const [alice, team] = [await filled(alices, 4_500_000), await clone(teams)];
  await server.stop();
  await alice.commit({ 'b.bin': 1000 });
  t.match(await alice.push(), { code: 1, stderr: /Last known: Quota exceeded: alice/ }, 'a push');
  await team.commit({ 'a.bin': 10 });
  t.match(await team.push(), { code: 0 }, 'others pass');
});

t.test('PRECISE: no push starts that does not fit', async t => {
  const { filled } = await open(t, { ini: { quota: { PRECISE: 'true' } } });
  const team = await filled(teams, 100_000);
  await team.commit({ 'b.bin': 3_500_000 });
  t.match(await team.push(), { code: 1, stderr: /declined/ }, '3.5 MB where 2.9 MB are free');
});

t.test('a pool whose source is gone counts for a fork of the same owner', async t => {
  const { server, gitaly, filled, counts, sql } = await open(t);
  await sql(`UPDATE pool_repositories SET source_project_id = 1;
    UPDATE projects SET pool_repository_id = 7 WHERE id = 1;
    INSERT INTO projects (id, namespace_id, visibility_level, path, pool_repository_id)
    VALUES (4, 1, 0, 'fork', 7)`);
  const own = gitalyRepository('project', 4, 'alice/fork');
  const alice = await filled(alices, 2_800_000);
  await gitaly.createPool(pool, alices);
  await gitaly.create(own);
  await gitaly.link(pool, own);
  t.match(await alice.push(['main'], { env: gitaly.envOf(own) }), { code: 0 }, 'the fork gets its branch');
  await gitaly.remove(alices);
  await sql(`DELETE FROM projects WHERE id = 1; UPDATE pool_repositories SET source_project_id = NULL`);
  await counts('alice', own, pool);
  const used = await server.usage('alice');
  t.ok(used > 2_800_000, `alice stores ${used} bytes by her fork`);
});

t.test('a push that deletes what Gitaly hides, and so keeps, is not smaller', async t => {
  const { gitaly, filled, counts } = await open(t);
  const bob = await filled(bobs, 4_500_000);
  await gitaly.writeRef(bobs, 'refs/merge-requests/1/head', await bob.git('rev-parse', 'main'));
  await counts('bob', bobs);
  const before = await gitaly.stored(bobs);
  for (const bytes of [1_399_000, 1_398_000, 1_397_000]) {
    await bob.git('checkout', '-q', '--orphan', `small-${bytes}`);
    await bob.git('rm', '-q', '-r', '-f', '.');
    await bob.commit({ 's.bin': bytes });
    const pushed = await bob.push(['-f', 'HEAD:main', ':refs/merge-requests/1/head']);
    t.match(pushed, { code: 1, stderr: refusalOf('bob') }, `a main of ${bytes} bytes`);
  }
  await until(async () => (await gitaly.stored(bobs)) === before || null);
  t.pass('nothing of them is stored');
  await counts('bob', bobs);
});

t.test('a worker beside housekeeping and pushes breaks nothing', async t => {
  const { server, gitaly, filled, counts } = await open(t, {
    ini: { reclaim: { RUN: 'gc' }, 'quota.default': { TOTAL: '1G' } },
  });
  const team = await filled(teams, 200_000);
  let isOver = false;
  const answers = new Set<string>();
  const housekeeping = async () => {
    while (!isOver) await gitaly.optimize(teams, 'EAGER');
  };
  const reclaiming = async () => {
    while (!isOver) {
      const { code, stdout, stderr } = await server.softquota('reclaim team/app');
      answers.add(`${code} ${stdout}${stderr}`);
    }
  };
  const refused: string[] = [];
  const pushing = async () => {
    for (let more = 0; more < 40; more++) {
      await team.git('commit', '-q', '--amend', '-m', `${more}`);
      await team.commit({ 'f.bin': 2000 + more });
      const { code, stderr } = await team.push(['-f', 'main']);
      // Gitaly's repack may remove the folder into which git is about to move an object.
      if (code !== 0 && !/unable to migrate objects/.test(stderr)) refused.push(stderr);
    }
  };
  const endless = [housekeeping(), reclaiming()];
  await pushing().finally(() => {
    isOver = true;
  });
  await Promise.all(endless);
  t.strictSame(refused, [], 'no push fails but by Gitaly’s own repack');
  t.match([...answers], [/GitLab removes what is unreachable itself/], 'reclaim leaves it to GitLab');
  const whole = ['-c', 'safe.directory=*', '--git-dir', join(gitaly.storage, teams.path), 'fsck', '--full'];
  t.match(await run(gitaly.git, [...whole, '--connectivity-only', '--no-dangling']), { code: 0 }, 'fsck');
  await counts('team', teams);
  t.pass('usage is what is stored');
});

t.test('with transactions, refusals are by the owner whom GitLab names, and sweeps count', async t => {
  const { server, gitaly, clone } = await open(t, { hasTransactions: true });
  const bob = await clone(bobs);
  await bob.commit({ 'a.bin': 4_500_000 });
  await push(bob, 'main', 'main:side');
  await until(async () => {
    await server.scan();
    const [used, stored] = [await server.usage('bob'), await gitaly.stored(bobs)];
    return (used > 4_500_000 && used === stored) || null;
  });
  await bob.commit({ 'b.bin': 10 });
  t.match(await bob.push(), { code: 1, stderr: refusalOf('bob') }, 'a push');
  const refused = { code: 1, stderr: /PermissionDenied[\s\S]*Quota exceeded: bob/ };
  t.match(await gitaly.edit(bobs, 'web.txt'), refused, 'an edit in the browser');
  t.match(await bob.push([':side']), { code: 0 }, 'a deletion passes');
  const team = await clone(teams);
  await team.commit({ 'a.bin': 10 });
  t.match(await team.push(), { code: 0 }, 'others pass');
  t.match(await gitaly.edit(teams, 'web.txt'), { code: 0 }, 'also in the browser');
});
