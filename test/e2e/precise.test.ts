/** `[quota] PRECISE`: pushes that come at once have no more room together than there is. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sizesFile } from '../../src/gate/index.ts';
import { isLong } from '../run-length.ts';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { fleetHost } from './fleet-hosts.ts';
import { identity, must, run } from './run.ts';
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
  // However busy this host is: a hook that waits no longer goes by what it knows without the daemon.
  for (const name of repositories) {
    await must('git', ['-C', server.path(name), 'config', 'softquota.timeout', '60']);
  }
  const stored = await counted(join(server.folder, 'git'));
  await server.configure({
    quota: { PRECISE: 'true' },
    'quota.default': { TOTAL: String(limit(stored)) },
  });
  await server.start();
  return { server, stored };
}

async function reload({ daemon }: Server): Promise<void> {
  const from = daemon.lines.length;
  daemon.child.kill('SIGHUP');
  await daemon.logged(/^the configuration is reloaded/, from);
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
    // What was reserved is released by the walk that finds it.
    const answer = await server.ask('gate', '/v1/check?owner=alice&subject=size:repos:private');
    t.notOk('reserved' in JSON.parse(answer.text));
  }
});

t.test(`nor of ${pushes} over two hosts`, async t => {
  const { address } = await startSingle(t);
  const empty = await Server.open(t, { repositories: ['alice/app'], started: false });
  const stored = 2 * (await counted(join(empty.folder, 'git')));
  const limit = stored + roomFor * (pushBytes + aroundIt);
  const host = (name: string) =>
    fleetHost(t, {
      address,
      host: name,
      repositories: ['alice/app'],
      ini: { quota: { PRECISE: 'true' }, 'quota.default': { TOTAL: String(limit) } },
    });
  const [one, two] = [await host('one'), await host('two')];
  for (const server of [one, two]) {
    await must('git', ['-C', server.path('alice/app'), 'config', 'softquota.timeout', '60']);
    await server.usageIs('alice', used => used >= stored);
  }
  const clone = await Clone.of(one, one.path('alice/app'));
  const commits = await orphans(clone, pushes);
  const ended = await Promise.all(
    commits.map((commit, each) =>
      // Behind the daemons and the store, which have a second to agree.
      run(
        'nice',
        ['git', 'push', (each % 2 === 0 ? one : two).path('alice/app'), `${commit}:refs/heads/b-${each}`],
        { cwd: clone.folder, env: identity },
      ),
    ),
  );
  const passed = ended.filter(({ code }) => code === 0).length;
  const there = (await counted(join(one.folder, 'git'))) + (await counted(join(two.folder, 'git')));
  t.ok(there <= limit, `${there} of ${limit} bytes`);
  t.ok(passed > roomFor / 2 && passed <= roomFor, `${passed} passed`);
  for (const server of [one, two]) await server.usageIs('alice', used => used === there);
});

t.test('a push that another hook refuses gives its room back, and one that is killed keeps it', async t => {
  const { server } = await opened(t, ['alice/app'], stored => stored + 2 * pushBytes);
  const bare = server.path('alice/app');
  const clone = await Clone.of(server, bare);
  const [first = '', second = '', third = ''] = await orphans(clone, 3);
  const own = join(bare, 'hooks/pre-receive.d');
  await mkdir(own, { recursive: true });
  const hook = join(own, '90-own');
  await writeFile(hook, '#!/bin/sh\nexit 1\n');
  await chmod(hook, 0o755);
  t.equal((await clone.push([`${first}:refs/heads/first`])).code, 1);
  const reserved = async () => {
    const { text } = await server.ask('gate', '/v1/check?owner=alice&subject=size:repos:private');
    return JSON.parse(text).reserved ?? 0;
  };
  await until(
    async () => ((await reserved()) === 0 ? true : null),
    () => `the room is still kept\n${server.daemon.log}`,
  );

  // Its hook tells that it runs, and waits until it is killed.
  const fifo = join(server.folder, 'runs');
  await must('mkfifo', [fifo]);
  await writeFile(hook, `#!/bin/sh\necho $PPID $$ >"${fifo}"\nexec sleep 600\n`);
  const push = spawn('git', ['push', '-q', bare, `${second}:refs/heads/second`], {
    cwd: clone.folder,
    stdio: 'ignore',
  });
  const hooks = (await must('head', ['-n', '1', fifo])).trim().split(' ').map(Number);
  t.ok((await reserved()) > pushBytes);
  push.kill('SIGKILL');
  // Ours first, so that it can tell nothing.
  for (const pid of hooks) process.kill(pid, 'SIGKILL');
  await once(push, 'close');
  await rm(hook);
  const refused = await clone.push([`${third}:refs/heads/third`]);
  t.match(refused, { code: 1, said: /10\d(\.\d)? kB of that reserved, and this push brings/ });
  t.equal((await clone.push([`${second}:refs/heads/second`])).code, 0, 'tried again, it has its own room');
});

t.test('PRECISE is taken by a reload, and then the hooks measure', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const file = sizesFile(server.socket('gate'));
  t.notOk(existsSync(file));
  await server.configure({ quota: { PRECISE: 'true' }, 'quota.default': { TOTAL: '500k' } });
  await reload(server);
  t.ok(existsSync(file));
  const clone = await Clone.of(server, server.path('alice/app'));
  await clone.commit(600_000);
  t.match(await clone.push(['HEAD:main']), { code: 1, said: /^Not enough quota left: alice uses/ });
  await server.configure({ quota: { PRECISE: 'false' } });
  await reload(server);
  t.notOk(existsSync(file));
  t.equal((await clone.push(['HEAD:main'])).code, 0, 'an owner below the limit may start');
});
