/**
 * Things that move and go on counting: objects and owners behind symbolic links to a second disk, and
 * repositories that a server removes, forks and renames without a word.
 */

import { cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t from 'tap';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { addHook } from './left-behind.ts';
import { Server } from './server.ts';
import { withWorker } from './with-worker.ts';

t.test('what lies on a second disk behind links is named, and counts once it is followed', async t => {
  const server = await Server.open(t, {
    repositories: ['alice/app', 'bob/app'],
    ini: { quota: { PRECISE: 'true' } },
    started: false,
  });
  const bare = server.path('alice/app');
  const disk = join(server.folder, 'disk');
  await mkdir(disk);
  await rename(join(bare, 'objects'), join(disk, 'objects'));
  await symlink(join(disk, 'objects'), join(bare, 'objects'));
  const ofBob = dirname(server.path('bob/app'));
  await rename(ofBob, join(disk, 'bob'));
  await symlink('../disk/bob', ofBob);
  await server.start();

  const clone = await Clone.of(server, bare);
  await clone.commit(300_000);
  t.equal((await clone.push()).code, 0);
  const links = [join(bare, 'objects'), ofBob];
  await server.scan();
  const { stdout } = await server.softquota('doctor --json');
  for (const link of links) t.match(stdout, `"${link}: a symbolic link that is not followed`);
  t.equal(await server.reasons(), '', 'answers are as good as before');
  for (const owner of ['alice', 'bob']) {
    const { text } = await server.ask('trusted', `/v1/usage?owner=${owner}`);
    t.match(JSON.parse(text), { partial: true }, owner);
  }

  await server.reload({ storage: { FOLLOW: disk } });
  const used = async () => (await counted(bare)) + (await counted(join(disk, 'objects')));
  const isAll = async () => {
    const all = await used();
    await server.usageIs('alice', bytes => bytes === all);
  };
  await isAll();
  const all = await counted(join(disk, 'bob/app.git'));
  await server.usageIs('bob', bytes => bytes === all);
  t.notMatch((await server.softquota('doctor --json')).stdout, /a symbolic link/);

  const moved = join(disk, 'bob/app.git/hooks/pre-receive');
  await rm(moved);
  await server.installHooks('--config', server.config);
  t.match(await readFile(moved, 'utf8'), /softquota/, 'hooks are installed behind the link of an owner');

  await addHook(bare, 'pre-receive.d/50-wait', `until [ -e ${server.folder}/go ]; do sleep 0.1; done`);
  await clone.commit(200_000);
  const before = await server.usage('alice');
  const held = clone.push();
  await server.usageIs('alice', bytes => bytes > before + 200_000);
  await writeFile(join(server.folder, 'go'), '');
  t.equal((await held).code, 0, 'its quarantine counted meanwhile');
  await isAll();

  await clone.git('checkout', '-q', '-b', 'large');
  await clone.commit(900_000);
  t.match(await clone.push(['large']), { code: 1, said: /alice uses \d+ kB of 1 MB/ }, 'it must fit');
  const local = await Clone.of(server, server.path('bob/app'));
  await local.commit(1_100_000);
  t.match(await local.push(), { code: 1, said: /bob/ }, 'behind a link of the owner, too');

  await server.reload({ 'quota.default': { TOTAL: '400k' } });
  await clone.git('checkout', '-q', '--orphan', 'small');
  await clone.git('rm', '-rfq', '.');
  await clone.commit(1000);
  const smaller = () => clone.push(['--force', 'small:main']);
  t.equal((await smaller()).code, 1, 'nobody judges');
  await withWorker(t, server, { run: 'gc' }, [disk]);
  await until(async () => ((await smaller()).code === 0 ? true : null));
  await isAll();
});

t.test('a repository that has another name or owner is known by the first push to it', async t => {
  const server = await Server.open(t, { repositories: ['alice/app', 'bob/own', 'carol/own'] });
  const clone = await Clone.of(server, server.path('alice/app'));
  await clone.commit(1_500_000);
  await server.done('rule create little --limit 1M --subject size:repos:all --per repository');
  await server.reload({ quota: { DEFAULT_GROUPS: 'all' }, 'quota.default': { TOTAL: '-1' } });
  await server.done('group create all');
  t.equal((await clone.push()).code, 0);
  await server.usageIs('alice', bytes => bytes > 1_500_000);
  await server.done('group add-rule all little');
  let from = server.path('alice/app');
  const movedTo = async (name: string) => {
    const to = server.path(name);
    await rename(from, to);
    from = to;
    await clone.git('remote', 'set-url', 'origin', to);
    await clone.commit(100);
    return clone.push();
  };
  const refused = { code: 1, said: /This repository: 1\.\d+ MB/ };
  for (const name of ['alice/renamed', 'alice/again', 'bob/transferred'])
    t.match(await movedTo(name), refused, name);
  await server.done('group remove-rule all little');
  await server.reload({ 'quota.default': { TOTAL: '1M' } });
  t.match(await movedTo('carol/transferred'), {
    code: 1,
    said: /Quota exceeded: carol uses 1\.\d+ MB of 1 MB/,
  });
});

t.test('usage follows deletions, forks and renames without a sweep', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const bare = server.path('alice/app');
  const clone = await Clone.of(server, bare);
  await clone.commit(500_000);
  await clone.push();
  const used = await counted(bare);
  await server.usageIs('alice', bytes => bytes === used);

  await cp(bare, server.path('bob/fork'), { recursive: true });
  await server.usageIs('bob', bytes => bytes > 500_000);
  await rename(dirname(server.path('bob/fork')), dirname(server.path('robert/fork')));
  await server.usageIs('robert', bytes => bytes > 500_000);
  await server.usageIs('bob', bytes => bytes === 0);
  t.equal(await server.usage('alice'), used);

  await rm(bare, { recursive: true });
  await server.usageIs('alice', bytes => bytes === 0);
  const sweeps = JSON.parse((await server.ask('admin', '/api/v1/admin/quota/scans')).text);
  t.equal(sweeps.length, 1, 'only the one at the start');
});
