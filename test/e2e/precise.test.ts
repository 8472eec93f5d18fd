/** `[quota] PRECISE`: pushes that come at once have no more room together than there is. */

import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { identity, run } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(600_000);

const pushes = isLong ? 50 : 12;
const roomFor = 10;
const pushBytes = 100_000;
/** Commit, tree, the headers of the files, and the ref. */
const aroundIt = 1500;

/** Commits that share nothing. */
async function orphans(clone: Clone, count: number): Promise<readonly string[]> {
  const commits: string[] = [];
  for (let each = 0; each < count; each++) {
    await clone.git('checkout', '-q', '--orphan', `branch-${each}`);
    await clone.git('rm', '-rfq', '--ignore-unmatch', '.');
    await clone.commit(pushBytes);
    commits.push(await clone.git('rev-parse', 'HEAD'));
  }
  return commits;
}

async function opened(t: Test, repositories: readonly string[], limit: (stored: number) => number) {
  const server = await Server.open(t, { repositories, started: false });
  const stored = await counted(join(server.folder, 'git'));
  await server.configure({
    quota: { PRECISE: 'true' },
    'quota.default': { TOTAL: String(limit(stored)) },
  });
  await server.start();
  return { server, stored };
}

t.test(`of ${pushes} pushes at once by one owner none passes the limit`, async t => {
  for (const repositories of [['alice/app'], Array.from({ length: 5 }, (_, each) => `alice/app-${each}`)]) {
    const limitOf = (stored: number) => stored + roomFor * (pushBytes + aroundIt);
    const { server, stored } = await opened(t, repositories, limitOf);
    const clone = await Clone.of(server, server.path('alice/app'));
    const commits = await orphans(clone, pushes);
    const ended = await Promise.all(
      commits.map((commit, each) =>
        run(
          'git',
          [
            'push',
            server.path(repositories[each % repositories.length] ?? ''),
            `${commit}:refs/heads/b-${each}`,
          ],
          { cwd: clone.folder, env: identity },
        ),
      ),
    );
    const passed = ended.filter(({ code }) => code === 0).length;
    const there = await counted(join(server.folder, 'git'));
    t.ok(there <= limitOf(stored), `${there} of ${limitOf(stored)} bytes`);
    t.ok(passed > roomFor / 2 && passed <= roomFor, `${passed} passed`);
    const words = /Not enough quota left: alice uses .* and this push brings 10\d(\.\d)? kB\./;
    const unlike = ended.filter(({ code, stderr }) => code !== 0 && !words.test(stderr));
    t.strictSame(unlike, [], 'each is told both figures');
    await server.usageIs('alice', used => used === there);
    // Room that was kept for the pushes is given back when they are measured.
    const { text } = await server.ask('gate', '/v1/check?owner=alice&subject=size:repos:private');
    t.equal(JSON.parse(text).used, there);
  }
});

t.test('a push that another hook refuses gives its room back', async t => {
  const { server } = await opened(t, ['alice/app'], limit => limit + 2 * pushBytes);
  const bare = server.path('alice/app');
  const clone = await Clone.of(server, bare);
  const [first = '', second = ''] = await orphans(clone, 2);
  const own = join(bare, 'hooks/pre-receive.d');
  await mkdir(own, { recursive: true });
  const hook = join(own, '90-own');
  await writeFile(hook, '#!/bin/sh\nexit 1\n');
  await chmod(hook, 0o755);
  t.equal((await clone.push([`${first}:refs/heads/first`])).code, 1);
  const used = async () => {
    const { text } = await server.ask('gate', '/v1/check?owner=alice&subject=size:repos:private');
    return JSON.parse(text).used;
  };
  await until(
    async () => ((await used()) === (await counted(join(server.folder, 'git'))) ? true : null),
    () => `the room is still kept\n${server.daemon.log}`,
  );
  await rm(hook);
  t.equal((await clone.push([`${second}:refs/heads/second`])).code, 0);
});

t.test('PRECISE is taken by a reload', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  await server.reload({ quota: { PRECISE: 'true' }, 'quota.default': { TOTAL: '500k' } });
  const clone = await Clone.of(server, server.path('alice/app'));
  await clone.commit(600_000);
  t.match(await clone.push(['HEAD:main']), { code: 1, said: /^Not enough quota left: alice uses/ });
  await server.reload({ quota: { PRECISE: 'false' } });
  t.equal((await clone.push(['HEAD:main'])).code, 0, 'an owner below the limit may start');
});
